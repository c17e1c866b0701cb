/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "replay/heap.h"

#include <errno.h>
#include <stdbool.h>

#include "util/vec.h"

static inline bool is_less(const struct heap_entry *a, const struct heap_entry *b)
{
	/* Numbers wrap; entries that far apart are never in one heap. */
	return a->key < b->key || (a->key == b->key && (int32_t)(a->seq - b->seq) < 0);
}

int heap_push(struct heap *h, double key, uint32_t strand)
{
	struct heap_entry x = { .key = key, .seq = h->seq++, .strand = strand };
	size_t i;

	if (h->n == h->cap && VEC_RESERVE(h->v, h->cap, h->n + 1) < 0)
		return -ENOMEM;
	for (i = h->n++; i;) {
		size_t up = (i - 1) / 2;

		if (!is_less(&x, &h->v[up]))
			break;
		h->v[i] = h->v[up];
		i = up;
	}
	h->v[i] = x;
	return 0;
}

uint32_t heap_pop(struct heap *h)
{
	uint32_t strand = h->v[0].strand;
	struct heap_entry x = h->v[--h->n];
	size_t i = 0;

	for (;;) {
		size_t down = 2 * i + 1;

		if (down >= h->n)
			break;
		if (down + 1 < h->n && is_less(&h->v[down + 1], &h->v[down]))
			down++;
		if (!is_less(&h->v[down], &x))
			break;
		h->v[i] = h->v[down];
		i = down;
	}
	if (h->n)
		h->v[i] = x;
	return strand;
}
