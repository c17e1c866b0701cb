/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * symbols.c keeps one name an address, which is what a stack needs. Who looks
 * for functions by name needs them all, with what would make a probe miss:
 * imports, resolvers, versions. It is read when probes are resolved and thrown
 * away then, so nothing here is small.
 *
 * .dynsym has versions in tables beside it; in .symtab linkers append them to
 * the name: name@@VERSION for the one that programs get, name@VERSION.
 */
#include <errno.h>
#include <string.h>

#include "objfile/minidebug.h"
#include "objfile/objfile.h"
#include "objfile/symbols.h"
#include "objfile/versions.h"
#include "util/cleanup.h"
#include "util/strtab.h"
#include "util/vec.h"

struct objfile_names {
	struct objfile_name *v; /* by name */
	size_t n, cap;
	uint32_t *by_vaddr; /* indexes of those that are not imported */
	size_t by_vaddr_n;
	struct strtab *strings;
};

DEFINE_CLEANUP(struct objfile_names *, objfile_names_free)
DEFINE_CLEANUP(struct objfile *, objfile_free)

struct objfile_names *objfile_names_free(struct objfile_names *n)
{
	if (!n)
		return NULL;
	free(n->v);
	free(n->by_vaddr);
	strtab_free(n->strings);
	free(n);
	return NULL;
}

static bool is_wanted(const GElf_Sym *sym)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info);

	/* Of what another file has not all linkers tell what it is. */
	if (sym->st_shndx == SHN_UNDEF)
		return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
	return (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       (sym->st_shndx < SHN_LORESERVE || sym->st_shndx == SHN_XINDEX);
}

static int intern(struct objfile_names *names, const char *s, size_t n, const char **ret)
{
	uint32_t id;
	int err = strtab_intern_n(names->strings, s, n, &id);

	if (!err)
		*ret = strtab_str(names->strings, id);
	return err;
}

/* A name, maybe with its version. */
static int add_name(struct objfile_names *names, const char *text, struct objfile_name *e)
{
	size_t n = strcspn(text, "@");
	const char *version = text[n] && n ? text + n + 1 : NULL;
	int err;

	if (!n)
		n = strlen(text);
	if (version && !e->version) {
		e->old_version = !e->imported && *version != '@';
		version += *version == '@';
		e->version = *version ? version : NULL;
	}
	err = intern(names, text, n, &e->name);
	if (!err && e->version)
		err = intern(names, e->version, strlen(e->version), &e->version);
	if (!err && names->n == UINT32_MAX - 1)
		err = -EFBIG;
	if (!err)
		err = VEC_RESERVE(names->v, names->cap, names->n + 1);
	if (!err)
		names->v[names->n++] = *e;
	return err;
}

static int add_table(struct objfile_names *names, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	_cleanup_(versions_done) struct versions versions = { 0 };
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t size = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	int err = 0;

	if (!data || !size || data->d_size / size > INT32_MAX)
		return 0;
	if (shdr->sh_type == SHT_DYNSYM)
		err = versions_read(elf, &versions);
	for (size_t i = 1; !err && i < data->d_size / size; i++) {
		struct objfile_name e = { 0 };
		const char *text;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) || !is_wanted(&sym))
			continue;
		text = elf_strptr(elf, shdr->sh_link, sym.st_name);
		if (!text || !*text)
			continue;
		e.imported = sym.st_shndx == SHN_UNDEF;
		e.vaddr = e.imported ? 0 : sym.st_value;
		e.size = e.imported ? 0 : sym.st_size;
		e.local = GELF_ST_BIND(sym.st_info) == STB_LOCAL;
		e.ifunc = GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC;
		versions_of(&versions, i, &e.version, &e.old_version);
		err = add_name(names, text, &e);
	}
	return err;
}

static int add_tables(struct objfile_names *names, struct objfile *o)
{
	Elf *elf = o ? objfile_elf(o) : NULL;
	int err = 0;

	for (Elf_Scn *scn = NULL; elf && !err && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) && (shdr.sh_type == SHT_SYMTAB || shdr.sh_type == SHT_DYNSYM))
			err = add_table(names, elf, scn, &shdr);
	}
	return err;
}

static int by_name(const void *pa, const void *pb)
{
	const struct objfile_name *a = pa, *b = pb;
	int order = a->name == b->name ? 0 : strcmp(a->name, b->name);

	if (!order && a->version != b->version)
		order = strcmp(a->version ? a->version : "", b->version ? b->version : "");
	if (!order && a->vaddr != b->vaddr)
		order = a->vaddr < b->vaddr ? -1 : 1;
	return order ? order : a->local - b->local;
}

