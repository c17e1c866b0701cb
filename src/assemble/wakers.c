/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A wait is told of when its strand runs again; by then its waker may be at
 * something else. So the waker's op is looked up at the end, by the time of the
 * wake, among the ops of its strand: these nest, and so the innermost one is the
 * last that began, or one that it hangs below.
 *
 * The wait ended because of that op if that ended within a millisecond of the
 * wake, without blocking in between: then the wake was the last thing it did.
 */
#include "assemble/wakers.h"

#include <errno.h>
#include <stdlib.h>

/* Indexes by the entry that they are of, each entry's in the order of their begin. */
struct sorted {
	uint32_t *index;
	uint32_t *first; /* by entry; of one more, the number of all */
};

struct finder {
	struct assemble *a;
	struct sorted ops, waits;
};

static void sorted_done(struct sorted *s)
{
	free(s->index);
	free(s->first);
}

static void finder_done(struct finder *f)
{
	sorted_done(&f->ops);
	sorted_done(&f->waits);
}

static uint32_t op_owner(const struct assemble *a, uint32_t op)
{
	return a->ops[op].flags & OP_ASIDE || !a->m->ops[op].id ? 0 : a->ops[op].thread;
}

static uint32_t wait_owner(const struct assemble *a, uint32_t wait)
{
	return a->m->waits[wait].thread;
}

static int sorted_make(const struct assemble *a, size_t n, uint32_t (*owner)(const struct assemble *a, uint32_t i),
		       struct sorted *ret)
{
	size_t entry_n = a->m->thread_n;
	uint32_t *at;

	ret->index = calloc(n, sizeof(*ret->index));
	ret->first = calloc(entry_n + 1, sizeof(*ret->first));
	at = calloc(entry_n + 1, sizeof(*at));
	if (!ret->index || !ret->first || !at) {
		free(at);
		return -ENOMEM;
	}
	for (uint32_t i = 1; i < n; i++)
		ret->first[owner(a, i) + 1]++;
	for (size_t i = 1; i <= entry_n; i++)
		ret->first[i] += ret->first[i - 1];
	for (uint32_t i = 1; i < n; i++) {
		uint32_t o = owner(a, i);

		ret->index[ret->first[o] + at[o]++] = i;
	}
	free(at);
	return 0;
}

static int wait_compare(const void *x, const void *y, void *arg)
{
	const struct model *m = arg;
	uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;

	if (m->waits[i].start_ns != m->waits[k].start_ns)
		return m->waits[i].start_ns < m->waits[k].start_ns ? -1 : 1;
	return i < k ? -1 : i > k;
}

static int op_compare(const void *x, const void *y, void *arg)
{
	const struct model *m = arg;
	const struct model_op *a = &m->ops[*(const uint32_t *)x], *b = &m->ops[*(const uint32_t *)y];

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

/* They are in order as they came, but where one took the entry of another that was flushed. */
static void ops_sort(struct finder *f)
{
	struct model *m = f->a->m;

	for (size_t i = 1; f->a->o.live && i < m->thread_n; i++) {
		uint32_t first = f->ops.first[i], n = f->ops.first[i + 1] - first;

		if (n > 1)
			qsort_r(f->ops.index + first, n, sizeof(uint32_t), op_compare, m);
	}
}

/* Waits come as they end: of a choke point's the inner ones first. */
static int waits_sort(struct finder *f)
{
	struct model *m = f->a->m;

	if (f->waits.index)
		return 0;
	if (sorted_make(f->a, m->wait_n, wait_owner, &f->waits) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->thread_n; i++) {
		uint32_t first = f->waits.first[i], n = f->waits.first[i + 1] - first;

		if (n > 1)
			qsort_r(f->waits.index + first, n, sizeof(uint32_t), wait_compare, m);
	}
	return 0;
}

/* The entry's innermost op at that time, 0: none. */
static uint32_t innermost_at(const struct finder *f, uint32_t thread, int64_t ns)
{
	const struct assemble *a = f->a;
	uint32_t low = f->ops.first[thread], high = f->ops.first[thread + 1], first = low, op;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (a->m->ops[f->ops.index[middle]].start_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	op = low > first ? f->ops.index[low - 1] : 0;
	while (op && (a->ops[op].thread != thread || (!a->m->ops[op].open && a->m->ops[op].end_ns < ns)))
		op = a->m->ops[op].parent;
	return op;
}

/* Did the strand block between the two times? */
static bool has_blocked(const struct finder *f, uint32_t thread, int64_t from_ns, int64_t to_ns)
{
	const struct model *m = f->a->m;
	uint32_t low = f->waits.first[thread], high = f->waits.first[thread + 1], end = high;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (m->waits[f->waits.index[middle]].start_ns < from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < end && m->waits[f->waits.index[low]].start_ns <= to_ns; low++) {
		if (m->waits[f->waits.index[low]].blocked_ns)
			return true;
	}
	return false;
}

/* Nobody waits for what it is itself a part of. */
static bool is_within(const struct model *m, uint32_t op, uint32_t outer)
{
	while (op && op != outer)
		op = m->ops[op].parent;
	return op == outer;
}

static bool may_have_target(const struct finder *f, const struct model_wait *w)
{
	const struct model_row *row = &f->a->m->rows[w->row];

	/* A choke point's wait has the target that its profile gives, or a resource. */
	return !w->target && !f->a->rows[w->row].key.point && w->wake_ns >= 0 && w->ctx == WAKER_TASK &&
	       w->outcome == WAIT_WOKEN && row->reason != REASON_CPU && row->reason != REASON_STOPPED &&
	       row->reason != REASON_EXEC;
}

static int target_find(struct finder *f, struct model_wait *w, uint32_t op)
{
	const struct model *m = f->a->m;
	const struct model_op *o = &m->ops[op];

	if (!may_have_target(f, w) || o->open || o->unwound || o->end_ns < w->wake_ns ||
	    o->end_ns > w->wake_ns + (int64_t)ASSEMBLE_SLACK_NS || is_within(m, w->op, op))
		return 0;
	/* Readers drop a wait whose target ended later than it did, beyond their slack. */
	if (o->end_ns > w->end_ns + (int64_t)ASSEMBLE_SLACK_NS)
		return 0;
	if (waits_sort(f) < 0)
		return -ENOMEM;
	if (!has_blocked(f, w->waker, w->wake_ns, o->end_ns))
		w->target = op;
	return 0;
}

int assemble_wakers_finish(struct assemble *a)
{
	_cleanup_(finder_done) struct finder f = { .a = a };

	if (!a->ops_seen)
		return 0;
	if (sorted_make(a, a->m->op_n, op_owner, &f.ops) < 0)
		return -ENOMEM;
	ops_sort(&f);
	for (size_t i = 1; i < a->m->wait_n; i++) {
		struct model_wait *w = &a->m->waits[i];
		uint32_t op;

		if (!w->waker || w->wake_ns < 0)
			continue;
		op = innermost_at(&f, w->waker, w->wake_ns);
		if (!op)
			continue;
		model_wait_waker_op_set(a->m, w, op);
		if (target_find(&f, w, op) < 0)
			return -ENOMEM;
	}
	return 0;
}
