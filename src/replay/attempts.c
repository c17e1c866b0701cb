/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Who is woken for a mutex may find that another took it first, and waits for it
 * again. What lies between its two waits looks like the time for which it had
 * the lock, then: as long as it took to wake up and look, which on a cold CPU
 * is longer than many a critical section. No length tells the two apart, but
 * the others' waits do:
 *
 *   who leaves a lock wakes the first of its queue. Somebody who stood there all
 *   the while and was not woken proves that it was not left.
 *
 *   who wakes the first of the queue after it stands there again is who has the
 *   lock at that moment. If he was on no CPU since before it looked, he had it then.
 *
 * Unless it woke somebody for that lock in between: so it had it.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/draft.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

/* Two waits of one strand for one lock, with nothing but computing between them. */
struct attempt {
	size_t at, next; /* of the draft's waits */
	uint32_t lock;
};

struct moment {
	uint32_t lock, strand;
	int64_t at_ns;
	int64_t until_ns;
};

struct finder {
	struct draft *d;
	struct map *index; /* ident -> lock: only of attempts */
	uint32_t lock_n;
	struct attempt *attempts;
	size_t attempt_n, attempt_cap;
	struct moment *queued;	 /* since at_ns somebody stands there; until_ns: the last of those who did by then is woken */
	struct moment *wakes;	 /* strand: who woke */
	struct moment *releases; /* the same, by strand */
	size_t n;
};

static void finder_done(struct finder *x)
{
	map_free(x->index);
	free(x->attempts);
	free(x->queued);
	free(x->wakes);
	free(x->releases);
}

static bool is_mutex(const struct draft *d, const struct model_wait *w, uint32_t mutex_id)
{
	const struct model_row *row = &d->m->rows[w->row < d->m->row_n ? w->row : 0];

	return w->ident_id && row->reason == REASON_LOCK && row->kind_id == mutex_id;
}

static int attempt_add(struct finder *x, size_t at, size_t next)
{
	uint32_t ident_id = x->d->m->waits[x->d->waits[at]].ident_id;
	uint64_t lock = x->lock_n;

	if (!map_get(x->index, ident_id, &lock) && map_put(x->index, ident_id, x->lock_n++) < 0)
		return -ENOMEM;
	if (VEC_RESERVE(x->attempts, x->attempt_cap, x->attempt_n + 1) < 0)
		return -ENOMEM;
	x->attempts[x->attempt_n++] = (struct attempt){ .at = at, .next = next, .lock = (uint32_t)lock };
	return 0;
}

/* Where it was preempted in between it did nothing else for that. */
static int strand_attempts(struct finder *x, uint32_t s, uint32_t mutex_id)
{
	const struct draft *d = x->d;
	size_t last = SIZE_MAX;

	for (size_t i = d->wait_first[s]; i < d->wait_first[s + 1]; i++) {
		const struct model_wait *w = &d->m->waits[d->waits[i]], *before;
		uint8_t use = d->use[d->waits[i]];

		model_wait_prefetch(d->m, d->waits, i, d->wait_first[s + 1]);
		if (use == USE_SKIP || use == USE_RUNQ)
			continue;
		if ((use != USE_TOKEN && use != USE_MERGED) || !is_mutex(d, w, mutex_id)) {
			last = SIZE_MAX;
			continue;
		}
		before = last != SIZE_MAX ? &d->m->waits[d->waits[last]] : NULL;
		if (before && d->use[d->waits[last]] == USE_TOKEN && before->ident_id == w->ident_id &&
		    d->m->rows[before->row].ustack == d->m->rows[w->row].ustack && attempt_add(x, last, i) < 0)
			return -ENOMEM;
		last = i;
	}
	return 0;
}

static int by_lock_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
	return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

static int by_lock_strand_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
	if (x->strand != y->strand)
		return x->strand < y->strand ? -1 : 1;
	return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

static void moments_find(struct finder *x, size_t room, uint32_t mutex_id)
{
	const struct draft *d = x->d;
	uint64_t lock;

	for (size_t i = 1; i < d->m->wait_n && x->n < room; i++) {
		const struct model_wait *w = &d->m->waits[i];
		int64_t wake_ns = wait_wake_ns(w);

		if (!is_mutex(d, w, mutex_id) || !map_get(x->index, w->ident_id, &lock))
			continue;
		x->queued[x->n] = (struct moment){ .lock = (uint32_t)lock, .at_ns = w->start_ns, .until_ns = wake_ns };
		x->wakes[x->n] = (struct moment){ .lock = (uint32_t)lock, .at_ns = wake_ns,
						  .strand = w->waker ? draft_strand_at(d, w->waker, wake_ns) : NONE };
		x->releases[x->n] = x->wakes[x->n];
		x->n++;
	}
	qsort(x->queued, x->n, sizeof(*x->queued), by_lock_time);
	qsort(x->wakes, x->n, sizeof(*x->wakes), by_lock_time);
	qsort(x->releases, x->n, sizeof(*x->releases), by_lock_strand_time);
	for (size_t i = 1; i < x->n; i++) {
		if (x->queued[i].lock == x->queued[i - 1].lock && x->queued[i].until_ns < x->queued[i - 1].until_ns)
			x->queued[i].until_ns = x->queued[i - 1].until_ns;
	}
}

