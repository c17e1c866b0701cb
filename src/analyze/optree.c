/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Counted out like lanes.c; an op's few children and waits are in order already, mostly. */
#include "analyze/optree.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/parents.h"
#include "util/cleanup.h"
#include "util/vec.h"

struct items {
	const struct model *m;
	const uint32_t *owners; /* by item, NULL: the waits' ops */
	size_t n;
};

static uint32_t owner_of(const struct items *x, size_t i)
{
	uint32_t owner = x->owners ? x->owners[i] : x->m->waits[i].op;

	return owner < x->m->op_n ? owner : 0;
}

static int64_t start_of(const struct items *x, uint32_t i)
{
	return x->owners ? x->m->ops[i].start_ns : x->m->waits[i].start_ns;
}

static int start_compare(const void *a, const void *b, void *arg)
{
	const struct items *x = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int64_t x_ns = start_of(x, i), y_ns = start_of(x, k);

	if (x_ns != y_ns)
		return x_ns < y_ns ? -1 : 1;
	return i < k ? -1 : i > k;
}

static void bucket_sort(const struct items *x, uint32_t *list, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (start_of(x, list[i - 1]) > start_of(x, list[i])) {
			qsort_r(list, n, sizeof(*list), start_compare, (void *)(uintptr_t)x);
			return;
		}
	}
}

static int items_bucket(const struct items *x, uint32_t **ret, size_t **ret_first)
{
	size_t op_n = x->m->op_n, *first = calloc(op_n + 2, sizeof(*first)), *next;
	uint32_t *list = calloc(x->n, sizeof(*list));

	if (!first || !list) {
		free(first);
		free(list);
		return -ENOMEM;
	}
	/* Shifted by two: filling moves each beginning to the one before it. */
	next = first + 1;
	for (size_t i = 1; i < x->n; i++) {
		if (owner_of(x, i) + 1 < op_n)
			next[owner_of(x, i) + 1]++;
	}
	for (size_t i = 1; i < op_n; i++)
		next[i] += next[i - 1];
	for (size_t i = 1; i < x->n; i++)
		list[next[owner_of(x, i)]++] = (uint32_t)i;
	for (size_t i = 0; i < op_n; i++)
		bucket_sort(x, list + first[i], first[i + 1] - first[i]);
	*ret = list;
	*ret_first = first;
	return 0;
}

/* It runs on a thread whose op, or one below that, is not what it hangs under. */
static bool is_guest(const struct optree *t, uint32_t op)
{
	const struct model_op *o = &t->m->ops[op];

	return o->pid && (o->tid || o->goid) && !optree_is_process(t->m, op) &&
	       !(t->parents[op] && optree_same_lane(t->m, t->parents[op], op));
}

/* The innermost op around it on its own thread, from that one's op down. */
static uint32_t host_find(const struct optree *t, uint32_t lane_op, uint32_t guest)
{
	const struct model *m = t->m;
	uint32_t host = lane_op, next = lane_op;

	while (next) {
		size_t low = t->child_first[next], high = t->child_first[next + 1], first = low;

		host = next;
		next = 0;
		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (m->ops[t->children[middle]].start_ns <= m->ops[guest].start_ns)
				low = middle + 1;
			else
				high = middle;
		}
		/* Of one thread the last that began by then is the only one that may last. */
		while (low > first && !optree_same_lane(m, host, t->children[low - 1]))
			low--;
		if (low > first && m->ops[t->children[low - 1]].end_ns >= m->ops[guest].end_ns)
			next = t->children[low - 1];
	}
	return host;
}

/* Only a damaged dump hangs a thread's op under one of its own guests: going down would not end. */
static bool is_under_guest(const struct optree *t, uint32_t lane_op)
{
	uint32_t at = lane_op;

	while (t->parents[at] && optree_same_lane(t->m, t->parents[at], at))
		at = t->parents[at];
	return at != lane_op && is_guest(t, at);
}

struct guest {
	uint32_t lane_op, op;
	int64_t start_ns, end_ns;
};

