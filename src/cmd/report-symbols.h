/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Names for the frames of a recording that has none, from files given later. Private to report*.c. */
#include <stddef.h>

#include "model/model.h"
#include "sym/sym.h"

struct symbols_counts {
	size_t nameless; /* user frames without a name that lie in a file */
	size_t named;	 /* of them that got one */
	size_t kernel;	 /* kernel frames without a name: none can be had for them */
	uint32_t first_missing; /* module of the first that got none, 0: all got one */
};
/* Gives each such frame its name, and the functions inlined there frames of their own. 0, -ENOMEM. */
int report_symbols_apply(struct model *m, struct sym *s, struct symbols_counts *ret);
/* report --symbols, --debuginfod (fetch): does that and tells what came of it on stderr. 0, -ENOMEM. */
int report_symbols_load(struct model *m, const char *const *dirs, size_t dir_n, bool fetch);
