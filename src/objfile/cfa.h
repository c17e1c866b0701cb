/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Where a function's frame is (its CFA) at each of its instructions. */
#include <stdbool.h>
#include <stdint.h>

#include "objfile/objfile.h"

struct cfa {
	uint8_t reg; /* DWARF number */
	int32_t off; /* CFA is reg + off */
};

struct cfa_rules;
/* go may be NULL; both must outlive the rules. */
int cfa_rules_new(struct objfile *o, const struct objfile_go *go, struct cfa_rules **ret);
struct cfa_rules *cfa_rules_free(struct cfa_rules *r);
/* -ENOENT: nothing tells it, or not as a register and a number. */
int cfa_at(struct cfa_rules *r, uint64_t vaddr, struct cfa *ret);
/* What .eh_frame has as one piece of code around vaddr. */
bool cfa_extent(const struct cfa_rules *r, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end);
/* May exceptions make the code at vaddr go on elsewhere in it? Where nothing tells, other is the answer. */
bool cfa_lands(const struct cfa_rules *r, uint64_t vaddr, bool other);
/* The CFA of a function's first instruction: of where it is called, and where it can return. */
static inline bool cfa_is_at_entry(const struct cfa *c)
{
	return c->reg == 7 && c->off == 8;
}
