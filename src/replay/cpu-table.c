/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Who had the CPU while somebody was ready: of the CPU on which he ran then. */
#include <errno.h>
#include <stdlib.h>

#include "replay/draft.h"
#include "replay/stretches.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

struct table {
	const struct replay *r;
	struct replay_runqueue *v;
	size_t n, cap;
	struct map *index; /* waiter << 32 | by -> v */
};

static void table_done(struct table *t)
{
	free(t->v);
	map_free(t->index);
}

static int book(struct table *t, uint32_t waiter, uint32_t by, int64_t ns)
{
	uint64_t key = (uint64_t)waiter << 32 | by, at;

	if (ns <= 0)
		return 0;
	if (!map_get(t->index, key, &at)) {
		if (VEC_RESERVE(t->v, t->cap, t->n + 1) < 0 || map_put(t->index, key, t->n) < 0)
			return -ENOMEM;
		at = t->n;
		t->v[t->n++] = (struct replay_runqueue){ .waiter = waiter, .by = by };
	}
	t->v[at].ns += (uint64_t)ns;
	t->v[at].count++;
	return 0;
}

/* What nobody of the recording had is somebody else's, or what waking up takes. */
static int wait_book(struct table *t, const struct stretches *x, const struct model_wait *w)
{
	bool preempted = t->r->m->rows[w->row].reason == REASON_CPU;
	int64_t from_ns = preempted ? w->start_ns : wait_wake_ns(w), left_ns = w->end_ns - from_ns;
	uint32_t cpu = w->cpu_to ? w->cpu_to - 1u : NONE;

	if (left_ns > w->runnable_ns)
		left_ns = w->runnable_ns;
	for (size_t i = stretches_find(x, cpu, from_ns); cpu < x->cpu_n && i < x->first[cpu + 1]; i++) {
		const struct stretch *s = &x->v[i];
		int64_t a = s->from_ns > from_ns ? s->from_ns : from_ns, b = s->to_ns < w->end_ns ? s->to_ns : w->end_ns;
		int64_t ns = b - a < left_ns ? b - a : left_ns;

		if (s->from_ns >= w->end_ns || left_ns <= 0)
			break;
		if (book(t, w->thread, t->r->strands[s->strand].thread, ns) < 0)
			return -ENOMEM;
		left_ns -= ns > 0 ? ns : 0;
	}
	return book(t, w->thread, 0, left_ns);
}

static struct replay_queued queued(const struct replay *r, const struct stretches *x, const struct replay_stretch *of)
{
	const struct model_wait *w = &r->m->waits[of->wait];
	uint32_t comm_id = r->m->threads[of->thread].comm_id, cpu = of->wait && w->cpu_to ? w->cpu_to - 1u : NONE;
	struct replay_queued q = { 0 };
	int64_t left_ns = of->end_ns - of->start_ns;

	for (size_t i = stretches_find(x, cpu, of->start_ns); cpu < x->cpu_n && i < x->first[cpu + 1]; i++) {
		const struct stretch *s = &x->v[i];
		int64_t a = s->from_ns > of->start_ns ? s->from_ns : of->start_ns;
		int64_t b = s->to_ns < of->end_ns ? s->to_ns : of->end_ns, ns = b - a < left_ns ? b - a : left_ns;

		if (s->from_ns >= of->end_ns || left_ns <= 0)
			break;
		if (ns <= 0)
			continue;
		if (r->m->threads[r->strands[s->strand].thread].comm_id == comm_id)
			q.like_ns += (uint64_t)ns;
		else
			q.others_ns += (uint64_t)ns;
		left_ns -= ns;
	}
	q.outside_ns = left_ns > 0 ? (uint64_t)left_ns : 0;
	return q;
}

int replay_path_queued(const struct replay *r, const struct replay_stretch *v, size_t n, struct replay_queued *ret)
{
	_cleanup_(stretches_done) struct stretches x = { 0 };

	if (stretches_make(r, r->waits, r->wait_first, &x) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		ret[i] = v[i].state == REPLAY_RUNNABLE && v[i].thread ? queued(r, &x, &v[i]) : (struct replay_queued){ 0 };
	return 0;
}

static int by_ns(const void *a, const void *b)
{
	const struct replay_runqueue *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->waiter != y->waiter)
		return x->waiter < y->waiter ? -1 : 1;
	return x->by < y->by ? -1 : x->by > y->by;
}

int replay_runqueues(const struct replay *r, struct replay_runqueue **ret, size_t *ret_n)
{
	_cleanup_(table_done) struct table t = { .r = r };
	_cleanup_(stretches_done) struct stretches x = { 0 };

	if (map_new(&t.index) < 0 || stretches_make(r, r->waits, r->wait_first, &x) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < r->m->wait_n; i++) {
		const struct model_wait *w = &r->m->waits[i];

		if (w->runnable_ns > 0 && w->row < r->m->row_n && w->thread < r->m->thread_n && wait_book(&t, &x, w) < 0)
			return -ENOMEM;
	}
	if (t.n)
		qsort(t.v, t.n, sizeof(*t.v), by_ns);
	*ret = TAKE_PTR(t.v);
	*ret_n = t.n;
	return 0;
}
