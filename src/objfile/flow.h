/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The code of one function: the parts it consists of, their instructions, and how one leads to another. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objfile/cfa.h"
#include "objfile/insn.h"
#include "objfile/objfile.h"

/* What scans of one file share (code.c). */
struct objfile_code {
	struct objfile *o;
	const struct objfile_go *go; /* NULL: no Go program */
	struct cfa_rules *rules;
	bool lands; /* exceptions may make code run that no instruction leads to, if .eh_frame doesn't tell more */
};

#define FLOW_PARTS_MAX 8
/* One piece of code; the first is where the function begins, others lie elsewhere (foo.cold). */
struct flow_part {
	uint64_t start, end;
	uint8_t *bytes;
	size_t first, n; /* of flow.v */
};

struct flow {
	struct objfile_code *c;
	struct flow_part parts[FLOW_PARTS_MAX];
	size_t part_n;
	struct insn *v; /* part by part, by address in each */
	size_t n, cap;
	uint64_t landing; /* of Go: where it goes on after a panic; 0: nowhere */
	bool computed; /* has jumps whose targets are in the function, but which they are isn't known */
};

/*
 * Reads a piece of code. -ENOTSUP with *ret_why: it isn't instructions only, or too much; then the first part has what
 * there is up to there. -errno.
 */
int flow_add_part(struct flow *f, uint64_t start, uint64_t end, struct objfile_why *ret_why);
void flow_done(struct flow *f);
/* The part that has vaddr; NULL: none. */
const struct flow_part *flow_part_of(const struct flow *f, uint64_t vaddr);
/* Index of the instruction that a jump to vaddr leads to: there, or in front of it with prefixes to be jumped past. */
bool flow_index(const struct flow *f, uint64_t vaddr, size_t *ret);
/* Do all jumps within the function lead to instructions? */
int flow_check(const struct flow *f, struct objfile_why *ret_why);
/* Sets reached of what can be run; with computed jumps, or if exceptions can land in it, of everything. */
int flow_reach(struct flow *f);
/*
 * Can the instruction be run again after it has been, in the same call, as far as is known? grown: not by way of the
 * function's first one. -ENOMEM, 0, 1.
 */
int flow_repeats(const struct flow *f, size_t index, bool grown);
/* Decodes one that is known once more, with its operands. */
int flow_full(const struct flow *f, size_t index, struct insn_full *ret);
/* The instruction as a place for a probe. */
int flow_spot(const struct flow *f, size_t index, const struct cfa *cfa, struct objfile_spot *ret);

/* jumps.c: where jumps out of the function go, and what indirect ones are. */
enum jump_sort {
	JUMP_INSIDE, /* stays in the function */
	JUMP_PART,   /* to a part of it that lies elsewhere: *ret_start, *ret_end */
	JUMP_TAIL,   /* to another function, which returns in its stead */
};
/* -ENOTSUP with *ret_why: it is neither for sure. */
int jump_sort_direct(const struct flow *f, const struct insn *i, enum jump_sort *ret, uint64_t *ret_start,
		     uint64_t *ret_end, struct objfile_why *ret_why);
int jump_sort_indirect(const struct flow *f, size_t index, enum jump_sort *ret, struct objfile_why *ret_why);
/* jump-table.c: what the jump at index takes its target from. */
enum table_sort {
	TABLE_NONE,	/* it isn't read from an array */
	TABLE_INSIDE,	/* an array of places in the function */
	TABLE_OUTSIDE,	/* an array of other places */
	TABLE_UNKNOWN,	/* an array, of what can't be seen */
};
enum table_sort table_look(const struct flow *f, size_t index);
/*
 * Calls add with each instruction that the jump at index may lead to by its table, and maybe some more: where a table
 * ends isn't told, so it is read for as long as what it has makes sense. -ENOENT: there is none that could be read.
 */
int table_targets(const struct flow *f, size_t index, void (*add)(void *arg, size_t to), void *arg);

/* exits.c: adds the parts that jumps lead to, then lists the exits. -ENOTSUP with *ret_why: they can't all be found. */
int exits_find(struct flow *f, struct objfile_exit **ret, size_t *ret_n, struct objfile_why *ret_why);
/* entry.c: f has its first part at least. -ENOTSUP with *ret_why. */
int entry_choose(const struct flow *f, uint32_t needs, struct objfile_spot *ret, struct objfile_why *ret_why);
