/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A heap of strands by time, least first; equal ones in the order they came. Private to replay/. */
#include <stddef.h>
#include <stdint.h>

struct heap {
	unsigned __int128 *v; /* bits of the time, 64; number of the push, 32; strand, 32. Behind the n are some blanks */
	size_t n, cap;
	uint32_t seq; /* of the next push */
};

/* key is not negative; no more than 2^32 pushes. 0, -ENOMEM. */
int heap_push(struct heap *h, double key, uint32_t strand);
/* The least; n must not be 0. */
uint32_t heap_pop(struct heap *h);

/* Its time. */
static inline double heap_first(const struct heap *h)
{
	union {
		uint64_t bits;
		double key;
	} x = { .bits = (uint64_t)(h->v[0] >> 64) };

	return x.key;
}
