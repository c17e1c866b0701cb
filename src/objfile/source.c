/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The chain at an address is the function's entry and, inside it, those of
 * the functions inlined there, each in the one before. The line of the address
 * belongs to the innermost; each of the others is at the line where it calls
 * the next one.
 *
 * Where a debug file shares contents with another (dwz) and that can't be had,
 * the entries whose name is there have none.
 */
#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "objfile/image.h"
#include "objfile/objfile.h"
#include "objfile/sections.h"
#include "objfile/shared.h"
#include "objfile/units.h"
#include "util/cleanup.h"

#define CHAIN_MAX 64
#define DEPTH_MAX 128

struct objfile_source {
	struct image image, shared;
	struct units *units;
};

DEFINE_CLEANUP(struct objfile_source *, objfile_source_free)

struct objfile_source *objfile_source_free(struct objfile_source *s)
{
	if (!s)
		return NULL;
	units_free(s->units);
	image_done(&s->image);
	image_done(&s->shared);
	free(s);
	return NULL;
}

bool objfile_has_source(struct objfile *o)
{
	GElf_Shdr shdr;

	return o && objfile_elf(o) && sections_find(objfile_elf(o), ".debug_info", &shdr);
}

int objfile_source_new(struct objfile *o, const struct objfile_search *where, size_t bytes_max,
		       struct objfile_source **ret)
{
	_cleanup_(objfile_source_freep) struct objfile_source *s = calloc(1, sizeof(*s));
	int err = s ? image_read(o, bytes_max, false, &s->image) : -ENOMEM;

	if (!err)
		err = shared_read(o, where, bytes_max - s->image.read_n, &s->image, &s->shared);
	if (!err)
		err = units_new(s->image.dwarf, &s->units);
	if (err)
		return err;
	*ret = TAKE_PTR(s);
	return 0;
}

size_t objfile_source_bytes(const struct objfile_source *s)
{
	return s->image.read_n + s->shared.read_n + units_bytes(s->units);
}

/* What is not a function of its own but may have inlined ones inside. */
static bool is_block(int tag)
{
	switch (tag) {
	case DW_TAG_lexical_block: case DW_TAG_try_block: case DW_TAG_catch_block: case DW_TAG_with_stmt:
		return true;
	}
	return false;
}

static bool may_have(Dwarf_Die *die, int tag, uint64_t vaddr)
{
	if (tag == DW_TAG_inlined_subroutine)
		return dwarf_haspc(die, vaddr) == 1;
	/* A block whose code isn't told may have any. */
	return is_block(tag) &&
	       (dwarf_haspc(die, vaddr) == 1 || !(dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges)));
}

struct chain {
	Dwarf_Die v[CHAIN_MAX]; /* outermost first */
	size_t n;
	Dwarf_Off last; /* of the entries seen: they come in the order of the file, unless it is damaged */
};

/* Adds the inlined functions at vaddr below die. True: there is one. */
static bool add_inlined(struct chain *c, Dwarf_Die *die, uint64_t vaddr, unsigned int depth)
{
	Dwarf_Die child;

	if (depth > DEPTH_MAX || c->n == CHAIN_MAX || dwarf_child(die, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		if (dwarf_dieoffset(&child) <= c->last)
			return false;
		c->last = dwarf_dieoffset(&child);
		if (!may_have(&child, tag, vaddr))
			continue;
		if (tag == DW_TAG_inlined_subroutine) {
			c->v[c->n++] = child;
			add_inlined(c, &child, vaddr, depth + 1);
			return true;
		}
		if (add_inlined(c, &child, vaddr, depth + 1))
			return true;
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

static uint64_t number_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	return dwarf_formudata(dwarf_attr(die, name, &attr), &value) ? 0 : value;
}

/* Where an inlined function is called. */
static void call_place(Dwarf_Die *unit, Dwarf_Die *inlined, struct objfile_place *ret)
{
	uint64_t file = number_of(inlined, DW_AT_call_file), line = number_of(inlined, DW_AT_call_line);
	Dwarf_Files *files;
	size_t n;

	if (!line || line > UINT32_MAX || dwarf_getsrcfiles(unit, &files, &n) || file >= n)
		return;
	ret->file = dwarf_filesrc(files, file, NULL, NULL);
	ret->line = ret->file ? (uint32_t)line : 0;
}

static void address_place(Dwarf_Die *unit, uint64_t vaddr, struct objfile_place *ret)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, vaddr);
	int number;

	if (!line || dwarf_lineno(line, &number) || number <= 0)
		return;
	ret->file = dwarf_linesrc(line, NULL, NULL);
	ret->line = ret->file ? (uint32_t)number : 0;
}

/* Where the compiler ran, if that is told as a whole path; else NULL. */
static const char *compile_dir(Dwarf_Die *unit)
{
	Dwarf_Attribute attr;
	const char *dir = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr));

	return dir && *dir == '/' ? dir : NULL;
}

size_t objfile_source_find(struct objfile_source *s, uint64_t vaddr, const char *prefer, struct objfile_place *ret,
			   size_t ret_max)
{
	struct chain chain = { .n = 1 };
	size_t n, skip;
	Dwarf_Die unit;
	bool has_function;
	const char *dir;
	uint64_t start;

	if (units_find(s->units, vaddr, prefer, &unit, &chain.v[0], &has_function) || !ret_max)
		return 0;
	dir = compile_dir(&unit);
	if (has_function) {
		chain.last = dwarf_dieoffset(&chain.v[0]);
		add_inlined(&chain, &chain.v[0], vaddr, 0);
	}
	n = chain.n;
	/* The outermost are kept. */
	skip = n > ret_max ? n - ret_max : 0;
	for (size_t i = skip; i < n; i++) {
		size_t at = n - 1 - i;
		struct objfile_place *p = &ret[i - skip];

		*p = (struct objfile_place){ .dir = dir };
		p->name = has_function ? units_function_name(&chain.v[at]) : NULL;
		if (at == n - 1)
			address_place(&unit, vaddr, p);
		else
			call_place(&unit, &chain.v[at + 1], p);
	}
	if (has_function && !dwarf_entrypc(&chain.v[0], &start))
		ret[n - skip - 1].start = start;
	return n - skip;
}
