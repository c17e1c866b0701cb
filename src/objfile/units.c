/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * libdw finds a unit by .debug_aranges, which not all compilers write, and in
 * a unit the scopes of an address by walking through all of its entries, for
 * each address anew: 10 ms in a big C++ unit. Here a unit is walked once, and
 * only its functions are kept. Units without .debug_aranges are found by the
 * ranges that they state themselves.
 *
 * Functions that a linker has thrown away are still described, at address 0:
 * no code is there.
 */
#include "objfile/units.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

#define DEPTH_MAX 32	/* of entries that can have functions inside */
#define BACK_MAX 64	/* how many starts before an address may reach over it */
#define UNIT_BYTES 4096 /* what libdw keeps of a unit, about, without lines */
#define LINE_BYTES 64	/* and of a line */

struct range {
	uint64_t lo, hi;
	Dwarf_Off die;
};

struct ranges {
	struct range *v;
	size_t n, cap;
};

struct units {
	Dwarf *dwarf;
	struct ranges all; /* of units */
	bool all_read;
	struct map *functions; /* offset of a unit's entry -> struct ranges */
	size_t bytes;
};

DEFINE_CLEANUP(struct units *, units_free)

static struct ranges *ranges_free(struct ranges *r)
{
	if (!r)
		return NULL;
	free(r->v);
	free(r);
	return NULL;
}
DEFINE_CLEANUP(struct ranges *, ranges_free)

int units_new(Dwarf *dwarf, struct units **ret)
{
	_cleanup_(units_freep) struct units *u = calloc(1, sizeof(*u));
	int err = u ? map_new(&u->functions) : -ENOMEM;

	if (err)
		return err;
	u->dwarf = dwarf;
	*ret = TAKE_PTR(u);
	return 0;
}

struct units *units_free(struct units *u)
{
	uint64_t key, r;

	if (!u)
		return NULL;
	for (size_t at = 0; u->functions && map_next(u->functions, &at, &key, &r);)
		ranges_free((struct ranges *)(uintptr_t)r);
	map_free(u->functions);
	free(u->all.v);
	free(u);
	return NULL;
}

size_t units_bytes(const struct units *u)
{
	return u->bytes;
}

/* Adds the code of an entry. */
static int add_ranges(struct ranges *r, Dwarf_Die *die)
{
	Dwarf_Addr base, lo, hi;

	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0;) {
		if (!lo || hi <= lo)
			continue;
		if (VEC_RESERVE(r->v, r->cap, r->n + 1) < 0)
			return -ENOMEM;
		r->v[r->n++] = (struct range){ lo, hi, dwarf_dieoffset(die) };
	}
	return 0;
}

/* So that, going back from an address, the innermost comes first. */
static int by_nesting(const void *pa, const void *pb)
{
	const struct range *a = pa, *b = pb;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	if (a->hi != b->hi)
		return a->hi > b->hi ? -1 : 1;
	return a->die > b->die ? -1 : a->die < b->die;
}

static void ranges_finish(struct units *u, struct ranges *r)
{
	struct range *fit;

	if (!r->n)
		return;
	qsort(r->v, r->n, sizeof(*r->v), by_nesting);
	fit = realloc(r->v, r->n * sizeof(*fit));
	if (fit) {
		r->v = fit;
		r->cap = r->n;
	}
	u->bytes += r->n * sizeof(*fit);
}

/* The innermost range with vaddr; NULL: none. */
static const struct range *ranges_find(const struct ranges *r, uint64_t vaddr)
{
	size_t lo = 0, hi = r->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->v[mid].lo <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t back = 0; back < lo && back < BACK_MAX; back++)
		if (vaddr < r->v[lo - 1 - back].hi)
			return &r->v[lo - 1 - back];
	return NULL;
}

/* Can it have code of functions inside that is not its own, or be one? */
static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram: case DW_TAG_namespace: case DW_TAG_module: case DW_TAG_class_type:
	case DW_TAG_structure_type: case DW_TAG_union_type: case DW_TAG_lexical_block: case DW_TAG_enumeration_type:
		return true;
	}
	return false;
}

/*
 * The functions among the entries below die. Entries come in the order of the
 * file; in a damaged one a sibling may lie before, and the walk has no end.
 */
static int add_functions(struct ranges *r, Dwarf_Die *die, Dwarf_Off *last, unsigned int depth)
{
	Dwarf_Die child;
	int err = 0;

	if (depth > DEPTH_MAX || dwarf_child(die, &child))
		return 0;
	do {
		int tag = dwarf_tag(&child);

		if (dwarf_dieoffset(&child) <= *last)
			break;
		*last = dwarf_dieoffset(&child);
		if (tag == DW_TAG_subprogram)
			err = add_ranges(r, &child);
		if (!err && may_hold_functions(tag))
			err = add_functions(r, &child, last, depth + 1);
	} while (!err && !dwarf_siblingof(&child, &child));
	return err;
}

