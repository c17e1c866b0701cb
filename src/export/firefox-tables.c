/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The processed format of version 49, as samply wrote it: each thread has
 * tables of its own (later versions share them, and the page upgrades), one
 * array a column. Scripts for samply's profiles read these.
 */
#include "export/firefox-tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/label.h"
#include "util/cleanup.h"
#include "util/text.h"
#include "util/vec.h"

struct func {
	uint32_t name; /* string */
	uint32_t lib;  /* + 1, 0: none */
};

struct frame {
	uint32_t func; /* from 0 on */
	uint64_t address;
	uint32_t line;
	uint32_t inline_depth;
	uint8_t category;
	bool in_file;
};

struct node {
	uint32_t prefix; /* + 1, 0: none */
	uint32_t frame;
};

struct firefox_tables {
	const struct model *m;
	const struct firefox_libs *libs;
	struct strtab *strings;
	struct pairs func_numbers, place_numbers, spot_numbers, point_numbers, entry_numbers, frame_numbers, node_numbers;
	struct pairs feet, towers; /* (user, kernel), with category */
	struct func *funcs;
	struct frame *frames;
	struct node *nodes;
	uint32_t *tower_nodes;
	uint32_t *resources;	 /* lib + 1 by resource */
	uint32_t *resource_of_lib; /* resource + 1, by lib + 1 */
	size_t func_n, func_cap, frame_n, frame_cap, node_n, node_cap, tower_cap, resource_n;
	struct text text;
};

enum firefox_category firefox_category_of_wait(enum wait_reason reason)
{
	switch (reason) {
	case REASON_CPU:
		return FIREFOX_RUNNABLE;
	case REASON_LOCK:
		return FIREFOX_LOCK;
	case REASON_IO:
	case REASON_FAULT:
		return FIREFOX_IO;
	case REASON_SYNC:
		return FIREFOX_SYNC;
	case REASON_SLEEP:
		return FIREFOX_SLEEP;
	case REASON_POLL:
		return FIREFOX_POLL;
	case REASON_EXEC:
		return FIREFOX_CHILD;
	default:
		return FIREFOX_WAIT;
	}
}

/* ---- libs ---- */

int firefox_libs_make(const struct model *m, struct firefox_libs *ret)
{
	_cleanup_(pairs_done) struct pairs files = { 0 };
	struct firefox_libs l = {
		.of_module = calloc(m->module_n, sizeof(uint32_t)),
		.modules = calloc(m->module_n, sizeof(uint32_t)),
	};
	int err = l.of_module && l.modules ? 0 : -ENOMEM;

	for (uint32_t i = 1; i < m->module_n && !err; i++) {
		bool is_new;

		if (!m->modules[i].path_id)
			continue;
		err = pairs_intern(&files, m->modules[i].path_id, m->modules[i].build_id_id, &l.of_module[i], &is_new);
		if (!err && is_new)
			l.modules[l.n++] = i;
	}
	if (err) {
		firefox_libs_done(&l);
		return err;
	}
	*ret = l;
	return 0;
}

void firefox_libs_done(struct firefox_libs *l)
{
	free(l->of_module);
	free(l->modules);
}

/* Breakpad's id: the first 16 bytes of the build id as a GUID, whose first three numbers are little-endian; age 0. */
static void breakpad_id(const char *build_id, char ret[34])
{
	static const uint8_t order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	size_t n = strlen(build_id) / 2;

	for (size_t i = 0; i < 16; i++) {
		unsigned byte = 0;

		if (order[i] < n)
			sscanf(build_id + 2 * order[i], "%2x", &byte);
		snprintf(ret + 2 * i, 3, "%02X", byte & 0xff);
	}
	strcpy(ret + 32, "0");
}

void firefox_libs_write(const struct firefox_libs *l, const struct model *m, struct json *j)
{
	json_key(j, "libs");
	json_begin_array(j);
	for (size_t i = 0; i < l->n; i++) {
		const struct model_module *o = &m->modules[l->modules[i]];
		const char *path = strtab_str(m->strings, o->path_id), *name = label_module(m, l->modules[i]);
		const char *build_id = strtab_str(m->strings, o->build_id_id);
		char breakpad[34];

		breakpad_id(build_id, breakpad);
		json_begin_object(j);
		json_kv_string(j, "name", name);
		json_kv_string(j, "path", path);
		json_kv_string(j, "debugName", name);
		json_kv_string(j, "debugPath", path);
		json_kv_string(j, "breakpadId", breakpad);
		json_kv_string(j, "codeId", *build_id ? build_id : NULL);
		json_kv_string(j, "arch", NULL);
		json_end_object(j);
	}
	json_end_array(j);
}

