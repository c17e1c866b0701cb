/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A class has ops of three sorts. One with a thread was on the CPU when it
 * neither waited nor was in a child; one of an engine has self time that
 * nobody measured; a process is what its threads are while it lasts. Quantiles
 * are exact: the durations of a class are counted out beside each other and
 * sorted.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/account.h"
#include "analyze/filter.h"
#include "analyze/quantile.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

#define KEY(high, low) ((uint64_t)(high) << 32 | (low))

struct classes {
	const struct model *m;
	struct analyze_class *list;
	size_t n, cap;
	uint32_t *of_op; /* by op: 1 + place in list; 0: left out */
	struct optree tree;
	struct lanes lanes;
	struct where where;
	struct map *seen; /* executions by kind and ident (argv) within a class */
};

static void classes_done(struct classes *c)
{
	free(c->list);
	free(c->of_op);
	optree_done(&c->tree);
	lanes_done(&c->lanes);
	where_done(&c->where);
	map_free(c->seen);
}

static int ops_assign(struct classes *c, const struct filter *f)
{
	_cleanup_(map_freep) struct map *places = NULL;

	c->of_op = calloc(c->m->op_n, sizeof(*c->of_op));
	if (!c->of_op || map_new(&places) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < c->m->op_n; i++) {
		const struct model_op *o = &c->m->ops[i];
		uint64_t at;

		if (!filter_op(f, i))
			continue;
		if (!map_get(places, KEY(o->kind, o->class_id), &at)) {
			at = c->n + 1;
			if (VEC_RESERVE(c->list, c->cap, at) < 0 || map_put(places, KEY(o->kind, o->class_id), at) < 0)
				return -ENOMEM;
			c->list[c->n++] = (struct analyze_class){ .kind = o->kind, .class_id = o->class_id,
								  .of_threads = optree_is_process(c->m, i) };
		}
		c->of_op[i] = (uint32_t)at;
	}
	return 0;
}

/* Threads' times go to the process's op and, as far as it lasted then, to its program's. */
static void thread_add(struct classes *c, uint32_t thread)
{
	const struct model *m = c->m;
	const struct model_process *p = &m->processes[m->threads[thread].process];
	struct account a;

	if (!m->threads[thread].process || p->op >= m->op_n)
		return;
	if (c->of_op[p->op]) {
		struct analyze_class *k = &c->list[c->of_op[p->op] - 1];

		account_thread(m, &c->lanes, &c->where, thread, &a);
		for (unsigned i = 0; i < WHERE_MAX; i++)
			k->ns[i] += a.ns[i];
		k->unmeasured_ns += a.unmeasured_ns;
	}
	for (size_t i = c->tree.child_first[p->op]; i < c->tree.child_first[p->op + 1]; i++) {
		uint32_t phase = c->tree.children[i];

		if (!optree_is_process(m, phase) || m->ops[phase].kind != OP_EXEC_PHASE || !c->of_op[phase])
			continue;
		account_between(m, &c->lanes, &c->where, thread, m->ops[phase].start_ns, m->ops[phase].end_ns, &a);
		for (unsigned k = 0; k < WHERE_MAX; k++)
			c->list[c->of_op[phase] - 1].ns[k] += a.ns[k];
	}
}

static void running_move(struct account *a, enum analyze_where to, uint64_t ns)
{
	ns = ns < a->ns[WHERE_RUNNING] ? ns : a->ns[WHERE_RUNNING];
	a->ns[WHERE_RUNNING] -= ns;
	a->ns[to] += ns;
}

/* What is left of it when as much as there is of the other was paid from that. */
static uint64_t take(uint64_t ns, uint64_t *from_ns)
{
	uint64_t paid_ns = ns < *from_ns ? ns : *from_ns;

	*from_ns -= paid_ns;
	return ns - paid_ns;
}

/*
 * A thread's own account knows of intervals that are in no wait: what its op calls running there is not. Nor is what the
 * goroutines that it ran waited for while they were on it: those waits are of their ops.
 */
static void thread_op_correct(const struct classes *c, uint32_t thread, struct account *a)
{
	const struct model_thread *t = &c->m->threads[thread];
	uint64_t blocked_ns = 0, runnable_ns = 0, life_ns = (uint64_t)(t->end_ns - t->begin_ns);
	uint64_t outside_ns = life_ns > a->total_ns ? life_ns - a->total_ns : 0;

	if (!t->has_totals)
		return;
	for (size_t i = c->lanes.first[thread]; i < c->lanes.first[thread + 1]; i++) {
		const struct model_wait *w = &c->m->waits[c->lanes.waits[i]];

		blocked_ns += (uint64_t)w->blocked_ns;
		runnable_ns += (uint64_t)w->runnable_ns;
		if (w->thread == thread)
			continue;
		running_move(a, where_of(&c->where, w), (uint64_t)w->blocked_ns);
		running_move(a, WHERE_RUNNABLE, (uint64_t)w->runnable_ns);
	}
	/* Its exit is behind the op's end, if somebody waited for it: what is in no wait was there first. */
	runnable_ns = take(take(t->runnable_ns, &runnable_ns), &outside_ns);
	blocked_ns = take(take(t->blocked_ns + t->lost_ns, &blocked_ns), &outside_ns);
	running_move(a, WHERE_RUNNABLE, runnable_ns);
	running_move(a, WHERE_UNKNOWN, blocked_ns);
}

