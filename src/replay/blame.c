/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Who ended a wait is who held it up, but for a lock: there all who had it
 * meanwhile did, each for as long as he had it. Time between two holders belongs
 * to the one who comes next: he was on his way. Time in which nobody is known
 * to have had it belongs to who ended the wait.
 */
#include "replay/blame.h"

#include <errno.h>
#include <stdlib.h>

#include "replay/draft.h"
#include "util/cleanup.h"
#include "util/vec.h"

int blamer_init(struct blamer *b, const struct replay *r)
{
	*b = (struct blamer){ .r = r };
	if (map_new(&b->locks) < 0)
		return -ENOMEM;
	b->thread_of_op = calloc(r->m->op_n, sizeof(*b->thread_of_op));
	if (!b->thread_of_op)
		return -ENOMEM;
	for (size_t i = 1; i < r->m->thread_n; i++) {
		if (r->m->threads[i].op < r->m->op_n)
			b->thread_of_op[r->m->threads[i].op] = (uint32_t)i;
	}
	for (size_t i = 0; i < r->lock_n; i++) {
		if (r->locks[i].hold_n && map_put(b->locks, r->locks[i].ident_id, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

void blamer_done(struct blamer *b)
{
	map_free(b->locks);
	free(b->thread_of_op);
}

const struct lock *blamer_lock(const struct blamer *b, uint32_t wait)
{
	const struct model *m = b->r->m;
	const struct model_wait *w = &m->waits[wait];
	uint64_t lock;

	if (m->rows[w->row < m->row_n ? w->row : 0].reason != REASON_LOCK || !map_get(b->locks, w->ident_id, &lock))
		return NULL;
	return b->r->locks[lock].simulated ? &b->r->locks[lock] : NULL;
}

static struct replay_piece ender(const struct blamer *b, const struct model_wait *w)
{
	static const uint8_t devices[WAKER_CTX_MAX] = {
		[WAKER_NONE] = REPLAY_BY_UNKNOWN, [WAKER_UNKNOWN] = REPLAY_BY_UNKNOWN, [WAKER_TASK] = REPLAY_BY_OUTSIDE,
		[WAKER_TIMER] = REPLAY_BY_TIMER,  [WAKER_DISK] = REPLAY_BY_DISK,       [WAKER_NET] = REPLAY_BY_NET,
		[WAKER_IRQ] = REPLAY_BY_IRQ,
	};
	const struct model *m = b->r->m;
	struct replay_piece p = { .culprit = REPLAY_BY_UNKNOWN };

	if (w->waker && w->waker < m->thread_n) {
		p.culprit = REPLAY_BY_THREAD;
		p.by = w->waker;
		return p;
	}
	if (w->target && w->target < m->op_n && b->thread_of_op[w->target]) {
		p.culprit = REPLAY_BY_THREAD;
		p.by = b->thread_of_op[w->target];
		return p;
	}
	p.culprit = w->ctx < WAKER_CTX_MAX ? devices[w->ctx] : REPLAY_BY_UNKNOWN;
	if (p.culprit == REPLAY_BY_OUTSIDE || (p.culprit == REPLAY_BY_UNKNOWN && w->outside_waker)) {
		p.culprit = REPLAY_BY_OUTSIDE;
		p.by = w->outside_waker;
	}
	if (p.culprit == REPLAY_BY_UNKNOWN && wait_is_explained(m, w))
		p.culprit = REPLAY_BY_TIMER;
	return p;
}

static int piece_add(struct replay_piece **v, size_t *n, size_t *cap, size_t first, const struct replay_piece *p)
{
	struct replay_piece *last = *n > first ? &(*v)[*n - 1] : NULL;

	if (p->end_ns <= p->start_ns)
		return 0;
	if (last && last->culprit == p->culprit && last->by == p->by) {
		last->end_ns = p->end_ns;
		return 0;
	}
	if (VEC_RESERVE(*v, *cap, *n + 1) < 0)
		return -ENOMEM;
	(*v)[(*n)++] = *p;
	return 0;
}

/* The first hold of a lock that ends after ns. */
static size_t hold_find(const struct replay *r, const struct lock *l, int64_t ns)
{
	size_t low = l->first_hold, high = l->first_hold + l->hold_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->holds[middle].to_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int blamer_split(const struct blamer *b, uint32_t wait, struct replay_piece **v, size_t *n, size_t *cap)
{
	const struct replay *r = b->r;
	const struct model_wait *w = &r->m->waits[wait];
	const struct lock *lock = blamer_lock(b, wait);
	struct replay_piece rest = ender(b, w);
	int64_t cursor_ns = w->start_ns, end_ns = w->clipped & CLIPPED_AFTER ? w->end_ns : wait_wake_ns(w);
	size_t first = *n;

	for (size_t i = lock ? hold_find(r, lock, cursor_ns) : 0;
	     lock && i < lock->first_hold + lock->hold_n && r->holds[i].from_ns < end_ns; i++) {
		const struct hold *h = &r->holds[i];
		struct replay_piece p = { .start_ns = cursor_ns, .culprit = REPLAY_BY_THREAD,
					  .by = r->strands[h->strand].thread };

		p.end_ns = h->to_ns < end_ns ? h->to_ns : end_ns;
		if (h->wait == wait || p.by == w->thread || p.end_ns <= cursor_ns)
			continue;
		if (piece_add(v, n, cap, first, &p) < 0)
			return -ENOMEM;
		cursor_ns = p.end_ns;
	}
	rest.start_ns = cursor_ns;
	rest.end_ns = end_ns;
	if (*n > first || rest.end_ns > rest.start_ns)
		return piece_add(v, n, cap, first, &rest);
	/* Of no length, but there is somebody who ended it. */
	if (VEC_RESERVE(*v, *cap, *n + 1) < 0)
		return -ENOMEM;
	(*v)[(*n)++] = rest;
	return 0;
}

int replay_wait_blame(const struct replay *r, uint32_t wait, struct replay_piece **ret, size_t *ret_n)
{
	struct blamer b;
	struct replay_piece *v = NULL;
	size_t n = 0, cap = 0;
	int e;

	if (!wait || wait >= r->m->wait_n)
		return -EINVAL;
	e = blamer_init(&b, r);
	if (e == 0)
		e = blamer_split(&b, wait, &v, &n, &cap);
	blamer_done(&b);
	if (e < 0) {
		free(v);
		return e;
	}
	*ret = v;
	*ret_n = n;
	return 0;
}

const char *replay_culprit_name(enum replay_culprit c)
{
	static const char *const names[REPLAY_CULPRIT_MAX] = {
		[REPLAY_BY_THREAD] = "", [REPLAY_BY_TIMER] = "timer", [REPLAY_BY_DISK] = "disk", [REPLAY_BY_NET] = "net",
		[REPLAY_BY_IRQ] = "irq", [REPLAY_BY_OUTSIDE] = "outside", [REPLAY_BY_UNKNOWN] = "unknown",
	};

	return (unsigned)c < REPLAY_CULPRIT_MAX ? names[c] : "";
}

/* Waits of one kind of one waiter held up by one culprit. */
struct matrix {
	struct replay_blame *v;
	uint32_t *next;
	size_t n, cap, next_cap;
	struct map *index;
};

static void matrix_done(struct matrix *x)
{
	free(x->v);
	free(x->next);
	map_free(x->index);
}

static int matrix_line(struct matrix *x, const struct replay_blame *key, struct replay_blame **ret)
{
	uint64_t h = ((uint64_t)key->waiter << 32 | key->by) * UINT64_C(0xff51afd7ed558ccd), first = NONE;

	h = (h ^ h >> 30 ^ ((uint64_t)key->kind_id << 16 | (uint64_t)key->culprit << 8 | key->reason)) *
	    UINT64_C(0xc4ceb9fe1a85ec53);
	map_get(x->index, h, &first);
	for (uint32_t i = (uint32_t)first; i != NONE; i = x->next[i]) {
		struct replay_blame *b = &x->v[i];

		if (b->waiter == key->waiter && b->by == key->by && b->culprit == key->culprit &&
		    b->reason == key->reason && b->kind_id == key->kind_id) {
			*ret = b;
			return 0;
		}
	}
	if (VEC_RESERVE(x->v, x->cap, x->n + 1) < 0 || VEC_RESERVE(x->next, x->next_cap, x->n + 1) < 0 ||
	    map_put(x->index, h, x->n) < 0)
		return -ENOMEM;
	x->v[x->n] = *key;
	x->next[x->n] = (uint32_t)first;
	*ret = &x->v[x->n++];
	return 0;
}

/* Blocked time is divided as the pieces are long; the last gets what rounding leaves. */
static int wait_book(struct matrix *x, const struct replay *r, uint32_t wait, const struct replay_piece *pieces, size_t n)
{
	const struct model_wait *w = &r->m->waits[wait];
	const struct model_row *row = &r->m->rows[w->row < r->m->row_n ? w->row : 0];
	int64_t left_ns = w->blocked_ns, length_ns = n ? pieces[n - 1].end_ns - pieces[0].start_ns : 0;

	for (size_t i = 0; i < n; i++) {
		struct replay_blame key = { .waiter = w->thread, .by = pieces[i].by, .culprit = pieces[i].culprit,
					    .reason = row->reason, .kind_id = row->kind_id };
		double part = (double)(pieces[i].end_ns - pieces[i].start_ns) / (double)length_ns;
		int64_t ns = i + 1 < n ? (int64_t)(part * (double)w->blocked_ns) : left_ns;
		struct replay_blame *line;

		if (matrix_line(x, &key, &line) < 0)
			return -ENOMEM;
		left_ns -= ns;
		line->count += i + 1 == n;
		line->ns += (uint64_t)ns;
		if ((uint64_t)ns >= line->longest_ns) {
			line->longest_ns = (uint64_t)ns;
			line->wait = wait;
		}
	}
	return 0;
}

static int by_ns(const void *a, const void *b)
{
	const struct replay_blame *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->waiter != y->waiter)
		return x->waiter < y->waiter ? -1 : 1;
	if (x->culprit != y->culprit)
		return x->culprit < y->culprit ? -1 : 1;
	if (x->by != y->by)
		return x->by < y->by ? -1 : 1;
	return x->kind_id < y->kind_id ? -1 : x->kind_id > y->kind_id;
}

int replay_blames_of(const struct replay *r, const bool *waits, struct replay_blame **ret, size_t *ret_n)
{
	_cleanup_(matrix_done) struct matrix x = { 0 };
	_cleanup_(freep) struct replay_piece *pieces = NULL;
	_cleanup_(blamer_done) struct blamer b = { 0 };
	size_t cap = 0;

	if (map_new(&x.index) < 0 || blamer_init(&b, r) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < r->m->wait_n; i++) {
		size_t n = 0;

		if (r->m->waits[i].blocked_ns <= 0 || (waits && !waits[i]))
			continue;
		if (blamer_split(&b, (uint32_t)i, &pieces, &n, &cap) < 0 || wait_book(&x, r, (uint32_t)i, pieces, n) < 0)
			return -ENOMEM;
	}
	if (x.n)
		qsort(x.v, x.n, sizeof(*x.v), by_ns);
	*ret = TAKE_PTR(x.v);
	*ret_n = x.n;
	return 0;
}

int replay_blames(const struct replay *r, struct replay_blame **ret, size_t *ret_n)
{
	return replay_blames_of(r, NULL, ret, ret_n);
}
