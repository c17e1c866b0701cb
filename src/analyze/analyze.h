/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Pure analyses over the model, for report. Times in ns. */
#include "model/model.h"

/* Where a nanosecond of a thread's life goes, as people ask for it. Each belongs to one of these. */
enum analyze_where {
	WHERE_RUNNING,
	WHERE_RUNNABLE, /* ready, no CPU free */
	WHERE_LOCK,	/* mutex, rwlock, semaphore, barrier, other futex */
	WHERE_DISK,	/* files, fsync, page faults, what a disk's interrupt ended */
	WHERE_NET,	/* sockets but unix ones, what a network interrupt ended */
	WHERE_PIPE,	/* another program of this machine: pipe, unix socket, eventfd, terminal */
	WHERE_TIMER,	/* sleeps, and time limits that were reached */
	WHERE_CHILD,	/* the end of a process or thread */
	WHERE_WORK,	/* of an engine: another op */
	WHERE_IDLE,	/* idle by design, but for children */
	WHERE_UNKNOWN,	/* lost, shorter than --min, or of no known reason */
	WHERE_MAX,
};
const char *analyze_where_name(enum analyze_where w); /* "running", ... */
/* The state of a wait's blocked time. */
enum analyze_where analyze_wait_where(const struct model *m, const struct model_wait *w);

/* One line of a table, largest first. */
struct analyze_entry {
	uint32_t name_id;  /* string */
	uint32_t kind_id;  /* string: wait_kind, for tables by resource; 0: unknown */
	uint32_t stack_k, stack_u; /* for tables by stack, of the first wait */
	uint32_t first;	     /* the first wait */
	uint8_t where;	     /* enum analyze_where of the first wait; what nearly all share in tables by resource */
	uint64_t count;
	uint64_t blocked_ns, runnable_ns;
	uint64_t longest_ns; /* blocked (REASON_CPU: runnable) of one wait */
	uint64_t idle_count, idle_ns; /* of them idle by design: waits, blocked */
	double squares; /* sum of the squares of what longest_ns is the longest of, ns^2 */
	uint8_t reason;	     /* of the first wait; what all share in tables by resource */
	bool idle;	     /* all waits of it are idle by design */
	bool longest_cut;    /* the longest is longer than known: cut at the recording's begin or end */
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
	/* Ops of one of these classes, and of one of these clients, with all that is below them. 0: any. */
	const char *const *classes, *const *clients;
	size_t class_n, client_n;
	enum analyze_idle idle;
};

/*
 * Waits in which a thread is parked until there is work for it: for a request
 * (condition variable, epoll, poll, accept, signal; of the kernel's own
 * threads any), for the end of what it started (child, join), for leave to go
 * on (stopped); in Go programs what the runtime's own goroutines and its threads
 * without one do. They are long in any healthy server and would drown locks and
 * I/O. A sleep is none: nobody but the clock ends it, so it is time lost; a poll
 * that ran into its time limit is a sleep too.
 */
bool analyze_wait_is_idle(const struct model *m, const struct model_wait *w);
/* It ended, and what it waited for went on: by more than the 1 ms that clocks and hooks may be apart. */
bool analyze_wait_is_given_up(const struct model *m, const struct model_wait *w);
/* Whether waits of that kind are, whatever their outcome. */
bool analyze_kind_is_idle(const struct model *m, enum wait_reason reason, uint32_t kind_id);

/* By its stack, a wait of a thread of Go's runtime that has no goroutine to run, or watches the others. Idle by design. */
bool analyze_row_is_go_scheduler(const struct model *m, const struct model_row *row);

/*
 * The program's own function for waiting for one of its locks, if a wait that looks like one for work is in it. Such a
 * wait is not idle, and its state is WHERE_LOCK. String, 0: none.
 */
uint32_t analyze_lock_function(const struct model *m, const struct model_wait *w);

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
	ANALYZE_BY_MAX,
};
/*
 * Waits grouped, in two steps: the first reads the model only, so that others may do so at the same time. Until the
 * second names of entries are blank, and their order any. 0, -ENOMEM.
 */
int analyze_group_count(const struct model *m, enum analyze_by by, const struct analyze_filter *f,
			struct analyze_table *ret);
