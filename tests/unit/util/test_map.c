/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "util/map.h"

#include <criterion/criterion.h>

/* A plain array is the truth: present[k] and value[k] for every key k. */
enum { KEYS = 5000, STEPS = 400000 };

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void check_against_truth(uint64_t stride)
{
	static bool present[KEYS];
	static uint64_t value[KEYS];
	_cleanup_(map_freep) struct map *m = NULL;
	uint64_t state = 88172645463325252u, got, key;
	size_t n = 0, walked = 0;

	cr_assert_eq(map_new(&m), 0);
	for (size_t step = 0; step < STEPS; step++) {
		size_t k = random_next(&state) % KEYS;

		switch (random_next(&state) % 3) {
		case 0:
			n += !present[k];
			present[k] = true;
			value[k] = step;
			cr_assert_eq(map_put(m, k * stride, step), 0);
			break;
		case 1:
			n -= present[k];
			got = UINT64_MAX;
			cr_assert_eq(map_remove(m, k * stride, &got), present[k]);
			cr_assert_eq(got, present[k] ? value[k] : UINT64_MAX);
			present[k] = false;
			break;
		default:
			got = UINT64_MAX;
			cr_assert_eq(map_get(m, k * stride, &got), present[k]);
			cr_assert_eq(got, present[k] ? value[k] : UINT64_MAX);
		}
		cr_assert_eq(map_n(m), n);
	}
	for (size_t at = 0; map_next(m, &at, &key, &got); walked++) {
		cr_assert(present[key / stride]);
		cr_assert_eq(got, value[key / stride]);
	}
	cr_assert_eq(walked, n);
	for (size_t k = 0; k < KEYS; k++)
		cr_assert_eq(map_get(m, k * stride, NULL), present[k]);
}

Test(map, agrees_with_an_array)
{
	check_against_truth(1);
}

Test(map, agrees_with_an_array_for_keys_that_differ_in_high_bits)
{
	check_against_truth((uint64_t)1 << 48);
}

Test(map, holds_every_key_and_value)
{
	static const uint64_t odd[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1, (uint64_t)1 << 63 };
	_cleanup_(map_freep) struct map *m = NULL;
	uint64_t got;

	cr_assert_eq(map_new(&m), 0);
	for (size_t i = 0; i < 5; i++)
		cr_assert_not(map_get(m, odd[i], NULL));
	for (size_t i = 0; i < 5; i++)
		cr_assert_eq(map_put(m, odd[i], odd[4 - i]), 0);
	for (size_t i = 0; i < 5; i++) {
		cr_assert(map_get(m, odd[i], &got));
		cr_assert_eq(got, odd[4 - i]);
	}
	map_clear(m);
	cr_assert_eq(map_n(m), 0);
	cr_assert_not(map_get(m, 0, NULL));
}

Test(map, holds_pointers)
{
	_cleanup_(map_freep) struct map *m = NULL;
	int x, y;

	cr_assert_eq(map_new(&m), 0);
	cr_assert_null(map_get_ptr(m, 5));
	cr_assert_eq(map_put_ptr(m, 5, &x), 0);
	cr_assert_eq(map_put_ptr(m, 5, &y), 0);
	cr_assert_eq(map_get_ptr(m, 5), &y);
	cr_assert_eq(map_remove_ptr(m, 5), &y);
	cr_assert_null(map_remove_ptr(m, 5));
	cr_assert_null(map_free(NULL));
}
