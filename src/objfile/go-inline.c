/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A function's inline tree is among its funcdata, in read-only data of the
 * program, not in the table, and where that begins is a word of the moduledata
 * whose place moves from release to release. So each word is tried: with the
 * right one, what all functions say leads to trees that make sense, names that
 * begin where a name begins and positions within their functions; no wrong one
 * gets far.
 *
 * An address has an index into the tree (pcdata 2; -1: nothing inlined). The
 * entry tells the function and an address in the same outer function that has
 * the file and line of the call, and in turn an index: that of who called.
 *
 * Layouts: inlinedCall in the runtime's symtab.go (symtabinl.go).
 */
#include <errno.h>
#include <string.h>

#include "objfile/go.h"
#include "util/cleanup.h"

#define TREE_PCDATA 2
#define TREE_FUNCDATA 3
#define SAMPLES_N 256
#define TREES_MAX (256u << 20)
#define FIRST_WORD 24 /* of the moduledata, after the end of the code */
#define NO_OFFSET UINT32_MAX

struct entry {
	const char *name;
	uint8_t id;
	uint64_t parent; /* address */
};

static size_t entry_size(const struct objfile_go *g)
{
	return g->format == GO_FORMAT_1_20 ? 16 : 20;
}

static int pcdata_offset(const struct objfile_go *g, const struct go_record *r, uint32_t i, uint32_t *ret)
{
	struct bytes b = g->functions;
	int err;

	if (i >= r->pcdata_n) {
		*ret = 0;
		return 0;
	}
	err = bytes_seek(&b, r->pcdata_at + i * 4ull);
	return err ? err : bytes_u32(&b, ret);
}

/* Where a function's tree is, as its record says: an address, or what counts from trees_base. False: it has none. */
static bool tree_offset(const struct objfile_go *g, const struct go_record *r, uint64_t *ret)
{
	struct bytes b = g->functions;
	uint32_t offset;
	uint64_t address;

	if (r->funcdata_n <= TREE_FUNCDATA || r->pcdata_n <= TREE_PCDATA)
		return false;
	if (g->format == GO_FORMAT_1_16) {
		if (bytes_seek(&b, r->funcdata_at + TREE_FUNCDATA * 8) || bytes_u64(&b, &address) || !address)
			return false;
		*ret = address;
		return true;
	}
	if (bytes_seek(&b, r->funcdata_at + TREE_FUNCDATA * 4) || bytes_u32(&b, &offset) || offset == NO_OFFSET)
		return false;
	*ret = offset;
	return true;
}

static int entry_parse(const struct objfile_go *g, const struct objfile_go_function *f, struct bytes *b,
		       struct entry *ret)
{
	uint32_t word[5] = { 0 }, name, parent, first;
	struct entry e;
	int err = 0;

	for (size_t i = 0; !err && i < entry_size(g) / 4; i++)
		err = bytes_u32(b, &word[i]);
	if (err)
		return err;
	first = word[0];
	name = g->format == GO_FORMAT_1_20 ? word[1] : word[3];
	parent = g->format == GO_FORMAT_1_20 ? word[2] : word[4];
	e.id = g->format == GO_FORMAT_1_20 ? (uint8_t)first : (uint8_t)(first >> 16);
	e.name = go_name(g, name);
	e.parent = f->start + parent;
	/* A name that doesn't begin behind another one's end is none. */
	if (!e.name || (name && e.name[-1]) || parent >= f->end - f->start)
		return -EBADMSG;
	*ret = e;
	return 0;
}

static int entry_read(const struct objfile_go *g, const struct objfile_go_function *f, uint64_t offset, int32_t index,
		      struct entry *ret)
{
	struct bytes b = bytes_init(g->trees, g->trees_n);
	uint64_t at;

	if (__builtin_add_overflow(g->trees_base, offset, &at) || at < g->trees_vaddr)
		return -EBADMSG;
	at -= g->trees_vaddr;
	if (__builtin_add_overflow(at, (uint64_t)index * entry_size(g), &at) || bytes_seek(&b, at))
		return -EBADMSG;
	return entry_parse(g, f, &b, ret);
}

/* The number of entries in a function's tree: one more than the highest index. */
static int tree_n(const struct objfile_go *g, const struct objfile_go_function *f, const struct go_record *r,
		  uint32_t *ret)
{
	uint32_t offset, n = 0;
	struct go_values v;
	struct go_range range;
	int err = pcdata_offset(g, r, TREE_PCDATA, &offset);

	if (!err)
		err = go_values_begin(g, f, offset, &v);
	if (err)
		return err;
	while ((err = go_values_next(g, &v, &range)) == 1) {
		if (range.value >= 0 && (uint32_t)range.value + 1 > n)
			n = (uint32_t)range.value + 1;
	}
	if (!err)
		*ret = n;
	return err;
}

struct extent {
	uint64_t first, end; /* offsets; end 0: no tree at all */
};

static void add_extent(const struct objfile_go *g, size_t i, struct extent *e)
{
	struct objfile_go_function f;
	struct go_record r;
	uint64_t offset, end;
	uint32_t n;

	/* What is damaged here shows when it is asked for. */
	if (objfile_go_function_at(g, i, &f) || go_record_read(g, f.record, &r) || !tree_offset(g, &r, &offset) ||
	    tree_n(g, &f, &r, &n) || !n)
		return;
	if (__builtin_add_overflow(offset, (uint64_t)n * entry_size(g), &end))
		return;
	if (!e->end || offset < e->first)
		e->first = offset;
	if (end > e->end)
		e->end = end;
}

