/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * A made-up recording of few ns, painted at the same time: what each thread was
 * doing in each single ns. What an analysis computes from intervals, a test
 * counts in the picture.
 */
#include "analyze/analyze.h"

enum { RIG_NS = 240, RIG_THREADS = 6, RIG_PROCESSES = 3, RIG_CLASSES = 4 };

struct rig_ns {
	uint8_t where;	 /* enum analyze_where; WHERE_MAX: the thread doesn't live */
	uint32_t op;	 /* innermost */
	uint32_t wait;	 /* 0: none. Also when running or ready inside one */
	bool can_run;	 /* on the CPU or ready */
};
struct rig {
	struct model *m;
	struct rig_ns ns[RIG_THREADS + 1][RIG_NS]; /* by thread index */
	uint32_t rows[WHERE_MAX]; /* one that is of that state */
	uint32_t cpu_row;
	uint32_t stacks[8]; /* user stacks with names, recursion too */
	uint64_t seed;
};
/* hidden: threads have time off the CPU that is in no wait. Ends the test when out of memory. */
void rig_make(struct rig *r, uint64_t seed, bool hidden);
void rig_done(struct rig *r);
/* A number below n. */
uint32_t rig_random(struct rig *r, uint32_t n);
uint32_t rig_string(struct model *m, const char *s);