static int functions_of(struct units *u, Dwarf_Die *unit, const struct ranges **ret)
{
	_cleanup_(ranges_freep) struct ranges *r = map_get_ptr(u->functions, dwarf_dieoffset(unit));
	Dwarf_Lines *lines;
	Dwarf_Off last;
	size_t line_n;
	int err;

	if (r) {
		*ret = TAKE_PTR(r);
		return 0;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	last = dwarf_dieoffset(unit);
	err = add_functions(r, unit, &last, 0);
	if (!err)
		err = map_put_ptr(u->functions, dwarf_dieoffset(unit), r);
	if (err)
		return err;
	ranges_finish(u, r);
	if (!dwarf_getsrclines(unit, &lines, &line_n))
		u->bytes += line_n * LINE_BYTES;
	u->bytes += UNIT_BYTES;
	*ret = TAKE_PTR(r);
	return 0;
}

static bool has_name(Dwarf_Die *die, const char *name)
{
	const char *its = units_function_name(die);

	return its && !strcmp(its, name);
}

static int function_in(struct units *u, Dwarf_Die *unit, uint64_t vaddr, const char *prefer, Dwarf_Die *ret)
{
	const struct ranges *functions;
	const struct range *r, *same;
	Dwarf_Die die;
	int err = functions_of(u, unit, &functions);

	if (err)
		return err;
	r = ranges_find(functions, vaddr);
	if (!r || !dwarf_offdie(u->dwarf, r->die, &die))
		return -ENOENT;
	for (same = r - 1; prefer && !has_name(&die, prefer) && same >= functions->v && same->lo == r->lo &&
	     same->hi == r->hi; same--) {
		Dwarf_Die other;

		if (!dwarf_offdie(u->dwarf, same->die, &other) || !has_name(&other, prefer))
			continue;
		die = other;
		break;
	}
	*ret = die;
	return 0;
}

static bool unit_by_aranges(struct units *u, uint64_t vaddr, Dwarf_Die *ret)
{
	Dwarf_Aranges *aranges;
	Dwarf_Arange *arange;
	Dwarf_Off offset;
	size_t n;

	if (dwarf_getaranges(u->dwarf, &aranges, &n) || !n)
		return false;
	arange = dwarf_getarange_addr(aranges, vaddr);
	return arange && !dwarf_getarangeinfo(arange, NULL, NULL, &offset) && dwarf_offdie(u->dwarf, offset, ret);
}

static int read_all(struct units *u)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die die;

	u->all_read = true;
	while (!dwarf_get_units(u->dwarf, cu, &cu, &version, &type, &die, NULL)) {
		int err = type == DW_UT_compile || type == DW_UT_skeleton ? add_ranges(&u->all, &die) : 0;

		if (err)
			return err;
	}
	ranges_finish(u, &u->all);
	return 0;
}

static int unit_by_itself(struct units *u, uint64_t vaddr, Dwarf_Die *ret)
{
	const struct range *r;
	int err = u->all_read ? 0 : read_all(u);

	if (err)
		return err;
	r = ranges_find(&u->all, vaddr);
	return r && dwarf_offdie(u->dwarf, r->die, ret) ? 0 : -ENOENT;
}

int units_find(struct units *u, uint64_t vaddr, const char *prefer, Dwarf_Die *ret_unit, Dwarf_Die *ret_function,
	       bool *ret_has_function)
{
	Dwarf_Die unit, other, function;
	bool listed = unit_by_aranges(u, vaddr, &unit);
	int err = listed ? function_in(u, &unit, vaddr, prefer, &function) : -ENOENT;

	/* What is listed may be a function thrown away. */
	if (err == -ENOENT && !unit_by_itself(u, vaddr, &other)) {
		err = function_in(u, &other, vaddr, prefer, &function);
		if (!err || !listed)
			unit = other;
		listed = true;
	}
	if (!listed || (err && err != -ENOENT))
		return err;
	*ret_unit = unit;
	*ret_has_function = !err;
	if (!err)
		*ret_function = function;
	return 0;
}

const char *units_function_name(Dwarf_Die *die)
{
	static const unsigned int names[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		Dwarf_Attribute attr;
		const char *name = dwarf_formstring(dwarf_attr_integrate(die, names[i], &attr));

		if (name && *name)
			return name;
	}
	return NULL;
}
