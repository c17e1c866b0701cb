/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Why are the slow ones slow? Not by what slow ops spend most on, which the
 * others may spend too, but by what they spend more of. So two groups of one
 * class are laid side by side: the middle tenth and the slowest hundredth. An
 * op counts with all that its thread did below it.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/account.h"
#include "analyze/filter.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

#define KEY(high, low) ((uint64_t)(high) << 32 | (low))

struct tail {
	const struct model *m;
	struct optree tree;
	struct where where;
	uint32_t *ops; /* of the class, shortest first */
	size_t n;
	struct map *places; /* by (row's kind and reason, name): place in resources */
	struct analyze_tail_resource *resources;
	size_t resource_n, resource_cap;
	uint32_t *pending; /* of a walk down */
	size_t pending_cap;
};

static void tail_free(struct tail *t)
{
	optree_done(&t->tree);
	where_done(&t->where);
	free(t->ops);
	map_free(t->places);
	free(t->resources);
	free(t->pending);
}

static int64_t duration_of(const struct model *m, uint32_t op)
{
	return m->ops[op].end_ns - m->ops[op].start_ns;
}

static int duration_compare(const void *a, const void *b, void *arg)
{
	const struct model *m = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (duration_of(m, i) != duration_of(m, k))
		return duration_of(m, i) < duration_of(m, k) ? -1 : 1;
	return i < k ? -1 : i > k;
}

/* Ops that the recording cut are no measure of how long one takes. */
static int ops_find(struct tail *t, const struct filter *f, enum op_kind kind, uint32_t class_id)
{
	t->ops = calloc(t->m->op_n, sizeof(*t->ops));
	if (!t->ops)
		return -ENOMEM;
	for (uint32_t i = 1; i < t->m->op_n; i++) {
		const struct model_op *o = &t->m->ops[i];

		if (o->kind == kind && o->class_id == class_id && !o->open && !o->clipped && filter_op(f, i))
			t->ops[t->n++] = i;
	}
	if (t->n)
		qsort_r(t->ops, t->n, sizeof(*t->ops), duration_compare, (void *)(uintptr_t)t->m);
	return 0;
}

static int resource_add(struct tail *t, const struct model_wait *w, bool slow)
{
	const struct model_row *row = &t->m->rows[w->row];
	struct analyze_tail_resource r = { .reason = row->reason, .kind_id = row->kind_id,
					   .name_id = analyze_awaited_name(t->m, w) };
	uint64_t key = KEY((uint32_t)r.reason << 24 ^ r.kind_id, r.name_id), at;
	uint64_t ns = (uint64_t)(row->reason == REASON_CPU ? w->runnable_ns : w->blocked_ns);

	if (!map_get(t->places, key, &at)) {
		at = t->resource_n;
		if (VEC_RESERVE(t->resources, t->resource_cap, at + 1) < 0 || map_put(t->places, key, at) < 0)
			return -ENOMEM;
		t->resources[t->resource_n++] = r;
	}
	*(slow ? &t->resources[at].slow_ns : &t->resources[at].median_ns) += ns;
	*(slow ? &t->resources[at].slow_n : &t->resources[at].median_n) += 1;
	return 0;
}

/* Does what lies below an op count as its own doing? */
static bool is_own(const struct model *m, uint32_t op, uint32_t child)
{
	return optree_is_process(m, op) ? m->ops[child].pid == m->ops[op].pid : optree_same_lane(m, op, child);
}

/*
 * An op with what is below it on its thread; a process with all its threads; of an engine's op it alone: what lies
 * below may have run beside it.
 */
