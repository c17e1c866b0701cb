/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Big programs have a million symbols, so an entry is 32 bytes and its name
 * stays where libelf has it. After sorting, one entry an address remains; it
 * knows the entry that encloses it (up), so a lookup is one binary search and
 * a few steps up, also where functions lie inside another one's extent.
 */
#include "objfile/symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/vec.h"

struct entry {
	uint64_t value, end;
	const char *name;
	uint32_t up;	  /* 1 + index of the nearest entry before that reaches beyond value; 0: none */
	unsigned int local : 1;
	unsigned int sized : 1;
};

struct symbols {
	struct entry *v;
	size_t n, cap;
};

DEFINE_CLEANUP(struct symbols *, symbols_free)

struct symbols *symbols_free(struct symbols *s)
{
	if (!s)
		return NULL;
	free(s->v);
	free(s);
	return NULL;
}

/* Extents of the sections, so that gelf_getshdr isn't asked for each symbol. */
struct sections {
	uint64_t *end; /* 0: no section to have functions in */
	size_t n;
};

static void sections_done(struct sections *s)
{
	free(s->end);
}

static int sections_read(Elf *elf, struct sections *ret)
{
	_cleanup_(freep) uint64_t *end = NULL;
	size_t n;

	if (elf_getshdrnum(elf, &n))
		n = 0;
	end = calloc(n + 1, sizeof(*end));
	if (!end)
		return -ENOMEM;
	for (size_t i = 1; i < n; i++) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(elf_getscn(elf, i), &shdr) || !(shdr.sh_flags & SHF_ALLOC))
			continue;
		if (__builtin_add_overflow(shdr.sh_addr, shdr.sh_size, &end[i]))
			end[i] = 0;
	}
	ret->end = TAKE_PTR(end);
	ret->n = n;
	return 0;
}

static bool is_function(const GElf_Sym *sym)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && sym->st_shndx != SHN_UNDEF &&
	       (sym->st_shndx < SHN_LORESERVE || sym->st_shndx == SHN_XINDEX);
}

static int add_symbol(struct symbols *s, Elf *elf, size_t strings, const GElf_Sym *sym, uint64_t section_end)
{
	const char *name = elf_strptr(elf, strings, sym->st_name);
	struct entry e = { .value = sym->st_value, .name = name };

	if (!name || !*name || sym->st_value >= section_end)
		return 0;
	e.local = GELF_ST_BIND(sym->st_info) == STB_LOCAL;
	e.sized = sym->st_size > 0;
	if (!e.sized)
		e.end = section_end; /* or the next one; known when all are there */
	else if (__builtin_add_overflow(sym->st_value, sym->st_size, &e.end))
		return 0;
	if (s->n == UINT32_MAX - 1)
		return 0;
	if (VEC_RESERVE(s->v, s->cap, s->n + 1) < 0)
		return -ENOMEM;
	s->v[s->n++] = e;
	return 0;
}

static int add_table(struct symbols *s, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, Elf_Data *extended,
		     const struct sections *sections)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t size = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT), n;

	if (!data || !size || data->d_size / size > INT32_MAX)
		return 0;
	n = data->d_size / size;
	for (size_t i = 1; i < n; i++) {
		GElf_Sym sym;
		Elf32_Word index = 0;
		int err;

		if (!gelf_getsymshndx(data, extended, (int)i, &sym, &index) || !is_function(&sym))
			continue;
		if (sym.st_shndx != SHN_XINDEX)
			index = sym.st_shndx;
		if (index >= sections->n)
			continue;
		err = add_symbol(s, elf, shdr->sh_link, &sym, sections->end[index]);
		if (err)
			return err;
	}
	return 0;
}

/* The SHT_SYMTAB_SHNDX data that belongs to the table at index; NULL: none. */
static Elf_Data *extended_indexes(Elf *elf, size_t index)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_SYMTAB_SHNDX && shdr.sh_link == index)
			return elf_getdata(scn, NULL);
	}
	return NULL;
}

static int read_tables(struct symbols *s, Elf *elf)
{
	_cleanup_(sections_done) struct sections sections = { 0 };
	int err = sections_read(elf, &sections);

	for (Elf_Scn *scn = NULL; !err && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || (shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM))
			continue;
		err = add_table(s, elf, scn, &shdr, extended_indexes(elf, elf_ndxscn(scn)), &sections);
	}
	return err;
}

/* Which of two names for one address a reader expects: see objfile_symbol(). */
static int by_preference(const struct entry *a, const struct entry *b)
{
	size_t an, bn;

	if (a->local != b->local)
		return a->local ? 1 : -1;
	an = strspn(a->name, "_");
	bn = strspn(b->name, "_");
	if (an != bn)
		return an < bn ? -1 : 1;
	an = strlen(a->name);
	bn = strlen(b->name);
	if (an != bn)
		return an < bn ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int by_address(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return by_preference(a, b);
}

/* One entry an address: the preferred name, with the longest extent that any of them states. */
static void merge_aliases(struct symbols *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct entry *e = &s->v[i], *first = n ? &s->v[n - 1] : NULL;

		if (!first || first->value != e->value) {
			s->v[n++] = *e;
		} else if (e->sized && (!first->sized || e->end > first->end)) {
			first->end = e->end;
			first->sized = true;
		}
	}
	s->n = n;
}

static void bound_and_nest(struct symbols *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct entry *e = &s->v[i];
		uint32_t up = (uint32_t)i;

		if (!e->sized && i + 1 < s->n && s->v[i + 1].value < e->end)
			e->end = s->v[i + 1].value;
		/* The one before, or of those that enclose it the first that reaches this far. */
		while (up && s->v[up - 1].end <= e->value)
			up = s->v[up - 1].up;
		e->up = up;
	}
}

int symbols_new(Elf *elf, struct symbols **ret)
{
	_cleanup_(symbols_freep) struct symbols *s = calloc(1, sizeof(*s));
	struct entry *fit;
	int err;

	if (!s)
		return -ENOMEM;
	err = read_tables(s, elf);
	if (err)
		return err;
	if (s->n) {
		qsort(s->v, s->n, sizeof(*s->v), by_address);
		merge_aliases(s);
		bound_and_nest(s);
		fit = realloc(s->v, s->n * sizeof(*fit));
		if (fit)
			s->v = fit;
	}
	*ret = TAKE_PTR(s);
	return 0;
}

int symbols_find(const struct symbols *s, uint64_t vaddr, struct objfile_symbol *ret)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->v[mid].value <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	while (lo && s->v[lo - 1].end <= vaddr)
		lo = s->v[lo - 1].up;
	if (!lo)
		return -ENOENT;
	*ret = (struct objfile_symbol){
		.name = s->v[lo - 1].name,
		.value = s->v[lo - 1].value,
		.size = s->v[lo - 1].end - s->v[lo - 1].value,
	};
	return 0;
}
