/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The ops of a recording as wcprof's analyzer hangs them together. Private to replay/.
 *
 * They have numbers of their own, in the order in which they are met from the roots down: what is worked through one
 * after the other lies so, too.
 */
#include "replay/plan.h"

/* What a wait depends on, or its length belongs to. */
enum wcprof_wait_what { WAIT_FIXED, WAIT_SELF, WAIT_DELAY, WAIT_LOCK, WAIT_TARGET };

struct wcprof_wait {
	int64_t start_ns, end_ns; /* the end is not before the start */
	int64_t ready_ns; /* of a delay: at its end, without a CPU */
	uint32_t ref;	  /* of a delay its tag, of a lock that, of a target its node */
	uint8_t what;	  /* enum wcprof_wait_what */
};

/* An op. Number 0 is none. */
struct wcprof_node {
	int64_t start_ns, end_ns; /* likewise */
	uint32_t parent;      /* 0: none */
	uint32_t child, wait; /* its first; behind its last is the next node's first */
	uint32_t self_key;    /* NONE: nothing scales its own time */
};

struct wcprof_graph {
	const struct replay *r;
	struct wcprof_node *nodes; /* node_n, and one behind the last */
	size_t node_n;
	uint32_t *roots;      /* nodes by start */
	size_t root_n;
	uint32_t *children;   /* nodes; each node's by start */
	uint32_t *ends;	      /* the same by end */
	struct wcprof_wait *waits; /* each node's by start */
	uint32_t *tag_key;    /* by tag of computing: key of the op and strand; of delays NONE */
	uint32_t pair_n;      /* keys of op and strand; those of ops alone follow, one an op_key */
};

/* 0, -ENOMEM. */
int wcprof_graph_make(const struct replay *r, struct wcprof_graph *ret);
void wcprof_graph_done(struct wcprof_graph *g);
/* What only making the tape needs. */
void wcprof_graph_shed(struct wcprof_graph *g);
