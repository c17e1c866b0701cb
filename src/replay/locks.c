/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What is known of each lock, and of each thing that threads gave to each other
 * under one name. Waits are counted for all; holds only where they are known.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "replay/blame.h"
#include "replay/draft.h"
#include "util/cleanup.h"
#include "util/vec.h"

/* A wait begins or is over. */
struct change {
	uint32_t lock; /* of the list at work */
	int32_t by;
	int64_t at_ns;
};

struct lister {
	const struct replay *r;
	struct blamer blamer;
	struct replay_lock *v;
	size_t n, cap;
	struct map *index; /* ident -> v */
	struct change *changes;
	size_t change_n, change_cap;
	uint32_t *of_lock; /* by r->locks: of v */
};

void replay_locks_free(struct replay_lock *locks, size_t n)
{
	for (size_t i = 0; locks && i < n; i++)
		free(locks[i].holders);
	free(locks);
}

static void lister_done(struct lister *x)
{
	blamer_done(&x->blamer);
	replay_locks_free(x->v, x->n);
	map_free(x->index);
	free(x->changes);
	free(x->of_lock);
}

/* The end of a thread is given to nobody. */
static bool is_given(const struct model *m, const struct model_wait *w, uint32_t join_id)
{
	const struct model_row *row = &m->rows[w->row < m->row_n ? w->row : 0];

	if (!w->ident_id || w->blocked_ns <= 0 || (join_id && row->kind_id == join_id))
		return false;
	return row->reason == REASON_LOCK || (row->reason == REASON_SYNC && w->waker && w->waker != w->thread);
}

static uint32_t process_of(const struct replay *r, const struct model_wait *w)
{
	uint32_t s = wait_strand(r, w);

	return s != NONE ? r->strands[s].process : 0;
}

static int change_add(struct lister *x, uint32_t lock, int64_t at_ns, int32_t by)
{
	if (VEC_RESERVE(x->changes, x->change_cap, x->change_n + 1) < 0)
		return -ENOMEM;
	x->changes[x->change_n++] = (struct change){ .lock = lock, .by = by, .at_ns = at_ns };
	return 0;
}

static int wait_count(struct lister *x, const struct model_wait *w)
{
	const struct model_row *row = &x->r->m->rows[w->row];
	int64_t wake_ns = w->clipped & CLIPPED_AFTER ? w->end_ns : wait_wake_ns(w);
	struct replay_lock *l;
	uint64_t at;

	if (!map_get(x->index, w->ident_id, &at)) {
		if (VEC_RESERVE(x->v, x->cap, x->n + 1) < 0 || map_put(x->index, w->ident_id, x->n) < 0)
			return -ENOMEM;
		at = x->n;
		x->v[x->n++] = (struct replay_lock){ .ident_id = w->ident_id, .kind_id = row->kind_id, .class = NONE,
						     .reason = row->reason, .process = process_of(x->r, w) };
	}
	l = &x->v[at];
	l->wait_n++;
	l->wait_ns += (uint64_t)w->blocked_ns;
	l->longest_ns = (uint64_t)w->blocked_ns > l->longest_ns ? (uint64_t)w->blocked_ns : l->longest_ns;
	l->depth_ns += (uint64_t)(wake_ns - w->start_ns);
	if (l->process != process_of(x->r, w))
		l->process = 0;
	return change_add(x, (uint32_t)at, w->start_ns, 1) < 0 ? -ENOMEM : change_add(x, (uint32_t)at, wake_ns, -1);
}

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->by < y->by ? -1 : x->by > y->by;
}

static void depths_find(struct lister *x)
{
	int64_t depth = 0;

	if (x->change_n)
		qsort(x->changes, x->change_n, sizeof(*x->changes), by_time);
	for (size_t i = 0; i < x->change_n; i++) {
		struct replay_lock *l = &x->v[x->changes[i].lock];

		if (i && x->changes[i - 1].lock != x->changes[i].lock)
			depth = 0;
		depth += x->changes[i].by;
		if (depth > 0 && (uint64_t)depth > l->depth_max)
			l->depth_max = (uint64_t)depth;
	}
}

/* The longest delay within a hold says what was done. */
struct deed {
	uint32_t row;
	int64_t ns;
};

