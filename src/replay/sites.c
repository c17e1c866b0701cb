/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "replay/sites.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

/* One time in so many another thread may seem to have the lock: clocks, and ends that were guessed. */
#define CONFLICT_SHARE 20
/* What is done in more locks than these says nothing of any. */
#define LOCKS_OF_SITE_MAX 16

struct site {
	uint32_t lock, site;
	uint32_t inside_n, conflict_n;
	uint32_t next; /* of the same site, NONE */
	uint32_t depth; /* how many of the same site it is followed by */
};

struct learner {
	const struct draft *d;
	const struct hold *full;
	size_t n;
	struct map *index;    /* lock << 32 | site -> sites */
	struct map *of_site;  /* site -> first of sites */
	struct site *sites;
	size_t site_n, site_cap;
};

static void learner_done(struct learner *l)
{
	map_free(l->index);
	map_free(l->of_site);
	free(l->sites);
}

static uint64_t key_of(uint32_t lock, uint32_t site)
{
	return (uint64_t)lock << 32 | site;
}

size_t sites_wait_at(const struct draft *d, uint32_t strand, int64_t ns)
{
	return waits_find(d->r, d->waits, d->wait_first, strand, ns);
}

static int site_see(struct learner *l, uint32_t lock, uint32_t site)
{
	uint64_t key = key_of(lock, site), at, first = NONE;

	if (map_get(l->index, key, &at)) {
		l->sites[at].inside_n++;
		return 0;
	}
	map_get(l->of_site, site, &first);
	if (first != NONE && l->sites[first].depth >= LOCKS_OF_SITE_MAX)
		return 0;
	if (VEC_RESERVE(l->sites, l->site_cap, l->site_n + 1) < 0 || map_put(l->index, key, l->site_n) < 0 ||
	    map_put(l->of_site, site, l->site_n) < 0)
		return -ENOMEM;
	l->sites[l->site_n++] = (struct site){ .lock = lock, .site = site, .inside_n = 1, .next = (uint32_t)first,
					       .depth = first == NONE ? 0 : l->sites[first].depth + 1 };
	return 0;
}

