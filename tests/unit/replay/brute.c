/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "brute.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

struct node {
	uint32_t thread;
	int64_t at_ns;
	uint32_t wait; /* it is the end of that wait, 0: it is not */
	bool empty;    /* which took no time */
	double t;
};

struct edge {
	size_t from, to;
	double ns;
};

/* A wait that was given up: its end is that of the limit, or of whoever it waited for if that is earlier. */
struct either {
	size_t start, target, end;
	double limit_ns, run_ns;
	double target_t; /* when that has ended, as far as is known: never, at first */
};

struct graph {
	struct node *nodes;
	struct edge *edges;
	struct either *eithers;
	size_t node_n, edge_n, either_n;
};

static void node_add(struct graph *g, uint32_t thread, int64_t at_ns, uint32_t wait, bool empty)
{
	g->nodes = realloc(g->nodes, (g->node_n + 1) * sizeof(*g->nodes));
	g->nodes[g->node_n++] = (struct node){ thread, at_ns, wait, empty, 0 };
}

static void edge_add(struct graph *g, size_t from, size_t to, double ns)
{
	g->edges = realloc(g->edges, (g->edge_n + 1) * sizeof(*g->edges));
	g->edges[g->edge_n++] = (struct edge){ from, to, ns };
}

/* Of what is at one moment: ends of waits, then what a thread does, and last whole waits that took no time. */
static int rank(const struct node *x)
{
	return x->wait ? x->empty ? 2 : 0 : 1;
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return rank(x) - rank(y);
}

/* What the thread did at that moment: before a wait that began then, also if that took no time. */
static size_t find(const struct graph *g, uint32_t thread, int64_t at_ns)
{
	size_t found = g->node_n;

	for (size_t i = 0; i < g->node_n; i++) {
		if (g->nodes[i].thread == thread && g->nodes[i].at_ns == at_ns && !g->nodes[i].empty)
			found = i;
	}
	cr_assert(found < g->node_n);
	return found;
}

static size_t find_end(const struct graph *g, uint32_t thread)
{
	size_t found = g->node_n;

	for (size_t i = 0; i < g->node_n; i++) {
		if (g->nodes[i].thread == thread)
			found = i;
	}
	cr_assert(found < g->node_n);
	return found;
}

static void wait_edges(struct graph *g, const struct model *m, size_t end, uint32_t stack, double factor)
{
	const struct model_wait *w = &m->waits[g->nodes[end].wait];
	const struct model_row *row = &m->rows[w->row];
	double run_ns = (double)(w->end_ns - (w->wake_ns >= 0 ? w->wake_ns : w->end_ns));
	size_t start = end;

	/* One that took no time begins at the node before it. */
	if (w->start_ns == w->end_ns && end && g->nodes[end - 1].thread == g->nodes[end].thread)
		edge_add(g, end - 1, end, (double)(g->nodes[end].at_ns - g->nodes[end - 1].at_ns));
	while (start && g->nodes[start - 1].thread == g->nodes[end].thread && g->nodes[start].at_ns > w->start_ns)
		start--;
	if (w->target && w->outcome == WAIT_TIMEOUT) {
		uint32_t thread = 1;

		while (m->threads[thread].op != w->target)
			thread++;
		g->eithers = realloc(g->eithers, (g->either_n + 1) * sizeof(*g->eithers));
		g->eithers[g->either_n++] = (struct either){
			.start = start, .end = end, .target = find_end(g, thread), .run_ns = run_ns,
			.target_t = INFINITY,
			.limit_ns = (double)w->blocked_ns * (stack && row->ustack == stack ? factor : 1),
		};
	} else if (w->waker && row->reason == REASON_CPU) {
		edge_add(g, find(g, w->waker, w->wake_ns), end, run_ns);
	} else if (w->waker) {
		edge_add(g, start, end, run_ns);
		edge_add(g, find(g, w->waker, w->wake_ns), end, run_ns);
	} else if (row->reason == REASON_CPU) {
		edge_add(g, start, end, (double)w->runnable_ns);
	} else {
		double by = stack && row->ustack == stack ? factor : 1;

		edge_add(g, start, end, (double)w->blocked_ns * by + (double)w->runnable_ns);
	}
}

static void graph_make(struct graph *g, const struct model *m, uint32_t stack, double factor)
{
	for (uint32_t t = 1; t < m->thread_n; t++) {
		node_add(g, t, m->threads[t].begin_ns, 0, false);
		node_add(g, t, m->threads[t].end_ns, 0, false);
	}
	for (uint32_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		if (w->clipped)
			continue;
		node_add(g, w->thread, w->start_ns, 0, false);
		node_add(g, w->thread, w->end_ns, i, w->start_ns == w->end_ns);
		if (w->waker)
			node_add(g, w->waker, w->wake_ns, 0, false);
	}
	qsort(g->nodes, g->node_n, sizeof(*g->nodes), by_thread_and_time);
	for (size_t i = 0; i < g->node_n; i++) {
		if (g->nodes[i].wait)
			wait_edges(g, m, i, stack, factor);
		else if (i && g->nodes[i - 1].thread == g->nodes[i].thread)
			edge_add(g, i - 1, i, (double)(g->nodes[i].at_ns - g->nodes[i - 1].at_ns));
	}
}

static bool either_raise(struct graph *g, const struct either *x)
{
	double start = g->nodes[x->start].t, target = x->target_t, t = start + x->limit_ns;

	if (target < t)
		t = target > start ? target : start;
	t += x->run_ns;
	if (t <= g->nodes[x->end].t)
		return false;
	g->nodes[x->end].t = t;
	return true;
}

static void graph_relax(struct graph *g)
{
	bool changed = true;

	for (size_t i = 0; i < g->node_n; i++)
		g->nodes[i].t = 0;
	for (size_t round = 0; changed; round++) {
		cr_assert(round <= g->node_n, "the graph has a circle");
		changed = false;
		for (size_t i = 0; i < g->edge_n; i++) {
			double t = g->nodes[g->edges[i].from].t + g->edges[i].ns;

			if (t <= g->nodes[g->edges[i].to].t)
				continue;
			g->nodes[g->edges[i].to].t = t;
			changed = true;
		}
		for (size_t i = 0; i < g->either_n; i++)
			changed |= either_raise(g, &g->eithers[i]);
	}
}

/* Waits that were given up last as long as they may until their targets are known to have ended earlier. */
static double end_of(const struct model *m, uint32_t thread, uint32_t stack, double factor, bool early)
{
	struct graph g = { 0 };
	bool changed = true;
	double end;

	graph_make(&g, m, stack, factor);
	while (changed) {
		graph_relax(&g);
		changed = false;
		if (!early)
			break;
		for (size_t i = 0; i < g.either_n; i++) {
			changed |= g.nodes[g.eithers[i].target].t < g.eithers[i].target_t;
			g.eithers[i].target_t = g.nodes[g.eithers[i].target].t;
		}
	}
	end = g.nodes[find_end(&g, thread)].t;
	free(g.nodes);
	free(g.edges);
	free(g.eithers);
	return end;
}

double brute_end(const struct model *m, uint32_t thread, uint32_t stack, double factor)
{
	return end_of(m, thread, stack, factor, true);
}

double brute_end_of_limits(const struct model *m, uint32_t thread, uint32_t stack, double factor)
{
	return end_of(m, thread, stack, factor, false);
}