/* ---- building ---- */

int firefox_tables_new(const struct model *m, const struct firefox_libs *libs, struct firefox_tables **ret)
{
	_cleanup_(firefox_tables_freep) struct firefox_tables *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->m = m;
	t->libs = libs;
	t->resources = calloc(libs->n + 1, sizeof(*t->resources));
	t->resource_of_lib = calloc(libs->n + 1, sizeof(*t->resource_of_lib));
	if (strtab_new(&t->strings) < 0 || !t->resources || !t->resource_of_lib)
		return -ENOMEM;
	*ret = TAKE_PTR(t);
	return 0;
}

struct firefox_tables *firefox_tables_free(struct firefox_tables *t)
{
	if (!t)
		return NULL;
	strtab_free(t->strings);
	pairs_done(&t->func_numbers);
	pairs_done(&t->place_numbers);
	pairs_done(&t->spot_numbers);
	pairs_done(&t->point_numbers);
	pairs_done(&t->entry_numbers);
	pairs_done(&t->frame_numbers);
	pairs_done(&t->node_numbers);
	pairs_done(&t->feet);
	pairs_done(&t->towers);
	free(t->funcs);
	free(t->frames);
	free(t->nodes);
	free(t->tower_nodes);
	free(t->resources);
	free(t->resource_of_lib);
	text_done(&t->text);
	free(t);
	return NULL;
}

int firefox_string(struct firefox_tables *t, const char *s, uint32_t *ret)
{
	return strtab_intern(t->strings, s, ret);
}

/* lib: number + 1. */
static const char *lib_name(const struct firefox_tables *t, uint32_t lib)
{
	return label_module(t->m, t->libs->modules[lib - 1]);
}

/* lib: + 1, 0: none. *ret counts from 0. */
static int func_at(struct firefox_tables *t, const char *name, uint32_t lib, uint32_t *ret)
{
	uint32_t string, number;
	bool is_new;

	if (firefox_string(t, name, &string) < 0 || VEC_RESERVE(t->funcs, t->func_cap, t->func_n + 1) < 0 ||
	    pairs_intern(&t->func_numbers, string, lib, &number, &is_new) < 0)
		return -ENOMEM;
	*ret = number - 1;
	if (!is_new)
		return 0;
	t->funcs[t->func_n++] = (struct func){ .name = string, .lib = lib };
	if (lib && !t->resource_of_lib[lib]) {
		if (firefox_string(t, lib_name(t, lib), &string) < 0)
			return -ENOMEM;
		t->resources[t->resource_n++] = lib;
		t->resource_of_lib[lib] = (uint32_t)t->resource_n;
	}
	return 0;
}

/* Frames that are inlined into the one that follows are deeper than that. */
static uint32_t inline_depth_of(const struct firefox_tables *t, uint32_t stack, size_t i)
{
	const struct model_frame *f = model_stack_entry_frame(t->m, stack, i);
	uint32_t depth = 0;

	for (; f && f->inlined; f = model_stack_entry_frame(t->m, stack, ++i))
		depth++;
	return depth;
}

static int entry_name(struct firefox_tables *t, uint32_t stack, size_t i, const struct model_frame *f, uint32_t lib)
{
	text_clear(&t->text);
	/* Without a symbol it is called as samply calls it, so that scripts look it up. */
	if (f && !f->name_id && lib)
		text_appendf(&t->text, "0x%" PRIx64, f->address);
	else
		model_stack_entry_append(&t->text, t->m, stack, i, ENTRY_EXACT);
	return text_error(&t->text);
}

