/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The numbers of a report by name: what --fail-if asks for and diff compares.
 *
 *   makespan  running lock disk ... (thread time by state)   lost dropped open deadlocks
 *   path:KIND:CLASS (time on the critical path)
 *   count: total: mean: p50: p95: p99: longest: self:  KIND:CLASS    wait: KIND[:NAME]    cpu: FUNCTION
 */
#include "cmd/report.h"

enum measure_unit { MEASURE_NS, MEASURE_COUNT };
enum measure_sort {
	MEASURE_WHOLE,
	MEASURE_STATE,
	MEASURE_PATH,
	MEASURE_CLASS,
	MEASURE_WAIT,
	MEASURE_FUNCTION,
	MEASURE_SORT_MAX
};

struct measure {
	char *key;
	double value;
	double whole; /* what it is a share of; 0: of nothing */
	double sigma; /* standard deviation by chance alone, from what varies inside this run; negative: not known */
	uint8_t unit; /* enum measure_unit */
	uint8_t sort; /* enum measure_sort */
	bool detail;  /* says no more than another of its class: not for a list of differences */
};
struct measures {
	struct measure *list; /* by key */
	size_t n, cap;
};
/* Of a loaded report, whose sections it makes as needed. 0, -ENOMEM. */
int measures_make(struct report *r, struct measures *ret);
void measures_done(struct measures *m);
/* By its key; CLASS may be without its kind if that is clear. NULL: none, or (*ret_several) more than one. */
const struct measure *measures_find(const struct measures *m, const char *key, bool *ret_several);
