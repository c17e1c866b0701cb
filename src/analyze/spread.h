/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A time divided among parts in proportion to their counts; the shares sum to it exactly. Private to analyze/. */
#include <stdint.h>

#include "model/model.h"

struct spread {
	uint64_t total_ns;
	uint64_t count; /* of all parts */
	uint64_t seen, given_ns;
};

/* The share of the next part, which counts n. What rounding cuts off is carried on to the parts that follow. */
static inline uint64_t spread_next(struct spread *s, uint64_t n)
{
	uint64_t ns;

	if (!s->count)
		return 0;
	s->seen += n;
	ns = (uint64_t)((__extension__(unsigned __int128)s->total_ns) * s->seen / s->count) - s->given_ns;
	s->given_ns += ns;
	return ns;
}

/* What a sample weighs among those of its thread: the time it stands for, where that is known. */
static inline uint64_t spread_weight(const struct model_sample *s)
{
	return s->ns ? s->ns : s->count;
}
