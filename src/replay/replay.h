/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * "What would it save if": a recording compiled once into what each thread did
 * between its points of synchronisation, then replayed, unchanged and changed.
 * Pure; the model must outlive the replay and is not changed by it.
 *
 * Three engines give the makespan of a scenario:
 *   E1      longest path, everything in the recorded order; run-queue delays stay as recorded
 *   E2      simulation: locks go to whoever comes, CPUs are shared among who is ready
 *   wcprof  the rules of the engine that the format comes from, for comparison
 *
 * Times in ns since the epoch of the recording, durations in ns, as 64 bit.
 * Indexes are those of the model's vectors, 0: none, unless said.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

struct replay;

struct replay_options {
	uint32_t cpu_n; /* CPUs that the target could use; 0: as the recording tells or lets infer */
	bool damaged;	/* the file had lines that could not be read, or ended too early */
	size_t part_n;	/* so many parts are compiled at once, which changes nothing else; 0: as many as pay */
};

/* Compiles. o may be NULL. 0, -ENOMEM, -E2BIG (more than 2^28 points). An empty recording is fine: its makespan is 0. */
int replay_new(const struct model *m, const struct replay_options *o, struct replay **ret);
struct replay *replay_free(struct replay *r); /* NULL-safe, gives NULL */
DEFINE_CLEANUP(struct replay *, replay_free)

/* What the dump does not tell, and what is done without it. */
enum replay_missing {
	REPLAY_NO_THREADS = 1 << 0,	 /* no thread records: each chain of ops that don't overlap counts as a thread */
	REPLAY_NO_WAKERS = 1 << 1,	 /* no wait says who ended it: those without a target keep their length */
	REPLAY_NO_RUNNABLE = 1 << 2,	 /* time in the run queue is not told from waiting and computing: CPUs are unlimited */
	REPLAY_NO_SAMPLES = 1 << 3,	 /* what ran on the CPU is not known: classes of functions have delays only */
	REPLAY_NO_SAMPLE_TIMES = 1 << 4, /* nor when: CPU time of functions is the thread's average everywhere */
	REPLAY_NO_STACKS = 1 << 5,	 /* no classes of functions */
	REPLAY_NO_CPUS = 1 << 6,	 /* how many CPUs there were is inferred */
	REPLAY_EVENTS_LOST = 1 << 7,	 /* events were dropped: parts of the graph are missing */
	REPLAY_WAKERS_UNKNOWN = 1 << 8,	 /* of some waits that matter (over 1% of blocked time on the critical path) */
	REPLAY_OPEN = 1 << 9,		 /* the recording ended before the target did: its end is the window's */
	REPLAY_DAMAGED = 1 << 10,	 /* what of the file could not be read told something, too */
	REPLAY_ANSWERS_UNKNOWN = 1 << 11, /* of goroutines on the path, from the network (over 1% of it) */
};

struct replay_facts {
	int64_t begin_ns, end_ns; /* of what is replayed */
	int64_t makespan_ns;	  /* end_ns - begin_ns, as recorded */
	int64_t e1_ns, e2_ns;	  /* what the engines make of the unchanged recording */
	uint32_t end_thread;	  /* whose end is the end */
	uint32_t cpu_n;		  /* 0: unlimited */
	uint32_t strand_n;	  /* threads, or what stands for them */
	size_t point_n, wait_n;
	uint64_t unknown_waker_n, unknown_waker_ns; /* waits that something ended, and blocked time in them */
	uint64_t hold_n, inferred_hold_n; /* stretches in which a lock was held; of them without a blocked acquire or a seen wake */
	uint64_t forced_n;	  /* waits that nothing ended in the unchanged simulation */
	uint64_t spurious_n;	  /* waits that were one with the next: woken, looked, and waited again */
	uint64_t unplaced_ns;	  /* of threads: neither on a CPU nor in a wait that was recorded */
	uint64_t broken_n, broken_ns; /* waits that go on without whom they were for: the records contradict each other */
	uint32_t missing;	  /* enum replay_missing */
};
void replay_facts(const struct replay *r, struct replay_facts *ret);
/* What wcprof's rules make of it, -1: no ops. Takes its time: compiled to those is what is asked about. 0, -ENOMEM. */
int replay_wcprof_ns(const struct replay *r, int64_t *ret);
/* A line for people on one bit of missing, without a full stop. */
const char *replay_missing_text(enum replay_missing bit);

/* ---- classes: what a change can be about ---- */