static int holder_find(struct replay_lock *l, size_t *cap, uint32_t thread, struct replay_holder **ret)
{
	for (size_t i = 0; i < l->holder_n; i++) {
		if (l->holders[i].thread == thread) {
			*ret = &l->holders[i];
			return 0;
		}
	}
	if (VEC_RESERVE(l->holders, *cap, l->holder_n + 1) < 0)
		return -ENOMEM;
	l->holders[l->holder_n] = (struct replay_holder){ .thread = thread };
	*ret = &l->holders[l->holder_n++];
	return 0;
}

static int by_thread(const void *a, const void *b)
{
	const struct hold *const *x = a, *const *y = b;

	return (*x)->strand < (*y)->strand ? -1 : (*x)->strand > (*y)->strand;
}

/* Holds of a lock grouped by strand, so that its holders are found one after the other. */
static int holders_make(const struct lister *x, const struct lock *lock, struct replay_lock *l)
{
	const struct replay *r = x->r;
	_cleanup_(freep) const struct hold **holds = calloc(lock->hold_n + 1, sizeof(*holds));
	size_t cap = 0;

	if (!holds)
		return -ENOMEM;
	for (size_t i = 0; i < lock->hold_n; i++)
		holds[i] = &r->holds[lock->first_hold + i];
	qsort(holds, lock->hold_n, sizeof(*holds), by_thread);
	for (size_t i = 0; i < lock->hold_n; i++) {
		const struct hold *h = holds[i];
		uint64_t ns = (uint64_t)(h->to_ns - h->from_ns);

		if (!i || holds[i - 1]->strand != h->strand) {
			if (VEC_RESERVE(l->holders, cap, l->holder_n + 1) < 0)
				return -ENOMEM;
			l->holders[l->holder_n++] = (struct replay_holder){ .thread = r->strands[h->strand].thread };
		}
		l->holders[l->holder_n - 1].count++;
		l->holders[l->holder_n - 1].ns += ns;
		l->hold_n++;
		l->inferred_hold_n += h->inferred;
		l->hold_ns += ns;
		l->hold_max_ns = ns > l->hold_max_ns ? ns : l->hold_max_ns;
		if (h->wait) {
			l->handoff_n++;
			l->handoff_ns += (uint64_t)(r->m->waits[h->wait].end_ns - wait_wake_ns(&r->m->waits[h->wait]));
		}
	}
	/* Holds don't overlap: together they are when it was held. */
	l->busy_ns = l->hold_ns;
	l->barged_n = l->wait_n > l->handoff_n ? l->wait_n - l->handoff_n : 0;
	return 0;
}

