/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The object files behind mappings, with the answers got from them. */
#include <stdbool.h>
#include <stdint.h>

#include "objfile/objfile.h"
#include "proc/proc.h"
#include "sym/state.h"

struct module {
	struct objfile *objfile; /* NULL: could not be read or is no ELF file */
	struct map *answers;	 /* address in the file -> struct answer */
	struct proc_file *file;	 /* NULL: the vDSO */
	struct module *next;
	struct objfile_callers *callers; /* NULL: not asked for yet, or can't be had */
	bool callers_tried;
};

/* The module of a mapping of a file or of the vDSO. NULL: none, or no memory. */
struct module *module_get(struct sym *s, const struct proc_mapping *map);
/* The symbol that covers vaddr, or what sym.h says of static functions; demangled, NULL if none. NULL: no memory. */
const struct answer *module_lookup(struct sym *s, struct module *m, uint64_t vaddr);
void module_free_all(struct sym *s);
