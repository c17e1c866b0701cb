/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "replay/wcprof-graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/draft.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

void wcprof_graph_shed(struct wcprof_graph *g)
{
	free(g->parent);
	free(g->roots);
	free(g->child_first);
	free(g->children);
	free(g->ends);
	free(g->wait_first);
	free(g->waits);
	free(g->target);
	free(g->length);
	free(g->length_ref);
	free(g->self_key);
	*g = (struct wcprof_graph){ .r = g->r, .tag_key = g->tag_key, .pair_n = g->pair_n };
}

void wcprof_graph_done(struct wcprof_graph *g)
{
	wcprof_graph_shed(g);
	free(g->tag_key);
	*g = (struct wcprof_graph){ 0 };
}

static int64_t op_end_ns(const struct model_op *o)
{
	return o->end_ns > o->start_ns ? o->end_ns : o->start_ns;
}

/* Ops that belong to a client hang below who hosts it, if they have no parent of their own. */
static int parents_find(struct wcprof_graph *g)
{
	const struct model *m = g->r->m;
	_cleanup_(map_freep) struct map *hosts = NULL;
	uint64_t host;

	if (map_new(&hosts) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->link_n; i++) {
		const struct model_link *l = &m->links[i];

		if (l->kind == LINK_NESTED_CLIENT && l->ident_id && l->from && l->from < m->op_n &&
		    map_put(hosts, l->ident_id, l->from) < 0)
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < m->op_n; i++) {
		const struct model_op *o = &m->ops[i];

		g->parent[i] = o->parent < m->op_n && o->parent != i ? o->parent : 0;
		if (!g->parent[i] && map_get(hosts, o->client_id, &host) && host != i)
			g->parent[i] = (uint32_t)host;
	}
	return 0;
}

/* Ops that are below themselves: one of them becomes a root. Each op is walked over twice at most. */
static int circles_cut(struct wcprof_graph *g)
{
	uint32_t n = (uint32_t)g->r->m->op_n;
	_cleanup_(freep) uint32_t *walk = calloc(n, sizeof(*walk));

	if (!walk)
		return -ENOMEM;
	for (uint32_t i = 1; i < n; i++) {
		uint32_t at = i;

		while (at && !walk[at]) {
			walk[at] = i;
			if (g->parent[at] && walk[g->parent[at]] == i)
				g->parent[at] = 0;
			at = g->parent[at];
		}
	}
	return 0;
}