enum replay_class_kind {
	REPLAY_CLASS_OP,       /* innermost op: op_kind and name (class). An op without a class has its thread's name */
	REPLAY_CLASS_FUNCTION, /* a function anywhere on the stack: of samples and of blocked waits. Overlap each other */
	REPLAY_CLASS_THREAD,   /* threads by name */
	REPLAY_CLASS_PROGRAM,  /* processes by program */
	REPLAY_CLASS_RESOURCE, /* delays: reason, wait_kind and named resource (0: any of that kind) */
	REPLAY_CLASS_LOCK,     /* what is done while a lock is held; name: its resource */
	REPLAY_CLASS_KIND_MAX,
};

struct replay_class {
	uint8_t kind;	    /* enum replay_class_kind */
	uint8_t op_kind;    /* of REPLAY_CLASS_OP: enum op_kind */
	uint8_t reason;	    /* of RESOURCE, LOCK: enum wait_reason */
	uint32_t name_id;   /* string */
	uint32_t kind_id;   /* of RESOURCE, LOCK: string, wait_kind */
	uint32_t module_id; /* of FUNCTION: module index */
	uint64_t count;	    /* delays and, of LOCK, holds */
	uint64_t cpu_ns, delay_ns;	     /* its own time, of all threads. Delays: what a timer, disk, network or stranger took */
	uint64_t path_cpu_ns, path_delay_ns; /* of it on the critical path */
};
/* The same order for one recording always: by kind, then most time on the path, most time, name. */
size_t replay_class_n(const struct replay *r);
const struct replay_class *replay_class(const struct replay *r, size_t i);
/* By kind and name; REPLAY_CLASS_KIND_MAX: of any kind, in the order of the enum. False if there is none. */
bool replay_class_find(const struct replay *r, enum replay_class_kind kind, const char *name, size_t *ret);

/* ---- scenarios ---- */

enum replay_change_what {
	REPLAY_CPU,	    /* the class's time on the CPU x factor */
	REPLAY_DELAY,	    /* its delays x factor */
	REPLAY_TIME,	    /* both */
	REPLAY_NO_LOCK,	    /* of class LOCK: nobody waits for it */
	REPLAY_CPUS,	    /* factor is the number of CPUs; no class */
	REPLAY_NO_RUNQUEUE, /* whoever is ready runs at once; no class */
	REPLAY_CHANGE_MAX,
};
struct replay_change {
	uint8_t what;	/* enum replay_change_what */
	uint32_t class; /* index, for what needs one */
	double factor;	/* from 0 to REPLAY_FACTOR_MAX */
};
#define REPLAY_FACTOR_MAX 1e6
struct replay_scenario {
	struct replay_change *changes; /* all at once; of several on the same time the factors multiply */
	size_t n;
};
void replay_scenario_done(struct replay_scenario *s); /* of one that replay_parse() made */

/*
 * "critical * 0.5", "fn:compress cpu x 0.9", "lock:NAME removed", "op:exec:cc1plus * 0", "cpus = 4", "no runqueue";
 * several joined by commas. A name is a class of any kind, or has its kind before it (op: fn: thread: program:
 * resource: lock:); it may be a unique part. 0, -ENOMEM; -EINVAL: not understood, -ENOENT: no such class, -EEXIST: it
 * could be several; then *ret_error is a line for people, malloc'd.
 */
int replay_parse(const struct replay *r, const char *expr, struct replay_scenario *ret, char **ret_error);

/*
 * Two are none. NEXT: one more question, whose answer is worth a replay: what has most of the path then. E1_KNOWN: the
 * outcomes have E1's makespans, from a call before.
 */
enum replay_engines { REPLAY_E1 = 1, REPLAY_E2 = 2, REPLAY_WCPROF = 4, REPLAY_NEXT = 8, REPLAY_E1_KNOWN = 16 };
enum replay_grade_why {
	REPLAY_WHY_BASELINE_1 = 1 << 0,	  /* E1 doesn't reproduce the recording within 1% */
	REPLAY_WHY_BASELINE_2 = 1 << 1,	  /* nor E2 */
	REPLAY_WHY_APART = 1 << 2,	  /* E1 and E2 differ by 3% of the makespan or more */
	REPLAY_WHY_LOST = 1 << 3,	  /* events were dropped */
	REPLAY_WHY_WAKERS = 1 << 4,	  /* unknown wakers on the critical path */
	REPLAY_WHY_UNSEEN = 1 << 5,	  /* contention that appears only after the change would not be seen: uncontended
					   * acquires leave no trace unless the lock's calls were probed */
	REPLAY_WHY_SAMPLES = 1 << 6,	  /* the class has few samples: its share is uncertain by more than 3% of the makespan */
	REPLAY_WHY_AVERAGE = 1 << 7,	  /* where its CPU time lies is not known */
	REPLAY_WHY_MISSING = 1 << 8,	  /* the dump lacks what the engines need, see replay_facts.missing */
	REPLAY_WHY_DAMAGED = 1 << 9,	  /* the file was not read in full */
	REPLAY_WHY_BROKEN = 1 << 10,	  /* what waits for what contradicts itself, in more than 0.1% of the makespan */
	REPLAY_WHY_ALIKE = 1 << 11,	  /* of CPUs: threads that may take each other's work compute as much as recorded */
	REPLAY_WHY_ANSWERS = 1 << 12,	  /* goroutines on the path wait for the network: nobody knows for whom */
};
const char *replay_why_text(enum replay_grade_why bit);

