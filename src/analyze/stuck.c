/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * At the end of a recording each thread waits for at most one thing, so "who
 * waits for whom" is a graph with at most one way out of each thread: a walk
 * along it ends at a thread that waits for nobody known, or in a circle. Only
 * owners that were read and threads that are joined make such a way; who will
 * write to a pipe is nobody's knowledge.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "util/cleanup.h"
#include "util/map.h"

#define KEY(high, low) ((uint64_t)(high) << 32 | (low))

struct stuck {
	const struct model *m;
	uint32_t *open; /* by thread: its open wait, 0: none */
	uint32_t *next; /* by thread: whom it waits for */
	uint32_t *seen; /* by thread: the walk that came by */
	uint32_t *rank; /* by thread: place in its walk */
	struct map *threads; /* by pid and tid: the latest such thread */
	struct analyze_stuck *list;
	size_t n;
	uint32_t circle_n;
};

static void stuck_done(struct stuck *x)
{
	free(x->open);
	free(x->next);
	free(x->seen);
	free(x->rank);
	map_free(x->threads);
	free(x->list);
}

static uint32_t thread_at(const struct stuck *x, uint32_t pid, uint32_t tid)
{
	uint64_t at;

	return map_get(x->threads, KEY(pid, tid), &at) ? (uint32_t)at : 0;
}

/* Of a thread that is joined the name of the wait is "tid:N". */
static uint32_t joined_tid(const struct model *m, const struct model_wait *w)
{
	const char *name = strtab_str(m->strings, w->ident_id);

	if (strcmp(strtab_str(m->strings, m->rows[w->row].kind_id), "join") != 0 || strncmp(name, "tid:", 4) != 0)
		return 0;
	return (uint32_t)strtoul(name + 4, NULL, 10);
}

static uint32_t awaited_thread(const struct stuck *x, const struct model_wait *w)
{
	const struct model_thread *t = &x->m->threads[w->thread];
	uint32_t tid = model_wait_words(x->m, w).owner_tid;

	if (!tid)
		tid = joined_tid(x->m, w);
	return tid ? thread_at(x, t->pid, tid) : 0;
}

static int stuck_init(struct stuck *x)
{
	const struct model *m = x->m;

	x->open = calloc(m->thread_n, sizeof(*x->open));
	x->next = calloc(m->thread_n, sizeof(*x->next));
	x->seen = calloc(m->thread_n, sizeof(*x->seen));
	x->rank = calloc(m->thread_n, sizeof(*x->rank));
	x->list = calloc(m->thread_n, sizeof(*x->list));
	if (!x->open || !x->next || !x->seen || !x->rank || !x->list || map_new(&x->threads) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->thread_n; i++) {
		/* Who holds a lock is told by thread. */
		if (!m->threads[i].goid && map_put(x->threads, KEY(m->threads[i].pid, m->threads[i].tid), i) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Walks from a thread to the end of its chain; true if that is a circle, which is then numbered. */
static uint32_t chain_end(struct stuck *x, uint32_t start, uint32_t *ret_hops)
{
	uint32_t at = start, hops = 0;

	while (x->next[at] && hops < x->m->thread_n) {
		at = x->next[at];
		hops++;
	}
	*ret_hops = hops;
	return at;
}

/* Marks the circles: each thread of one gets its number in rank[]. */
static void circles_find(struct stuck *x)
{
	for (uint32_t i = 1; i < x->m->thread_n; i++) {
		uint32_t at = i;

		while (at && !x->seen[at]) {
			x->seen[at] = i;
			at = x->next[at];
		}
		if (!at || x->seen[at] != i)
			continue;
		x->circle_n++;
		for (uint32_t k = at; !x->rank[k]; k = x->next[k])
			x->rank[k] = x->circle_n;
	}
}

static void entry_add(struct stuck *x, uint32_t thread)
{
	struct analyze_stuck s = { .wait = x->open[thread], .thread = thread, .holder = x->next[thread] };
	uint32_t end, hops;

	s.circle = x->rank[thread];
	if (!s.circle) {
		uint32_t at = thread;

		/* Into a circle: it is what the chain ends in. */
		while (x->next[at] && !x->rank[at])
			at = x->next[at];
		if (x->rank[at]) {
			s.leads_to_circle = x->rank[at];
			s.root = at;
		} else {
			end = chain_end(x, thread, &hops);
			s.root = end == thread ? 0 : end;
			s.hops = hops;
		}
	}
	s.root_wait = s.root ? x->open[s.root] : 0;
	x->list[x->n++] = s;
}

int analyze_stuck(const struct model *m, const struct analyze_filter *f, struct analyze_stuck **ret, size_t *ret_n)
{
	_cleanup_(stuck_done) struct stuck x = { .m = m };
	_cleanup_(freep) uint32_t *waits = NULL, *chosen = NULL;
	size_t n, chosen_n;

	/* Chains go through threads that the filter leaves out. */
	if (stuck_init(&x) < 0 || analyze_open_waits(m, NULL, &waits, &n) < 0 ||
	    analyze_open_waits(m, f, &chosen, &chosen_n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct model_wait *w = &m->waits[waits[i]];
		uint32_t holder = w->thread ? awaited_thread(&x, w) : 0;

		if (!w->thread)
			continue;
		x.open[w->thread] = waits[i];
		x.next[w->thread] = holder;
	}
	circles_find(&x);
	for (size_t i = 0; i < chosen_n; i++) {
		if (m->waits[chosen[i]].thread)
			entry_add(&x, m->waits[chosen[i]].thread);
	}
	*ret = TAKE_PTR(x.list);
	*ret_n = x.n;
	return 0;
}
