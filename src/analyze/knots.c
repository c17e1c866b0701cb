/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Strongly connected components by Tarjan's algorithm with the stack of the
 * recursion kept by hand, then those without a way out: a knot waits only for
 * itself, so nothing outside it can make it faster (the idea is wPerf's, OSDI
 * 2018). Edges of little weight are noise: with all of them everything is one knot.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/analyze.h"
#include "util/cleanup.h"
#include "util/vec.h"

struct walk {
	const struct analyze_edge *edges;
	size_t *first;	 /* by node: of its edges in order; of node_n: the end */
	uint32_t *order; /* edges by their from */
	uint32_t *number, *low, *component; /* by node, from 1 on; 0: not yet */
	uint32_t *open;	 /* nodes of unfinished components */
	uint32_t *track; /* the recursion: nodes */
	size_t *next;	 /* by node: the next of its edges */
	size_t open_n, track_n;
	uint32_t number_n, component_n;
};

static void walk_done(struct walk *w)
{
	free(w->first);
	free(w->order);
	free(w->number);
	free(w->low);
	free(w->component);
	free(w->open);
	free(w->track);
	free(w->next);
}

static int walk_init(struct walk *w, const struct analyze_edge *edges, size_t edge_n, size_t node_n)
{
	w->edges = edges;
	w->first = calloc(node_n + 2, sizeof(*w->first));
	w->order = calloc(edge_n + 1, sizeof(*w->order));
	w->number = calloc(node_n + 1, sizeof(*w->number));
	w->low = calloc(node_n + 1, sizeof(*w->low));
	w->component = calloc(node_n + 1, sizeof(*w->component));
	w->open = calloc(node_n + 1, sizeof(*w->open));
	w->track = calloc(node_n + 1, sizeof(*w->track));
	w->next = calloc(node_n + 1, sizeof(*w->next));
	if (!w->first || !w->order || !w->number || !w->low || !w->component || !w->open || !w->track || !w->next)
		return -ENOMEM;
	for (size_t i = 0; i < edge_n; i++)
		w->first[edges[i].from + 1]++;
	for (size_t i = 0; i < node_n; i++) {
		w->first[i + 1] += w->first[i];
		w->next[i] = w->first[i];
	}
	for (size_t i = 0; i < edge_n; i++)
		w->order[w->next[edges[i].from]++] = (uint32_t)i;
	for (size_t i = 0; i < node_n; i++)
		w->next[i] = w->first[i];
	return 0;
}

static void enter(struct walk *w, uint32_t node)
{
	w->number[node] = w->low[node] = ++w->number_n;
	w->open[w->open_n++] = node;
	w->track[w->track_n++] = node;
}

static void leave(struct walk *w, uint32_t node)
{
	uint32_t member;

	w->track_n--;
	if (w->track_n) {
		uint32_t above = w->track[w->track_n - 1];

		w->low[above] = w->low[node] < w->low[above] ? w->low[node] : w->low[above];
	}
	if (w->low[node] != w->number[node])
		return;
	w->component_n++;
	do {
		member = w->open[--w->open_n];
		w->component[member] = w->component_n;
	} while (member != node);
}

static void walk_from(struct walk *w, uint32_t root)
{
	enter(w, root);
	while (w->track_n) {
		uint32_t node = w->track[w->track_n - 1], to;

		if (w->next[node] == w->first[node + 1]) {
			leave(w, node);
			continue;
		}
		to = w->edges[w->order[w->next[node]++]].to;
		if (!w->number[to])
			enter(w, to);
		else if (!w->component[to] && w->number[to] < w->low[node])
			w->low[node] = w->number[to];
	}
}

static int knot_compare(const void *a, const void *b)
{
	const struct analyze_knot *x = a, *y = b;

	if (x->inside_ns + x->for_it_ns != y->inside_ns + y->for_it_ns)
		return x->inside_ns + x->for_it_ns > y->inside_ns + y->for_it_ns ? -1 : 1;
	return x->component < y->component ? -1 : 1;
}

static int knots_collect(const struct walk *w, size_t edge_n, size_t node_n, struct analyze_knots *k)
{
	_cleanup_(freep) struct analyze_knot *all = calloc(w->component_n + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < node_n; i++)
		all[w->component[i]].node_n++;
	for (size_t i = 0; i < edge_n; i++) {
		uint32_t from = w->component[w->edges[i].from], to = w->component[w->edges[i].to];

		all[to].inside_ns += from == to ? w->edges[i].ns : 0;
		all[to].for_it_ns += from == to ? 0 : w->edges[i].ns;
		all[from].leaves |= from != to;
	}
	for (uint32_t i = 1; i <= w->component_n; i++) {
		all[i].component = i;
		/* A node that waits for nobody and that nobody waits for is no knot. */
		if (!all[i].leaves && (all[i].inside_ns || all[i].for_it_ns))
			all[k->n++] = all[i];
	}
	if (k->n)
		qsort(all, k->n, sizeof(*all), knot_compare);
	k->list = TAKE_PTR(all);
	return 0;
}

int analyze_knots(const struct analyze_edge *edges, size_t edge_n, size_t node_n, uint64_t weight_ns_min,
		  struct analyze_knots *ret)
{
	_cleanup_(walk_done) struct walk w = { 0 };
	_cleanup_(freep) struct analyze_edge *heavy = calloc(edge_n + 1, sizeof(*heavy));
	struct analyze_knots k = { 0 };
	size_t n = 0;

	if (!heavy)
		return -ENOMEM;
	for (size_t i = 0; i < edge_n; i++) {
		if (edges[i].ns >= weight_ns_min && edges[i].from < node_n && edges[i].to < node_n)
			heavy[n++] = edges[i];
	}
	if (walk_init(&w, heavy, n, node_n) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < node_n; i++) {
		if (!w.number[i])
			walk_from(&w, i);
	}
	if (knots_collect(&w, n, node_n, &k) < 0)
		return -ENOMEM;
	k.of_node = TAKE_PTR(w.component);
	*ret = k;
	return 0;
}

void analyze_knots_done(struct analyze_knots *k)
{
	free(k->list);
	free(k->of_node);
	*k = (struct analyze_knots){ 0 };
}
