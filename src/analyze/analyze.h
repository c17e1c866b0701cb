/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Pure analyses over the model, for report. Times in ns. */
#include "model/model.h"

/* One line of a table, largest first. */
struct analyze_entry {
	uint32_t name_id;  /* string */
	uint32_t kind_id;  /* string: wait_kind, for tables by resource; 0: unknown */
	uint32_t stack_k, stack_u; /* for tables by stack, of the first wait */
	uint64_t count;
	uint64_t blocked_ns, runnable_ns;
	uint64_t longest_ns; /* blocked (REASON_CPU: runnable) of one wait */
	uint64_t idle_count, idle_ns; /* of them idle by design: waits, blocked */
	uint8_t reason;	     /* of the first wait; what all share in tables by resource */
	bool idle;	     /* all waits of it are idle by design */
	bool longest_cut;    /* the longest began before the recording or was open at its end: it is longer than known */
};
struct analyze_table {
	struct analyze_entry *entries;
	size_t n;
};
void analyze_table_done(struct analyze_table *t);

enum analyze_idle { ANALYZE_IDLE_TOO, ANALYZE_IDLE_NOT, ANALYZE_IDLE_ONLY };

/* Which threads and waits to look at; all conditions hold together. Blank: everything. Arrays are the caller's. */
struct analyze_filter {
	const uint32_t *pids, *tids;
	size_t pid_n, tid_n; /* 0: any */
	const char *comm;    /* thread name; NULL: any */
	enum analyze_idle idle;
};

/*
 * Waits in which a thread is parked until there is work for it: for a request
 * (condition variable, epoll, poll, accept, signal), for the end of what it
 * started (child, join), for leave to go on (stopped); in Go programs what the
 * runtime's own goroutines and its threads without one do. They are long in any
 * healthy server and would drown locks and I/O. A sleep is none: nobody but
 * the clock ends it, so it is time lost; a poll that ran into its time limit is
 * a sleep too.
 */
bool analyze_wait_is_idle(const struct model *m, const struct model_wait *w);

/* Where all threads' lifetimes went, thread-ns. known: from thread records, else from waits alone. */
struct analyze_time {
	bool known;
	uint64_t lifetime_ns, oncpu_ns, runnable_ns, blocked_ns, lost_ns;
	uint64_t by_reason_ns[REASON_MAX]; /* blocked (REASON_CPU: runnable) */
	uint64_t count_by_reason[REASON_MAX];
	size_t thread_n, process_n; /* goroutines are no threads */
};
void analyze_time(const struct model *m, struct analyze_time *ret);
/* The same of what passes the filter (NULL: all); its idle member is ignored. 0, -ENOMEM. */
int analyze_time_filtered(const struct model *m, const struct analyze_filter *f, struct analyze_time *ret);

/* Stretches of REASON_CPU, in which nothing was waited for, are in the tables by resource and kind only. */
enum analyze_by {
	ANALYZE_BY_RESOURCE, /* reason, kind and what was waited for: named resource or class of the awaited op */
	ANALYZE_BY_WAKER,
	ANALYZE_BY_STACK,    /* kernel and user stack, by names: equal ones of two processes are one */
	ANALYZE_BY_CALLER,   /* user stack only, the kernel's where there is no user stack */
	ANALYZE_BY_THREAD,
	ANALYZE_BY_OP_CLASS, /* of the waiting op */
	ANALYZE_BY_KIND,     /* reason and kind */
};
/* Waits grouped; strings it needs are interned in m->strings. 0, -ENOMEM. */
int analyze_group(struct model *m, enum analyze_by by, struct analyze_table *ret);
int analyze_group_filtered(struct model *m, enum analyze_by by, const struct analyze_filter *f,
			   struct analyze_table *ret);

/* Waits that nothing had ended when the recording did, longest first: their indexes, malloc'd. 0, -ENOMEM. */
int analyze_open_waits(const struct model *m, const struct analyze_filter *f, uint32_t **ret, size_t *ret_n);
/* What was waited for: the resource's name, or the awaited op's class, or its own name. String, 0: nothing known. */
uint32_t analyze_awaited_name(const struct model *m, const struct model_wait *w);

/*
 * How the stacks of one side ended, of all intervals that blocked and for which there should be one, most frequent
 * first. The words are those of struct model_stack's ended_id; "lost": its body never came; "none": it could not be
 * read, as far as that can be told apart from one that was not due.
 */
struct analyze_ending {
	const char *word; /* owned by the model, or static */
	uint64_t count, blocked_ns;
};
struct analyze_endings {
	struct analyze_ending *v;
	size_t n;
	uint64_t count, blocked_ns; /* of all */
};
int analyze_endings(const struct model *m, enum stack_side side, struct analyze_endings *ret); /* 0, -ENOMEM */
/* Those with that word, count 0 if there are none. */
struct analyze_ending analyze_ending_of(const struct analyze_endings *e, const char *word);
void analyze_endings_done(struct analyze_endings *e);

/* Time on the CPU in one function: the innermost of a stack, the kernel's if it was interrupted there. */
struct analyze_function {
	uint32_t kstack, ustack; /* its commonest stack; kstack 0: in user mode */
	uint64_t count;		 /* samples */
	uint64_t ns;		 /* of the threads' true time on the CPU, divided by samples */
	size_t stack_n;		 /* different stacks that end in it */
};
/* Most time first; malloc'd. Time of threads without a sample is in none. 0, -ENOMEM. */
int analyze_functions(const struct model *m, const struct analyze_filter *f, struct analyze_function **ret,
		      size_t *ret_n);

/* What a thread did in a piece of its lifetime. */
enum analyze_state {
	ANALYZE_ONCPU,		 /* by samples */
	ANALYZE_ONCPU_UNSAMPLED, /* of a thread that no sample met */
	ANALYZE_RUNNABLE,
	ANALYZE_BLOCKED,
	ANALYZE_BELOW_MIN,	 /* intervals shorter than --min, blocked and runnable */
	ANALYZE_LOST,		 /* off the CPU, in intervals that were lost */
	ANALYZE_UNACCOUNTED,
	ANALYZE_STATE_MAX,
};
struct analyze_piece {
	uint32_t thread;
	uint32_t comm_id;	 /* its name then */
	uint32_t kstack, ustack; /* 0: none is known */
	uint64_t ns;
	uint64_t count;		 /* intervals or samples */
	uint8_t state;		 /* enum analyze_state */
};
/*
 * Every thread's lifetime in pieces that sum to it exactly; by thread, longest
 * first, malloc'd. Of a model whose rows are by thread: as recorded in mode
 * wall, not as read from a dump. 0, -ENOMEM.
 */
int analyze_wall(const struct model *m, struct analyze_piece **ret, size_t *ret_n);
