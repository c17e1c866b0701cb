/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "replay/wcprof-graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/draft.h"
#include "util/cleanup.h"
#include "util/crew.h"
#include "util/map.h"
#include "util/vec.h"

/* What is known by number of op, or of wait, and needed no more when nodes are there. */
struct maker {
	struct wcprof_graph *g;
	const struct model *m;
	uint32_t *parent; /* by op, 0: none */
	uint32_t *node;	  /* by op */
	uint32_t *op;	  /* by node */
	uint8_t *what;	  /* by wait: enum wcprof_wait_what */
	uint32_t *ref;	  /* by wait: as a wcprof_wait's */
};

static void maker_done(struct maker *k)
{
	free(k->parent);
	free(k->node);
	free(k->op);
	free(k->what);
	free(k->ref);
}

void wcprof_graph_shed(struct wcprof_graph *g)
{
	free(g->nodes);
	free(g->roots);
	free(g->children);
	free(g->ends);
	free(g->waits);
	*g = (struct wcprof_graph){ .r = g->r, .tag_key = g->tag_key, .pair_n = g->pair_n };
}

void wcprof_graph_done(struct wcprof_graph *g)
{
	wcprof_graph_shed(g);
	free(g->tag_key);
	*g = (struct wcprof_graph){ 0 };
}

/* Ops that belong to a client hang below who hosts it, if they have no parent of their own. */
static int parents_find(struct maker *k)
{
	const struct model *m = k->m;
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

		k->parent[i] = o->parent < m->op_n && o->parent != i ? o->parent : 0;
		if (!k->parent[i] && map_get(hosts, o->client_id, &host) && host != i)
			k->parent[i] = (uint32_t)host;
	}
	return 0;
}