static int insides_see(struct learner *l)
{
	const struct draft *d = l->d;

	for (size_t i = 0; i < l->n; i++) {
		const struct hold *h = &l->full[i];

		for (size_t k = sites_wait_at(d, h->strand, h->from_ns);
		     k < d->wait_first[h->strand + 1] && d->m->waits[d->waits[k]].end_ns <= h->to_ns; k++) {
			uint32_t site = d->site[k];

			if (site && d->lock[d->waits[k]] != h->lock && site_see(l, h->lock, site) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/* The stretch of that lock within which ns lies, NULL: none. They don't overlap. */
static const struct hold *hold_at(const struct learner *l, uint32_t lock, int64_t ns)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct hold *h = &l->full[middle];

		if (h->lock < lock || (h->lock == lock && h->to_ns <= ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low < l->n && l->full[low].lock == lock && l->full[low].from_ns <= ns ? &l->full[low] : NULL;
}

static void conflicts_see(struct learner *l)
{
	const struct draft *d = l->d;
	const struct replay *r = d->r;

	for (size_t s = 0; s < r->strand_n && l->site_n; s++) {
		for (size_t k = d->wait_first[s]; k < d->wait_first[s + 1]; k++) {
			const struct model_wait *w = &d->m->waits[d->waits[k]];
			uint64_t i;

			if (!d->site[k] || !map_get(l->of_site, d->site[k], &i))
				continue;
			for (; i != NONE; i = l->sites[i].next) {
				const struct hold *h = hold_at(l, l->sites[i].lock, w->start_ns + (w->end_ns - w->start_ns) / 2);

				l->sites[i].conflict_n += h && h->strand != s;
			}
		}
	}
}

static int members_put(const struct learner *l, struct sites *ret)
{
	for (size_t i = 0; i < l->site_n; i++) {
		const struct site *s = &l->sites[i];
		uint64_t first = NONE;

		if ((uint64_t)s->conflict_n * CONFLICT_SHARE > (uint64_t)s->inside_n + s->conflict_n)
			continue;
		map_get(ret->of_site, s->site, &first);
		if (VEC_RESERVE(ret->locks, ret->lock_cap, ret->lock_n + 1) < 0 ||
		    map_put(ret->members, key_of(s->lock, s->site), 1) < 0 ||
		    map_put(ret->of_site, s->site, ret->lock_n) < 0)
			return -ENOMEM;
		ret->locks[ret->lock_n++] = (struct site_lock){ .lock = s->lock, .next = (uint32_t)first };
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int64_t median(int64_t *v, size_t n)
{
	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

/* The stretches of one lock. v: room for four values of each. */
static void habits_learn(const struct draft *d, const struct sites *s, const struct hold *full, size_t n, int64_t *v,
			 struct lock_habits *ret)
{
	int64_t *length = v, *count = v + n, *lead = v + 2 * n, *trail = v + 3 * n;
	size_t with_n = 0;

	for (size_t i = 0; i < n; i++) {
		const struct hold *h = &full[i];
		int64_t first_ns = -1, last_ns = -1;

		count[i] = 0;
		length[i] = h->to_ns - h->from_ns;
		for (size_t k = sites_wait_at(d, h->strand, h->from_ns);
		     k < d->wait_first[h->strand + 1] && d->m->waits[d->waits[k]].end_ns <= h->to_ns; k++) {
			if (!sites_is_member(s, h->lock, d->site[k]))
				continue;
			count[i]++;
			first_ns = first_ns < 0 ? d->m->waits[d->waits[k]].start_ns : first_ns;
			last_ns = d->m->waits[d->waits[k]].end_ns;
		}
		if (count[i]) {
			lead[with_n] = first_ns - h->from_ns;
			trail[with_n++] = h->to_ns - last_ns;
		}
	}
	*ret = (struct lock_habits){
		.full_n = (uint32_t)n,
		.hold_ns = median(length, n),
		.waits = (uint32_t)median(count, n),
		.lead_ns = median(lead, with_n),
		.trail_ns = median(trail, with_n),
	};
}

static int all_habits_learn(const struct learner *l, struct sites *ret)
{
	_cleanup_(freep) int64_t *v = NULL;

	for (size_t i = 0, next; i < l->n; i = next) {
		for (next = i; next < l->n && l->full[next].lock == l->full[i].lock;)
			next++;
		free(v);
		v = calloc(next - i, 4 * sizeof(*v));
		if (!v)
			return -ENOMEM;
		habits_learn(l->d, ret, l->full + i, next - i, v, &ret->habits[l->full[i].lock]);
	}
	return 0;
}

int sites_learn(const struct draft *d, const struct hold *full, size_t n, struct sites *ret)
{
	_cleanup_(learner_done) struct learner l = { .d = d, .full = full, .n = n };
	struct sites s = { 0 };
	int e;

	s.habits = calloc(d->r->lock_n + 1, sizeof(*s.habits));
	e = !s.habits || map_new(&s.members) < 0 || map_new(&s.of_site) < 0 || map_new(&l.index) < 0 || map_new(&l.of_site) < 0 ? -ENOMEM :
												     insides_see(&l);
	if (e == 0)
		conflicts_see(&l);
	if (e == 0)
		e = members_put(&l, &s);
	if (e == 0)
		e = all_habits_learn(&l, &s);
	if (e < 0)
		sites_done(&s);
	else
		*ret = s;
	return e;
}

void sites_done(struct sites *s)
{
	map_free(s->members);
	map_free(s->of_site);
	free(s->locks);
	free(s->habits);
	*s = (struct sites){ 0 };
}

bool sites_is_member(const struct sites *s, uint32_t lock, uint32_t site)
{
	return site && map_get(s->members, key_of(lock, site), NULL);
}

uint32_t sites_first_lock(const struct sites *s, uint32_t site)
{
	uint64_t first = NONE;

	return site && map_get(s->of_site, site, &first) ? (uint32_t)first : NONE;
}