struct replay_outcome {
	int64_t e1_ns, e2_ns, wcprof_ns; /* makespans; -1: not asked for, or that engine can't tell */
	/*
	 * Against the engine's own baseline, scaled to the recorded makespan. best is E2's if it ran, else E1's; low and
	 * high are the range of both, low <= best <= high. Negative: it gets slower.
	 */
	int64_t best_ns, low_ns, high_ns;
	char grade;	/* 'A', 'B', 'C' */
	uint32_t why;	/* enum replay_grade_why, of a grade below A */
	uint32_t next;	/* class of kind OP that has most of the changed critical path (E1's), an index; UINT32_MAX: none, or not asked */
};
/* Several scenarios in one go: the engines share passes. engines: bits of enum replay_engines. 0, -ENOMEM, -EINVAL (a class that is none). */
int replay_evaluate(const struct replay *r, const struct replay_scenario *s, size_t n, unsigned engines,
		    struct replay_outcome *ret);

/* ---- all classes x factors ---- */

#define REPLAY_FACTOR_N 3
extern const double replay_factors[REPLAY_FACTOR_N]; /* 0, 0.5, 0.9 */

struct replay_saving {
	uint32_t class;
	uint8_t what;	  /* REPLAY_TIME, REPLAY_NO_LOCK */
	struct replay_outcome at[REPLAY_FACTOR_N]; /* NO_LOCK: only [0] */
	double shift;	  /* going down from 1: the factor at which the path leaves the class, so that less gains less; 0: never */
	bool simulated;	  /* E2 ran, of a large recording at factor 0.5 only */
};
struct replay_savings_options {
	size_t e2_top;	  /* run E2 for so many of E1's best and for those with much lock hold or CPU; 0: not at all */
	unsigned kinds;	  /* bits 1 << enum replay_class_kind; 0: all */
	bool wcprof;	  /* by wcprof's rules, too, as many as is a matter of seconds */
};
/*
 * Greatest saving at factor 0.5 first; classes that save nothing in any engine are left out, and of very many those with
 * least time on the critical path. Uses all CPUs. malloc'd. 0, -ENOMEM.
 */
int replay_savings(const struct replay *r, const struct replay_savings_options *o, struct replay_saving **ret,
		   size_t *ret_n);

/* ---- the critical path ---- */

enum replay_state {
	REPLAY_ONCPU,
	REPLAY_RUNNABLE, /* ready, and did not run */
	REPLAY_DELAYED,	 /* waited for a timer, disk, network, a stranger */
	REPLAY_BLOCKED,	 /* waited for who is not known, or is not of the recording's threads */
	REPLAY_GAP,	 /* nothing is known: before the first thread; of a thread: neither on a CPU nor in a wait that was recorded */
	REPLAY_STATE_MAX,
};

/*
 * A stretch of the path, where it was in the recording; stretches follow each other without gap from begin_ns to end_ns of
 * the facts, whatever the engines make of it.
 */
struct replay_stretch {
	int64_t start_ns, end_ns;
	uint32_t thread;   /* thread index, 0: ops without threads */
	uint32_t op;	   /* innermost op there */
	uint32_t wait;	   /* DELAYED, BLOCKED, RUNNABLE: the wait; ONCPU: the one that ended it, 0: none */
	uint32_t class;	   /* of kind OP: an index */
	uint32_t lock;	   /* held meanwhile: class of kind LOCK, UINT32_MAX: none */
	uint8_t state;	   /* enum replay_state */
	bool jumped;	   /* the path came from another thread, by a wake: of `wait` of the stretch's thread if that is not 0 */
	uint32_t from_wait; /* jumped: the wait that was ended so */
	int64_t slack_ns;  /* by how much the next best way to this point is shorter */
};
/* In time order, malloc'd. 0, -ENOMEM. */
int replay_path(const struct replay *r, struct replay_stretch **ret, size_t *ret_n);

/*
 * Slack of each op of the model: how much longer it could take, wherever in it, without making all later, in the
 * recorded order. -1: not known, INT64_MAX: it doesn't matter. malloc'd. 0, -ENOMEM.
 */
int replay_op_slacks(const struct replay *r, int64_t **ret);

