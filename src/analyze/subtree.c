/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The tree is walked with its own list as the stack: children are put behind their parent's place, last first. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/account.h"
#include "util/cleanup.h"
#include "util/vec.h"

struct walk {
	const struct model *m;
	struct optree tree;
	struct lanes lanes;
	struct where where;
	bool *on_lane; /* by op: it, or done by its thread below it or in its stead; of a process all of it but other processes */
	struct analyze_subtree x;
};

static void walk_done(struct walk *w)
{
	optree_done(&w->tree);
	lanes_done(&w->lanes);
	where_done(&w->where);
	free(w->on_lane);
	analyze_subtree_done(&w->x);
}

static int ops_list(struct walk *w, uint32_t root)
{
	_cleanup_(freep) struct analyze_below *pending = NULL;
	size_t pending_n = 0, pending_cap = 0, cap = 0;

	if (VEC_RESERVE(pending, pending_cap, 1) < 0)
		return -ENOMEM;
	pending[pending_n++] = (struct analyze_below){ .op = root };
	while (pending_n) {
		struct analyze_below at = pending[--pending_n];
		size_t first = w->tree.child_first[at.op], end = w->tree.child_first[at.op + 1];

		if (VEC_RESERVE(w->x.ops, cap, w->x.op_n + 1) < 0 ||
		    VEC_RESERVE(pending, pending_cap, pending_n + end - first) < 0)
			return -ENOMEM;
		w->x.ops[w->x.op_n++] = at;
		for (size_t i = end; i-- > first;)
			pending[pending_n++] = (struct analyze_below){ .op = w->tree.children[i],
								       .depth = at.depth + 1 };
	}
	return 0;
}

/* Parents come before their children in the list. */
static void process_mark(struct walk *w, uint32_t root)
{
	w->on_lane[root] = true;
	for (size_t i = 1; i < w->x.op_n; i++) {
		uint32_t op = w->x.ops[i].op;

		w->on_lane[op] = w->on_lane[w->tree.parents[op]] && w->m->ops[op].pid == w->m->ops[root].pid;
	}
}

static int lane_mark(struct walk *w, uint32_t root)
{
	_cleanup_(freep) uint32_t *pending = NULL;
	size_t n = 0, cap = 0;
	uint32_t below;

	if (VEC_RESERVE(pending, cap, 1) < 0)
		return -ENOMEM;
	pending[n++] = root;
	while (n) {
		uint32_t op = pending[--n];
		struct optree_below next = optree_below_first(&w->tree, op);

		w->on_lane[op] = true;
		while (w->m->ops[root].tid && (below = optree_below_next(&w->tree, op, &next))) {
			if (VEC_RESERVE(pending, cap, n + 1) < 0)
				return -ENOMEM;
			pending[n++] = below;
		}
	}
	return 0;
}

static void add(struct walk *w, const struct account *a)
{
	for (unsigned i = 0; i < WHERE_MAX; i++) {
		w->x.ns[i] += a->ns[i];
		w->x.total_ns += a->ns[i];
	}
}

static void accounts_sum(struct walk *w, uint32_t root)
{
	const struct model *m = w->m;
	const struct model_op *o = &m->ops[root];
	struct account a;

	w->x.of_threads = optree_is_process(m, root);
	for (uint32_t i = 1; w->x.of_threads && i < m->thread_n; i++) {
		if (m->threads[i].goid || m->threads[i].pid != o->pid)
			continue;
		account_between(m, &w->lanes, &w->where, i, o->start_ns, o->end_ns, &a);
		add(w, &a);
	}
	for (uint32_t i = 1; !w->x.of_threads && i < m->op_n; i++) {
		if (!w->on_lane[i])
			continue;
		account_op(&w->tree, &w->where, i, &a);
		add(w, &a);
		if (!o->tid)
			w->x.child_ns = a.child_ns;
	}
	w->x.total_ns += w->x.child_ns;
}

static int start_compare(const void *a, const void *b, void *arg)
{
	const struct model *m = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (m->waits[i].start_ns != m->waits[k].start_ns)
		return m->waits[i].start_ns < m->waits[k].start_ns ? -1 : 1;
	return i < k ? -1 : i > k;
}

static int waits_list(struct walk *w, uint32_t root)
{
	size_t cap = 0, waiter_cap = 0;

	for (uint32_t i = 1; i < w->m->wait_n; i++) {
		const struct model_wait *x = &w->m->waits[i];

		if (w->on_lane[x->op]) {
			if (VEC_RESERVE(w->x.waits, cap, w->x.wait_n + 1) < 0)
				return -ENOMEM;
			w->x.waits[w->x.wait_n++] = i;
		}
		if (x->target == root) {
			if (VEC_RESERVE(w->x.waiters, waiter_cap, w->x.waiter_n + 1) < 0)
				return -ENOMEM;
			w->x.waiters[w->x.waiter_n++] = i;
		}
	}
	if (w->x.wait_n)
		qsort_r(w->x.waits, w->x.wait_n, sizeof(*w->x.waits), start_compare, (void *)(uintptr_t)w->m);
	if (w->x.waiter_n)
		qsort_r(w->x.waiters, w->x.waiter_n, sizeof(*w->x.waiters), start_compare, (void *)(uintptr_t)w->m);
	return 0;
}

static int parents_list(struct walk *w, uint32_t root)
{
	size_t cap = 0;

	for (uint32_t at = w->tree.parents[root]; at; at = w->tree.parents[at]) {
		if (VEC_RESERVE(w->x.parents, cap, w->x.parent_n + 1) < 0)
			return -ENOMEM;
		w->x.parents[w->x.parent_n++] = at;
	}
	return 0;
}

int analyze_subtree(const struct model *m, uint32_t op, struct analyze_subtree *ret)
{
	_cleanup_(walk_done) struct walk w = { .m = m };

	w.on_lane = calloc(m->op_n, sizeof(*w.on_lane));
	if (!w.on_lane || optree_init(&w.tree, m) < 0 || lanes_init(&w.lanes, m) < 0 || where_init(&w.where, m) < 0 ||
	    ops_list(&w, op) < 0 || parents_list(&w, op) < 0)
		return -ENOMEM;
	if (optree_is_process(m, op))
		process_mark(&w, op);
	else if (lane_mark(&w, op) < 0)
		return -ENOMEM;
	accounts_sum(&w, op);
	if (waits_list(&w, op) < 0)
		return -ENOMEM;
	*ret = w.x;
	w.x = (struct analyze_subtree){ 0 };
	return 0;
}

void analyze_subtree_done(struct analyze_subtree *s)
{
	free(s->ops);
	free(s->waits);
	free(s->waiters);
	free(s->parents);
	*s = (struct analyze_subtree){ 0 };
}