static int by_start(const void *a, const void *b, void *arg)
{
	const struct model_op *ops = arg, *x = &ops[*(const uint32_t *)a], *y = &ops[*(const uint32_t *)b];

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int by_end(const void *a, const void *b, void *arg)
{
	const struct model_op *ops = arg, *x = &ops[*(const uint32_t *)a], *y = &ops[*(const uint32_t *)b];

	if (op_end_ns(x) != op_end_ns(y))
		return op_end_ns(x) < op_end_ns(y) ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int by_wait_start(const void *a, const void *b, void *arg)
{
	const struct model_wait *waits = arg, *x = &waits[*(const uint32_t *)a], *y = &waits[*(const uint32_t *)b];

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Mostly they are in order as they come. */
static void sort(uint32_t *v, size_t n, int (*compare)(const void *, const void *, void *), const void *of)
{
	void *arg = (void *)(uintptr_t)of;

	for (size_t i = 1; i < n; i++) {
		if (compare(&v[i - 1], &v[i], arg) > 0) {
			qsort_r(v, n, sizeof(*v), compare, arg);
			return;
		}
	}
}

/* v: numbers 1 to n - 1 by owner, which is 0 for those left out. first: owners + 1. */
static int group(const uint32_t *owner, size_t n, size_t owner_n, uint32_t **ret, size_t **ret_first)
{
	_cleanup_(freep) size_t *next = calloc(owner_n + 1, sizeof(*next));
	size_t *first = calloc(owner_n + 2, sizeof(*first));
	uint32_t *v = malloc((n + 1) * sizeof(*v));

	*ret = v;
	*ret_first = first;
	if (!next || !first || !v)
		return -ENOMEM;
	for (size_t i = 1; i < n; i++)
		first[owner[i] + 1] += owner[i] != 0;
	for (size_t k = 0; k < owner_n; k++) {
		first[k + 1] += first[k];
		next[k] = first[k];
	}
	for (size_t i = 1; i < n; i++) {
		if (owner[i])
			v[next[owner[i]]++] = (uint32_t)i;
	}
	return 0;
}

static int children_find(struct wcprof_graph *g)
{
	const struct model *m = g->r->m;

	g->roots = malloc(m->op_n * sizeof(*g->roots));
	if (!g->roots || group(g->parent, m->op_n, m->op_n, &g->children, &g->child_first) < 0)
		return -ENOMEM;
	g->ends = malloc(m->op_n * sizeof(*g->ends));
	if (!g->ends)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->op_n; i++) {
		if (!g->parent[i])
			g->roots[g->root_n++] = i;
	}
	sort(g->roots, g->root_n, by_start, m->ops);
	for (size_t i = 1; i < m->op_n; i++) {
		size_t at = g->child_first[i], n = g->child_first[i + 1] - at;

		sort(g->children + at, n, by_start, m->ops);
		if (n)
			memcpy(g->ends + at, g->children + at, n * sizeof(*g->ends));
		sort(g->ends + at, n, by_end, m->ops);
	}
	return 0;
}

/* The longest execution of each ident. */
static int execs_find(const struct model *m, struct map *execs)
{
	uint64_t at;

	for (size_t i = 1; i < m->op_n; i++) {
		const struct model_op *o = &m->ops[i];

		if (o->kind != OP_EXEC || !o->ident_id)
			continue;
		if (map_get(execs, o->ident_id, &at) && m->ops[at].end_ns - m->ops[at].start_ns >= o->end_ns - o->start_ns)
			continue;
		if (map_put(execs, o->ident_id, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int waits_find_targets(struct wcprof_graph *g)
{
	const struct model *m = g->r->m;
	_cleanup_(map_freep) struct map *execs = NULL;
	_cleanup_(freep) uint32_t *owner = calloc(m->wait_n + 1, sizeof(*owner));
	uint64_t exec;

	g->target = calloc(m->wait_n + 1, sizeof(*g->target));
	if (!owner || !g->target || map_new(&execs) < 0 || execs_find(m, execs) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		owner[i] = w->op < m->op_n ? w->op : 0;
		if (w->target && w->target < m->op_n)
			g->target[i] = w->target;
		else if (m->rows[w->row < m->row_n ? w->row : 0].reason == REASON_EXEC && w->ident_id &&
			 map_get(execs, w->ident_id, &exec))
			g->target[i] = (uint32_t)exec;
	}
	if (group(owner, m->wait_n, m->op_n, &g->waits, &g->wait_first) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->op_n; i++)
		sort(g->waits + g->wait_first[i], g->wait_first[i + 1] - g->wait_first[i], by_wait_start, m->waits);
	return 0;
}

/* Lengths that are a thread's own are the delays of the plan. */
static int lengths_find(struct wcprof_graph *g)
{
	const struct replay *r = g->r;
	const struct model *m = r->m;
	_cleanup_(map_freep) struct map *locks = NULL;
	uint64_t lock;
	uint32_t tag;
	double ns;

	g->length = calloc(m->wait_n + 1, 1);
	g->length_ref = calloc(m->wait_n + 1, sizeof(*g->length_ref));
	if (!g->length || !g->length_ref || map_new(&locks) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < r->lock_n; i++) {
		if (map_put(locks, r->locks[i].ident_id, i) < 0)
			return -ENOMEM;
	}
	/* A dump of ops only has no waits but those that its program waited by name: they stay as they are. */
	for (size_t i = 0; i < r->points.n && m->thread_n > 1; i++) {
		if (point_delay(r, i, &ns, &tag) && r->points.ref[i] && r->points.ref[i] < m->wait_n) {
			g->length[r->points.ref[i]] = LENGTH_DELAY;
			g->length_ref[r->points.ref[i]] = tag;
		}
	}
	for (size_t i = 1; i < m->wait_n; i++) {
		uint8_t reason = m->rows[m->waits[i].row < m->row_n ? m->waits[i].row : 0].reason;

		if (reason == REASON_CPU)
			g->length[i] = LENGTH_SELF;
		else if (reason == REASON_LOCK)
			g->length[i] = LENGTH_FIXED;
		if (reason == REASON_LOCK && m->waits[i].ident_id && map_get(locks, m->waits[i].ident_id, &lock)) {
			g->length[i] = LENGTH_LOCK;
			g->length_ref[i] = (uint32_t)lock;
		}
	}
	return 0;
}

/* Tags of computing by op and strand: what of an op's own time is of a class is asked of them. */
static int tag_keys_find(struct wcprof_graph *g, struct map *pairs)
{
	const struct replay *r = g->r;
	uint64_t key;

	g->tag_key = malloc((r->tag_n + 1) * sizeof(*g->tag_key));
	if (!g->tag_key)
		return -ENOMEM;
	for (size_t i = 0; i < r->tag_n; i++) {
		uint64_t pair = (uint64_t)r->tags[i].op_key << 32 | r->tags[i].strand_key;

		g->tag_key[i] = NONE;
		if (r->tags[i].row)
			continue;
		if (!map_get(pairs, pair, &key)) {
			key = g->pair_n++;
			if (map_put(pairs, pair, key) < 0)
				return -ENOMEM;
		}
		g->tag_key[i] = (uint32_t)key;
	}
	return 0;
}

static int self_keys_find(struct wcprof_graph *g)
{
	const struct replay *r = g->r;
	const struct model *m = r->m;
	_cleanup_(map_freep) struct map *op_keys = NULL, *pairs = NULL;
	uint64_t key, pair;

	g->self_key = malloc(m->op_n * sizeof(*g->self_key));
	if (!g->self_key || map_new(&op_keys) < 0 || map_new(&pairs) < 0 || tag_keys_find(g, pairs) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < r->op_key_n; i++) {
		if (map_put(op_keys, (uint64_t)r->op_keys[i].kind << 32 | r->op_keys[i].class_id, i) < 0)
			return -ENOMEM;
	}
	g->self_key[0] = NONE;
	for (size_t i = 1; i < m->op_n; i++) {
		const struct model_op *o = &m->ops[i];
		uint32_t s = r->strand_of_op[i];
		uint32_t comm_id = s != NONE ? m->threads[r->strands[s].thread].comm_id : 0;

		g->self_key[i] = NONE;
		if (!map_get(op_keys, (uint64_t)o->kind << 32 | (o->class_id ? o->class_id : comm_id), &key))
			continue;
		g->self_key[i] = g->pair_n + (uint32_t)key;
		if (s != NONE && map_get(pairs, key << 32 | r->strands[s].key, &pair))
			g->self_key[i] = (uint32_t)pair;
	}
	return 0;
}

int wcprof_graph_make(const struct replay *r, struct wcprof_graph *ret)
{
	struct wcprof_graph g = { .r = r };

	g.parent = calloc(r->m->op_n, sizeof(*g.parent));
	if (!g.parent || parents_find(&g) < 0 || circles_cut(&g) < 0 || children_find(&g) < 0 ||
	    waits_find_targets(&g) < 0 || lengths_find(&g) < 0 || self_keys_find(&g) < 0) {
		wcprof_graph_done(&g);
		return -ENOMEM;
	}
	*ret = g;
	return 0;
}
