/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Which of two entries is less is as good as random, so nothing here jumps on
 * it: an entry is one number, and what is less of four is found by three
 * comparisons, of which two don't wait for each other. What is taken out leaves
 * a hole that goes down to a leaf, always by the least child; the last entry goes
 * there and then up, mostly not far. Blanks behind the last stand for children
 * that there are none of.
 */
#include "replay/heap.h"

#include <errno.h>

#include "util/vec.h"

enum { CHILDREN = 4, BLANKS = CHILDREN };

/* Greater than any. */
#define BLANK (~(unsigned __int128)0)

static inline void put_up(struct heap *h, size_t i, unsigned __int128 x)
{
	while (i) {
		size_t up = (i - 1) / CHILDREN;

		if (x >= h->v[up])
			break;
		h->v[i] = h->v[up];
		i = up;
	}
	h->v[i] = x;
}

static int room_make(struct heap *h)
{
	size_t had = h->cap;

	if (VEC_RESERVE(h->v, h->cap, h->n + 1 + BLANKS) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < BLANKS && !had; i++)
		h->v[i] = BLANK;
	return 0;
}

int heap_push(struct heap *h, double key, uint32_t strand)
{
	/* Bits of times that are not negative are in the same order, read as an integer; adding 0 makes a negative 0 positive. */
	union {
		double key;
		uint64_t bits;
	} x = { .key = key + 0.0 };

	if (h->n + 1 + BLANKS > h->cap && room_make(h) < 0)
		return -ENOMEM;
	h->v[h->n + BLANKS] = BLANK;
	put_up(h, h->n++, (unsigned __int128)x.bits << 64 | (uint64_t)h->seq++ << 32 | strand);
	return 0;
}

uint32_t heap_pop(struct heap *h)
{
	uint32_t strand = (uint32_t)h->v[0];
	unsigned __int128 last = h->v[--h->n];
	size_t i = 0, down;

	h->v[h->n] = BLANK;
	while ((down = CHILDREN * i + 1) < h->n) {
		size_t a = down + (h->v[down + 1] < h->v[down]);
		size_t b = down + 2 + (h->v[down + 3] < h->v[down + 2]);

		down = h->v[b] < h->v[a] ? b : a;
		h->v[i] = h->v[down];
		i = down;
	}
	if (h->n)
		put_up(h, i, last);
	return strand;
}
