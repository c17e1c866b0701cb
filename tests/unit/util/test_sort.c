/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "util/sort.h"

#include <criterion/criterion.h>
#include <stdint.h>

/* An insertion that knows nothing of rows is the truth: it keeps equal ones in their order. */
enum { N_MAX = 700 };

struct thing {
	uint32_t key;
	uint32_t place; /* where it was */
	uint8_t pad[9]; /* no power of two */
};

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int by_key(const void *a, const void *b, void *arg)
{
	const struct thing *x = a, *y = b;

	++*(size_t *)arg;
	return x->key < y->key ? -1 : x->key > y->key;
}

static void truth_sort(struct thing *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct thing moved = v[i];
		size_t at = i;

		for (; at && v[at - 1].key > moved.key; at--)
			v[at] = v[at - 1];
		v[at] = moved;
	}
}

/* Rows of about so many; keys below most, so that some are equal. */
static void check(uint64_t *state, size_t n, size_t row, uint32_t most)
{
	struct thing v[N_MAX], want[N_MAX];
	uint32_t key = 0;
	size_t asked = 0;

	for (size_t i = 0; i < n; i++) {
		key = random_next(state) % row == 0 ? (uint32_t)random_next(state) % most : key + (uint32_t)random_next(state) % 3;
		v[i] = want[i] = (struct thing){ .key = key, .place = (uint32_t)i };
	}
	truth_sort(want, n);
	sort_rows(v, n, sizeof(*v), by_key, &asked);
	for (size_t i = 0; i < n; i++) {
		cr_assert_eq(v[i].key, want[i].key, "n %zu row %zu: key at %zu", n, row, i);
		cr_assert_eq(v[i].place, want[i].place, "n %zu row %zu: order of equal ones at %zu", n, row, i);
	}
}

Test(sort, rows_of_any_length)
{
	uint64_t state = 88172645463325252u;

	for (size_t round = 0; round < 3000; round++) {
		size_t n = random_next(&state) % N_MAX, row = 1 + random_next(&state) % (1 + n);

		check(&state, n, row, 1 + (uint32_t)random_next(&state) % 1000);
	}
}

Test(sort, small_ones)
{
	uint64_t state = 362436069362436069u;

	for (size_t n = 0; n < 40; n++) {
		for (size_t round = 0; round < 50; round++)
			check(&state, n, 1 + round % 5, 5);
	}
}

/* One row is looked through, not sorted. */
Test(sort, what_is_sorted_is_compared_once)
{
	struct thing v[N_MAX] = { 0 };
	size_t asked = 0;

	for (size_t i = 0; i < N_MAX; i++)
		v[i].key = (uint32_t)i / 3;
	sort_rows(v, N_MAX, sizeof(*v), by_key, &asked);
	cr_assert_eq(asked, N_MAX - 1);
}
