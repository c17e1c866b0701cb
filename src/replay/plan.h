/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The compiled recording, private to replay/. A strand is what does one thing
 * at a time: a thread, a goroutine, or in a dump without threads a chain of ops.
 * It is a row of points; before each it computes, at each it does one thing:
 *
 *   time at a point = time at the one before + cpu_ns, then what the point says, then run_ns
 *
 * Strands depend on each other by tokens: all signals of one come before what
 * waits for it. `runs` is an order of pieces of strands in which that holds.
 */
#include <math.h>

#include "replay/replay.h"

#define NONE UINT32_MAX

enum point_what {
	POINT_NONE,	/* computes only */
	POINT_OP_BEGIN, /* ref: op */
	POINT_OP_END,	/* ref: op */
	POINT_RUNQ,	/* was ready and did not run; ref: wait */
	POINT_DELAY,	/* wait_ns pass; object: its tag; ref: wait */
	POINT_SIGNAL,	/* object: token; ref: the wait that it ends, 0: none in particular */
	POINT_SIGNAL_MORE, /* likewise, not the first of that token in the order of runs */
	POINT_WAIT,	/* object: token; ref: wait */
	POINT_GATHER,	/* object: token; E2 waits for it, E1 does not */
	POINT_ACQUIRE,	/* object: token, of a lock; ref: wait. Recorded order: waits for the token, simulated: for the lock */
	POINT_RELEASE,	/* object: token, of a lock; ref: the wait that it ends */
	POINT_TAKE,	/* object: lock, which was free */
	POINT_DROP,	/* object: lock, for which nobody waited */
	POINT_LONG,	/* a time beyond 32 bits; object: index of longs; ref: wait, if it is of one */
	POINT_LIMIT,	/* object: index of longs: how long the next waits at most */
	POINT_EITHER,	/* object: token; ref: wait. Until that comes, or as long as the point before it says */
};

enum long_what { LONG_CPU, LONG_WAIT, LONG_RUN, LONG_LIMIT };

/* Days of waiting are one point, not one for every two seconds of them: a dump may claim centuries. */
struct long_time {
	int64_t ns, lat_ns;
	uint32_t tag; /* of WAIT and LIMIT; that of CPU is its point's */
	uint8_t what; /* enum long_what */
};

struct points {
	size_t n, cap;
	uint8_t *what;	   /* enum point_what */
	uint32_t *cpu_ns;  /* computing before it */
	uint32_t *cpu_tag; /* of that */
	uint32_t *wait_ns; /* of DELAY; longer times are points of their own. Of points with a token: its slot */
	uint32_t *run_ns;  /* behind it, ready and not running, as recorded */
	uint32_t *lat_ns;  /* of it: what the target's own threads on the CPUs don't explain */
	uint32_t *object;
	uint32_t *ref;
};
void points_free(struct points *p);

struct strand {
	uint32_t thread;     /* model thread, 0: ops without threads */
	uint32_t op;	     /* its outermost op, 0: none */
	uint32_t process;    /* model process, 0: unknown */
	size_t first, n;     /* its points */
	int64_t begin_ns, end_ns;
	uint32_t token;	     /* whose signal starts it; NONE: it starts at begin_ns whatever happens */
	uint32_t slot;	     /* of the token */
	uint32_t parent;     /* strand that started it, NONE: not known */
	uint32_t group;	     /* CPU group */
	uint32_t key;	     /* index of strand_keys */
	size_t first_tick, tick_n; /* while it is compiled: of a clock */
	int64_t exit_ns;     /* while it is compiled: its thread is as good as gone, and waits are no longer recorded */
	int64_t unplaced_ns; /* likewise: neither on a CPU nor in a wait that is recorded */
	bool clock;	     /* lets time pass for another strand: see clocks.c */
	bool open;	     /* goes on when the recording ends */
	bool sink;	     /* its end may be the end of all */
	bool chain;	     /* ops without threads, one after the other: between them lies time that nobody explains */
};

struct run {
	uint32_t strand;
	uint32_t from, n; /* points, counted from the strand's first */
};

/* What the time between points, or a delay, belongs to. Classes are sets of shares of tags. */
struct tag {
	uint32_t op_key;   /* innermost op, index of op_keys */
	uint32_t strand_key; /* index of strand_keys: thread name and program */
	uint32_t lock;	   /* innermost lock held, NONE */
	uint32_t row;	   /* of a delay: model row, TAG_UNPLACED; 0: computing */
	uint32_t ident_id; /* of a delay: string */
	uint32_t before, after; /* computing: what the strand did at its two ends */
	uint32_t own;	   /* computing: 1 + number of a segment with samples enough to be looked at alone; 0: with its like */
	uint32_t next;	   /* of the same hash, NONE */
	uint64_t ns, count;
	uint64_t samples;  /* in it */
};

/* A delay that is in no wait of the recording. */
#define TAG_UNPLACED UINT32_MAX

/* CPUs that strands may use: those with one mask are a group. */
enum { CPU_NUMBERS = 1024 };
struct cpu_group {
	uint64_t mask[CPU_NUMBERS / 64];
	bool any; /* all CPUs; mask is blank */
};

