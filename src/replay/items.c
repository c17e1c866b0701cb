/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Everything besides waits that a strand does at some moment: it wakes, begins
 * and ends ops, gets and leaves locks. Wakes are there since waits were read;
 * those that are releases of locks are made so.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/draft.h"
#include "util/cleanup.h"
#include "util/crew.h"
#include "util/sort.h"
#include "util/vec.h"

/* Strands are sorted in so many parts, on all CPUs: more than those, since one strand may have most of the items. */
enum { SORT_PARTS = 32 };

enum item_order { ORDER_LEAVE, ORDER_REACH, ORDER_BEGIN, ORDER_TAKE };

static void releases_mark(struct draft *d)
{
	struct replay *r = d->r;

	for (size_t i = 0; i < d->item_n; i++) {
		struct item *x = &d->items[i];
		uint32_t lock = x->what == POINT_SIGNAL && x->ref && d->use[x->ref] == USE_LOCK ? d->lock[x->ref] : NONE;

		if (lock == NONE || !r->locks[lock].simulated)
			continue;
		x->what = POINT_RELEASE;
		r->token_lock[x->object] = lock;
	}
}

static int holds_items(struct draft *d)
{
	struct replay *r = d->r;

	for (size_t i = 0; i < r->hold_n; i++) {
		const struct hold *h = &r->holds[i];
		struct item x = { .strand = h->strand, .object = h->lock };

		if (!r->locks[h->lock].simulated)
			continue;
		x.what = POINT_TAKE;
		x.order = ORDER_TAKE;
		x.at_ns = h->from_ns;
		if (!h->wait && draft_item_add(d, &x) < 0)
			return -ENOMEM;
		x.what = POINT_DROP;
		x.order = ORDER_LEAVE;
		x.at_ns = h->to_ns;
		/* A wake of somebody who then didn't get it is a release that nobody can wait for. */
		if ((!h->next_wait || d->token[h->next_wait] == NONE) && draft_item_add(d, &x) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Ops that are a process, a program in it or a thread are their strand's frame, not something it does. */
static bool op_is_item(const struct draft *d, size_t op)
{
	const struct model_op *o = &d->m->ops[op];

	return !d->frame[op] && o->end_ns > o->start_ns && d->r->strand_of_op[op] != NONE;
}

/* Its two; they are most of all items. */
static void op_place(const struct draft *d, size_t op, struct item *ret)
{
	const struct model_op *o = &d->m->ops[op];

	ret[0] = ret[1] = (struct item){ .strand = d->r->strand_of_op[op], .ref = (uint32_t)op, .object = o->class_id,
					 .op_kind = o->kind };
	ret[0].at_ns = o->start_ns;
	ret[0].what = POINT_OP_BEGIN;
	ret[0].order = ORDER_BEGIN;
	ret[1].at_ns = o->end_ns;
	ret[1].what = POINT_OP_END;
	ret[1].order = ORDER_LEAVE;
}

/* Of what begins at one moment the outer op first: it ends later. */
static int by_moment(const void *a, const void *b, void *arg)
{
	const struct model *m = arg;
	const struct item *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	if (x->what == POINT_OP_BEGIN && y->what == POINT_OP_BEGIN && m->ops[x->ref].end_ns != m->ops[y->ref].end_ns)
		return m->ops[x->ref].end_ns > m->ops[y->ref].end_ns ? -1 : 1;
	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->ref < y->ref ? -1 : x->ref > y->ref;
}

static void strand_sort(const struct draft *d, size_t s)
{
	sort_rows(d->items + d->item_first[s], d->item_first[s + 1] - d->item_first[s], sizeof(*d->items), by_moment,
		  (void *)(uintptr_t)d->m);
}

/* Those strands whose items begin in one part of all: no two jobs have the same. */
static int strands_sort(void *arg, size_t part)
{
	const struct draft *d = arg;
	size_t from = d->item_n * part / SORT_PARTS, to = d->item_n * (part + 1) / SORT_PARTS;

	for (size_t s = 0; s < d->r->strand_n; s++) {
		if (d->item_first[s] >= from && d->item_first[s] < to)
			strand_sort(d, s);
	}
	return 0;
}

/* To each strand its own; next: where that goes. */
static void items_place(const struct draft *d, size_t *next, struct item *ret)
{
	for (size_t i = 0; i < d->item_n; i++)
		ret[next[d->items[i].strand]++] = d->items[i];
	for (size_t i = 1; i < d->m->op_n; i++) {
		if (!op_is_item(d, i))
			continue;
		op_place(d, i, &ret[next[d->r->strand_of_op[i]]]);
		next[d->r->strand_of_op[i]] += 2;
	}
}

static int items_sort(struct draft *d)
{
	size_t n = d->r->strand_n;
	_cleanup_(freep) size_t *next = calloc(n + 1, sizeof(*next));
	struct item *sorted;

	d->item_first = calloc(n + 2, sizeof(*d->item_first));
	if (!next || !d->item_first)
		return -ENOMEM;
	for (size_t i = 0; i < d->item_n; i++)
		d->item_first[d->items[i].strand + 1]++;
	for (size_t i = 1; i < d->m->op_n; i++) {
		if (op_is_item(d, i))
			d->item_first[d->r->strand_of_op[i] + 1] += 2;
	}
	for (size_t s = 0; s < n; s++) {
		d->item_first[s + 1] += d->item_first[s];
		next[s] = d->item_first[s];
	}
	sorted = malloc((d->item_first[n] + 1) * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	items_place(d, next, sorted);
	free(d->items);
	d->items = sorted;
	d->item_n = d->item_first[n];
	d->item_cap = d->item_n + 1;
	return crew_run(SORT_PARTS, strands_sort, d);
}

int draft_items(struct draft *d)
{
	releases_mark(d);
	return holds_items(d) < 0 ? -ENOMEM : items_sort(d);
}