static int op_add(struct tail *t, uint32_t op, bool slow, struct analyze_tail_group *g)
{
	size_t pending_n = 0;

	if (VEC_RESERVE(t->pending, t->pending_cap, 1) < 0)
		return -ENOMEM;
	t->pending[pending_n++] = op;
	while (pending_n) {
		uint32_t at = t->pending[--pending_n];
		bool down = t->m->ops[at].tid || optree_is_process(t->m, at);
		struct account a = { 0 };

		if (!optree_is_process(t->m, at))
			account_op(&t->tree, &t->where, at, &a);
		for (unsigned i = 0; i < WHERE_MAX; i++)
			g->ns[i] += a.ns[i];
		g->child_ns += down ? 0 : a.child_ns;
		for (size_t i = t->tree.wait_first[at]; i < t->tree.wait_first[at + 1]; i++) {
			if (resource_add(t, &t->m->waits[t->tree.waits[i]], slow) < 0)
				return -ENOMEM;
		}
		for (size_t i = t->tree.child_first[at]; down && i < t->tree.child_first[at + 1]; i++) {
			if (!is_own(t->m, at, t->tree.children[i]))
				continue;
			if (VEC_RESERVE(t->pending, t->pending_cap, pending_n + 1) < 0)
				return -ENOMEM;
			t->pending[pending_n++] = t->tree.children[i];
		}
		for (size_t i = t->tree.guests ? t->tree.guest_first[at] : 0;
		     down && t->tree.guests && i < t->tree.guest_first[at + 1]; i++) {
			if (VEC_RESERVE(t->pending, t->pending_cap, pending_n + 1) < 0)
				return -ENOMEM;
			t->pending[pending_n++] = t->tree.guests[i];
		}
	}
	g->total_ns += (uint64_t)duration_of(t->m, op);
	g->n++;
	return 0;
}

static uint64_t more_ns(const struct analyze_tail_resource *r, const struct analyze_tail *x)
{
	uint64_t slow = x->slow.n ? r->slow_ns / x->slow.n : 0, median = x->median.n ? r->median_ns / x->median.n : 0;

	return slow > median ? slow - median : 0;
}

static int resource_compare(const void *a, const void *b, void *arg)
{
	const struct analyze_tail_resource *x = a, *y = b;
	uint64_t x_ns = more_ns(x, arg), y_ns = more_ns(y, arg);

	if (x_ns != y_ns)
		return x_ns > y_ns ? -1 : 1;
	if (x->slow_ns != y->slow_ns)
		return x->slow_ns > y->slow_ns ? -1 : 1;
	return x->name_id < y->name_id ? -1 : x->name_id > y->name_id;
}

static int groups_make(struct tail *t, struct analyze_tail *x)
{
	/* Ranks from 0: the middle tenth, at least the median; from the 99th of a hundred on, at least the slowest. */
	size_t from = (t->n * 45 + 99) / 100, to = t->n * 55 / 100, slow = (t->n * 99 + 99) / 100;

	from = from ? from - 1 : 0;
	to = to > from ? to : from + 1;
	slow = slow ? slow - 1 : 0;
	x->p99_ns = (uint64_t)duration_of(t->m, t->ops[slow]);
	x->median_ns = (uint64_t)duration_of(t->m, t->ops[(t->n - 1) / 2]);
	for (size_t i = from; i < to && i < t->n; i++) {
		if (op_add(t, t->ops[i], false, &x->median) < 0)
			return -ENOMEM;
	}
	for (size_t i = slow; i < t->n; i++) {
		if (op_add(t, t->ops[i], true, &x->slow) < 0)
			return -ENOMEM;
	}
	x->slow_ops = calloc(t->n - slow, sizeof(*x->slow_ops));
	if (!x->slow_ops)
		return -ENOMEM;
	for (size_t i = 0; i < t->n - slow; i++)
		x->slow_ops[i] = t->ops[t->n - 1 - i];
	return 0;
}

static int start_compare(const void *a, const void *b, void *arg)
{
	const struct model *m = arg;
	int64_t x = m->ops[*(const uint32_t *)a].start_ns, y = m->ops[*(const uint32_t *)b].start_ns;

	return x < y ? -1 : x > y;
}