struct lock {
	uint32_t ident_id, process;
	uint32_t row;	   /* of its first wait */
	uint32_t wait_n;
	size_t first_hold, hold_n; /* in time order */
	uint32_t class;	   /* NONE if not simulated */
	bool simulated;	   /* its holds are known well enough for E2; else its waits have tokens only */
	int64_t latency_ns; /* median from a release to the woken's running */
	int64_t look_ns;   /* from there until he has the lock, or sees that another has; 0: none was seen to be late */
	uint64_t path_ns;   /* of the recording's critical path, in its holds and handoffs */
};

/* A stretch in which a strand has a lock. */
struct hold {
	uint32_t lock, strand;
	int64_t from_ns, to_ns;
	uint32_t wait;	   /* through which it was acquired, 0: without blocking */
	uint32_t next_wait; /* the wait that its release ended, 0: none */
	bool inferred;	   /* not both ends were seen */
};

struct op_key {
	uint32_t class_id; /* string; the thread's name if the op has no class */
	uint8_t kind;
};
struct strand_key {
	uint32_t comm_id, program_id;
};

struct share {
	uint32_t tag;
	float share;
};

struct class_entry {
	struct replay_class c;
	size_t first, n; /* of shares */
	uint32_t lock;	 /* of REPLAY_CLASS_LOCK, else NONE */
	double sd_ns;	 /* standard error of its time on the CPU, for having few samples */
};

/* steps.h */
struct step;
struct steps {
	struct step *v;
	size_t n;
	size_t *first; /* by strand, strand_n + 1: the last of each is its last point, which may say nothing */
};

struct path;

struct replay {
	const struct model *m; /* not owned */
	struct replay_facts facts;
	uint32_t *waits;       /* the model's by strand, each in time order */
	size_t *wait_first;    /* of them, by strand, strand_n + 1 */
	struct path *path;     /* of the unchanged recording in its order; NULL: it is in so many pieces that it isn't kept */
	uint32_t path_last;    /* the strand with whose end it ends */
	struct points points;
	struct long_time *longs;
	size_t long_n, long_cap;
	struct strand *strands;
	size_t strand_n;
	struct steps steps;
	struct run *runs;
	size_t run_n, run_cap;
	uint32_t *token_lock; /* NONE: of none */
	uint32_t *token_need; /* signals */
	size_t token_n, token_cap;
	size_t slot_n; /* tokens that E1 has to know at once, at most: each has a slot while it is needed, NONE if it never is */
	struct tag *tags;
	size_t tag_n, tag_cap;
	struct lock *locks;
	size_t lock_n, lock_cap;
	struct hold *holds;
	size_t hold_n, hold_cap;
	struct op_key *op_keys;
	size_t op_key_n, op_key_cap;
	struct strand_key *strand_keys;
	size_t strand_key_n, strand_key_cap;
	struct cpu_group *groups;
	size_t group_n, group_cap;
	struct class_entry *classes;
	size_t class_n, class_cap;
	struct share *shares;
	size_t share_n, share_cap;
	uint32_t *strand_of_thread; /* by model thread, NONE */
	uint32_t *strand_of_op;	    /* by op, of dumps without threads; else NULL */
	struct wcprof *wcprof; /* wcprof.h */
	bool unseen_locks;	    /* of some lock it is not known when it was held */
};

/* The long time that a point is, if it is one of that sort; NULL. */
static inline const struct long_time *point_long(const struct replay *r, size_t i, enum long_what what)
{
	const struct long_time *x = r->points.what[i] == POINT_LONG ? &r->longs[r->points.object[i]] : NULL;

	return x && x->what == what ? x : NULL;
}

/* What a strand computes up to a point, waits at it, and is ready behind it. */
static inline double point_cpu_ns(const struct replay *r, size_t i)
{
	const struct long_time *x = point_long(r, i, LONG_CPU);

	return x ? (double)x->ns : (double)r->points.cpu_ns[i];
}

static inline double point_run_ns(const struct replay *r, size_t i)
{
	const struct long_time *x = point_long(r, i, LONG_RUN);

	return x ? (double)x->ns : (double)r->points.run_ns[i];
}

/* How long a point of EITHER waits at most. */
static inline const struct long_time *point_limit(const struct replay *r, size_t i)
{
	return &r->longs[r->points.object[i - 1]];
}

/* Only of points that are a delay; *ret_tag: its tag. */
static inline bool point_delay(const struct replay *r, size_t i, double *ret_ns, uint32_t *ret_tag)
{
	const struct long_time *x = point_long(r, i, LONG_WAIT);

	if (!x && r->points.what[i] != POINT_DELAY)
		return false;
	*ret_ns = x ? (double)x->ns : (double)r->points.wait_ns[i];
	*ret_tag = x ? x->tag : r->points.object[i];
	return true;
}

/* The nearest time; a double of the last ones is beyond them. */
static inline int64_t ns_round(double ns)
{
	return ns >= 0x1p63 ? INT64_MAX : ns <= -0x1p63 ? INT64_MIN : llround(ns);
}