/* Start and end of each op of the model in a scenario (E1 or E2), malloc'd; of ops that are not replayed as recorded. 0, -ENOMEM, -EINVAL. */
struct replay_span {
	int64_t start_ns, end_ns;
};
int replay_op_times(const struct replay *r, const struct replay_scenario *s, enum replay_engines engine,
		    struct replay_span **ret);

/* ---- who is to blame ---- */

/* Who held up a wait: a thread, or something that is none. */
enum replay_culprit {
	REPLAY_BY_THREAD,  /* of the recording */
	REPLAY_BY_TIMER, REPLAY_BY_DISK, REPLAY_BY_NET, REPLAY_BY_IRQ,
	REPLAY_BY_OUTSIDE, /* a task that is not of the recording */
	REPLAY_BY_UNKNOWN,
	REPLAY_CULPRIT_MAX,
};
const char *replay_culprit_name(enum replay_culprit c); /* "timer", ...; "" for a thread */

/* One line of the waker matrix: blocked time of a waiter, split over successive holders where it waited for a lock. */
struct replay_blame {
	uint32_t waiter; /* thread index */
	uint32_t by;	 /* thread index, of REPLAY_BY_THREAD; waker index of REPLAY_BY_OUTSIDE, 0: several or not known */
	uint8_t culprit; /* enum replay_culprit */
	uint8_t reason;	 /* enum wait_reason */
	uint32_t kind_id;
	uint64_t count;	 /* waits, each counted at who ended it */
	uint64_t ns, longest_ns;
	uint32_t wait;	 /* the longest */
};
/* Most time first, malloc'd. Sums to all blocked time of the waits replayed. 0, -ENOMEM. */
int replay_blames(const struct replay *r, struct replay_blame **ret, size_t *ret_n);
/* The same of some waits, by index; NULL: of all. */
int replay_blames_of(const struct replay *r, const bool *waits, struct replay_blame **ret, size_t *ret_n);

/* Blame of one wait: who held it up, piece by piece in time order, malloc'd. 0, -ENOMEM. */
struct replay_piece {
	int64_t start_ns, end_ns;
	uint32_t by;
	uint8_t culprit;
};
int replay_wait_blame(const struct replay *r, uint32_t wait, struct replay_piece **ret, size_t *ret_n);

struct replay_holder {
	uint32_t thread;
	uint32_t kstack, ustack; /* of most of what it did meanwhile: the longest delay; 0: it only computed */
	uint64_t count, ns;	 /* times it held the lock, how long */
	uint64_t blamed_ns;	 /* others' blocked time meanwhile */
};
/* A lock, or anything that several threads waited for by one name and one of them gave to the next. */
struct replay_lock {
	uint32_t ident_id;     /* string */
	uint32_t kind_id;      /* string: wait_kind */
	uint32_t process;      /* process index of the waiters, 0: several */
	uint32_t class;	       /* of kind LOCK, an index; UINT32_MAX: none (no holds known) */
	uint8_t reason;
	bool holds_known;      /* hold_* and use are measured; else only waits are */
	uint64_t wait_n, wait_ns, longest_ns;
	uint64_t hold_n, inferred_hold_n, hold_ns, hold_max_ns;
	uint64_t handoff_n, handoff_ns; /* from a release to the next holder's running */
	uint64_t barged_n;     /* a thread that came later than one that waited got it */
	uint64_t depth_max, depth_ns; /* most waiters at once; sum over time of waiters (mean depth: by makespan) */
	uint64_t busy_ns;      /* held by anybody */
	uint64_t path_ns;      /* critical path in its holds and handoffs */
	struct replay_holder *holders; /* most blamed first */
	size_t holder_n;
};
/* Most waited for first, malloc'd; free with replay_locks_free(). 0, -ENOMEM. */
int replay_locks(const struct replay *r, struct replay_lock **ret, size_t *ret_n);
void replay_locks_free(struct replay_lock *locks, size_t n);

/* ---- CPUs ---- */

/* Time that threads were ready and did not run, by who had the CPU meanwhile. */
struct replay_runqueue {
	uint32_t waiter; /* thread index */
	uint32_t by;	 /* thread index; 0: nobody of the recording */
	uint64_t ns, count;
};
/* The same of one stretch of the path in which its thread was ready: behind threads of its name, of others, or none. */
struct replay_queued {
	uint64_t like_ns, others_ns, outside_ns;
};
/* By stretch, of n; of those in other states 0. 0, -ENOMEM. */
int replay_path_queued(const struct replay *r, const struct replay_stretch *v, size_t n, struct replay_queued *ret);

/* Most time first, malloc'd. 0, -ENOMEM. */
int replay_runqueues(const struct replay *r, struct replay_runqueue **ret, size_t *ret_n);
