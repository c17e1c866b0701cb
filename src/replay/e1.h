/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * E1: every point's time as the longest path to it, everything in the recorded
 * order. Several scenarios a pass. Private to replay/.
 */
#include "replay/plan.h"

enum { E1_LANES = 8 };

/* What a scenario makes of a plan. */
struct weights {
	float *times;	     /* by tag: so many times as long; NULL: all as recorded */
	uint32_t *free_locks; /* that nobody waits for, free_lock_n */
	size_t free_lock_n;
	uint32_t cpu_n;	     /* E2; 0: unlimited */
	bool own_cpus;	     /* cpu_n is the scenario's, and binds all alike */
	bool no_runqueue;
};

/* Makespans of n <= E1_LANES scenarios. 0, -ENOMEM. */
int e1_run(const struct replay *r, const struct weights *w, size_t n, int64_t *ret);

/* The same for many scenarios, each of which changes few tags: room that is used again from pass to pass. */
struct e1_batch;
int e1_batch_new(const struct replay *r, struct e1_batch **ret);
struct e1_batch *e1_batch_free(struct e1_batch *b); /* NULL-safe, gives NULL */
DEFINE_CLEANUP(struct e1_batch *, e1_batch_free)
/* In a lane a tag's time is so many times as long (it multiplies), a lock is nobody's to wait for. Until the next run. */
void e1_batch_tag(struct e1_batch *b, size_t lane, uint32_t tag, float times);
void e1_batch_lock(struct e1_batch *b, size_t lane, uint32_t lock);
/* All lanes; then they are blank again. */
void e1_batch_run(struct e1_batch *b, int64_t ret[E1_LANES]);

/* One scenario with what else is known of it; all arrays malloc'd, NULL if not asked for (ask: bits). */
enum e1_ask { E1_TIMES = 1, E1_SOURCES = 2, E1_LATEST = 4 };
struct e1_detail {
	int64_t makespan_ns;
	uint32_t last;	  /* strand whose end is the end, NONE */
	double *times;	  /* by point, behind it */
	double *begins;	  /* with times: by strand */
	uint32_t *source; /* by token: the point whose signal came last, NONE */
	double *latest;	  /* by point: the latest that it may be without the end being later; infinite: it never matters */
};
int e1_detail(const struct replay *r, const struct weights *w, unsigned ask, struct e1_detail *ret);
void e1_detail_done(struct e1_detail *d);