/* Does each tree of some functions make sense, read from the file with offsets counting from base? */
static bool base_makes_sense(const struct objfile_go *g, const struct objfile *o, uint64_t base)
{
	size_t seen = 0, step = g->function_n / SAMPLES_N + 1;

	for (size_t i = 0; i < g->function_n; i += step) {
		struct objfile_go_function f;
		struct go_record r;
		uint64_t offset;
		uint32_t n;

		if (objfile_go_function_at(g, i, &f) || go_record_read(g, f.record, &r) ||
		    !tree_offset(g, &r, &offset) || tree_n(g, &f, &r, &n) || !n)
			continue;
		seen++;
		for (uint32_t k = 0; k < n; k++) {
			uint8_t raw[20];
			struct bytes b = bytes_init(raw, entry_size(g));
			struct entry e;

			if (objfile_read_vaddr(o, base + offset + k * entry_size(g), raw, entry_size(g)) ||
			    entry_parse(g, &f, &b, &e))
				return false;
		}
	}
	return seen > 0;
}

static bool find_base(const struct objfile_go *g, const struct objfile *o, const struct go_words *module,
		      uint64_t *ret)
{
	if (g->format == GO_FORMAT_1_16) {
		*ret = 0;
		return base_makes_sense(g, o, 0);
	}
	for (size_t i = FIRST_WORD; i < sizeof(module->v) / sizeof(module->v[0]); i++) {
		if (module->v[i] && base_makes_sense(g, o, module->v[i])) {
			*ret = module->v[i];
			return true;
		}
	}
	return false;
}

int go_trees_read(struct objfile_go *g, const struct objfile *o, const struct go_words *module)
{
	struct extent e = { 0 };
	uint8_t *trees;
	uint64_t base;

	if (!find_base(g, o, module, &base))
		return 0;
	for (size_t i = 0; i < g->function_n; i++)
		add_extent(g, i, &e);
	if (!e.end || e.end - e.first > TREES_MAX)
		return 0;
	trees = malloc(e.end - e.first);
	if (!trees)
		return -ENOMEM;
	if (objfile_read_vaddr(o, base + e.first, trees, e.end - e.first)) {
		free(trees);
		return 0;
	}
	g->trees = trees;
	g->trees_n = e.end - e.first;
	g->trees_base = base;
	g->trees_vaddr = base + e.first;
	return 0;
}

int go_trees_each(const struct objfile_go *g, int (*f)(void *arg, const char *name), void *arg)
{
	for (size_t i = 0; g->trees && i < g->function_n; i++) {
		struct objfile_go_function function;
		struct go_record r;
		struct entry e;
		uint64_t offset;
		uint32_t n;

		if (objfile_go_function_at(g, i, &function) || go_record_read(g, function.record, &r) ||
		    !tree_offset(g, &r, &offset) || tree_n(g, &function, &r, &n))
			continue;
		for (uint32_t k = 0; k < n && !entry_read(g, &function, offset, (int32_t)k, &e); k++) {
			int err = f(arg, e.name);

			if (err)
				return err;
		}
	}
	return 0;
}

/* Of an address in a function whose compilation unit begins at r->unit of the units. */
static void file_and_line(const struct objfile_go *g, const struct objfile_go_function *f, const struct go_record *r,
			  uint64_t pc, struct objfile_go_place *place)
{
	struct bytes units = g->units, files = g->files;
	int32_t file, line;
	uint32_t offset;
	const char *name;

	if (go_value_at(g, f, r->line, pc, &line) || go_value_at(g, f, r->file, pc, &file) || file < 0)
		return;
	if (bytes_seek(&units, ((uint64_t)r->unit + (uint32_t)file) * 4) || bytes_u32(&units, &offset) ||
	    offset == NO_OFFSET || bytes_seek(&files, offset) || bytes_str(&files, &name) || !*name)
		return;
	place->file = name;
	place->line = line > 0 ? (uint32_t)line : 0;
}

int objfile_go_inlined(const struct objfile_go *g, uint64_t vaddr, struct objfile_go_place *ret, size_t ret_max)
{
	struct objfile_go_function f;
	struct go_record r;
	uint32_t table = 0;
	uint64_t tree = 0, pc = vaddr;
	int err = objfile_go_function(g, vaddr, &f);
	bool has_tree;

	if (!err)
		err = go_record_read(g, f.record, &r);
	if (!err)
		err = pcdata_offset(g, &r, TREE_PCDATA, &table);
	if (err)
		return err;
	has_tree = g->trees && tree_offset(g, &r, &tree);
	/* Each is of another caller: the number ends loops that damaged tables may have. */
	for (size_t n = 0; n < ret_max; n++) {
		struct objfile_go_place place = { .name = f.name, .wrapper = f.wrapper };
		struct entry e = { 0 };
		int32_t index = -1;

		if (has_tree)
			err = go_value_at(g, &f, table, pc, &index);
		if (!err && index >= 0)
			err = entry_read(g, &f, tree, index, &e);
		if (err)
			return err;
		if (index >= 0) {
			place.name = e.name;
			place.wrapper = g->wrapper_id && e.id == g->wrapper_id;
		}
		file_and_line(g, &f, &r, pc, &place);
		ret[n] = place;
		if (index < 0)
			return (int)n + 1;
		pc = e.parent;
	}
	return (int)ret_max;
}
