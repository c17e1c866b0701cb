/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Big programs have a million symbols. While tables are read, names stay where
 * libelf has them; what is kept, one entry of 24 bytes an address, has copies
 * of its names, so that file and string tables (which name variables too, and
 * each version of a name) can go. An entry knows the one that encloses it (up):
 * a lookup is one binary search and a few steps up, also where functions lie
 * inside another one's extent.
 */
#include "objfile/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "objfile/plt.h"
#include "util/cleanup.h"
#include "util/text.h"
#include "util/vec.h"

/* As read. */
struct raw {
	uint64_t value, end;
	const char *name;
	uint32_t name_n; /* without @VERSION */
	uint32_t alias_n : 30;
	uint32_t local : 1;
	uint32_t sized : 1;
};

/* As kept. */
struct entry {
	uint64_t value;
	uint32_t size;
	uint32_t name; /* offset in names */
	uint32_t up;   /* 1 + index of the nearest entry before that reaches beyond value; 0: none */
	uint32_t alias_n;
};

struct symbols {
	struct entry *v;
	size_t n;
	char *names;
	size_t names_n;
	bool static_known;
};

struct table {
	struct raw *v;
	size_t n, cap;
	char **made; /* names that are in no file */
	size_t made_n, made_cap;
};

DEFINE_CLEANUP(struct symbols *, symbols_free)

struct symbols *symbols_free(struct symbols *s)
{
	if (!s)
		return NULL;
	free(s->v);
	free(s->names);
	free(s);
	return NULL;
}

static void table_done(struct table *t)
{
	for (size_t i = 0; i < t->made_n; i++)
		free(t->made[i]);
	free(t->made);
	free(t->v);
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

/* How much of a name is the function's: the version that linkers append (name@@VERSION) isn't. */
static size_t plain_len(const char *name)
{
	size_t n = strcspn(name, "@");

	return n ? n : strlen(name);
}

static int add_symbol(struct table *t, Elf *elf, size_t strings, const GElf_Sym *sym, uint64_t section_end)
{
	const char *name = elf_strptr(elf, strings, sym->st_name);
	struct raw e = { .value = sym->st_value, .name = name };
	size_t name_n;

	if (!name || !*name || sym->st_value >= section_end)
		return 0;
	name_n = plain_len(name);
	e.name_n = name_n > UINT32_MAX ? UINT32_MAX : (uint32_t)name_n;
	e.local = GELF_ST_BIND(sym->st_info) == STB_LOCAL;
	e.sized = sym->st_size > 0;
	if (!e.sized)
		e.end = section_end; /* or the next one; known when all are there */
	else if (__builtin_add_overflow(sym->st_value, sym->st_size, &e.end))
		return 0;
	if (t->n == UINT32_MAX - 1)
		return 0;
	if (VEC_RESERVE(t->v, t->cap, t->n + 1) < 0)
		return -ENOMEM;
	t->v[t->n++] = e;
	return 0;
}

static int add_table(struct table *t, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, Elf_Data *extended,
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
		err = add_symbol(t, elf, shdr->sh_link, &sym, sections->end[index]);
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

static int read_tables(struct table *t, Elf *elf)
{
	_cleanup_(sections_done) struct sections sections = { 0 };
	int err = sections_read(elf, &sections);

	for (Elf_Scn *scn = NULL; !err && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || (shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM))
			continue;
		err = add_table(t, elf, scn, &shdr, extended_indexes(elf, elf_ndxscn(scn)), &sections);
	}
	return err;
}

/* A stub is called as disassemblers do: puts@plt. */
static int add_stub(void *arg, uint64_t start, uint64_t len, const char *name)
{
	struct table *t = arg;
	struct raw e = { .value = start, .end = start + len, .sized = 1 };
	char *made;

	if (e.end < start || t->n == UINT32_MAX - 1)
		return 0;
	if (VEC_RESERVE(t->v, t->cap, t->n + 1) < 0 || VEC_RESERVE(t->made, t->made_cap, t->made_n + 1) < 0)
		return -ENOMEM;
	made = text_format("%s@plt", name);
	if (!made)
		return -ENOMEM;
	t->made[t->made_n++] = made;
	e.name = made;
	e.name_n = (uint32_t)strlen(made);
	t->v[t->n++] = e;
	return 0;
}

bool symbols_has_symtab(Elf *elf)
{
	for (Elf_Scn *scn = NULL; elf && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_SYMTAB && shdr.sh_size)
			return true;
	}
	return false;
}

static uint32_t underscores(const struct raw *e)
{
	uint32_t n = 0;

	while (n < e->name_n && e->name[n] == '_')
		n++;
	return n;
}

/* Which of two names a reader expects, were both local or not: see objfile_symbol(). 0: the same. */
static int by_name(const struct raw *a, const struct raw *b)
{
	uint32_t an = underscores(a), bn = underscores(b);

	if (an != bn)
		return an < bn ? -1 : 1;
	if (a->name_n != b->name_n)
		return a->name_n < b->name_n ? -1 : 1;
	return memcmp(a->name, b->name, a->name_n);
}

static int by_address(const void *pa, const void *pb)
{
	const struct raw *a = pa, *b = pb;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	if (a->local != b->local)
		return a->local ? 1 : -1;
	return by_name(a, b);
}

/* Is the name of e, of this address, among those of n others of it, which are sorted? */
static bool name_among(const struct raw *v, size_t n, const struct raw *e)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int order = by_name(&v[mid], e);

		if (!order)
			return true;
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

static void cut_front(struct raw *e, uint32_t n)
{
	e->name += n;
	e->name_n -= n;
}