int analyze_group_name(struct model *m, enum analyze_by by, struct analyze_table *t);
/* Both; strings it needs are interned in m->strings. 0, -ENOMEM. */
int analyze_group(struct model *m, enum analyze_by by, struct analyze_table *ret);
int analyze_group_filtered(struct model *m, enum analyze_by by, const struct analyze_filter *f,
			   struct analyze_table *ret);

/* Waits that nothing had ended when the recording did, longest first: their indexes, malloc'd. 0, -ENOMEM. */
int analyze_open_waits(const struct model *m, const struct analyze_filter *f, uint32_t **ret, size_t *ret_n);
/* What was waited for: the resource's name, or the awaited op's class, or its own name. String, 0: nothing known. */
uint32_t analyze_awaited_name(const struct model *m, const struct model_wait *w);

/*
 * What of the time of ops is whose, by index: of an op what is in no wait and no child of it, of a wait what counts as its
 * op's. All of them are what the ops' states sum to. parents: as the ops name them, else by links; 0: none.
 */
struct analyze_op_parts {
	uint32_t *parents;
	uint64_t *self_ns, *wait_ns;
};
int analyze_op_parts(const struct model *m, struct analyze_op_parts *ret); /* 0, -ENOMEM */
void analyze_op_parts_done(struct analyze_op_parts *x);

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
	ANALYZE_LEFT_OUT,	 /* off the CPU, in intervals that --only left out */
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

/*
 * Thread time by state: sums to total_ns, but for gap_ns. Of processes whose goroutines were recorded it is theirs, and
 * their threads, which only carry them or look for one to carry, are left out (unless the filter is by thread or name).
 * A goroutine in wait for a channel or the network, and not in an op, is WHERE_IDLE, one in wait for others to end
 * WHERE_CHILD. In no wait they ran, in all for as long as their threads did; more of it is WHERE_UNKNOWN.
 */
struct analyze_states {
	bool of_ops;	   /* the time is the ops' own (no threads, or a filter by op): no child counts twice */
	size_t thread_n, goroutine_n; /* whose time it is */
	size_t carrier_n;  /* threads that are left out */
	uint64_t total_ns; /* all lives */
	uint64_t ns[WHERE_MAX];
	uint64_t count[WHERE_MAX]; /* waits */
	uint64_t lost_ns;  /* of WHERE_UNKNOWN: in intervals that were lost */
	uint64_t left_out_ns; /* likewise: that --only left out */
	int64_t gap_ns;	   /* total_ns - their sum: not 0 if the dump contradicts itself */
};
int analyze_states(const struct model *m, const struct analyze_filter *f, struct analyze_states *ret); /* 0, -ENOMEM */

/* Ops of one kind and class. */
struct analyze_class {
	uint8_t kind;	   /* enum op_kind */
	uint32_t class_id; /* string */
	uint64_t count, open_n;
	uint64_t total_ns; /* sum of their durations */
	/*
	 * Their own time: without their children's, of those on their thread. Of a process (exec, exec_phase) that of
	 * its threads while it lasts, which may be more than total_ns. Part of WHERE_UNKNOWN is unmeasured: of ops without
	 * a thread what is no wait, their self time.
	 */
	uint64_t ns[WHERE_MAX];
	uint64_t unmeasured_ns;
	uint64_t child_ns;
	uint64_t outside_ns; /* of waits: outside their op, or two at one time */
	uint64_t p50_ns, p95_ns, p99_ns, max_ns; /* durations, by nearest rank */
	double squares; /* sum of the durations' squares, ns^2: for what chance does to their sum */
	uint64_t outcomes[OP_OUTCOME_MAX];
	/* Executions of what had been executed before: the same ident, or of processes the same argv. */
	uint64_t duplicate_n, duplicate_ns;
	bool of_threads;
};
/* On the CPU; of ops without a thread whatever is no wait. It, what is blocked, runnable and child_ns sum to total_ns. */
static inline uint64_t analyze_class_self_ns(const struct analyze_class *c)
{
	return c->ns[WHERE_RUNNING] + c->unmeasured_ns;
}
static inline uint64_t analyze_class_blocked_ns(const struct analyze_class *c)
{
	uint64_t ns = 0;

	for (unsigned i = WHERE_RUNNABLE + 1; i < WHERE_MAX; i++)
		ns += c->ns[i];
	return ns - c->unmeasured_ns;
}
/* Most total time first, malloc'd. 0, -ENOMEM. */
int analyze_classes(const struct model *m, const struct analyze_filter *f, struct analyze_class **ret, size_t *ret_n);

