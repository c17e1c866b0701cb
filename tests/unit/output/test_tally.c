/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include <criterion/criterion.h>

#include "output/tally.h"
#include "util/cleanup.h"

static void add(struct tally *t, const char *line, uint64_t ns)
{
	cr_assert_eq(tally_add(t, line, 1, ns, 1), 0);
}

Test(output_tally, merges_equal_lines)
{
	_cleanup_(tally_done) struct tally t = {0};

	add(&t, "b", 2000);
	add(&t, "a", 1000);
	add(&t, "b", 3000);
	tally_round(&t);
	tally_sort_by_line(&t);
	cr_assert_eq(t.n, 2);
	cr_assert_str_eq(t.entries[0].line, "a");
	cr_assert_str_eq(t.entries[1].line, "b");
	cr_assert_eq(t.entries[1].us, 5);
	cr_assert_eq(t.entries[1].count, 2);
	cr_assert_eq(t.total_ns, 6000);
}

/* A thousand lines of 400 ns each are 400 us together; alone each would be nothing. */
Test(output_tally, keeps_the_sum_of_small_ones)
{
	_cleanup_(tally_done) struct tally t = {0};
	uint64_t sum_us = 0;
	char line[16];

	for (int i = 0; i < 1000; i++) {
		snprintf(line, sizeof(line), "line%d", i);
		add(&t, line, 400);
	}
	tally_round(&t);
	for (size_t i = 0; i < t.n; i++) {
		cr_assert_eq(t.entries[i].us, 1);
		sum_us += t.entries[i].us;
	}
	cr_assert_eq(sum_us, 400);
	cr_assert_eq(t.total_us, 400);
}

Test(output_tally, largest_rest_first)
{
	_cleanup_(tally_done) struct tally t = {0};

	add(&t, "a", 1100);
	add(&t, "b", 1900);
	add(&t, "c", 999);
	add(&t, "d", 1);
	tally_round(&t);
	tally_sort_by_line(&t);
	/* 4000 ns: b and c get what a and d lack. */
	cr_assert_eq(t.n, 3);
	cr_assert_eq(t.entries[0].us, 1);
	cr_assert_eq(t.entries[1].us, 2);
	cr_assert_eq(t.entries[2].us, 1);
}

/* No entry is off by a whole microsecond and the sum is the rounded total, whatever the numbers. */
Test(output_tally, rounding_law)
{
	uint64_t seed = 88172645463325252u;

	for (int round = 0; round < 200; round++) {
		_cleanup_(tally_done) struct tally t = {0};
		uint64_t total_ns = 0, sum_us = 0;
		char line[24];

		for (int i = 0; i <= round; i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			snprintf(line, sizeof(line), "l%d", i);
			add(&t, line, seed % 5000 + 1);
			total_ns += seed % 5000 + 1;
		}
		tally_round(&t);
		for (size_t i = 0; i < t.n; i++) {
			int64_t off_ns = (int64_t)(t.entries[i].us * 1000) - (int64_t)t.entries[i].ns;

			cr_assert(off_ns > -1000 && off_ns < 1000);
			sum_us += t.entries[i].us;
		}
		cr_assert_eq(sum_us, (total_ns + 500) / 1000);
	}
}

Test(output_tally, top_is_ordered_by_time)
{
	_cleanup_(tally_done) struct tally t = {0};
	_cleanup_(freep) struct tally_entry *top = NULL;
	size_t n;

	add(&t, "small", 1000);
	add(&t, "large", 9000);
	add(&t, "middle", 5000);
	cr_assert_eq(tally_top(&t, 2, &top, &n), 0);
	cr_assert_eq(n, 2);
	cr_assert_str_eq(top[0].line, "large");
	cr_assert_str_eq(top[1].line, "middle");
}

Test(output_tally, empty)
{
	_cleanup_(tally_done) struct tally t = {0};
	_cleanup_(freep) struct tally_entry *top = NULL;
	size_t n = 7;

	tally_round(&t);
	tally_sort_by_line(&t);
	tally_sort_by_count(&t);
	cr_assert_eq(tally_top(&t, 10, &top, &n), 0);
	cr_assert_eq(n, 0);
	cr_assert_eq(t.total_us, 0);
}