/* A name without what libraries put in front of it for another binding: of __read and __GI___libc_read it is read. */
static struct raw without_prefix(const struct raw *e)
{
	static const char *const marks[] = { "GI_", "IO_", "libc_", "new_" }; /* in the order in which they are found */
	struct raw rest = { .name = e->name, .name_n = e->name_n };
	bool marked = underscores(e);

	cut_front(&rest, underscores(&rest));
	for (size_t i = 0; marked && i < sizeof(marks) / sizeof(*marks); i++) {
		uint32_t n = (uint32_t)strlen(marks[i]);

		if (rest.name_n < n || memcmp(rest.name, marks[i], n))
			continue;
		cut_front(&rest, n);
		cut_front(&rest, underscores(&rest));
	}
	return rest;
}

/* Of a function for wide offsets or times, that of the one which is the same where these are wide anyway. */
static struct raw without_64(struct raw e)
{
	if (e.name_n > 2 && !memcmp(e.name + e.name_n - 2, "64", 2))
		e.name_n -= 2;
	return e;
}

bool objfile_names_alike(const char *a, const char *b)
{
	struct raw x = { .name = a, .name_n = (uint32_t)strlen(a) }, y = { .name = b, .name_n = (uint32_t)strlen(b) };

	x = without_64(without_prefix(&x));
	y = without_64(without_prefix(&y));
	return !by_name(&x, &y);
}

/*
 * Of n entries of one address, the preferred first: how many names there are beside that one's. Other spellings of it
 * tell nobody anything: in libc every other function has some.
 */
static uint32_t count_aliases(const struct raw *v, size_t n)
{
	struct raw name = without_prefix(&v[0]);
	size_t global_n = 0, names = 0;

	while (global_n < n && !v[global_n].local)
		global_n++;
	for (size_t i = 1; i < n; i++) {
		bool again = v[i].local == v[i - 1].local && !by_name(&v[i], &v[i - 1]);
		struct raw other = without_prefix(&v[i]);

		/* .symtab and .dynsym have the same symbols, files name one function both static and not. */
		if (!again && by_name(&name, &other) && !(v[i].local && name_among(v, global_n, &v[i])))
			names++;
	}
	return (uint32_t)names;
}

/* One entry an address: the preferred name, with the longest extent that any of them states. */
static void merge_aliases(struct table *t)
{
	size_t kept = 0, same;

	for (size_t i = 0; i < t->n; i += same) {
		struct raw one = t->v[i];

		for (same = 1; i + same < t->n && t->v[i + same].value == one.value; same++) {
			const struct raw *e = &t->v[i + same];

			if (e->sized && (!one.sized || e->end > one.end)) {
				one.end = e->end;
				one.sized = true;
			}
		}
		one.alias_n = count_aliases(&t->v[i], same) & ((1u << 30) - 1);
		t->v[kept++] = one;
	}
	t->n = kept;
}

/* Into s, which has room for all of them. */
static void keep(struct symbols *s, struct table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct raw *e = &t->v[i];
		struct entry *to = &s->v[i];
		uint32_t up = (uint32_t)i;

		if (!e->sized && i + 1 < t->n && t->v[i + 1].value < e->end)
			e->end = t->v[i + 1].value;
		/* The one before, or of those that enclose it the first that reaches this far. */
		while (up && t->v[up - 1].end <= e->value)
			up = s->v[up - 1].up;
		to->value = e->value;
		to->size = e->end - e->value > UINT32_MAX ? UINT32_MAX : (uint32_t)(e->end - e->value);
		to->up = up;
		to->alias_n = e->alias_n;
		to->name = (uint32_t)s->names_n;
		memcpy(s->names + s->names_n, e->name, e->name_n);
		s->names[s->names_n + e->name_n] = '\0';
		s->names_n += e->name_n + 1;
	}
	s->n = t->n;
}

static int symbols_build(struct symbols *s, struct table *t)
{
	size_t names_n = 0;

	if (!t->n)
		return 0;
	qsort(t->v, t->n, sizeof(*t->v), by_address);
	for (size_t i = 0; i < t->n; i++)
		s->static_known |= t->v[i].local;
	merge_aliases(t);
	for (size_t i = 0; i < t->n; i++)
		names_n += t->v[i].name_n + 1;
	if (names_n > UINT32_MAX)
		return -EFBIG;
	s->v = malloc(t->n * sizeof(*s->v));
	s->names = malloc(names_n);
	if (!s->v || !s->names)
		return -ENOMEM;
	keep(s, t);
	return 0;
}

int symbols_new(Elf *const *elfs, size_t n, struct symbols **ret)
{
	_cleanup_(symbols_freep) struct symbols *s = calloc(1, sizeof(*s));
	_cleanup_(table_done) struct table t = { 0 };
	int err = s ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < n; i++) {
		if (!elfs[i])
			continue;
		err = read_tables(&t, elfs[i]);
		if (!err)
			err = plt_each(elfs[i], add_stub, &t);
	}
	if (!err)
		err = symbols_build(s, &t);
	if (err)
		return err;
	*ret = TAKE_PTR(s);
	return 0;
}

bool symbols_static_known(const struct symbols *s)
{
	return s->static_known;
}

size_t symbols_bytes(const struct symbols *s)
{
	return sizeof(*s) + s->n * sizeof(*s->v) + s->names_n;
}

/* value + size can't overflow here: it was checked when the entry was read. */
static uint64_t end_of(const struct entry *e)
{
	return e->value + e->size;
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
	while (lo && end_of(&s->v[lo - 1]) <= vaddr)
		lo = s->v[lo - 1].up;
	if (!lo)
		return -ENOENT;
	*ret = (struct objfile_symbol){
		.name = s->names + s->v[lo - 1].name,
		.value = s->v[lo - 1].value,
		.size = s->v[lo - 1].size,
		.alias_n = s->v[lo - 1].alias_n,
	};
	return 0;
}
