/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* How the tables of a file come about: several sources of rules, each for the code that those before it leave. */
#include "objfile/objfile.h"
#include "unwind/unwind.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct unwind_rows *, unwind_rows_free)

struct rows_builder {
	struct unwind_rows *rows;
	size_t cap;
};

/* Frees nothing when it fails; -ENOMEM. */
int rows_begin(struct rows_builder *b);
/*
 * From vaddr on this rule holds. Addresses must not fall. The same address as
 * before: the earlier call counts for nothing. 0, -ENOMEM.
 */
int rows_put(struct rows_builder *b, uint64_t vaddr, const struct wcbpf_rule *rule);
/* The rows so far, which must end with WCBPF_CFA_NONE. -ENOENT: there are none. */
int rows_end(struct rows_builder *b, struct unwind_rows **ret);

/* What first says, and where it says nothing, what second says. 0, -ENOMEM. */
int rows_overlay(const struct unwind_rows *first, const struct unwind_rows *second, struct unwind_rows **ret);

/* The rule that holds at vaddr; NULL: none does. */
const struct wcbpf_rule *rows_find(const struct unwind_rows *r, uint64_t vaddr);

/* The sources: -ENOENT if the file has no such rules. -ENOMEM. o is of this machine. */
int frame_rows_eh(struct objfile *o, struct unwind_rows **ret);
int frame_rows_debug(struct objfile *o, struct unwind_rows **ret);
/* Of Go code, by its runtime's tables. */
int go_rows(struct objfile *o, struct unwind_rows **ret);
