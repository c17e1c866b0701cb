/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * What compiling needs besides the plan, and its steps in order. Each fills its
 * own members and reads those of the steps before. All: 0, -ENOMEM.
 */
#include "replay/plan.h"
#include "util/map.h"

/* How a wait is compiled. */
enum wait_use {
	USE_SKIP,    /* outside of its strand, or overlapped by another */
	USE_MERGED,  /* one with the next of its strand: woken, looked, waited again */
	USE_RUNQ,    /* preempted */
	USE_START,   /* a new thread's time to its first run */
	USE_DELAY,   /* its length is its own */
	USE_TOKEN,   /* until somebody did something */
	USE_LOCK,    /* likewise, and what it got is a lock */
	USE_EITHER,  /* until an op that is known ended; but it was given up before that */
	USE_OPEN,    /* never ended */
};

/* What happens on a strand at a moment besides its waits. */
struct item {
	int64_t at_ns;
	uint32_t strand;
	uint8_t what; /* enum point_what */
	uint8_t order; /* among those of one moment */
	uint8_t op_kind; /* of OP_BEGIN, whose object is the op's class */
	uint32_t object, ref;
};

/* A stretch in which a strand does nothing but wait for a token, that is no wait of the model. */
struct gap {
	int64_t to_ns;
	uint32_t token;
};

/* A clock lets some time pass, then a wait is over, or something begins. */
struct tick {
	int64_t delay_ns;
	uint32_t token;
	uint32_t wait; /* whose time it is */
	bool ends_it;
};

/* A goroutine on a thread. */
struct go_run {
	int64_t from_ns, to_ns;
	uint32_t thread, strand;
};

struct draft {
	struct replay *r;
	const struct model *m;
	size_t part_n;	     /* in which strands become points at once; 0: as many as pay */
	uint32_t *waits;     /* model waits by strand, each in time order */
	size_t *wait_first;  /* by strand, strand_n + 1 */
	uint32_t *site;	     /* by place in waits: user stack with which it waits; 0: preempted, no stack */
	uint8_t *use;	     /* by model wait: enum wait_use */
	uint32_t *token;     /* by model wait: NONE or what it waits for */
	uint32_t *lock;	     /* by model wait: NONE or lock */
	struct item *items;  /* by strand, each in time order when sorted */
	size_t item_n, item_cap;
	size_t *item_first;  /* by strand, strand_n + 1 */
	struct tick *ticks;  /* by clock */
	size_t tick_n, tick_cap;
	struct gap *gaps;    /* an item of one: POINT_WAIT, ref: ITEM_GAP + its number */
	size_t gap_n, gap_cap;
	uint8_t *frame;	     /* by op: a process, a program, a thread: what its strand is, not what it does */
	int64_t *own_runq_ns; /* by model wait: of its runnable time, with the target's own threads on the CPU */
	bool *is_go;	     /* by process: it has goroutines */
	bool has_go;	     /* one has */
	struct go_run *go_runs; /* by thread, then time */
	size_t go_run_n;
	struct map *execs;   /* ident -> exec op */
	int64_t timer_offset_ns; /* of absolute timeouts: time of the recording = timeout - this */
	bool has_timer_offset;
};

void draft_done(struct draft *d);

/* goroutines.c: which processes have goroutines; which goroutine ran on which thread when. */
int draft_go_processes(struct draft *d);
int draft_go_runs(struct draft *d);
bool draft_is_go_thread(const struct draft *d, uint32_t thread);
/* The strand of what a thread did at a moment: its own, or the goroutine's that it ran; NONE. */
uint32_t draft_strand_at(const struct draft *d, uint32_t thread, int64_t ns);
/* strands.c: threads become strands, with their CPUs. */
int draft_strands(struct draft *d);
/* op-strands.c: which strand ops are on; where there are no threads, ops become strands. */
int draft_ops(struct draft *d);
/* waits.c: waits by strand; what each is, and what it waits for. */
int draft_waits(struct draft *d);
/* attempts.c: a lock that was not got after all: that wait is one with the next. */
int draft_attempts(struct draft *d);
/* Of waits by strand (struct draft, struct replay), the first of a strand that starts at ns or later. */
size_t waits_find(const struct replay *r, const uint32_t *waits, const size_t *first, uint32_t strand, int64_t ns);
/* clocks.c: sleeps that end by a clock, whatever was before them. */
int draft_clocks(struct draft *d);
/* A signal of the token at to_ns: so long after the strand began that wait. 0, -ENOMEM. */
int draft_clock_add(struct draft *d, uint32_t strand, uint32_t wait, int64_t to_ns, uint32_t token);
/* runqueue.c: own_runq_ns. */
int draft_runqueues(struct draft *d);
/* gather.c: barriers and joins, where one waits for several. */
int draft_gather(struct draft *d);
/* holds.c: locks and who held them when. */
int draft_holds(struct draft *d);
/* holds.c, when own_runq_ns is known too: what handing a lock over takes. */
int draft_latencies(struct draft *d);
/* items.c: signals, ops and holds at their moments. */
int draft_items(struct draft *d);
/* order.c: runs. */
int draft_order(struct draft *d);

/* A token that needs signals; 0, -ENOMEM. */
int draft_token_add(struct draft *d, uint32_t lock, uint32_t *ret);
int draft_item_add(struct draft *d, const struct item *item);
/* The order of what an op's end makes go on. */
#define ITEM_AT_END 1
#define ITEM_GAP (1u << 31)
int draft_gap_add(struct draft *d, uint32_t strand, int64_t from_ns, int64_t to_ns, uint32_t token);

/* The strand of a wait: its thread's, else its op's; NONE. */
static inline uint32_t wait_strand(const struct replay *r, const struct model_wait *w)
{
	if (w->thread && w->thread < r->m->thread_n)
		return r->strand_of_thread[w->thread];
	return r->strand_of_op && w->op && w->op < r->m->op_n ? r->strand_of_op[w->op] : NONE;
}

/* When a wait's thread was made runnable, within the wait; its end if unknown. */
static inline int64_t wait_wake_ns(const struct model_wait *w)
{
	return w->wake_ns < 0 || w->wake_ns > w->end_ns ? w->end_ns : w->wake_ns < w->start_ns ? w->start_ns : w->wake_ns;
}

/* Is it known what ended a wait that nobody of the recording did? A sleep that no signal ended ended by its clock. */
static inline bool wait_is_explained(const struct model *m, const struct model_wait *w)
{
	const struct model_row *row = &m->rows[w->row < m->row_n ? w->row : 0];

	return w->outside_waker || w->outcome == WAIT_TIMEOUT || (w->ctx != WAKER_UNKNOWN && w->ctx != WAKER_NONE) ||
	       (row->reason == REASON_SLEEP && w->outcome == WAIT_WOKEN && !(w->clipped & CLIPPED_AFTER));
}
