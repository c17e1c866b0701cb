/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * A small world with threads, locks and CPUs, run by simple rules of its own:
 * its makespan is the truth, and what a tracer would have seen of it becomes a
 * model. Nothing of it is shared with the engines.
 *
 * CPUs serve one queue, a slice each, to whoever had least. Locks are taken by whoever comes while
 * they are free; a release wakes the first who waits. Waking takes no time, but where the world says so.
 */
#include "replay/replay.h"

enum step_what {
	STEP_COMPUTE, /* ns, function */
	STEP_SLEEP,   /* ns, function */
	STEP_SIGNAL,  /* object: event */
	STEP_WAIT,    /* object: event; goes on at once if it was signalled */
	STEP_LOCK,    /* object: lock */
	STEP_UNLOCK,
	STEP_BARRIER, /* object: barrier, of ns threads */
	STEP_SPAWN,   /* object: thread */
	STEP_JOIN,    /* object: thread */
	STEP_UNTIL,   /* ns later than the thread's last of these (or the beginning); goes on at once if it is that late */
	STEP_TIMED_JOIN, /* object: thread; gives up after ns. function: the time limit's */
	STEP_STRANGER, /* ns: somebody outside answers after that */
};

struct step {
	uint8_t what;
	uint8_t function; /* 'a'...: its name; 0: none */
	uint32_t object;
	int64_t ns;
};

struct world {
	struct step *steps[64]; /* by thread; thread 0 is there from the beginning, others are spawned */
	size_t step_n[64], step_cap[64];
	size_t thread_n;
	uint32_t cpu_n; /* 0: unlimited */
	int64_t slice_ns;
	uint32_t slow_wake; /* the so manieth wake for a lock takes slow_ns until its thread can run; 0: none does */
	int64_t slow_ns;
	int64_t wake_ns; /* from any other wake for a lock until its thread can run */
	int64_t look_ns; /* what it computes then before it looks whether the lock is free, and once more if it is not */
	int64_t sample_ns; /* a sample after so much computing of a thread; 0: none */
};

void world_add(struct world *w, uint32_t thread, enum step_what what, uint32_t object, int64_t ns, uint8_t function);
void world_done(struct world *w);
/* How long until thread 0 has ended. ret: what was seen, NULL: not asked for. */
int64_t world_run(const struct world *w, struct model **ret);
/* All of a function's time x factor, as another world. */
struct world world_scaled(const struct world *w, uint8_t function, double factor);
