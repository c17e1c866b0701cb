/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Points, tags, and which samples fell into which. Private to replay/. */
#include "replay/draft.h"

struct emit_hit {
	uint32_t tag, sample;
};
struct emit_samples {
	const struct model_sample_time *times; /* the model's */
	uint32_t *order; /* indexes of times, by strand and time */
	size_t *first;	 /* by strand, strand_n + 1 */
	struct emit_hit *hits;
	size_t hit_n, hit_cap;
};

int emit_samples_init(const struct draft *d, struct emit_samples *ret); /* 0, -ENOMEM */
void emit_samples_done(struct emit_samples *x);
/* emit.c: points and tags. 0, -ENOMEM, -E2BIG. */
int draft_emit(struct draft *d, struct emit_samples *samples);
