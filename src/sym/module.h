/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The object files behind mappings, with the answers got from them. */
#include <stdbool.h>
#include <stdint.h>

#include "objfile/objfile.h"
#include "proc/proc.h"
#include "sym/state.h"

struct module {
	struct objfile *objfile; /* its symbols, detached; NULL: could not be read or is no ELF file */
	struct map *answers;	 /* address in the file -> struct answer */
	struct proc_file *file;	 /* NULL: the vDSO, or stored */
	uint32_t pid;		 /* a process that has it mapped; 0: stored */
	char *path;		 /* of a stored one, where it was found; else NULL */
	struct module *next;
	struct objfile_callers *callers; /* NULL: not asked for yet, or can't be had */
	bool callers_tried;
	struct objfile_go *go; /* NULL: not asked for yet, or no Go program */
	bool go_tried;
	bool has_debug;	 /* debug information is in the file or its debug file */
	struct objfile_source *source; /* it, while it is open */
	uint64_t source_used;	       /* sym.clock of then */
};

/*
 * A way to tell the functions at an address in a file: innermost first, at most SYM_FRAMES_MAX; only the last one, who
 * has the code, has start and alias_n. Gives their number; 0: nothing known, the next one is asked.
 */
struct module_names {
	size_t (*find)(struct sym *s, struct module *m, uint64_t vaddr, struct sym_function *ret);
};

/* The module of a mapping of a file or of the vDSO. NULL: none, or no memory. */
struct module *module_get(struct sym *s, uint32_t pid, const struct proc_mapping *map);
/* One of a recording: o is its file, opened by path. NULL: no memory. */
struct module *module_new_stored(struct sym *s, struct objfile *o);
/* The functions at vaddr; none known: own.name is NULL. NULL: no memory. */
const struct answer *module_lookup(struct sym *s, struct module *m, uint64_t vaddr);
/* Opens the module's file, again, for what isn't kept of it. -errno. */
int module_open_file(const struct module *m, struct objfile **ret);
void module_free_all(struct sym *s);

/* ---- in debug.c ---- */

/* Where debug files of the module are looked for; module_search_done() closes what it holds. */
void module_search_init(struct sym *s, const struct module *m, struct objfile_search *ret);
void module_search_done(struct objfile_search *search);
/* What debug information says of vaddr: see objfile_source_find(). Strings live until the next call. */
size_t module_source_find(struct sym *s, struct module *m, uint64_t vaddr, const char *prefer,
			  struct objfile_place *ret, size_t ret_max);
/* What all debug information that is open takes. */
size_t module_source_bytes(const struct sym *s);
