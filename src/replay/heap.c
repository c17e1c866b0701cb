/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Which of two entries is less is as good as random, so nothing here jumps on
 * it. What is taken out leaves a hole that goes down to a leaf, always by the
 * lesser child; the last entry goes there and then up, mostly not far.
 */
#include "replay/heap.h"

#include <errno.h>
#include <stdbool.h>

#include "util/vec.h"

/* Times are not negative: their bits, read as an integer, are in the same order. */
static inline bool is_less(const struct heap_entry *a, const struct heap_entry *b)
{
	union {
		double key;
		uint64_t bits;
	} x = { .key = a->key }, y = { .key = b->key };

	/* Numbers wrap; entries that far apart are never in one heap. */
	return (x.bits < y.bits) | ((x.bits == y.bits) & ((int32_t)(a->seq - b->seq) < 0));
}

static inline void put_up(struct heap *h, size_t i, struct heap_entry x)
{
	while (i) {
		size_t up = (i - 1) / 2;

		if (!is_less(&x, &h->v[up]))
			break;
		h->v[i] = h->v[up];
		i = up;
	}
	h->v[i] = x;
}

int heap_push(struct heap *h, double key, uint32_t strand)
{
	/* Adding makes a negative 0 a positive one. */
	struct heap_entry x = { .key = key + 0.0, .seq = h->seq++, .strand = strand };

	if (h->n == h->cap && VEC_RESERVE(h->v, h->cap, h->n + 1) < 0)
		return -ENOMEM;
	put_up(h, h->n++, x);
	return 0;
}

uint32_t heap_pop(struct heap *h)
{
	uint32_t strand = h->v[0].strand;
	struct heap_entry last = h->v[--h->n];
	size_t i = 0, down;

	while ((down = 2 * i + 1) < h->n) {
		/* Behind an only child lies what was the last entry: if it is less this is its place. */
		down += is_less(&h->v[down + 1], &h->v[down]);
		h->v[i] = h->v[down];
		i = down;
	}
	if (h->n)
		put_up(h, i, last);
	return strand;
}
