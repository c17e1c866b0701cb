/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A thread that was ready and did not run waited for a CPU that somebody else
 * had. If all of them were the target's own threads', the simulation finds the
 * delay again by itself, and finds another when things change. What others took,
 * what waking up costs on an idle CPU, and a queue before one CPU while another
 * was free, stay as they were.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/busy.h"
#include "replay/stretches.h"
#include "util/cleanup.h"

/* Of a strand that may not use all CPUs: was there one of ours on the CPU before which it stood? */
static int64_t bound_ns(const struct stretches *x, const struct model_wait *w, int64_t from_ns)
{
	int64_t a_ns = 0, b_ns = 0;

	if (w->cpu_to)
		a_ns = stretches_overlap(x, w->cpu_to - 1u, from_ns, w->end_ns);
	/* It was taken over by another CPU when that became free: until then it stood in the first one's queue. */
	if (w->cpu_from && w->cpu_from != w->cpu_to)
		b_ns = stretches_overlap(x, w->cpu_from - 1u, from_ns, w->end_ns);
	return a_ns > b_ns ? a_ns : b_ns;
}

static bool is_bound(const struct replay *r, uint32_t strand)
{
	return strand != NONE && !r->groups[r->strands[strand].group].any;
}

static bool any_bound(const struct replay *r)
{
	for (uint32_t s = 0; s < r->strand_n; s++) {
		if (is_bound(r, s))
			return true;
	}
	return false;
}

int draft_runqueues(struct draft *d)
{
	const struct model *m = d->m;
	struct stretches x = { 0 };
	struct busy busy = { 0 };
	size_t at = 0;
	int e;

	d->own_runq_ns = calloc(m->wait_n, sizeof(*d->own_runq_ns));
	if (!d->own_runq_ns)
		return -ENOMEM;
	e = busy_make(d->r, d->waits, d->wait_first, &busy);
	if (e == 0 && any_bound(d->r))
		e = stretches_make(d->r, d->waits, d->wait_first, &x);
	for (size_t i = 1; i < m->wait_n && e == 0; i++) {
		const struct model_wait *w = &m->waits[i];
		int64_t from_ns = d->use[i] == USE_RUNQ ? w->start_ns : wait_wake_ns(w);

		if (d->use[i] == USE_SKIP || d->use[i] == USE_OPEN || w->runnable_ns <= 0)
			continue;
		d->own_runq_ns[i] = is_bound(d->r, wait_strand(d->r, w)) ? bound_ns(&x, w, from_ns) :
									    busy_overlap(&busy, from_ns, w->end_ns, &at);
	}
	busy_done(&busy);
	stretches_done(&x);
	return e;
}
