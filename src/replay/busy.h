/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* When all CPUs were taken by strands of the recording. Private to replay/. */
#include "replay/draft.h"

struct busy_time {
	int64_t from_ns, to_ns;
	int64_t before_ns; /* sum of lengths of those before */
};
struct busy {
	struct busy_time *v; /* in time order */
	size_t n, cap;
};

/* waits and first as of struct draft. With no number of CPUs there are no such times. 0, -ENOMEM. */
int busy_make(const struct replay *r, const uint32_t *waits, const size_t *first, struct busy *ret);
void busy_done(struct busy *b);
/* How much of [from, to] is such time. *at: 0, then as it was left: questions near each other are answered soon. */
int64_t busy_overlap(const struct busy *b, int64_t from_ns, int64_t to_ns, size_t *at);