static int moments_make(struct finder *x, uint32_t mutex_id)
{
	size_t n = 0;

	for (size_t i = 1; i < x->d->m->wait_n; i++)
		n += is_mutex(x->d, &x->d->m->waits[i], mutex_id);
	x->queued = calloc(n + 1, sizeof(*x->queued));
	x->wakes = calloc(n + 1, sizeof(*x->wakes));
	x->releases = calloc(n + 1, sizeof(*x->releases));
	if (!x->queued || !x->wakes || !x->releases)
		return -ENOMEM;
	moments_find(x, n, mutex_id);
	return 0;
}

/* The first that is not before key. */
static size_t first_at(const struct moment *v, size_t n, const struct moment *key,
		       int (*compare)(const void *a, const void *b))
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&v[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Its own waits are over by from_ns, or begin at to_ns. */
static bool stood_unwoken(const struct finder *x, uint32_t lock, int64_t from_ns, int64_t to_ns)
{
	struct moment key = { .lock = lock, .at_ns = from_ns };
	size_t i = first_at(x->queued, x->n, &key, by_lock_time);

	return i > 0 && x->queued[i - 1].lock == lock && x->queued[i - 1].until_ns > to_ns;
}

static bool did_release(const struct finder *x, uint32_t lock, uint32_t strand, int64_t from_ns, int64_t to_ns)
{
	struct moment key = { .lock = lock, .strand = strand, .at_ns = from_ns };
	size_t i = first_at(x->releases, x->n, &key, by_lock_strand_time);

	return i < x->n && x->releases[i].lock == lock && x->releases[i].strand == strand && x->releases[i].at_ns <= to_ns;
}

/* Is it off the CPU all the time? */
static bool is_away(const struct draft *d, uint32_t strand, int64_t from_ns, int64_t to_ns)
{
	size_t i = waits_find(d->r, d->waits, d->wait_first, strand, from_ns);

	while (i > d->wait_first[strand]) {
		uint32_t wait = d->waits[--i];

		if (d->use[wait] != USE_SKIP)
			return d->m->waits[wait].end_ns >= to_ns;
	}
	return false;
}

/* Who has the lock at to_ns had it at from_ns. */
static bool was_held(const struct finder *x, uint32_t lock, uint32_t strand, int64_t from_ns, int64_t to_ns)
{
	struct moment key = { .lock = lock, .at_ns = to_ns };
	size_t i = first_at(x->wakes, x->n, &key, by_lock_time);
	uint32_t holder = i < x->n && x->wakes[i].lock == lock ? x->wakes[i].strand : NONE;

	return holder != NONE && holder != strand && is_away(x->d, holder, from_ns, to_ns);
}

static void attempt_judge(struct finder *x, const struct attempt *a)
{
	struct draft *d = x->d;
	const struct model_wait *w = &d->m->waits[d->waits[a->at]], *next = &d->m->waits[d->waits[a->next]];
	uint32_t strand = wait_strand(d->r, w);

	if (did_release(x, a->lock, strand, w->end_ns, next->start_ns) ||
	    (!stood_unwoken(x, a->lock, w->end_ns, next->start_ns) &&
	     !was_held(x, a->lock, strand, w->end_ns, next->start_ns)))
		return;
	for (size_t i = a->at; i < a->next; i++) {
		if (d->use[d->waits[i]] != USE_SKIP)
			d->use[d->waits[i]] = USE_MERGED;
	}
	d->r->facts.spurious_n++;
}

int draft_attempts(struct draft *d)
{
	_cleanup_(finder_done) struct finder x = { .d = d };
	uint32_t mutex_id = strtab_find(d->m->strings, "mutex");

	if (!mutex_id)
		return 0;
	if (map_new(&x.index) < 0)
		return -ENOMEM;
	for (uint32_t s = 0; s < d->r->strand_n; s++) {
		if (strand_attempts(&x, s, mutex_id) < 0)
			return -ENOMEM;
	}
	if (!x.attempt_n)
		return 0;
	if (moments_make(&x, mutex_id) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < x.attempt_n; i++)
		attempt_judge(&x, &x.attempts[i]);
	return 0;
}