/* Who waits and is waited for: threads of one name in programs of one name together. */
struct analyze_actor {
	uint32_t program_id, name_id; /* strings; of one outside the recording there is no program */
	bool outside;
	size_t thread_n;
};
struct analyze_actors {
	struct analyze_actor *list; /* 0: unknown */
	size_t n;
	uint32_t *of_thread;  /* place in list, by thread */
	uint32_t *of_outside; /* by waker of m->wakers */
};
int analyze_actors(const struct model *m, struct analyze_actors *ret); /* 0, -ENOMEM */
void analyze_actors_done(struct analyze_actors *a);

/* "from waited so long for to": nodes are the caller's numbers from 0 on. */
struct analyze_edge {
	uint32_t from, to;
	uint64_t ns;
};
/* Nodes that wait for each other, or one alone, and for nobody else. */
struct analyze_knot {
	uint32_t component;
	size_t node_n;
	uint64_t inside_ns; /* edges among them */
	uint64_t for_it_ns; /* edges of others to them */
	bool leaves;	    /* private */
};
struct analyze_knots {
	struct analyze_knot *list; /* most waited for first */
	size_t n;
	uint32_t *of_node; /* by node: its component */
};
/* Edges below the least weight don't count. 0, -ENOMEM. */
int analyze_knots(const struct analyze_edge *edges, size_t edge_n, size_t node_n, uint64_t weight_ns_min,
		  struct analyze_knots *ret);
void analyze_knots_done(struct analyze_knots *k);

/* A thread that was waiting when the recording ended. */
struct analyze_stuck {
	uint32_t wait, thread;
	uint32_t holder; /* thread it waits for: the lock's owner when the wait began, the joined one; 0: not known */
	uint32_t circle; /* deadlock: number of the circle it is in, from 1 on; 0: none */
	uint32_t leads_to_circle; /* not in one, but waits, through others, for one */
	uint32_t root;	 /* the thread at the end of the chain that begins with holder; 0: no holder, or in a circle */
	uint32_t root_wait; /* what that one waits for itself, 0: it runs, or has ended */
	uint32_t hops;	 /* from this thread to the root */
};
/* In the order of analyze_open_waits(), malloc'd; waits of no thread are left out. 0, -ENOMEM. */
int analyze_stuck(const struct model *m, const struct analyze_filter *f, struct analyze_stuck **ret, size_t *ret_n);

/* How long who was ready stood in the run queue. */
struct analyze_queued {
	uint32_t actor;	 /* of struct analyze_actors; of the sum over all: 0 */
	uint64_t wake_n, wake_ns, wake_p50_ns, wake_p95_ns, wake_max_ns; /* from being woken to running */
	uint64_t preempt_n, preempt_ns, preempt_max_ns; /* while it had never stopped being ready */
	uint64_t placed_n, migrated_n; /* waits of known CPUs; of them those that ended on another one */
	uint32_t longest_wait; /* of both sorts, 0: none */
};
struct analyze_queues {
	struct analyze_queued all;
	struct analyze_queued *list; /* by actor, most time first */
	size_t n;
	uint64_t short_ns; /* in the threads' accounts, in no wait: below --min, lost */
};
int analyze_queues(const struct model *m, const struct analyze_filter *f, const struct analyze_actors *a,
		   struct analyze_queues *ret); /* 0, -ENOMEM */
void analyze_queues_done(struct analyze_queues *q);

/* Time in which no thread of a process was on the CPU or ready, by what the wait was that ended each such gap. */
struct analyze_dead {
	uint32_t process; /* 0: all of the recording together */
	uint64_t life_ns; /* from its first thread's begin to the last one's end */
	uint64_t dead_ns, gap_n;
	uint64_t ns[WHERE_MAX]; /* of dead_ns. WHERE_IDLE: nothing to do; WHERE_CHILD: another process worked */
	uint64_t longest_ns;
	int64_t longest_start_ns;
	uint32_t longest_wait; /* that ended the longest, 0: none did */
};
/* First all, then by process, most dead time first that is neither idle nor a child's. malloc'd. 0, -ENOMEM. */
int analyze_dead_air(const struct model *m, const struct analyze_filter *f, struct analyze_dead **ret, size_t *ret_n);