/* Of one thread together, outer ones first. */
static int guest_compare(const void *a, const void *b)
{
	const struct guest *x = a, *y = b;

	if (x->lane_op != y->lane_op)
		return x->lane_op < y->lane_op ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

static int guests_find(const struct optree *t, struct guest **ret, size_t *ret_n)
{
	_cleanup_(model_lifetimes_done) struct model_lifetimes threads = { 0 }, goroutines = { 0 };
	_cleanup_(freep) bool *is_lane = calloc(t->m->op_n, sizeof(*is_lane));
	_cleanup_(freep) struct guest *list = NULL;
	const struct model *m = t->m;
	size_t n = 0, cap = 0;

	if (!is_lane || model_lifetimes_of_threads(m, &threads) < 0 ||
	    model_lifetimes_of_goroutines(m, &goroutines) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->thread_n; i++)
		is_lane[m->threads[i].op < m->op_n ? m->threads[i].op : 0] = true;
	for (uint32_t i = 1; i < m->op_n; i++) {
		const struct model_op *o = &m->ops[i];
		uint32_t thread, lane_op;

		if (is_lane[i] || !is_guest(t, i))
			continue;
		thread = model_lifetimes_find(o->goid ? &goroutines : &threads, o->pid, o->goid ? o->goid : o->tid,
					      o->start_ns);
		lane_op = thread ? m->threads[thread].op : 0;
		if (!lane_op || lane_op >= m->op_n || !optree_same_lane(m, lane_op, i) || is_under_guest(t, lane_op))
			continue;
		if (VEC_RESERVE(list, cap, n + 1) < 0)
			return -ENOMEM;
		list[n++] = (struct guest){ lane_op, i, o->start_ns, o->end_ns };
	}
	*ret = TAKE_PTR(list);
	*ret_n = n;
	return 0;
}

/* A guest may be in another; of those around it the innermost is the last that still lasts. */
static int hosts_find(const struct optree *t, struct guest *list, size_t n, uint32_t *hosts)
{
	_cleanup_(freep) uint32_t *around = calloc(n + 1, sizeof(*around));
	size_t depth = 0;

	if (!around)
		return -ENOMEM;
	if (n)
		qsort(list, n, sizeof(*list), guest_compare);
	for (size_t i = 0; i < n; i++) {
		const struct guest *g = &list[i];

		depth = i && list[i - 1].lane_op == g->lane_op ? depth : 0;
		while (depth && t->m->ops[around[depth - 1]].end_ns < g->end_ns)
			depth--;
		hosts[g->op] = host_find(t, depth ? around[depth - 1] : g->lane_op, g->op);
		around[depth++] = g->op;
	}
	return 0;
}

static int guests_make(struct optree *t)
{
	_cleanup_(freep) struct guest *list = NULL;
	_cleanup_(freep) uint32_t *hosts = NULL;
	size_t n;

	if (t->m->thread_n < 2)
		return 0;
	if (guests_find(t, &list, &n) < 0)
		return -ENOMEM;
	if (!n)
		return 0;
	hosts = calloc(t->m->op_n, sizeof(*hosts));
	if (!hosts || hosts_find(t, list, n, hosts) < 0)
		return -ENOMEM;
	return items_bucket(&(struct items){ .m = t->m, .owners = hosts, .n = t->m->op_n }, &t->guests, &t->guest_first);
}

int optree_init(struct optree *t, const struct model *m)
{
	struct optree x = { .m = m };
	struct items ops = { .m = m, .n = m->op_n }, waits = { .m = m, .n = m->wait_n };

	if (parents_make(m, &x.parents) < 0)
		return -ENOMEM;
	ops.owners = x.parents;
	if (items_bucket(&ops, &x.children, &x.child_first) < 0 || items_bucket(&waits, &x.waits, &x.wait_first) < 0 ||
	    guests_make(&x) < 0) {
		optree_done(&x);
		return -ENOMEM;
	}
	*t = x;
	return 0;
}

struct optree_below optree_below_first(const struct optree *t, uint32_t op)
{
	return (struct optree_below){ t->child_first[op], t->guests ? t->guest_first[op] : 0 };
}

uint32_t optree_below_next(const struct optree *t, uint32_t op, struct optree_below *at)
{
	const struct model_op *ops = t->m->ops;
	uint32_t child = 0, guest = 0;

	while (at->child < t->child_first[op + 1] && !optree_same_lane(t->m, op, t->children[at->child]))
		at->child++;
	if (at->child < t->child_first[op + 1])
		child = t->children[at->child];
	if (op && t->guests && at->guest < t->guest_first[op + 1])
		guest = t->guests[at->guest];
	if (guest && (!child || ops[guest].start_ns < ops[child].start_ns)) {
		at->guest++;
		return guest;
	}
	at->child += child != 0;
	return child;
}

void optree_done(struct optree *t)
{
	free(t->parents);
	free(t->children);
	free(t->child_first);
	free(t->waits);
	free(t->wait_first);
	free(t->guests);
	free(t->guest_first);
	*t = (struct optree){ 0 };
}

bool optree_is_process(const struct model *m, uint32_t op)
{
	const struct model_op *o = &m->ops[op];

	return model_op_is_process(o) || (o->kind == OP_EXEC_PHASE && o->pid && model_op_is_process(&m->ops[o->parent]));
}

bool optree_same_lane(const struct model *m, uint32_t parent, uint32_t child)
{
	const struct model_op *p = &m->ops[parent], *c = &m->ops[child];

	if (optree_is_process(m, parent) || optree_is_process(m, child))
		return false;
	/* A dump without threads tells no more than that the one is inside the other. */
	if (!p->pid || p->pid != c->pid)
		return p->pid == c->pid;
	/* A goroutine goes from thread to thread. */
	return p->goid || c->goid ? p->goid == c->goid : p->tid == c->tid;
}
