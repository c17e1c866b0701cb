/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Each op with its children and its waits, both in the order of time. Private to analyze/. */
#include "model/model.h"

struct optree {
	const struct model *m;
	uint32_t *parents;  /* as of parents.h */
	uint32_t *children; /* ops by parent, by start; those of 0 are the roots */
	size_t *child_first; /* by op: of its first child; of op_n: the end */
	uint32_t *waits;    /* by waiting op, by start */
	size_t *wait_first;
	/*
	 * Ops that a thread or goroutine did though they hang elsewhere, or nowhere (a request that is its client's), by the
	 * innermost op of that thread around them, by start. NULL: there are none.
	 */
	uint32_t *guests;
	size_t *guest_first;
};
int optree_init(struct optree *t, const struct model *m); /* 0, -ENOMEM */
void optree_done(struct optree *t);

/*
 * A process, or one of its programs: what its threads do, it does. Its ident and its client are its own key; an exec op
 * of an engine, which only hosts one, has others.
 */
bool optree_is_process(const struct model *m, uint32_t op);
/* A child that the parent's own thread runs: while it lasts the parent does nothing else. */
bool optree_same_lane(const struct model *m, uint32_t parent, uint32_t child);
/* What an op's own thread does in its stead, its children and guests together, by start; 0 behind the last. */
struct optree_below {
	size_t child, guest;
};
struct optree_below optree_below_first(const struct optree *t, uint32_t op);
uint32_t optree_below_next(const struct optree *t, uint32_t op, struct optree_below *at);
