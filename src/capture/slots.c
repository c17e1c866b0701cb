/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* A short list of free stretches, by position, first fit. Neighbours join when both have rested. */
#include "capture/slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/vec.h"

struct stretch {
	uint32_t first, n;
	uint64_t ready_ns;
};

struct slots {
	struct stretch *free;
	size_t free_n, free_cap;
	uint64_t rest_ns;
};

DEFINE_CLEANUP(struct slots *, slots_free)

int slots_new(uint32_t n, uint64_t rest_ns, struct slots **ret)
{
	_cleanup_(slots_freep) struct slots *s = calloc(1, sizeof(*s));

	if (!s || VEC_RESERVE(s->free, s->free_cap, 1) < 0)
		return -ENOMEM;
	s->free[s->free_n++] = (struct stretch){ 0, n, 0 };
	s->rest_ns = rest_ns;
	*ret = TAKE_PTR(s);
	return 0;
}

struct slots *slots_free(struct slots *s)
{
	if (!s)
		return NULL;
	free(s->free);
	free(s);
	return NULL;
}

static void join_rested(struct slots *s, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 1; i < s->free_n; i++) {
		struct stretch *a = &s->free[kept], *b = &s->free[i];

		if (a->first + a->n == b->first && a->ready_ns <= now_ns && b->ready_ns <= now_ns)
			a->n += b->n;
		else
			s->free[++kept] = *b;
	}
	s->free_n = s->free_n ? kept + 1 : 0;
}

static int first_fit(struct slots *s, uint32_t n, uint64_t now_ns, uint32_t *ret_first)
{
	for (size_t i = 0; i < s->free_n; i++) {
		struct stretch *f = &s->free[i];

		if (f->n < n || f->ready_ns > now_ns)
			continue;
		*ret_first = f->first;
		f->first += n;
		f->n -= n;
		if (!f->n) {
			memmove(f, f + 1, (s->free_n - i - 1) * sizeof(*f));
			s->free_n--;
		}
		return 0;
	}
	return -ENOSPC;
}

int slots_take(struct slots *s, uint32_t n, uint64_t now_ns, uint32_t *ret_first)
{
	if (!n)
		return -EINVAL;
	if (!first_fit(s, n, now_ns, ret_first))
		return 0;
	join_rested(s, now_ns);
	return first_fit(s, n, now_ns, ret_first);
}

int slots_give(struct slots *s, uint32_t first, uint32_t n, uint64_t now_ns)
{
	size_t at = 0;

	if (!n)
		return 0;
	if (VEC_RESERVE(s->free, s->free_cap, s->free_n + 1) < 0)
		return -ENOMEM;
	while (at < s->free_n && s->free[at].first < first)
		at++;
	memmove(&s->free[at + 1], &s->free[at], (s->free_n - at) * sizeof(*s->free));
	s->free[at] = (struct stretch){ first, n, now_ns + s->rest_ns };
	s->free_n++;
	return 0;
}