static bool is_execution(const struct model_op *o)
{
	return o->outcome != OUTCOME_HIT && o->outcome != OUTCOME_JOINED && o->kind != OP_INTERNAL &&
	       o->kind != OP_EXEC_PHASE;
}

static int duplicate_add(struct classes *c, uint32_t op, struct analyze_class *k)
{
	const struct model_op *o = &c->m->ops[op];
	/* A process's ident is its own; what it does again is its command line. */
	uint32_t what = optree_is_process(c->m, op) ? o->meta_id : o->ident_id;
	uint64_t key = KEY(c->of_op[op], what);

	if (!what || !is_execution(o))
		return 0;
	if (!map_get(c->seen, key, NULL))
		return map_put(c->seen, key, 1);
	k->duplicate_n++;
	k->duplicate_ns += (uint64_t)(o->end_ns - o->start_ns);
	return 0;
}

static int ops_sum(struct classes *c, const uint32_t *thread_of_op)
{
	for (uint32_t i = 1; i < c->m->op_n; i++) {
		const struct model_op *o = &c->m->ops[i];
		struct analyze_class *k = c->of_op[i] ? &c->list[c->of_op[i] - 1] : NULL;
		struct account a;

		if (!k)
			continue;
		k->count++;
		k->of_threads |= optree_is_process(c->m, i);
		k->open_n += o->open;
		k->outcomes[o->outcome < OP_OUTCOME_MAX ? o->outcome : OUTCOME_NONE]++;
		k->total_ns += (uint64_t)(o->end_ns - o->start_ns);
		k->squares += (double)(o->end_ns - o->start_ns) * (double)(o->end_ns - o->start_ns);
		if (duplicate_add(c, i, k) < 0)
			return -ENOMEM;
		if (optree_is_process(c->m, i))
			continue;
		account_op(&c->tree, &c->where, i, &a);
		if (thread_of_op[i])
			thread_op_correct(c, thread_of_op[i], &a);
		for (unsigned s = 0; s < WHERE_MAX; s++)
			k->ns[s] += a.ns[s];
		k->unmeasured_ns += a.unmeasured_ns;
		k->child_ns += a.child_ns;
		k->outside_ns += a.outside_ns;
	}
	return 0;
}

static int accounts_make(struct classes *c)
{
	_cleanup_(freep) uint32_t *thread_of_op = calloc(c->m->op_n, sizeof(*thread_of_op));

	if (!thread_of_op)
		return -ENOMEM;
	for (uint32_t i = 1; i < c->m->thread_n; i++) {
		/* Goroutines have no account of their own. */
		if (c->m->threads[i].goid)
			continue;
		thread_of_op[c->m->threads[i].op] = i;
		thread_add(c, i);
	}
	return ops_sum(c, thread_of_op);
}

static int quantiles_make(struct classes *c)
{
	_cleanup_(freep) uint64_t *durations = calloc(c->m->op_n, sizeof(*durations));
	_cleanup_(freep) size_t *next = calloc(c->n + 1, sizeof(*next));
	size_t first = 0;

	if (!durations || !next)
		return -ENOMEM;
	for (size_t i = 0; i < c->n; i++)
		next[i + 1] = next[i] + c->list[i].count;
	for (size_t i = 1; i < c->m->op_n; i++) {
		if (c->of_op[i])
			durations[next[c->of_op[i] - 1]++] = (uint64_t)(c->m->ops[i].end_ns - c->m->ops[i].start_ns);
	}
	for (size_t i = 0; i < c->n; i++) {
		struct analyze_class *k = &c->list[i];

		quantile_sort(durations + first, k->count);
		k->p50_ns = quantile_at(durations + first, k->count, 500);
		k->p95_ns = quantile_at(durations + first, k->count, 950);
		k->p99_ns = quantile_at(durations + first, k->count, 990);
		k->max_ns = quantile_at(durations + first, k->count, 1000);
		first += k->count;
	}
	return 0;
}

static int class_compare(const void *a, const void *b)
{
	const struct analyze_class *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->class_id < y->class_id ? -1 : x->class_id > y->class_id;
}

int analyze_classes(const struct model *m, const struct analyze_filter *f, struct analyze_class **ret, size_t *ret_n)
{
	_cleanup_(filter_done) struct filter filter = { 0 };
	_cleanup_(classes_done) struct classes c = { .m = m };

	if (filter_init(&filter, m, f) < 0 || optree_init(&c.tree, m) < 0 || lanes_init(&c.lanes, m) < 0 ||
	    where_init(&c.where, m) < 0 || map_new(&c.seen) < 0 || ops_assign(&c, &filter) < 0 ||
	    accounts_make(&c) < 0 || quantiles_make(&c) < 0)
		return -ENOMEM;
	if (c.n)
		qsort(c.list, c.n, sizeof(*c.list), class_compare);
	*ret = TAKE_PTR(c.list);
	*ret_n = c.n;
	return 0;
}
