/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Intervals off the CPU, of threads and goroutines -> waits. All give 0, -ENOMEM or -EBADMSG unless said. */
#include "assemble/state.h"

int assemble_interval(struct assemble *a, const struct wcbpf_interval *e);
int assemble_futex_result(struct assemble *a, const struct wcbpf_futex_result *e);
/* The thread's pending wait is over. Not for thread 0. */
int assemble_wait_flush(struct assemble *a, uint32_t thread);
/* The thread was killed at time_ns: the wait that this interrupted ended so. */
void assemble_wait_killed(struct assemble *a, uint32_t thread, uint64_t time_ns);

/* One interval, clipped to the recording. */
struct stretch {
	uint64_t start_ns, end_ns;
	uint64_t wake_ns; /* 0: unknown */
	uint64_t blocked_ns, runnable_ns;
	struct row_key key;
	int64_t timeout_ns;
	uint32_t resource, ident;
	uint32_t waker, waker_pid, waker_tid, waker_stack; /* as in struct pending_wait */
	struct model_wait_words words;
	uint32_t seq;
	int32_t syscall;
	uint16_t cpu_from, cpu_to; /* as in struct model_wait */
	uint8_t owner_unknown, outcome, ctx, clipped;
	bool blocked;	/* not just preempted */
	bool stopped;
	bool same_call; /* goes on with the thread's interval seq - 1 */
	bool late;	/* after the end of what it could be a wait of */
	bool last;	/* nothing comes after it */
	bool kstack_failed, ustack_failed; /* were due */
	char waker_comm[WCBPF_COMM_LEN];
};

struct strand;
/* Into the wait that it is of, if in scope. strand NULL: nothing is open on it; thread 0: it has no place. 0, -ENOMEM. */
int assemble_stretch_take(struct assemble *a, struct strand *s, uint32_t thread, const struct stretch *x);
/* The same of one that has been taken before, and came back. */
int assemble_stretch_put(struct assemble *a, struct strand *s, uint32_t thread, const struct stretch *x);
/* Into the totals of its row. 0, -ENOMEM. */
int assemble_stretch_count(struct assemble *a, const struct stretch *x, uint32_t *ret_row);

struct pending_wait assemble_pending_begin(const struct stretch *x);
void assemble_pending_add(struct pending_wait *w, const struct stretch *x, uint32_t row);
/* A wait of the model; *ret 0: it has no place. 0, -ENOMEM. */
int assemble_wait_emit(struct assemble *a, uint32_t thread, const struct pending_wait *w, uint32_t *ret);
