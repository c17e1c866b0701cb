/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Itanium C++ ABI 1.1, "non-trivial for the purposes of calls": a class with a
 * destructor, or a constructor that copies or moves, that does more than the
 * members' own, or of which a member or base class is such. Few compilers state
 * it (DW_AT_calling_convention), but all tell the functions that a class
 * declares. Those that the compiler makes are marked, if they are told at all.
 */
#include <dwarf.h>
#include <string.h>

#include "objfile/types.h"

#define DEPTH_MAX 16

/* DWARF 5 */
#define PASS_BY_REFERENCE 4
#define PASS_BY_VALUE 5

struct look {
	struct objfile_types *t;
	Dwarf_Die *class;
	const char *name; /* of the class, without template arguments */
	size_t name_n;
	unsigned int depth;
};

struct parameters {
	struct look *look;
	size_t n;
	bool copies; /* the second is a reference to the class */
};

static bool is_class(struct look *l, Dwarf_Die *type)
{
	Dwarf_Die peeled;

	return type_peel(type, &peeled) && type_is_structure(&peeled) &&
	       dwarf_dieoffset(&peeled) == dwarf_dieoffset(l->class);
}

static bool look_at_parameter(void *arg, Dwarf_Die *child)
{
	struct parameters *p = arg;
	Dwarf_Die type, of;

	if (dwarf_tag(child) != DW_TAG_formal_parameter)
		return false;
	p->n++;
	if (p->n == 2 && type_of(child, &type) && dwarf_tag(&type) != DW_TAG_pointer_type && type_is_pointer(&type) &&
	    type_of(&type, &of))
		p->copies = is_class(p->look, &of);
	return false;
}

static bool is_made(Dwarf_Die *function)
{
	uint64_t unused;

	return die_flag(function, DW_AT_artificial) || die_number(function, DW_AT_defaulted, &unused) ||
	       die_flag(function, DW_AT_deleted);
}

static bool is_non_trivial_function(struct look *l, Dwarf_Die *function)
{
	struct parameters p = { .look = l };
	const char *name = die_name(function);

	if (!name || is_made(function))
		return false;
	if (*name == '~')
		return true;
	if (!l->name || strncmp(name, l->name, l->name_n) || (name[l->name_n] && name[l->name_n] != '<'))
		return false;
	die_each_child(function, look_at_parameter, &p);
	return p.copies;
}

static bool is_non_trivial(struct objfile_types *t, Dwarf_Die *class, unsigned int depth);

static bool look_at(void *arg, Dwarf_Die *child)
{
	struct look *l = arg;
	const char *name = die_name(child);
	Dwarf_Die type;

	switch (dwarf_tag(child)) {
	case DW_TAG_subprogram:
		return is_non_trivial_function(l, child);
	case DW_TAG_member:
		if (die_flag(child, DW_AT_external) || die_flag(child, DW_AT_declaration))
			return false;
		if (name && !strncmp(name, "_vptr", 5))
			return true;
		break;
	case DW_TAG_inheritance:
		if (die_flag(child, DW_AT_virtuality))
			return true;
		break;
	default:
		return false;
	}
	if (!type_of(child, &type) || !type_peel(&type, &type))
		return false;
	while (dwarf_tag(&type) == DW_TAG_array_type)
		if (!type_of(&type, &type) || !type_peel(&type, &type))
			return false;
	return type_is_structure(&type) && is_non_trivial(l->t, &type, l->depth + 1);
}

static bool is_non_trivial(struct objfile_types *t, Dwarf_Die *class, unsigned int depth)
{
	struct look l = { .t = t, .class = class, .depth = depth, .name = die_name(class) };
	uint64_t convention;

	if (depth > DEPTH_MAX || types_complete(t, class))
		return false;
	if (die_number(class, DW_AT_calling_convention, &convention) &&
	    (convention == PASS_BY_REFERENCE || convention == PASS_BY_VALUE))
		return convention == PASS_BY_REFERENCE;
	l.name_n = l.name ? strcspn(l.name, "<") : 0;
	return die_each_child(class, look_at, &l);
}

bool class_by_reference(struct objfile_types *t, Dwarf_Die *class)
{
	return is_non_trivial(t, class, 0);
}
