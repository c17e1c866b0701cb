/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A member may be inside another one without a name, in a base class, or in
 * what Go embeds, also by pointer. The nearest is meant: all of one level are
 * looked at before those below.
 */
#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "objfile/types.h"

#define GO_EMBEDDED 0x2903 /* DW_AT_go_embedded_field */
#define LEVELS_MAX 6

struct search {
	struct objfile_types *t;
	const char *name;
	struct steps steps;
	Dwarf_Die type; /* of what was found */
	unsigned int level; /* how many more to go down */
	struct bits bits;
	bool refused;
};

static bool search_in(struct search *s, Dwarf_Die *structure);

static bool is_transparent(Dwarf_Die *die, int tag)
{
	return tag == DW_TAG_inheritance || (tag == DW_TAG_member && (!die_name(die) || die_flag(die, GO_EMBEDDED)));
}

static bool step(struct search *s, uint64_t off, bool follow)
{
	if (s->steps.n == STEPS_MAX)
		return false;
	s->steps.v[s->steps.n].off = off;
	s->steps.v[s->steps.n].follow = follow;
	s->steps.n++;
	return true;
}

/* Into what is inside without a name of its own. */
static bool search_inside(struct search *s, Dwarf_Die *member, uint64_t off)
{
	Dwarf_Die type, peeled;
	size_t n = s->steps.n;
	bool follow, found;

	if (!type_of(member, &type) || !type_peel(&type, &peeled))
		return false;
	follow = type_is_pointer(&peeled);
	if (follow && (!type_of(&peeled, &type) || !type_peel(&type, &peeled)))
		return false;
	if (types_complete(s->t, &peeled) || !type_is_structure(&peeled) || !step(s, off, follow))
		return false;
	s->level--;
	found = search_in(s, &peeled);
	s->level++;
	if (!found)
		s->steps.n = n;
	return found;
}

/* As a part of the smallest number that has them all, at a multiple of its size if it can be: that crosses no page. */
static bool bits_place(int64_t begin, uint64_t n, uint64_t *ret_off, struct bits *ret)
{
	for (uint64_t bytes = 1; bytes <= 8; bytes *= 2) {
		uint64_t off = (uint64_t)begin / 8 / bytes * bytes, at = (uint64_t)begin - off * 8;

		if (at + n > bytes * 8)
			continue;
		*ret_off = off;
		*ret = (struct bits){ .n = (uint8_t)n, .at = (uint8_t)at, .bytes = (uint8_t)bytes };
		return true;
	}
	if (begin % 8 + (int64_t)n > 64)
		return false;
	*ret_off = (uint64_t)begin / 8;
	*ret = (struct bits){ .n = (uint8_t)n, .at = (uint8_t)(begin % 8), .bytes = 8 };
	return true;
}

/* The member that is meant. */
static bool take(struct search *s, Dwarf_Die *member, uint64_t off)
{
	uint64_t n;
	int64_t begin;

	if (!type_of(member, &s->type))
		return false;
	s->bits = (struct bits){ 0 };
	s->refused = false;
	if (member_bits(member, &s->type, &begin, &n))
		s->refused = !n || n > 64 || begin < 0 || !bits_place(begin, n, &off, &s->bits);
	return step(s, off, false);
}

static bool look_at(void *arg, Dwarf_Die *child)
{
	struct search *s = arg;
	int tag = dwarf_tag(child);
	const char *name;
	uint64_t off;

	/* Of what has variants (Rust's enum) all members are looked at. */
	if (tag == DW_TAG_variant_part || tag == DW_TAG_variant)
		return die_each_child(child, look_at, s);
	if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || !member_offset(child, &off))
		return false;
	name = tag == DW_TAG_member ? die_name(child) : NULL;
	if (!s->level) {
		if (!name || strcmp(name, s->name) || die_flag(child, DW_AT_external))
			return false;
		return take(s, child, off);
	}
	return is_transparent(child, tag) && search_inside(s, child, off);
}

static bool search_in(struct search *s, Dwarf_Die *structure)
{
	return die_each_child(structure, look_at, s);
}

int member_find(struct objfile_types *t, Dwarf_Die *type, const char *name, struct steps *ret, Dwarf_Die *ret_type)
{
	struct search s = { .t = t, .name = name };

	for (unsigned int level = 0; level < LEVELS_MAX; level++) {
		s.level = level;
		s.steps.n = 0;
		if (!search_in(&s, type))
			continue;
		if (s.refused)
			return -ENOTSUP;
		*ret = s.steps;
		ret->bits = s.bits;
		*ret_type = s.type;
		return 0;
	}
	return -ENOENT;
}
