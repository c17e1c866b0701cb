/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What each thread did when: its waits in the order of time, and the pieces of one wait. Private to analyze/. */
#include "model/model.h"

struct lanes {
	uint32_t *waits; /* indexes, by thread, then by start; those of none come first */
	size_t *first;	 /* by thread: where its waits begin; of thread_n: the end */
};
/*
 * By thread: what a goroutine waited for while it was on a thread is that one's; while it was on none, no one's.
 * 0, -ENOMEM.
 */
int lanes_init(struct lanes *l, const struct model *m);
/* By who waited, thread or goroutine. 0, -ENOMEM. */
int lanes_init_waiters(struct lanes *l, const struct model *m);
void lanes_done(struct lanes *l);

/*
 * In a wait time is blocked, then on the CPU (wake-ups that led to nothing; when is not told), then ready. Where one
 * ends and the next begins, never outside the wait.
 */
static inline int64_t lanes_blocked_end(const struct model_wait *w)
{
	return w->start_ns + w->blocked_ns;
}
static inline int64_t lanes_ready_begin(const struct model_wait *w)
{
	return w->end_ns - w->runnable_ns;
}
/* ns of [a, b) inside [from, to). */
static inline int64_t lanes_overlap(int64_t a, int64_t b, int64_t from, int64_t to)
{
	int64_t begin = a > from ? a : from, end = b < to ? b : to;

	return end > begin ? end - begin : 0;
}
/* The first of a thread's waits that ends after ns, as a place in l->waits; the thread's end if there is none. */
size_t lanes_find(const struct lanes *l, const struct model *m, uint32_t thread, int64_t ns);