static int frame_put(struct firefox_tables *t, const struct frame *frame, uint32_t *ret)
{
	uint32_t spot, place, number;
	bool is_new;

	if (pairs_intern(&t->place_numbers, (uint32_t)(frame->address >> 32), (uint32_t)frame->address, &place, NULL) < 0 ||
	    pairs_intern(&t->spot_numbers, frame->line, frame->inline_depth * 2 + frame->in_file, &spot, NULL) < 0 ||
	    pairs_intern(&t->point_numbers, place, spot, &number, NULL) < 0 ||
	    pairs_intern(&t->entry_numbers, number, frame->func, &number, NULL) < 0 ||
	    VEC_RESERVE(t->frames, t->frame_cap, t->frame_n + 1) < 0 ||
	    pairs_intern(&t->frame_numbers, number, frame->category, &number, &is_new) < 0)
		return -ENOMEM;
	if (is_new)
		t->frames[t->frame_n++] = *frame;
	*ret = number - 1;
	return 0;
}

/* prefix: + 1, 0: none; becomes the node + 1. */
static int node_put(struct firefox_tables *t, const struct frame *frame, uint32_t *prefix)
{
	uint32_t at, number;
	bool is_new;

	if (frame_put(t, frame, &at) < 0 || VEC_RESERVE(t->nodes, t->node_cap, t->node_n + 1) < 0 ||
	    pairs_intern(&t->node_numbers, *prefix, at, &number, &is_new) < 0)
		return -ENOMEM;
	if (is_new)
		t->nodes[t->node_n++] = (struct node){ .prefix = *prefix, .frame = at };
	*prefix = number;
	return 0;
}

static int word_climb(struct firefox_tables *t, const char *word, enum firefox_category category, uint32_t *node)
{
	struct frame frame = { .category = (uint8_t)category };

	if (func_at(t, word, 0, &frame.func) < 0)
		return -ENOMEM;
	return node_put(t, &frame, node);
}

/* JavaScript's numbers are exact up to here. */
#define SAFE_INTEGER_MAX ((UINT64_C(1) << 53) - 1)

/* leaf: category of the innermost entry, if this stack has it. */
static int stack_climb(struct firefox_tables *t, uint32_t stack, bool has_leaf, enum firefox_category leaf,
		       uint32_t *node)
{
	enum firefox_category side = t->m->stacks[stack].side == STACK_KERNEL ? FIREFOX_KERNEL : FIREFOX_USER;

	for (size_t i = model_stack_entry_n(t->m, stack); i-- > 0;) {
		const struct model_frame *f = model_stack_entry_frame(t->m, stack, i);
		uint32_t lib = f && f->module < t->m->module_n ? t->libs->of_module[f->module] : 0;
		struct frame frame = { .category = (uint8_t)(!i && has_leaf ? leaf : side),
				       .in_file = f && lib && f->address <= SAFE_INTEGER_MAX };

		if (f) {
			frame.address = f->address;
			frame.line = f->line;
			frame.inline_depth = inline_depth_of(t, stack, i);
		}
		if (entry_name(t, stack, i, f, lib) < 0 || func_at(t, text_str(&t->text), lib, &frame.func) < 0 ||
		    node_put(t, &frame, node) < 0)
			return -ENOMEM;
	}
	return 0;
}

int firefox_stack(struct firefox_tables *t, uint32_t ustack, uint32_t kstack, const char *word,
		  enum firefox_category category, uint32_t *ret)
{
	uint32_t foot, tower, node = 0;
	bool is_new, plain = !ustack && !kstack;

	if (plain) {
		if (word_climb(t, word, category, &node) < 0)
			return -ENOMEM;
		*ret = node - 1;
		return 0;
	}
	if (pairs_intern(&t->feet, ustack, kstack, &foot, NULL) < 0 ||
	    VEC_RESERVE(t->tower_nodes, t->tower_cap, (size_t)t->towers.n + 2) < 0 ||
	    pairs_intern(&t->towers, foot, category, &tower, &is_new) < 0)
		return -ENOMEM;
	if (is_new) {
		if ((ustack && stack_climb(t, ustack, !kstack, category, &node) < 0) ||
		    (kstack && stack_climb(t, kstack, true, category, &node) < 0) ||
		    /* A stack without any entry: read, and nothing in it. */
		    (!node && word_climb(t, word, category, &node) < 0))
			return -ENOMEM;
		t->tower_nodes[tower] = node;
	}
	*ret = t->tower_nodes[tower] - 1;
	return 0;
}

/* ---- writing ---- */

/* One column: what it is of row i. */
#define COLUMN(j, key, n, i, call)              \
	do {                                    \
		json_key(j, key);               \
		json_begin_array(j);            \
		for (size_t i = 0; i < (n); i++) \
			call;                   \
		json_end_array(j);              \
	} while (0)