static int spike_compare(const void *a, const void *b)
{
	const struct analyze_tail_spike *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

/*
 * Slow ops spread evenly over the recording begin so far from each other as it is long divided by their number; a tenth
 * of that is no chance, as far as there are several.
 */
static int spikes_make(const struct model *m, struct analyze_tail *x)
{
	int64_t gap_ns = x->slow.n ? m->end_ns / (int64_t)x->slow.n / 10 : 0;
	_cleanup_(freep) uint32_t *ops = calloc(x->slow.n + 1, sizeof(*ops));

	x->spikes = calloc(x->slow.n + 1, sizeof(*x->spikes));
	if (!ops || !x->spikes)
		return -ENOMEM;
	for (size_t i = 0; i < x->slow.n; i++)
		ops[i] = x->slow_ops[i];
	if (x->slow.n)
		qsort_r(ops, x->slow.n, sizeof(*ops), start_compare, (void *)(uintptr_t)m);
	for (size_t i = 0; i < x->slow.n; i++) {
		const struct model_op *o = &m->ops[ops[i]];
		struct analyze_tail_spike *s = x->spike_n ? &x->spikes[x->spike_n - 1] : NULL;

		if (!s || o->start_ns > s->to_ns + gap_ns)
			x->spikes[x->spike_n++] = (struct analyze_tail_spike){ o->start_ns, o->end_ns, 1 };
		else
			*s = (struct analyze_tail_spike){ s->from_ns, o->end_ns > s->to_ns ? o->end_ns : s->to_ns, s->n + 1 };
	}
	if (x->spike_n)
		qsort(x->spikes, x->spike_n, sizeof(*x->spikes), spike_compare);
	return 0;
}

int analyze_tail(const struct model *m, const struct analyze_filter *f, enum op_kind kind, uint32_t class_id,
		 struct analyze_tail *ret)
{
	_cleanup_(filter_done) struct filter filter = { 0 };
	_cleanup_(tail_free) struct tail t = { .m = m };
	_cleanup_(analyze_tail_done) struct analyze_tail x = { .kind = (uint8_t)kind, .class_id = class_id };

	if (filter_init(&filter, m, f) < 0 || optree_init(&t.tree, m) < 0 || where_init(&t.where, m) < 0 ||
	    map_new(&t.places) < 0 || ops_find(&t, &filter, kind, class_id) < 0)
		return -ENOMEM;
	x.op_n = t.n;
	if ((t.n && groups_make(&t, &x) < 0) || spikes_make(m, &x) < 0)
		return -ENOMEM;
	if (t.resource_n)
		qsort_r(t.resources, t.resource_n, sizeof(*t.resources), resource_compare, &x);
	x.resources = TAKE_PTR(t.resources);
	x.resource_n = t.resource_n;
	*ret = x;
	x = (struct analyze_tail){ 0 };
	return 0;
}

void analyze_tail_done(struct analyze_tail *t)
{
	free(t->resources);
	free(t->slow_ops);
	free(t->spikes);
	*t = (struct analyze_tail){ 0 };
}

bool analyze_tail_class(const struct analyze_class *classes, size_t n, size_t *ret)
{
	size_t best = n;

	for (size_t i = 0; i < n; i++) {
		const struct analyze_class *c = &classes[i];

		/* Threads and processes are not what is done over and over; a hundredth of few is none. */
		if (c->kind == OP_INTERNAL || c->kind == OP_EXEC_PHASE || c->count < ANALYZE_TAIL_OPS_MIN)
			continue;
		/* Requests are calls; processes are asked about where there is nothing else. */
		if (best == n || (classes[best].kind == OP_EXEC && c->kind != OP_EXEC) ||
		    (c->total_ns > classes[best].total_ns && (c->kind == OP_EXEC) == (classes[best].kind == OP_EXEC)))
			best = i;
	}
	if (best == n)
		return false;
	*ret = best;
	return true;
}
