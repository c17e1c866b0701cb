/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "util/vec.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>

Test(vec, keeps_items_and_bounds_the_waste)
{
	uint64_t *items = NULL;
	size_t cap = 0, n = 4 << 20;

	for (size_t i = 0; i < n; i++) {
		cr_assert_eq(VEC_RESERVE(items, cap, i + 1), 0);
		cr_assert_gt(cap, i);
		items[i] = i * 3;
	}
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(items[i], i * 3);
	cr_assert_leq(cap, n + n / 4 + 1, "cap %zu for %zu items", cap, n);
	free(items);
}

Test(vec, jumps_to_what_is_needed)
{
	char *items = NULL;
	size_t cap = 0;

	cr_assert_eq(VEC_RESERVE(items, cap, 1000), 0);
	cr_assert_geq(cap, 1000);
	free(items);
}

Test(vec, refuses_what_overflows_and_stays_as_it_was)
{
	uint64_t *items = NULL, *before;
	size_t cap = 0, cap_before;

	cr_assert_eq(VEC_RESERVE(items, cap, 3), 0);
	items[2] = 7;
	before = items;
	cap_before = cap;
	cr_assert_eq(VEC_RESERVE(items, cap, SIZE_MAX / 4), -ENOMEM);
	cr_assert_eq(items, before);
	cr_assert_eq(cap, cap_before);
	cr_assert_eq(items[2], 7);
	free(items);
}