/* Ops that are below themselves: one of them becomes a root. Each op is walked over twice at most. */
static int circles_cut(struct maker *k)
{
	uint32_t n = (uint32_t)k->m->op_n;
	_cleanup_(freep) uint32_t *walk = calloc(n, sizeof(*walk));

	if (!walk)
		return -ENOMEM;
	for (uint32_t i = 1; i < n; i++) {
		uint32_t at = i;

		while (at && !walk[at]) {
			walk[at] = i;
			if (k->parent[at] && walk[k->parent[at]] == i)
				k->parent[at] = 0;
			at = k->parent[at];
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
	const struct maker *k = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (k->g->nodes[x].end_ns != k->g->nodes[y].end_ns)
		return k->g->nodes[x].end_ns < k->g->nodes[y].end_ns ? -1 : 1;
	return k->op[x] < k->op[y] ? -1 : k->op[x] > k->op[y];
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

static int64_t op_end_ns(const struct model_op *o)
{
	return o->end_ns > o->start_ns ? o->end_ns : o->start_ns;
}

/* Numbers from the roots down: each op is followed by what is below it, siblings come by start. */
static int nodes_number(struct maker *k)
{
	struct wcprof_graph *g = k->g;
	size_t n = k->m->op_n, stack_n = 0, node = 0;
	_cleanup_(freep) uint32_t *children = NULL, *stack = malloc(n * sizeof(*stack));
	_cleanup_(freep) size_t *first = NULL;

	k->op = calloc(n, sizeof(*k->op));
	k->node = calloc(n, sizeof(*k->node));
	g->roots = malloc(n * sizeof(*g->roots));
	if (!stack || !k->op || !k->node || !g->roots || group(k->parent, n, n, &children, &first) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < n; i++) {
		if (!k->parent[i])
			g->roots[g->root_n++] = i;
	}
	sort(g->roots, g->root_n, by_start, k->m->ops);
	for (size_t i = 1; i < n; i++)
		sort(children + first[i], first[i + 1] - first[i], by_start, k->m->ops);
	for (size_t i = 0; i < g->root_n; i++) {
		stack[stack_n++] = g->roots[i];
		g->roots[i] = (uint32_t)node + 1;
		while (stack_n) {
			uint32_t op = stack[--stack_n];

			__builtin_prefetch(&first[stack[stack_n < 8 ? 0 : stack_n - 8]]);
			k->op[++node] = op;
			k->node[op] = (uint32_t)node;
			for (size_t c = first[op + 1]; c-- > first[op];)
				stack[stack_n++] = children[c];
		}
	}
	return 0;
}

static int nodes_fill(struct maker *k)
{
	struct wcprof_graph *g = k->g;
	size_t n = k->m->op_n, child = 0;

	g->node_n = n;
	g->nodes = calloc(n + 1, sizeof(*g->nodes));
	g->children = malloc(n * sizeof(*g->children));
	g->ends = malloc(n * sizeof(*g->ends));
	if (!g->nodes || !g->children || !g->ends)
		return -ENOMEM;
	for (size_t i = 1; i < n; i++) {
		const struct model_op *o = &k->m->ops[k->op[i]];

		__builtin_prefetch(&k->m->ops[i + 8 < n ? k->op[i + 8] : 0]);
		g->nodes[i] = (struct wcprof_node){
			.start_ns = o->start_ns, .end_ns = op_end_ns(o), .parent = k->node[k->parent[k->op[i]]],
		};
	}
	/* A node's children are counted at the node behind it, and begin where those of all before have ended. */
	for (size_t i = 1; i < n; i++)
		g->nodes[g->nodes[i].parent + 1].child += g->nodes[i].parent != 0;
	for (size_t i = 1; i <= n; i++) {
		child += g->nodes[i].child;
		g->nodes[i].child = (uint32_t)child;
	}
	return 0;
}

static int children_find(struct maker *k)
{
	struct wcprof_graph *g = k->g;
	_cleanup_(freep) uint32_t *next = malloc((g->node_n + 1) * sizeof(*next));

	if (!next)
		return -ENOMEM;
	for (size_t i = 0; i <= g->node_n; i++)
		next[i] = g->nodes[i].child;
	/* By number is by start. */
	for (uint32_t i = 1; i < g->node_n; i++) {
		if (g->nodes[i].parent)
			g->children[next[g->nodes[i].parent]++] = i;
	}
	if (g->nodes[g->node_n].child)
		memcpy(g->ends, g->children, g->nodes[g->node_n].child * sizeof(*g->ends));
	for (size_t i = 1; i < g->node_n; i++)
		sort(g->ends + g->nodes[i].child, g->nodes[i + 1].child - g->nodes[i].child, by_end, k);
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

static int targets_find(struct maker *k)
{
	const struct model *m = k->m;
	_cleanup_(map_freep) struct map *execs = NULL;
	uint64_t exec;

	if (map_new(&execs) < 0 || execs_find(m, execs) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];
		uint32_t target = w->target < m->op_n ? w->target : 0;

		if (!target && m->rows[w->row < m->row_n ? w->row : 0].reason == REASON_EXEC && w->ident_id &&
		    map_get(execs, w->ident_id, &exec))
			target = (uint32_t)exec;
		if (!target)
			continue;
		k->what[i] = WAIT_TARGET;
		k->ref[i] = k->node[target];
	}
	return 0;
}

/* Lengths that are a thread's own are the delays of the plan. */
static int lengths_find(struct maker *k)
{
	const struct replay *r = k->g->r;
	const struct model *m = k->m;
	_cleanup_(map_freep) struct map *locks = NULL;
	uint64_t lock;
	uint32_t tag;
	double ns;

	k->what = calloc(m->wait_n + 1, 1);
	k->ref = calloc(m->wait_n + 1, sizeof(*k->ref));
	if (!k->what || !k->ref || map_new(&locks) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < r->lock_n; i++) {
		if (map_put(locks, r->locks[i].ident_id, i) < 0)
			return -ENOMEM;
	}
	/* A dump of ops only has no waits but those that its program waited by name: they stay as they are. */
	for (size_t i = 0; i < r->points.n && m->thread_n > 1; i++) {
		uint32_t wait = r->points.ref[i] < m->wait_n ? r->points.ref[i] : 0;

		if (wait && point_delay(r, i, &ns, &tag)) {
			k->what[wait] = WAIT_DELAY;
			k->ref[wait] = tag;
		} else if (wait && (r->points.what[i] == POINT_WAIT || r->points.what[i] == POINT_ACQUIRE)) {
			/* What was done within it came before what ended it. */
			k->what[wait] = 0;
		}
	}
	for (size_t i = 1; i < m->wait_n; i++) {
		uint8_t reason = m->rows[m->waits[i].row < m->row_n ? m->waits[i].row : 0].reason;

		if (reason == REASON_CPU)
			k->what[i] = WAIT_SELF;
		else if (reason == REASON_LOCK)
			k->what[i] = WAIT_FIXED;
		if (reason == REASON_LOCK && m->waits[i].ident_id && map_get(locks, m->waits[i].ident_id, &lock)) {
			k->what[i] = WAIT_LOCK;
			k->ref[i] = (uint32_t)lock;
		}
	}
	return 0;
}

static void wait_fill(const struct maker *k, uint32_t wait, struct wcprof_wait *ret)
{
	const struct model_wait *w = &k->m->waits[wait];

	*ret = (struct wcprof_wait){
		.start_ns = w->start_ns, .end_ns = w->end_ns > w->start_ns ? w->end_ns : w->start_ns,
		.ref = k->ref[wait], .what = k->what[wait],
	};
	if (w->wake_ns > w->start_ns && w->wake_ns < w->end_ns)
		ret->ready_ns = w->end_ns - w->wake_ns;
}

static int waits_place(struct maker *k)
{
	struct wcprof_graph *g = k->g;
	const struct model *m = k->m;
	_cleanup_(freep) uint32_t *owner = calloc(m->wait_n + 1, sizeof(*owner)), *waits = NULL;
	_cleanup_(freep) size_t *first = NULL;
	size_t n;

	if (!owner)
		return -ENOMEM;
	for (size_t i = 1; i < m->wait_n; i++)
		owner[i] = m->waits[i].op < m->op_n ? k->node[m->waits[i].op] : 0;
	if (group(owner, m->wait_n, g->node_n, &waits, &first) < 0)
		return -ENOMEM;
	n = first[g->node_n];
	g->waits = malloc((n + 1) * sizeof(*g->waits));
	if (!g->waits)
		return -ENOMEM;
	for (size_t i = 0; i <= g->node_n; i++)
		g->nodes[i].wait = (uint32_t)first[i];
	for (size_t i = 1; i < g->node_n; i++)
		sort(waits + first[i], first[i + 1] - first[i], by_wait_start, m->waits);
	for (size_t i = 0; i < n; i++) {
		model_wait_prefetch(m, waits, i, n);
		wait_fill(k, waits[i], &g->waits[i]);
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

static int self_keys_find(struct maker *k)
{
	struct wcprof_graph *g = k->g;
	const struct replay *r = g->r;
	const struct model *m = r->m;
	_cleanup_(map_freep) struct map *op_keys = NULL, *pairs = NULL;
	uint64_t key, pair;

	if (map_new(&op_keys) < 0 || map_new(&pairs) < 0 || tag_keys_find(g, pairs) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < r->op_key_n; i++) {
		if (map_put(op_keys, (uint64_t)r->op_keys[i].kind << 32 | r->op_keys[i].class_id, i) < 0)
			return -ENOMEM;
	}
	g->nodes[0].self_key = NONE;
	for (size_t i = 1; i < m->op_n; i++) {
		const struct model_op *o = &m->ops[i];
		uint32_t s = r->strand_of_op[i];
		uint32_t comm_id = s != NONE ? m->threads[r->strands[s].thread].comm_id : 0;
		uint32_t *self_key = &g->nodes[k->node[i]].self_key;

		*self_key = NONE;
		if (!map_get(op_keys, (uint64_t)o->kind << 32 | (o->class_id ? o->class_id : comm_id), &key))
			continue;
		*self_key = g->pair_n + (uint32_t)key;
		if (s != NONE && map_get(pairs, key << 32 | r->strands[s].key, &pair))
			*self_key = (uint32_t)pair;
	}
	return 0;
}

/* What hangs below what needs nothing of what waits are of. */
static int half_first(void *arg, size_t i)
{
	struct maker *k = arg;

	if (i)
		return lengths_find(k);
	k->parent = calloc(k->m->op_n, sizeof(*k->parent));
	return !k->parent || parents_find(k) < 0 || circles_cut(k) < 0 || nodes_number(k) < 0 || nodes_fill(k) < 0 ||
	       children_find(k) < 0 ? -ENOMEM : 0;
}

static int half_second(void *arg, size_t i)
{
	struct maker *k = arg;

	if (i)
		return self_keys_find(k);
	return targets_find(k) < 0 || waits_place(k) < 0 ? -ENOMEM : 0;
}

int wcprof_graph_make(const struct replay *r, struct wcprof_graph *ret)
{
	struct wcprof_graph g = { .r = r };
	_cleanup_(maker_done) struct maker k = { .g = &g, .m = r->m };

	if (crew_run(2, half_first, &k) < 0 || crew_run(2, half_second, &k) < 0) {
		wcprof_graph_done(&g);
		return -ENOMEM;
	}
	*ret = g;
	return 0;
}
