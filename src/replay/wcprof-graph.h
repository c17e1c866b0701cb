/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The ops of a recording as wcprof's analyzer hangs them together. Private to replay/. */
#include "replay/plan.h"

/* What the length of a wait without a target belongs to. */
enum wcprof_length { LENGTH_FIXED, LENGTH_SELF, LENGTH_DELAY, LENGTH_LOCK };

struct wcprof_graph {
	const struct replay *r;
	uint32_t *parent;     /* by op */
	uint32_t *roots;      /* by start */
	size_t root_n;
	size_t *child_first;  /* by op, op_n + 1 */
	uint32_t *children;   /* each op's by start */
	uint32_t *ends;	      /* the same by end */
	size_t *wait_first;   /* by op, op_n + 1 */
	uint32_t *waits;      /* each op's by start */
	uint32_t *target;     /* by wait, 0: none */
	uint8_t *length;      /* by wait: enum wcprof_length */
	uint32_t *length_ref; /* by wait: tag, lock */
	uint32_t *self_key;   /* by op; NONE: nothing scales it */
	uint32_t *tag_key;    /* by tag of computing: key of the op and strand; of delays NONE */
	uint32_t pair_n;      /* keys of op and strand; those of ops alone follow, one an op_key */
};

/* 0, -ENOMEM. */
int wcprof_graph_make(const struct replay *r, struct wcprof_graph *ret);
void wcprof_graph_done(struct wcprof_graph *g);
/* What only making the tape needs. */
void wcprof_graph_shed(struct wcprof_graph *g);
