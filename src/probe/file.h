/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* One file as resolving sees it: what is costly to find out is found out when it is first asked for. */
#include "probe/definition.h"

struct file {
	const struct probe_object *o;
	struct objfile_names *names;
	struct objfile_code *code;
	struct objfile_types *types;
	struct objfile_inlines *inlines;
	struct objfile_markers *markers;
	bool names_tried, code_tried, types_tried, inlines_tried, markers_tried;
};
void file_done(struct file *f);
/* NULL: there are none. */
struct objfile_names *file_names(struct file *f);
struct objfile_code *file_code(struct file *f);
struct objfile_types *file_types(struct file *f);
struct objfile_markers *file_markers(struct file *f);
/* Places where functions of that name are inlined, as far as is known. */
uint32_t file_inlined(struct file *f, const struct symbol_pattern *p);

/* A function that a pattern means. */
struct function {
	const char *raw;  /* as the symbol table has it; the file's */
	const char *name; /* readable, of the pool */
	uint64_t vaddr, size;
	bool go, ifunc, imported;
	bool copy; /* made by the compiler for some calls: its arguments may be others */
};
struct functions {
	struct function *v; /* owned */
	size_t n, cap;
	size_t duplicates; /* more names of one address, left out */
};
/* All that p means, each address once; imported ones too. 0, -ENOMEM. */
int file_functions(struct file *f, struct probe_pool *pool, const struct symbol_pattern *p, struct functions *ret);
void functions_done(struct functions *fs);
