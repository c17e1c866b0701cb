/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Every account is a purse of known size that is paid out, and what remains
 * has a name too: so accounts close by themselves, and where a dump contradicts
 * itself (waits outside their op, more blocked time than the thread had) the
 * contradiction is a number, not a wrong share of something else.
 */
#include "analyze/account.h"

#include <string.h>

void account_wait(const struct where *x, const struct model_wait *w, int64_t from, int64_t to, struct account *a)
{
	int64_t blocked_end = lanes_blocked_end(w), ready = lanes_ready_begin(w);
	enum analyze_where where = where_of(x, w);

	a->ns[where] += (uint64_t)lanes_overlap(w->start_ns, blocked_end, from, to);
	a->ns[WHERE_RUNNING] += (uint64_t)lanes_overlap(blocked_end, ready, from, to);
	a->ns[WHERE_RUNNABLE] += (uint64_t)lanes_overlap(ready, w->end_ns, from, to);
	a->count[where]++;
}

void account_add(struct account *to, const struct account *a)
{
	to->total_ns += a->total_ns;
	to->child_ns += a->child_ns;
	to->outside_ns += a->outside_ns;
	to->unmeasured_ns += a->unmeasured_ns;
	for (unsigned i = 0; i < WHERE_MAX; i++) {
		to->ns[i] += a->ns[i];
		to->count[i] += a->count[i];
	}
}

static uint64_t sum_of(const struct account *a)
{
	uint64_t sum = a->child_ns;

	for (unsigned i = 0; i < WHERE_MAX; i++)
		sum += a->ns[i];
	return sum;
}

void account_between(const struct model *m, const struct lanes *l, const struct where *x, uint32_t thread, int64_t from,
		     int64_t to, struct account *ret)
{
	const struct model_thread *t = &m->threads[thread];
	struct account a = { 0 };
	int64_t at;

	from = from > t->begin_ns ? from : t->begin_ns;
	to = to < t->end_ns ? to : t->end_ns;
	at = from;
	for (size_t i = lanes_find(l, m, thread, from); i < l->first[thread + 1] && at < to; i++) {
		const struct model_wait *w = &m->waits[l->waits[i]];

		model_wait_prefetch(m, l->waits, i, l->first[thread + 1]);
		if (w->start_ns >= to)
			break;
		a.outside_ns += (uint64_t)lanes_overlap(w->start_ns, w->end_ns, from, at);
		account_wait(x, w, at, to, &a);
		at = w->end_ns > at ? w->end_ns : at;
	}
	if (to > from) {
		a.total_ns = (uint64_t)(to - from);
		a.ns[WHERE_RUNNING] += a.total_ns - sum_of(&a);
	}
	*ret = a;
}

void account_thread(const struct model *m, const struct lanes *l, const struct where *x, uint32_t thread,
		    struct account *ret)
{
	const struct model_thread *t = &m->threads[thread];
	struct account a;
	uint64_t blocked_ns = 0, short_ns;

	account_between(m, l, x, thread, t->begin_ns, t->end_ns, &a);
	if (!t->has_totals) {
		/* What it did outside its waits nobody measured. */
		a.unmeasured_ns = a.ns[WHERE_RUNNING];
		a.ns[WHERE_UNKNOWN] += a.ns[WHERE_RUNNING];
		a.ns[WHERE_RUNNING] = 0;
		*ret = a;
		return;
	}
	a.ns[WHERE_RUNNING] = t->oncpu_ns;
	a.ns[WHERE_RUNNABLE] = t->runnable_ns;
	for (unsigned i = WHERE_RUNNABLE + 1; i < WHERE_MAX; i++)
		blocked_ns += a.ns[i];
	short_ns = t->blocked_ns > blocked_ns ? t->blocked_ns - blocked_ns : 0;
	a.ns[WHERE_UNKNOWN] += short_ns + t->lost_ns;
	*ret = a;
}

/* Time in children that is not in one of the op's waits [wait_at..): both lists are in order of their starts. */
static uint64_t children_ns(const struct optree *t, uint32_t op)
{
	const struct model *m = t->m;
	const struct model_op *o = &m->ops[op];
	size_t wait_at = t->wait_first[op], wait_end = t->wait_first[op + 1];
	struct optree_below next = optree_below_first(t, op);
	int64_t at = o->start_ns;
	uint64_t ns = 0;
	uint32_t below;

	while ((below = optree_below_next(t, op, &next))) {
		const struct model_op *c = &m->ops[below];
		int64_t end = c->end_ns < o->end_ns ? c->end_ns : o->end_ns;

		if (end <= at)
			continue;
		at = c->start_ns > at ? c->start_ns : at;
		for (size_t k = wait_at; k < wait_end && at < end; k++) {
			const struct model_wait *w = &m->waits[t->waits[k]];

			if (w->end_ns <= at) {
				wait_at += k == wait_at;
				continue;
			}
			if (w->start_ns >= end)
				break;
			ns += w->start_ns > at ? (uint64_t)(w->start_ns - at) : 0;
			at = w->end_ns;
		}
		ns += end > at ? (uint64_t)(end - at) : 0;
		at = end > at ? end : at;
	}
	return ns;
}

void account_op(const struct optree *t, const struct where *x, uint32_t op, struct account *ret)
{
	const struct model_op *o = &t->m->ops[op];
	struct account a = { .total_ns = (uint64_t)(o->end_ns - o->start_ns) };
	size_t wait_n = t->wait_first[t->m->op_n];
	int64_t at = o->start_ns;
	uint64_t rest_ns;

	for (size_t i = t->wait_first[op]; i < t->wait_first[op + 1]; i++) {
		const struct model_wait *w = &t->m->waits[t->waits[i]];

		model_wait_prefetch(t->m, t->waits, i, wait_n);
		account_wait(x, w, at, o->end_ns, &a);
		a.outside_ns += (uint64_t)(w->end_ns - w->start_ns -
					   lanes_overlap(w->start_ns, w->end_ns, at, o->end_ns));
		at = w->end_ns > at ? w->end_ns : at;
	}
	a.child_ns = children_ns(t, op);
	rest_ns = a.total_ns > sum_of(&a) ? a.total_ns - sum_of(&a) : 0;
	a.self_ns = rest_ns;
	a.ns[o->tid ? WHERE_RUNNING : WHERE_UNKNOWN] += rest_ns;
	a.unmeasured_ns = o->tid ? 0 : rest_ns;
	*ret = a;
}