static int holds_count(struct lister *x)
{
	const struct replay *r = x->r;
	uint64_t at;

	x->of_lock = malloc((r->lock_n + 1) * sizeof(*x->of_lock));
	if (!x->of_lock)
		return -ENOMEM;
	for (size_t i = 0; i < r->lock_n; i++) {
		x->of_lock[i] = map_get(x->index, r->locks[i].ident_id, &at) ? (uint32_t)at : NONE;
		if (x->of_lock[i] == NONE || !r->locks[i].simulated)
			continue;
		x->v[at].holds_known = true;
		x->v[at].class = r->locks[i].class;
		if (holders_make(x, &r->locks[i], &x->v[at]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Others' waits while a thread held it. */
static int blames_add(struct lister *x)
{
	_cleanup_(freep) struct replay_piece *pieces = NULL;
	const struct model *m = x->r->m;
	size_t cap = 0;
	uint64_t at;

	for (size_t i = 1; i < m->wait_n; i++) {
		struct replay_holder *h;
		size_t n = 0, room = 0;
		int64_t length_ns;
		double blocked;

		if (!blamer_lock(&x->blamer, (uint32_t)i) || !map_get(x->index, m->waits[i].ident_id, &at))
			continue;
		if (blamer_split(&x->blamer, (uint32_t)i, &pieces, &n, &cap) < 0)
			return -ENOMEM;
		/* Who was woken and found it taken was ready in between: of all pieces that is a part. */
		length_ns = n ? pieces[n - 1].end_ns - pieces[0].start_ns : 0;
		blocked = length_ns > 0 ? (double)m->waits[i].blocked_ns / (double)length_ns : 0;
		for (size_t k = 0; k < n; k++) {
			room = x->v[at].holder_n;
			if (pieces[k].culprit != REPLAY_BY_THREAD)
				continue;
			if (holder_find(&x->v[at], &room, pieces[k].by, &h) < 0)
				return -ENOMEM;
			h->blamed_ns += (uint64_t)llround(blocked * (double)(pieces[k].end_ns - pieces[k].start_ns));
		}
	}
	return 0;
}

/* What a holder mostly waited for while it had the lock. */
static int deeds_find(struct lister *x)
{
	const struct replay *r = x->r;
	_cleanup_(freep) struct deed *deeds = calloc(r->m->thread_n, sizeof(*deeds));
	const uint32_t *waits = r->waits;

	if (!deeds)
		return -ENOMEM;
	for (size_t l = 0; l < r->lock_n; l++) {
		struct replay_lock *out = x->of_lock[l] != NONE ? &x->v[x->of_lock[l]] : NULL;

		if (!out || !out->holds_known)
			continue;
		for (size_t i = r->locks[l].first_hold; i < r->locks[l].first_hold + r->locks[l].hold_n; i++) {
			const struct hold *h = &r->holds[i];
			uint32_t thread = r->strands[h->strand].thread;
			size_t k = waits_find(r, waits, r->wait_first, h->strand, h->from_ns);

			for (; k < r->wait_first[h->strand + 1] && r->m->waits[waits[k]].end_ns <= h->to_ns; k++) {
				const struct model_wait *w = &r->m->waits[waits[k]];

				if (w->blocked_ns > deeds[thread].ns)
					deeds[thread] = (struct deed){ .row = w->row, .ns = w->blocked_ns };
			}
		}
		for (size_t k = 0; k < out->holder_n; k++) {
			struct deed *deed = &deeds[out->holders[k].thread];

			out->holders[k].kstack = r->m->rows[deed->row < r->m->row_n ? deed->row : 0].kstack;
			out->holders[k].ustack = r->m->rows[deed->row < r->m->row_n ? deed->row : 0].ustack;
			*deed = (struct deed){ 0 };
		}
	}
	return 0;
}

static void paths_add(struct lister *x)
{
	for (size_t i = 0; i < x->r->lock_n; i++) {
		if (x->of_lock[i] != NONE)
			x->v[x->of_lock[i]].path_ns += x->r->locks[i].path_ns;
	}
}

static int by_wait(const void *a, const void *b)
{
	const struct replay_lock *x = a, *y = b;

	if (x->wait_ns != y->wait_ns)
		return x->wait_ns > y->wait_ns ? -1 : 1;
	return x->ident_id < y->ident_id ? -1 : x->ident_id > y->ident_id;
}

static int by_blame(const void *a, const void *b)
{
	const struct replay_holder *x = a, *y = b;

	if (x->blamed_ns != y->blamed_ns)
		return x->blamed_ns > y->blamed_ns ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

int replay_locks(const struct replay *r, struct replay_lock **ret, size_t *ret_n)
{
	_cleanup_(lister_done) struct lister x = { .r = r };
	uint32_t join_id = strtab_find(r->m->strings, "join");
	int e = map_new(&x.index) < 0 || blamer_init(&x.blamer, r) < 0 ? -ENOMEM : 0;

	for (size_t i = 1; i < r->m->wait_n && e == 0; i++) {
		if (is_given(r->m, &r->m->waits[i], join_id))
			e = wait_count(&x, &r->m->waits[i]);
	}
	if (e < 0)
		return e;
	depths_find(&x);
	if (holds_count(&x) < 0 || blames_add(&x) < 0 || deeds_find(&x) < 0)
		return -ENOMEM;
	paths_add(&x);
	for (size_t i = 0; i < x.n; i++) {
		if (x.v[i].holder_n)
			qsort(x.v[i].holders, x.v[i].holder_n, sizeof(*x.v[i].holders), by_blame);
	}
	if (x.n)
		qsort(x.v, x.n, sizeof(*x.v), by_wait);
	*ret = TAKE_PTR(x.v);
	*ret_n = x.n;
	x.n = 0;
	return 0;
}
