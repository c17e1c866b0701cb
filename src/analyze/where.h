/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Which state a wait's blocked time is, made ready for millions of waits. Private to analyze/. */
#include "analyze/analyze.h"

struct where {
	const struct model *m;
	uint8_t *rows; /* by row: enum analyze_where, or a rule of where.c */
};
/* From now on goroutines are those who work: what they are parked in outside of ops is no work of others. */
void where_goroutines(struct where *x);
int where_init(struct where *x, const struct model *m); /* 0, -ENOMEM */
void where_done(struct where *x);
enum analyze_where where_of(const struct where *x, const struct model_wait *w);