static void uint_or_null(struct json *j, bool has, uint64_t v)
{
	if (has)
		json_uint(j, v);
	else
		json_null(j);
}

static void func_table_write(const struct firefox_tables *t, struct json *j)
{
	const struct func *f = t->funcs;
	size_t n = t->func_n;

	json_key(j, "funcTable");
	json_begin_object(j);
	json_kv_uint(j, "length", n);
	COLUMN(j, "name", n, i, json_uint(j, f[i].name));
	COLUMN(j, "isJS", n, i, json_bool(j, false));
	COLUMN(j, "relevantForJS", n, i, json_bool(j, false));
	COLUMN(j, "resource", n, i, json_int(j, (int64_t)t->resource_of_lib[f[i].lib] - 1));
	COLUMN(j, "fileName", n, i, json_null(j));
	COLUMN(j, "lineNumber", n, i, json_null(j));
	COLUMN(j, "columnNumber", n, i, json_null(j));
	json_end_object(j);
}

/* A library, as the page knows resources of that type. */
enum { RESOURCE_LIBRARY = 1 };

static void resource_table_write(const struct firefox_tables *t, struct json *j)
{
	size_t n = t->resource_n;

	json_key(j, "resourceTable");
	json_begin_object(j);
	json_kv_uint(j, "length", n);
	COLUMN(j, "lib", n, i, json_uint(j, t->resources[i] - 1));
	COLUMN(j, "name", n, i, json_uint(j, strtab_find(t->strings, lib_name(t, t->resources[i]))));
	COLUMN(j, "host", n, i, json_null(j));
	COLUMN(j, "type", n, i, json_uint(j, RESOURCE_LIBRARY));
	json_end_object(j);
}

static void native_symbols_write(struct json *j)
{
	static const char *const columns[] = { "libIndex", "address", "name", "functionSize" };

	json_key(j, "nativeSymbols");
	json_begin_object(j);
	json_kv_uint(j, "length", 0);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		json_key(j, columns[i]);
		json_begin_array(j);
		json_end_array(j);
	}
	json_end_object(j);
}

static void frame_table_write(const struct firefox_tables *t, struct json *j)
{
	const struct frame *f = t->frames;
	size_t n = t->frame_n;

	json_key(j, "frameTable");
	json_begin_object(j);
	json_kv_uint(j, "length", n);
	COLUMN(j, "address", n, i, json_int(j, f[i].in_file ? (int64_t)f[i].address : -1));
	COLUMN(j, "inlineDepth", n, i, json_uint(j, f[i].inline_depth));
	COLUMN(j, "category", n, i, json_uint(j, f[i].category));
	COLUMN(j, "subcategory", n, i, json_uint(j, 0));
	COLUMN(j, "func", n, i, json_uint(j, f[i].func));
	COLUMN(j, "nativeSymbol", n, i, json_null(j));
	COLUMN(j, "innerWindowID", n, i, json_uint(j, 0));
	COLUMN(j, "implementation", n, i, json_null(j));
	COLUMN(j, "line", n, i, uint_or_null(j, f[i].line, f[i].line));
	COLUMN(j, "column", n, i, json_null(j));
	json_end_object(j);
}

static void stack_table_write(const struct firefox_tables *t, struct json *j)
{
	const struct node *s = t->nodes;
	size_t n = t->node_n;

	json_key(j, "stackTable");
	json_begin_object(j);
	json_kv_uint(j, "length", n);
	COLUMN(j, "prefix", n, i, uint_or_null(j, s[i].prefix, (uint64_t)s[i].prefix - 1));
	COLUMN(j, "frame", n, i, json_uint(j, s[i].frame));
	COLUMN(j, "category", n, i, json_uint(j, t->frames[s[i].frame].category));
	COLUMN(j, "subcategory", n, i, json_uint(j, 0));
	json_end_object(j);
}

void firefox_tables_write(const struct firefox_tables *t, struct json *j)
{
	func_table_write(t, j);
	resource_table_write(t, j);
	native_symbols_write(j);
	frame_table_write(t, j);
	stack_table_write(t, j);
	COLUMN(j, "stringArray", strtab_n(t->strings), i, json_string(j, strtab_str(t->strings, (uint32_t)i)));
}