/* What the slowest hundredth of a class's ops does more of than the middle tenth. Sums over a group; n ops each. */
struct analyze_tail_group {
	uint64_t n, total_ns;
	uint64_t ns[WHERE_MAX]; /* with what is below them on their thread */
	uint64_t child_ns;	/* of ops without a thread: in the ops below */
};
struct analyze_tail_resource {
	uint32_t kind_id, name_id;
	uint8_t reason;
	uint64_t median_n, median_ns, slow_n, slow_ns; /* waits for it, of all ops of the group */
};
/* Slow ops that overlap, or come closer to each other than chance would have it. */
struct analyze_tail_spike {
	int64_t from_ns, to_ns; /* first begin, last end */
	size_t n;
};
struct analyze_tail {
	uint8_t kind;
	uint32_t class_id;
	size_t op_n;	 /* that began and ended in the recording */
	uint64_t median_ns, p99_ns;
	struct analyze_tail_group median, slow;
	struct analyze_tail_resource *resources; /* what slow ops wait for longer, most first */
	size_t resource_n;
	uint32_t *slow_ops; /* slow.n of them, slowest first */
	struct analyze_tail_spike *spikes; /* every slow op is in one; most ops first, then the earliest */
	size_t spike_n;
};
/* op_n 0: no such op. 0, -ENOMEM. */
int analyze_tail(const struct model *m, const struct analyze_filter *f, enum op_kind kind, uint32_t class_id,
		 struct analyze_tail *ret);
void analyze_tail_done(struct analyze_tail *t);
#define ANALYZE_TAIL_OPS_MIN 20
/* The class that such a question is about if none is named: of those done often that with most time. False: none. */
bool analyze_tail_class(const struct analyze_class *classes, size_t n, size_t *ret);

/* Children of one class under parents of one class. */
struct analyze_child {
	uint8_t parent_kind, kind;
	bool root;	     /* under none */
	uint32_t parent_class_id, class_id;
	uint64_t count, total_ns, longest_ns;
	uint64_t parent_n, parents_ns; /* parents that have such a child */
	uint64_t covered_ns; /* of the parents' time: in which at least one of these ran */
};
/* Most covered time first, malloc'd. 0, -ENOMEM. */
int analyze_children(const struct model *m, const struct analyze_filter *f, struct analyze_child **ret, size_t *ret_n);

/* What was done for one client: of an engine, or a process, whose key it is. */
struct analyze_client {
	uint32_t client_id; /* string */
	uint64_t op_n, open_n, total_ns;
	uint64_t active_ns; /* in which at least one of its ops ran */
	int64_t first_ns, last_ns;
	uint64_t wait_n, blocked_ns; /* of its ops */
};
/* Most active first, malloc'd. 0, -ENOMEM. */
int analyze_clients(const struct model *m, const struct analyze_filter *f, struct analyze_client **ret, size_t *ret_n);

/* What users of sampling profiles ask of stacks. */
enum analyze_frames_view {
	ANALYZE_FRAMES_LIBRARY,	      /* file of the innermost frame */
	ANALYZE_FRAMES_SELF,	      /* innermost frame */
	ANALYZE_FRAMES_INCLUSIVE,     /* every frame, recursion counts once */
	ANALYZE_FRAMES_OWN_SELF,      /* as SELF, of stacks whose innermost frame is the program's */
	ANALYZE_FRAMES_OWN_INCLUSIVE, /* as INCLUSIVE, the program's own frames */
	ANALYZE_FRAMES_NEAREST,	      /* the program's innermost frame */
	ANALYZE_FRAMES_BELOW,	      /* of stacks with a function that is in `below`: who called the outermost such */
};
struct analyze_frames_options {
	enum analyze_frames_view view;
	const struct analyze_filter *filter; /* NULL: all. By op: waits only */
	const char *binary; /* the program's file: name or path; NULL: whatever is neither library nor kernel */
	const bool *below, *skip; /* by string: the functions; callers that only pass on. skip may be NULL */
};
struct analyze_frame {
	struct model_frame frame; /* for a library only its module counts */
	bool kernel;
	bool none;  /* stacks without such a frame */
	uint64_t cpu_ns, cpu_n;	       /* by samples */
	uint64_t blocked_ns, blocked_n; /* waits */
	uint32_t kstack, ustack;       /* the stack with most time */
	size_t stack_n;		       /* different stacks */
	uint64_t most_ns;	       /* private */
};
struct analyze_frames {
	struct analyze_frame *list; /* most CPU and blocked time first */
	size_t n;
	uint64_t all_cpu_ns, all_blocked_ns; /* of all stacks */
	uint64_t cpu_ns, blocked_ns;	     /* BELOW: of those that have such a function */
};
/* 0, -ENOMEM */
int analyze_frames(struct model *m, const struct analyze_frames_options *o, struct analyze_frames *ret);
void analyze_frames_done(struct analyze_frames *f);

