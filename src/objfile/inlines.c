/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A probe on a function misses the calls whose code was put into the caller, so
 * who asks for one is told how many such there are. Debug information has an
 * entry for each, within the function that it is in; Go's tables an entry of
 * the inline tree.
 */
#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "objfile/go.h"
#include "objfile/types.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/strtab.h"
#include "util/vec.h"

#define DEPTH_MAX 128

struct objfile_inlines {
	struct objfile_inline *v; /* by name */
	size_t n, cap;
	struct strtab *strings;
	struct map *by_linkage; /* id of a linkage name -> index */
};

DEFINE_CLEANUP(struct objfile_inlines *, objfile_inlines_free)

struct objfile_inlines *objfile_inlines_free(struct objfile_inlines *x)
{
	if (!x)
		return NULL;
	free(x->v);
	strtab_free(x->strings);
	map_free(x->by_linkage);
	free(x);
	return NULL;
}

/* While they are counted: by what tells functions apart, an entry's offset or a name's id, index of v. */
struct count {
	struct objfile_inlines *x;
	struct map *of;
	unsigned int depth;
	int err;
};

static void count_done(struct count *c)
{
	map_free(c->of);
}

static int add(struct count *c, uint64_t key, const char *name, const char *linkage)
{
	struct objfile_inlines *x = c->x;
	struct objfile_inline e = { .site_n = 1 };
	uint32_t id;
	int err;

	if (VEC_RESERVE(x->v, x->cap, x->n + 1) < 0)
		return -ENOMEM;
	err = strtab_intern(x->strings, name, &id);
	if (err)
		return err;
	e.name = strtab_str(x->strings, id);
	if (linkage) {
		err = strtab_intern(x->strings, linkage, &id);
		if (err)
			return err;
		e.linkage = strtab_str(x->strings, id);
	}
	err = map_put(c->of, key, x->n);
	if (!err)
		x->v[x->n++] = e;
	return err;
}

static const char *linkage_name(Dwarf_Die *die)
{
	static const unsigned int names[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		Dwarf_Attribute attr;
		const char *name = dwarf_formstring(dwarf_attr_integrate(die, names[i], &attr));

		if (name && *name)
			return name;
	}
	return NULL;
}

/* What is described but has no code, as in a function that the linker has thrown away, is no site. */
static bool has_code(Dwarf_Die *die)
{
	Dwarf_Addr base, lo, hi;

	return dwarf_ranges(die, 0, &base, &lo, &hi) > 0 && lo;
}

static int count_site(struct count *c, Dwarf_Die *site)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;
	const char *name;
	uint64_t at, key;

	if (!has_code(site) || !dwarf_attr(site, DW_AT_abstract_origin, &attr) || !dwarf_formref_die(&attr, &origin))
		return 0;
	/* It may be in the file that this one shares contents with. */
	key = dwarf_dieoffset(&origin) << 1 | (dwarf_cu_getdwarf(origin.cu) != dwarf_cu_getdwarf(site->cu));
	if (map_get(c->of, key, &at)) {
		c->x->v[at].site_n++;
		return 0;
	}
	name = die_name(&origin);
	return name ? add(c, key, name, linkage_name(&origin)) : 0;
}

static bool visit(void *arg, Dwarf_Die *die)
{
	struct count *c = arg;

	switch (dwarf_tag(die)) {
	case DW_TAG_inlined_subroutine:
		c->err = count_site(c, die);
		break;
	case DW_TAG_subprogram: case DW_TAG_lexical_block: case DW_TAG_namespace: case DW_TAG_module:
	case DW_TAG_structure_type: case DW_TAG_class_type: case DW_TAG_try_block: case DW_TAG_catch_block:
		break;
	default:
		return false;
	}
	if (!c->err && c->depth < DEPTH_MAX) {
		c->depth++;
		die_each_child(die, visit, c);
		c->depth--;
	}
	return c->err != 0;
}

static int count_in_units(struct count *c, struct objfile_types *types)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die die;

	while (!c->err && !dwarf_get_units(types->image.dwarf, cu, &cu, &version, &type, &die, NULL))
		die_each_child(&die, visit, c);
	return c->err;
}

/* go_trees_each() gives one entry of a function's tree after the other. */
static int count_go(void *arg, const char *name)
{
	struct count *c = arg;
	uint32_t id;
	uint64_t at;
	int err = strtab_intern(c->x->strings, name, &id);

	if (err)
		return err;
	if (map_get(c->of, id, &at)) {
		c->x->v[at].site_n++;
		return 0;
	}
	return add(c, id, name, NULL);
}

static int by_name(const void *pa, const void *pb)
{
	const struct objfile_inline *a = pa, *b = pb;
	int order = strcmp(a->name, b->name);

	return order ? order : strcmp(a->linkage ? a->linkage : "", b->linkage ? b->linkage : "");
}

/* A function that several units have inlined is described in each: what has the same names is one. */
static int finish(struct objfile_inlines *x)
{
	size_t n = 0;
	int err = map_new(&x->by_linkage);

	if (x->n)
		qsort(x->v, x->n, sizeof(*x->v), by_name);
	for (size_t i = 0; i < x->n; i++) {
		if (n && !by_name(&x->v[n - 1], &x->v[i]))
			x->v[n - 1].site_n += x->v[i].site_n;
		else
			x->v[n++] = x->v[i];
	}
	x->n = n;
	for (size_t i = 0; !err && i < n; i++)
		if (x->v[i].linkage)
			err = map_put(x->by_linkage, strtab_find(x->strings, x->v[i].linkage), i);
	return err;
}

int objfile_inlines_new(struct objfile_types *types, const struct objfile_go *go, struct objfile_inlines **ret)
{
	_cleanup_(objfile_inlines_freep) struct objfile_inlines *x = calloc(1, sizeof(*x));
	_cleanup_(count_done) struct count c = { .x = x };
	int err = x ? strtab_new(&x->strings) : -ENOMEM;

	if (!err)
		err = map_new(&c.of);
	if (!err)
		err = go ? go_trees_each(go, count_go, &c) : count_in_units(&c, types);
	if (!err)
		err = finish(x);
	if (err)
		return err;
	*ret = TAKE_PTR(x);
	return 0;
}

size_t objfile_inlines_all(const struct objfile_inlines *x, const struct objfile_inline **ret)
{
	*ret = x->v;
	return x->n;
}

uint32_t objfile_inlines_n(const struct objfile_inlines *x, const char *name)
{
	size_t lo = 0, hi = x->n;
	uint32_t n = 0;
	uint64_t at;

	if (map_get(x->by_linkage, strtab_find(x->strings, name), &at))
		return x->v[at].site_n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(x->v[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < x->n && !strcmp(x->v[lo].name, name); lo++)
		n += x->v[lo].site_n;
	return n;
}
