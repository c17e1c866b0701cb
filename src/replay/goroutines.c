/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Where a process has goroutines, these are the strands, and what a thread does
 * is what the goroutine on it does. So a thread has none of its own, and what
 * tells of a thread at a moment (it woke somebody, it was sampled) tells of the
 * goroutine that it ran then: from the end of one wait of a goroutine, which says
 * on which thread, to the beginning of the next.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/draft.h"
#include "replay/numbers.h"
#include "util/cleanup.h"
#include "util/vec.h"

int draft_go_processes(struct draft *d)
{
	const struct model *m = d->m;

	d->is_go = calloc(m->process_n, sizeof(*d->is_go));
	if (!d->is_go)
		return -ENOMEM;
	for (size_t i = 1; i < m->thread_n; i++) {
		if (m->threads[i].goid && m->threads[i].process && m->threads[i].process < m->process_n)
			d->is_go[m->threads[i].process] = d->has_go = true;
	}
	return 0;
}

bool draft_is_go_thread(const struct draft *d, uint32_t thread)
{
	const struct model_thread *t = &d->m->threads[thread < d->m->thread_n ? thread : 0];

	return d->has_go && !t->goid && t->process < d->m->process_n && d->is_go[t->process];
}

struct runs {
	struct go_run *v;
	size_t n, cap;
};

static int run_add(struct runs *x, uint32_t thread, uint32_t strand, int64_t from_ns, int64_t to_ns)
{
	if (!thread || to_ns <= from_ns)
		return 0;
	if (VEC_RESERVE(x->v, x->cap, x->n + 1) < 0)
		return -ENOMEM;
	x->v[x->n++] = (struct go_run){ .thread = thread, .strand = strand, .from_ns = from_ns, .to_ns = to_ns };
	return 0;
}

/* Between its waits; before the first it ran where that one says that it ran behind it, for want of better. */
static int strand_runs(struct draft *d, const struct numbers *numbers, uint32_t s, struct runs *x)
{
	const struct model *m = d->m;
	const struct strand *strand = &d->r->strands[s];
	const struct model_thread *g = &m->threads[strand->thread];
	int64_t cursor_ns = strand->begin_ns;
	uint32_t tid = g->tid;

	for (size_t i = d->wait_first[s]; i < d->wait_first[s + 1]; i++) {
		const struct model_wait *w = &m->waits[d->waits[i]];
		uint32_t then = model_wait_words(m, w).tid;

		if (i == d->wait_first[s] && then)
			tid = then;
		if (run_add(x, numbers_thread(m, numbers, g->pid, tid, w->start_ns), s, cursor_ns, w->start_ns) < 0)
			return -ENOMEM;
		tid = then ? then : g->tid;
		cursor_ns = w->end_ns > cursor_ns ? w->end_ns : cursor_ns;
	}
	return run_add(x, numbers_thread(m, numbers, g->pid, tid, cursor_ns), s, cursor_ns, strand->end_ns + 1);
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct go_run *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return x->strand < y->strand ? -1 : x->strand > y->strand;
}

int draft_go_runs(struct draft *d)
{
	_cleanup_(numbers_done) struct numbers numbers = { 0 };
	struct runs x = { 0 };
	int e = 0;

	if (!d->has_go)
		return 0;
	e = numbers_make(d->m, &numbers);
	for (size_t s = 0; s < d->r->strand_n && e == 0; s++) {
		if (d->m->threads[d->r->strands[s].thread].goid)
			e = strand_runs(d, &numbers, (uint32_t)s, &x);
	}
	if (e < 0) {
		free(x.v);
		return e;
	}
	if (x.n)
		qsort(x.v, x.n, sizeof(*x.v), by_thread_and_time);
	d->go_runs = x.v;
	d->go_run_n = x.n;
	return 0;
}

/* The last that began until then, if it had not ended. */
uint32_t draft_strand_at(const struct draft *d, uint32_t thread, int64_t ns)
{
	size_t low = 0, high = d->go_run_n;

	if (!thread || thread >= d->m->thread_n)
		return NONE;
	if (!draft_is_go_thread(d, thread))
		return d->r->strand_of_thread[thread];
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct go_run *g = &d->go_runs[middle];

		if (g->thread < thread || (g->thread == thread && g->from_ns <= ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || d->go_runs[low - 1].thread != thread || d->go_runs[low - 1].to_ns < ns)
		return NONE;
	return d->go_runs[low - 1].strand;
}
