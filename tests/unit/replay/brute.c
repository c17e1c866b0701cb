/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "brute.h"

#include <criterion/criterion.h>
#include <stdlib.h>

struct node {
	uint32_t thread;
	int64_t at_ns;
	uint32_t wait; /* it is the end of that wait, 0: it is not */
	double t;
};

struct edge {
	size_t from, to;
	double ns;
};

struct graph {
	struct node *nodes;
	struct edge *edges;
	size_t node_n, edge_n;
};

static void node_add(struct graph *g, uint32_t thread, int64_t at_ns, uint32_t wait)
{
	g->nodes = realloc(g->nodes, (g->node_n + 1) * sizeof(*g->nodes));
	g->nodes[g->node_n++] = (struct node){ thread, at_ns, wait, 0 };
}

static void edge_add(struct graph *g, size_t from, size_t to, double ns)
{
	g->edges = realloc(g->edges, (g->edge_n + 1) * sizeof(*g->edges));
	g->edges[g->edge_n++] = (struct edge){ from, to, ns };
}

/* Ends of waits come before what else is at that moment. */
static int by_thread_and_time(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return (y->wait != 0) - (x->wait != 0);
}

static size_t find(const struct graph *g, uint32_t thread, int64_t at_ns)
{
	size_t found = g->node_n;

	for (size_t i = 0; i < g->node_n; i++) {
		if (g->nodes[i].thread == thread && g->nodes[i].at_ns == at_ns)
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

	/* One of no length lies behind its own end in the list. */
	if (w->start_ns == w->end_ns && end && g->nodes[end - 1].thread == g->nodes[end].thread)
		edge_add(g, end - 1, end, (double)(g->nodes[end].at_ns - g->nodes[end - 1].at_ns));
	while (start && g->nodes[start - 1].thread == g->nodes[end].thread && g->nodes[start].at_ns > w->start_ns)
		start--;
	if (w->waker && row->reason == REASON_CPU) {
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
		node_add(g, t, m->threads[t].begin_ns, 0);
		node_add(g, t, m->threads[t].end_ns, 0);
	}
	for (uint32_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		if (w->clipped)
			continue;
		node_add(g, w->thread, w->start_ns, 0);
		node_add(g, w->thread, w->end_ns, i);
		if (w->waker)
			node_add(g, w->waker, w->wake_ns, 0);
	}
	qsort(g->nodes, g->node_n, sizeof(*g->nodes), by_thread_and_time);
	for (size_t i = 0; i < g->node_n; i++) {
		if (g->nodes[i].wait)
			wait_edges(g, m, i, stack, factor);
		else if (i && g->nodes[i - 1].thread == g->nodes[i].thread)
			edge_add(g, i - 1, i, (double)(g->nodes[i].at_ns - g->nodes[i - 1].at_ns));
	}
}

double brute_end(const struct model *m, uint32_t thread, uint32_t stack, double factor)
{
	struct graph g = { 0 };
	bool changed = true;
	double end;

	graph_make(&g, m, stack, factor);
	for (size_t round = 0; changed; round++) {
		cr_assert(round <= g.node_n, "the graph has a circle");
		changed = false;
		for (size_t i = 0; i < g.edge_n; i++) {
			double t = g.nodes[g.edges[i].from].t + g.edges[i].ns;

			if (t <= g.nodes[g.edges[i].to].t)
				continue;
			g.nodes[g.edges[i].to].t = t;
			changed = true;
		}
	}
	end = g.nodes[find(&g, thread, m->threads[thread].end_ns)].t;
	free(g.nodes);
	free(g.edges);
	return end;
}
