/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "capture/slots.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define N 64
#define REST 100

Test(slots, all_can_be_taken_and_no_more)
{
	struct slots *s;
	uint32_t first;
	bool used[N] = { false };

	cr_assert_eq(slots_new(N, REST, &s), 0);
	for (int i = 0; i < N / 4; i++) {
		cr_assert_eq(slots_take(s, 4, 0, &first), 0);
		for (uint32_t k = first; k < first + 4; k++) {
			cr_assert(k < N && !used[k]);
			used[k] = true;
		}
	}
	first = 7;
	cr_assert_eq(slots_take(s, 1, 0, &first), -ENOSPC);
	cr_assert_eq(first, 7);
	cr_assert_eq(slots_take(s, 0, 0, &first), -EINVAL);
	slots_free(s);
}

Test(slots, what_is_given_back_rests_first)
{
	struct slots *s;
	uint32_t first;

	cr_assert_eq(slots_new(N, REST, &s), 0);
	cr_assert_eq(slots_take(s, N, 0, &first), 0);
	cr_assert_eq(slots_give(s, 0, N, 1000), 0);
	cr_assert_eq(slots_take(s, 1, 1000 + REST - 1, &first), -ENOSPC);
	cr_assert_eq(slots_take(s, N, 1000 + REST, &first), 0);
	slots_free(s);
}

Test(slots, neighbours_join)
{
	struct slots *s;
	uint32_t first;

	cr_assert_eq(slots_new(N, REST, &s), 0);
	for (int i = 0; i < N; i++)
		cr_assert_eq(slots_take(s, 1, 0, &first), 0);
	for (uint32_t i = 0; i < N; i++) /* in an order that leaves holes for long */
		cr_assert_eq(slots_give(s, i * 37 % N, 1, 0), 0);
	cr_assert_eq(slots_take(s, N, REST, &first), 0);
	cr_assert_eq(first, 0);
	slots_free(s);
}

/* Against an array of owners: no slot has two, none is lost. */
Test(slots, random_use)
{
	struct { uint32_t first, n; } held[N];
	size_t held_n = 0, busy = 0;
	bool used[N] = { false };
	uint64_t now = 0;
	struct slots *s;

	srand(1);
	cr_assert_eq(slots_new(N, 0, &s), 0);
	for (int round = 0; round < 20000; round++) {
		uint32_t n = 1 + rand() % 9, first;

		now++;
		if (rand() % 2 && !slots_take(s, n, now, &first)) {
			for (uint32_t k = first; k < first + n; k++) {
				cr_assert(k < N && !used[k]);
				used[k] = true;
			}
			held[held_n].first = first;
			held[held_n++].n = n;
			busy += n;
		} else if (held_n) {
			size_t i = (size_t)rand() % held_n;

			cr_assert_eq(slots_give(s, held[i].first, held[i].n, now), 0);
			memset(used + held[i].first, 0, held[i].n);
			busy -= held[i].n;
			held[i] = held[--held_n];
		}
	}
	while (held_n--)
		cr_assert_eq(slots_give(s, held[held_n].first, held[held_n].n, now), 0);
	cr_assert_eq(slots_take(s, N, now, &(uint32_t){ 0 }), 0);
	slots_free(s);
}
