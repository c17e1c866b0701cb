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

/* With so many tags what lies at the ends of computing, and names of resources, are no longer told apart. */
#define TAGS_DETAILED_MAX (1 << 16)
/* Times of years, as only damage makes them, are cut into very many points. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define POINTS_MAX (1 << 18)
#else
#define POINTS_MAX (1 << 28)
#endif

/* By string: blocked time of delays that wait for it; and of all. */
struct emit_idents {
	uint64_t *ns;
	uint64_t blocked_ns;
};
struct tags;
/*
 * emit.c: points and tags of some strands, one after the other, behind what d->r and tags have. ret_own_n: pieces of
 * computing that have tags of their own, which are numbered from 1. 0, -ENOMEM, -E2BIG.
 */
int emit_strands(struct draft *d, const struct emit_idents *idents, size_t from, size_t to, struct tags *tags,
		 struct emit_samples *samples, uint32_t *ret_own_n);
/* emit-parts.c: of all strands. 0, -ENOMEM, -E2BIG. */
int draft_emit(struct draft *d, struct emit_samples *samples);
