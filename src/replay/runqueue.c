/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A thread that was ready and did not run waited for a CPU that somebody else
 * had. If that was one of the target's own threads, the simulation finds the
 * delay again by itself, and finds another when things change; what others took,
 * and what waking up costs on an idle CPU, stays as it was.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/draft.h"
#include "replay/stretches.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

/* In a dump that doesn't say who had which CPU: what more than this is, is a queue of the target's own. */
#define WAKEUP_NS 50000

static int64_t own_ns(const struct stretches *x, const struct model *m, const struct model_wait *w, int64_t from_ns)
{
	bool runtime = !w->cpu_to && !w->cpu_from && w->thread < m->thread_n && m->threads[w->thread].goid;
	int64_t a_ns = 0, b_ns = 0;

	/* Goroutines, too, of which no CPU is told: their queue is the runtime's, whatever CPU there is. */
	if (!x->n || runtime)
		return w->end_ns - from_ns > WAKEUP_NS ? w->end_ns - from_ns - WAKEUP_NS : 0;
	if (w->cpu_to)
		a_ns = stretches_overlap(x, w->cpu_to - 1u, from_ns, w->end_ns);
	/* It was taken over by another CPU when that became free: until then it stood in the first one's queue. */
	if (w->cpu_from && w->cpu_from != w->cpu_to)
		b_ns = stretches_overlap(x, w->cpu_from - 1u, from_ns, w->end_ns);
	return a_ns > b_ns ? a_ns : b_ns;
}

int draft_runqueues(struct draft *d)
{
	const struct model *m = d->m;
	struct stretches x;

	d->own_runq_ns = calloc(m->wait_n, sizeof(*d->own_runq_ns));
	if (!d->own_runq_ns || stretches_make(d->r, d->waits, d->wait_first, &x) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		if (d->use[i] != USE_SKIP && d->use[i] != USE_OPEN && w->runnable_ns > 0)
			d->own_runq_ns[i] = own_ns(&x, m, w, d->use[i] == USE_RUNQ ? w->start_ns : wait_wake_ns(w));
	}
	stretches_done(&x);
	return 0;
}
