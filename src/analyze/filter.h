/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A filter made ready for millions of waits. Private to analyze/. */
#include "analyze/analyze.h"

struct filter {
	const struct model *m;
	const struct analyze_filter *f;
	uint8_t *row_idle; /* by row: enum idle_row */
	bool *ops;	   /* by op: passes classes and clients; NULL: all do */
};

/* f NULL: all. 0, -ENOMEM. */
int filter_init(struct filter *x, const struct model *m, const struct analyze_filter *f);
void filter_done(struct filter *x);
bool filter_thread(const struct filter *x, const struct model_thread *t);
bool filter_wait_is_idle(const struct filter *x, const struct model_wait *w);
bool filter_op(const struct filter *x, uint32_t op);
bool filter_wait(const struct filter *x, const struct model_wait *w);
/* True if it passes every wait. */
bool filter_is_blank(const struct analyze_filter *f);
/* True if it asks for some ops only, so that threads are no measure. */
bool filter_is_by_op(const struct analyze_filter *f);
