/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * What is open on a thread or goroutine, in the order of its begin: the calls
 * of choke points that have not returned, by the depths of their frames.
 */
#include "assemble/points.h"

struct goroutine;
struct held;

enum call_kind {
	CALL_OP,       /* an op of the model */
	CALL_DROPPED,  /* one that found no place: what is under it has none either */
	CALL_WAIT,     /* of a WAIT or LOCK */
	CALL_PENDING,  /* does what it does at its exit */
	CALL_LEFT_OUT, /* does nothing (more): there only to meet its exit */
};

struct call {
	const struct point *point;
	struct values *entry; /* kept for the exit, or NULL */
	struct held *held;    /* CALL_WAIT */
	uint64_t depth;       /* a larger one is further in */
	uint64_t begin_ns;
	uint32_t op;	      /* CALL_OP */
	uint8_t kind;	      /* enum call_kind */
	bool tied;	      /* of a BEGIN: no frame, its END or the frame below closes it */
	bool joined;	      /* one of its waits was for another's execution */
	bool in_scope;
};

struct strand {
	struct goroutine *goroutine; /* NULL: a thread's */
	struct call *calls;
	size_t call_n, call_cap;
	uint32_t process;
	uint32_t thread;   /* its entry in the model; of a goroutine 0 until it has one */
	uint32_t spawn_op; /* what its spawner was at, 0: nothing */
	bool spawn_in_scope;
};

/* Of a thread; made if need be. 0, -ENOMEM. */
int assemble_strand_of_thread(struct assemble *a, uint32_t thread, struct strand **ret);
/* Whose work a thread does at this moment: its goroutine's, where one is known, else its own. NULL: nothing is open. */
struct strand *assemble_strand_working(const struct assemble *a, uint32_t thread);
void assemble_strand_done(struct strand *s);

/* How deep in the strand's stack the hit's frame is. */
uint64_t assemble_strand_depth(const struct strand *s, const struct wcbpf_op *e);

/* A hit of a choke point. */
struct hit {
	const struct point *point;
	struct strand *strand;
	const struct wcbpf_op *e;
	uint64_t time_ns, depth;
	uint32_t thread; /* that runs it */
	struct values values;
};

/* What a new op or a wait hangs below. */
struct place {
	uint32_t op;	/* 0: none */
	bool dropped;	/* that one has no place, and so has nothing below it */
	bool in_scope;
};
/* Of an op whose frame is that deep; 0: of whatever the strand does now. */
struct place assemble_strand_place(const struct assemble *a, const struct strand *s, uint64_t depth);
/* What a wait of the strand is of, if no choke point says so. */
struct place assemble_strand_waits(const struct assemble *a, const struct strand *s);
/* What the strand is at, for those that it spawns: an op of a choke point, 0: none. */
struct place assemble_strand_spawns(const struct assemble *a, const struct strand *s);
/* The op of the strand itself, else its process's. 0: neither has a place. */
uint32_t assemble_strand_own_op(const struct assemble *a, const struct strand *s);

/* A call begins. The pointer is valid until the next. 0, -ENOMEM. */
int assemble_strand_push(struct hit *h, enum call_kind kind, struct call **ret);
/* The innermost that waits, if nothing but what does nothing is above it. NULL: none. */
struct call *assemble_strand_waiting(const struct strand *s);

/* Frames that are not above the hit's have been left: all such calls are closed as unwound. 0, -ENOMEM. */
int assemble_strand_enter(struct assemble *a, const struct hit *h, bool own_too);
/* The call that the hit is the exit of; all within it are closed as unwound. *ret NULL: there is none. 0, -ENOMEM. */
int assemble_strand_leave(struct assemble *a, const struct hit *h, struct call **ret);
/* Takes a call off; what it owns is freed. */
void assemble_strand_pop(struct strand *s, struct call *c);
/* It is over: all is closed as unwound. 0, -ENOMEM. */
int assemble_strand_end(struct assemble *a, struct strand *s, uint64_t time_ns);
