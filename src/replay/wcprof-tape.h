/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * What wcprof's rules make of the ops, as steps one after the other. Private to replay/.
 *
 * Which op is worked through when doesn't depend on how long anything takes, only
 * on the recorded order. So that is found once, and a scenario goes through the
 * steps without a question.
 */
#include "replay/wcprof-graph.h"

enum wcprof_step_what {
	STEP_ROOT,	/* ref begins ns after the end of those before */
	STEP_ROOT_SEEN, /* likewise, but somebody's wait made it begin before its turn */
	STEP_END,	/* of a root: ref */
	STEP_END_LATEST, /* likewise, and the next root keeps its distance from it */
	STEP_ENTER,	/* what follows happens in ref */
	STEP_SPAWN,	/* ref begins now */
	STEP_BASE,	/* ref's start, NONE: 0 */
	STEP_ANCHOR,	/* ref begins ns after that */
	STEP_JOIN,	/* goes on when ref has ended */
	STEP_CYCLE,	/* goes on ns after ref's start */
	STEP_KEEP,	/* ref's start will be asked for */
	STEP_SELF,	/* ns of self time; ref: its key */
	STEP_FIXED,	/* ns */
	STEP_DELAY,	/* ns that are a delay; ref: its tag */
	STEP_LOCK,	/* ns of waiting; ref: the lock */
};

/* What a step refers to has a number below this; WCPROF_REF_NONE: nothing. */
#define WCPROF_REF_MAX ((1u << 27) - 1)
#define WCPROF_REF_NONE WCPROF_REF_MAX

/* They are many, and each scenario goes through all. */
struct wcprof_step {
	uint32_t ns;	   /* if far: number of fars */
	uint32_t ref : 27; /* an op: its slot */
	uint32_t what : 4; /* enum wcprof_step_what */
	uint32_t far : 1;  /* negative, or beyond 32 bits */
};
_Static_assert(sizeof(struct wcprof_step) == 8, "two words");

struct wcprof_tape {
	struct wcprof_step *v;
	size_t n, cap;
	int64_t *fars;
	size_t far_n, far_cap;
	size_t slot_n, kept_n; /* ops whose times, and starts, have to be known at once */
	int64_t begin_ns;      /* of the first root */
};

static inline int64_t wcprof_step_ns(const struct wcprof_tape *t, const struct wcprof_step *s)
{
	return s->far ? t->fars[s->ns] : s->ns;
}

/* Steps refer to nodes. 0, -ENOMEM. */
int wcprof_tape_make(const struct wcprof_graph *g, struct wcprof_tape *ret);
/* Then, of node_n nodes, to slots. The graph is needed no more. 0, -ENOMEM: only wcprof_tape_done() is left to do. */
int wcprof_tape_slots(struct wcprof_tape *t, size_t node_n);
void wcprof_tape_done(struct wcprof_tape *t);