/* Is e, of n others with its name, told better by one of them? */
static bool is_told(const struct objfile_name *v, size_t n, const struct objfile_name *e)
{
	for (size_t i = 0; i < n; i++) {
		const struct objfile_name *other = &v[i];

		if (other == e || other->vaddr != e->vaddr || other->imported != e->imported)
			continue;
		if (other->version && !e->version)
			return true;
		/* As static too, or once more: the first is kept. */
		if (other->version == e->version && other < e)
			return true;
	}
	return false;
}

/* Static functions of one name are many in some programs: all of one address lie side by side, after sorting. */
#define SAME_MAX 64

static int merge(struct objfile_names *names)
{
	_cleanup_(freep) bool *told = calloc(names->n + 1, sizeof(*told));
	size_t kept = 0, same;

	if (!told)
		return -ENOMEM;
	if (names->n)
		qsort(names->v, names->n, sizeof(*names->v), by_name);
	for (size_t i = 0; i < names->n; i += same) {
		for (same = 1; i + same < names->n && names->v[i + same].name == names->v[i].name; same++)
			;
		for (size_t k = 0; k < same; k++) {
			size_t from = same <= SAME_MAX || !k ? 0 : k - 1, n = same <= SAME_MAX ? same : k - from;

			told[i + k] = is_told(&names->v[i + from], n, &names->v[i + k]);
		}
	}
	for (size_t i = 0; i < names->n; i++)
		if (!told[i])
			names->v[kept++] = names->v[i];
	names->n = kept;
	return 0;
}

static int by_vaddr(const void *pa, const void *pb, void *arg)
{
	const struct objfile_names *names = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	if (names->v[a].vaddr != names->v[b].vaddr)
		return names->v[a].vaddr < names->v[b].vaddr ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int index_addresses(struct objfile_names *names)
{
	names->by_vaddr = malloc((names->n + 1) * sizeof(*names->by_vaddr));
	if (!names->by_vaddr)
		return -ENOMEM;
	for (size_t i = 0; i < names->n; i++)
		if (!names->v[i].imported)
			names->by_vaddr[names->by_vaddr_n++] = (uint32_t)i;
	qsort_r(names->by_vaddr, names->by_vaddr_n, sizeof(*names->by_vaddr), by_vaddr, names);
	return 0;
}

int objfile_names_new(struct objfile *o, struct objfile *debug, struct objfile_names **ret)
{
	_cleanup_(objfile_names_freep) struct objfile_names *names = calloc(1, sizeof(*names));
	_cleanup_(objfile_freep) struct objfile *mini = NULL;
	_cleanup_(freep) void *image = NULL;
	size_t image_n;
	int err;

	if (!objfile_elf(o))
		return -EBADF;
	err = names ? strtab_new(&names->strings) : -ENOMEM;
	if (err)
		return err;
	if (!objfile_has_symtab(o) && !(debug && objfile_has_symtab(debug)) &&
	    !minidebug_read(objfile_elf(o), &image, &image_n) && objfile_open_memory(image, image_n, &mini))
		mini = NULL;
	err = add_tables(names, o);
	if (!err)
		err = add_tables(names, debug);
	if (!err)
		err = add_tables(names, mini);
	if (!err)
		err = merge(names);
	if (!err)
		err = index_addresses(names);
	if (err)
		return err;
	*ret = TAKE_PTR(names);
	return 0;
}

size_t objfile_names_all(const struct objfile_names *names, const struct objfile_name **ret)
{
	*ret = names->v;
	return names->n;
}

size_t objfile_names_find(const struct objfile_names *names, const char *name, const struct objfile_name **ret)
{
	size_t lo = 0, hi = names->n, n = 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(names->v[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	while (lo + n < names->n && !strcmp(names->v[lo + n].name, name))
		n++;
	if (n)
		*ret = &names->v[lo];
	return n;
}

const struct objfile_name *objfile_names_at(const struct objfile_names *names, uint64_t vaddr, size_t i)
{
	size_t lo = 0, hi = names->by_vaddr_n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (names->v[names->by_vaddr[mid]].vaddr < vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (i >= names->by_vaddr_n - lo || names->v[names->by_vaddr[lo + i]].vaddr != vaddr)
		return NULL;
	return &names->v[names->by_vaddr[lo + i]];
}
