/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A unit that uses a structure by pointer only declares it; what it has inside
 * is told in another unit. Names are what ties them, with the namespaces and
 * classes around: "a::b::T".
 */
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "objfile/types.h"
#include "util/cleanup.h"

#define NAME_MAX_BYTES 1024
#define DEPTH_MAX 16

struct walk {
	struct objfile_types *t;
	char name[NAME_MAX_BYTES]; /* of what is around */
	unsigned int depth;
	int err;
};

static bool add_definition(void *arg, Dwarf_Die *die);

static void walk_into(struct walk *w, Dwarf_Die *die)
{
	size_t have = strlen(w->name);
	const char *name = die_name(die);

	if (w->depth == DEPTH_MAX)
		return;
	/* What is in an unnamed namespace is known by its own name. */
	if (name && snprintf(w->name + have, sizeof(w->name) - have, "%s::", name) >= (int)(sizeof(w->name) - have)) {
		w->name[have] = '\0';
		return;
	}
	w->depth++;
	die_each_child(die, add_definition, w);
	w->depth--;
	w->name[have] = '\0';
}

static int put(struct walk *w, const char *name, Dwarf_Off offset)
{
	size_t have = strlen(w->name);
	uint32_t id;
	int err = 0;

	if (snprintf(w->name + have, sizeof(w->name) - have, "%s", name) < (int)(sizeof(w->name) - have))
		err = strtab_intern(w->t->names, w->name, &id);
	else
		id = 0;
	if (!err && id && !map_get(w->t->definitions, id, NULL))
		err = map_put(w->t->definitions, id, offset);
	w->name[have] = '\0';
	return err;
}

static bool add_definition(void *arg, Dwarf_Die *die)
{
	struct walk *w = arg;
	int tag = dwarf_tag(die);
	const char *name;

	if (tag == DW_TAG_namespace || tag == DW_TAG_module) {
		walk_into(w, die);
		return w->err != 0;
	}
	if (tag != DW_TAG_structure_type && tag != DW_TAG_class_type && tag != DW_TAG_union_type &&
	    tag != DW_TAG_typedef)
		return false;
	name = die_name(die);
	if (name && !die_flag(die, DW_AT_declaration) && tag != DW_TAG_typedef)
		w->err = put(w, name, dwarf_dieoffset(die));
	/* Where a structure has no name of its own. */
	if (name && tag == DW_TAG_typedef) {
		Dwarf_Die of;

		if (type_peel(die, &of) && type_is_structure(&of) && !die_name(&of))
			w->err = put(w, name, dwarf_dieoffset(&of));
	}
	if (!w->err && tag != DW_TAG_typedef)
		walk_into(w, die);
	return w->err != 0;
}

static int read_definitions(struct objfile_types *t)
{
	struct walk w = { .t = t };
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die die;
	int err = strtab_new(&t->names);

	if (!err)
		err = map_new(&t->definitions);
	while (!err && !dwarf_get_units(t->image.dwarf, cu, &cu, &version, &type, &die, NULL)) {
		die_each_child(&die, add_definition, &w);
		err = w.err;
	}
	return err;
}

int types_definition(struct objfile_types *t, const char *name, Dwarf_Die *ret)
{
	static const char *const words[] = { "struct ", "class ", "union " };
	uint64_t offset;
	int err = t->definitions ? 0 : read_definitions(t);

	if (err)
		return err;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strncmp(name, words[i], strlen(words[i])))
			name += strlen(words[i]);
	if (!map_get(t->definitions, strtab_find(t->names, name), &offset) ||
	    !dwarf_offdie(t->image.dwarf, offset, ret))
		return -ENOENT;
	return 0;
}

/* The name with those of the scopes around it. */
static bool whole_name(Dwarf_Die *die, char *ret, size_t n)
{
	_cleanup_(freep) Dwarf_Die *scopes = NULL;
	int scope_n = dwarf_getscopes_die(die, &scopes);

	ret[0] = '\0';
	for (int i = scope_n - 1; i >= 0; i--) {
		int tag = dwarf_tag(&scopes[i]);
		const char *name = die_name(&scopes[i]);
		size_t have = strlen(ret);

		if (!name || (i && tag != DW_TAG_namespace && tag != DW_TAG_module && !type_is_structure(&scopes[i])))
			continue;
		if (snprintf(ret + have, n - have, "%s%s", name, i ? "::" : "") >= (int)(n - have))
			return false;
	}
	return *ret;
}

int types_complete(struct objfile_types *t, Dwarf_Die *type)
{
	char name[NAME_MAX_BYTES];

	if (!type_is_structure(type) || !die_flag(type, DW_AT_declaration))
		return 0;
	if (!whole_name(type, name, sizeof(name)))
		return -ENOENT;
	return types_definition(t, name, type);
}
