/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Sums by line of text: equal lines become one. */
#include <stddef.h>
#include <stdint.h>

#include "util/strtab.h"

struct tally_entry {
	const char *line; /* owned by the tally */
	uint64_t ns, count;
	uint64_t us;	  /* ns in whole microseconds, set by tally_round() */
	uint32_t row;	  /* the model's row that brought the line */
};

struct tally {
	struct strtab *lines;
	struct tally_entry *entries;
	size_t n, cap;
	uint64_t total_ns, total_us;
};

void tally_done(struct tally *t);
/* Adds to the entry of line, before any sorting. 0, -ENOMEM. */
int tally_add(struct tally *t, const char *line, uint32_t row, uint64_t ns, uint64_t count);
/*
 * Rounds all entries to microseconds so that their sum is the total rounded:
 * each is cut, and what was cut goes, a microsecond each, to those that lost
 * most. Entries left with none are dropped. Leaves the order undefined.
 */
void tally_round(struct tally *t);
void tally_sort_by_line(struct tally *t);
void tally_sort_by_count(struct tally *t); /* fewest first */
/* Copies of the n_max entries of most time, most first. malloc'd. 0, -ENOMEM. */
int tally_top(const struct tally *t, size_t n_max, struct tally_entry **ret, size_t *ret_n);