/*
 * Cuts the recording to [from_ns, to_ns): what lies outside is gone, what reaches out is clipped, and the moment
 * from_ns is time 0 from then on. Threads' accounts are those of their waits in it; time off the CPU that is in no wait
 * is divided by time on it. Of samples without their moments none are kept. 0, -ENOMEM (the model is no longer of use).
 */
int analyze_window(struct model *m, int64_t from_ns, int64_t to_ns);

/* What a recording leaves unknown, beside what was lost. */
struct analyze_health {
	uint64_t clipped_wait_n, open_wait_n;
	uint64_t ended_wait_n, ended_wait_ns;	  /* waits that something ended, blocked time in them */
	uint64_t unknown_waker_n, unknown_waker_ns; /* of them those of which nothing says what */
	uint64_t open_op_n, unwound_op_n;
	uint64_t unaccounted_thread_n;
};
void analyze_health(const struct model *m, struct analyze_health *ret);

/* What passes a filter, by index. A filter by op passes no threads. */
struct analyze_picked {
	bool *threads, *ops, *waits;
};
int analyze_pick(const struct model *m, const struct analyze_filter *f, struct analyze_picked *ret); /* 0, -ENOMEM */
void analyze_picked_done(struct analyze_picked *p);

/* One op with all that is below it. */
struct analyze_below {
	uint32_t op, depth; /* 0: the op itself */
};
struct analyze_subtree {
	uint64_t ns[WHERE_MAX]; /* its time with what its thread did below it; of a process its threads' time */
	uint64_t total_ns;	/* what they sum to, with child_ns */
	uint64_t child_ns;	/* of an op without a thread: in the ops below it */
	bool of_threads;
	struct analyze_below *ops; /* in the order of a tree: an op, then its children by start */
	size_t op_n;
	/* Of the op and of what its thread did below; of a process those of all its threads. In time order. */
	uint32_t *waits;
	size_t wait_n;
	uint32_t *waiters; /* waits that had the op as their target, in time order */
	size_t waiter_n;
	uint32_t *parents; /* from the op's parent to its root */
	size_t parent_n;
};
int analyze_subtree(const struct model *m, uint32_t op, struct analyze_subtree *ret); /* 0, -ENOMEM */
void analyze_subtree_done(struct analyze_subtree *s);

/* Waits that were long because whoever ended them waited too, down to the root. */
#define ANALYZE_CHAIN_STEPS 8
enum analyze_chain_root {
	ANALYZE_ROOT_RAN,     /* root_actor did something else than wait */
	ANALYZE_ROOT_OUTSIDE, /* root_actor is not of the recording */
	ANALYZE_ROOT_DEVICE,  /* root_ctx: timer, disk, network, interrupt */
	ANALYZE_ROOT_OPEN,    /* nothing had ended it when the recording did */
	ANALYZE_ROOT_UNKNOWN,
};
struct analyze_chain_step {
	uint32_t actor, kind_id;
	uint32_t reason; /* enum wait_reason */
};
struct analyze_chain {
	struct analyze_chain_step steps[ANALYZE_CHAIN_STEPS]; /* from the wait itself to that nearest to the root */
	unsigned step_n;
	uint8_t root;	  /* enum analyze_chain_root */
	uint8_t root_ctx; /* enum waker_ctx */
	uint32_t root_actor, root_name_id; /* name: what the last step waited for */
	uint32_t kstack, ustack;	   /* where the wait was */
	uint32_t root_kstack, root_ustack; /* where the last step was, if it is another */
	uint64_t count, ns, longest_ns;	   /* blocked, of the waits themselves */
	uint32_t longest_wait, last_wait;  /* last step of the first such chain */
};
/* Most blocked time first, malloc'd. 0, -ENOMEM. */
int analyze_chains(const struct model *m, const struct analyze_filter *f, const struct analyze_actors *a,
		   struct analyze_chain **ret, size_t *ret_n);
