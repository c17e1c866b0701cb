/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Packing by hand, and by chance against the rule itself: on one lane two items nest or follow each other. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "export/lanes.h"

static uint32_t pack(struct lanes_item *items, size_t n, bool by_time)
{
	uint32_t lane_n = UINT32_MAX;

	cr_assert_eq(lanes_pack(items, n, by_time, &lane_n), 0);
	return lane_n;
}

Test(lanes, none)
{
	cr_assert_eq(pack(NULL, 0, true), 0);
}

Test(lanes, calls)
{
	/* main(a(b), c), each within its caller; then another root. */
	struct lanes_item i[] = { { 0, 100, 0, 9, 9 }, { 10, 40, 1, 9, 9 }, { 20, 30, 2, 9, 9 }, { 40, 100, 1, 9, 9 },
				  { 100, 120, 0, 9, 9 } };
	static const uint32_t depths[] = { 0, 1, 2, 1, 0 };

	cr_assert_eq(pack(i, 5, true), 1);
	for (size_t k = 0; k < 5; k++) {
		cr_assert_eq(i[k].lane, 0);
		cr_assert_eq(i[k].depth, depths[k], "%zu", k);
	}
}

Test(lanes, overlapping_children)
{
	/* Two requests of one parent at one time: the second is beside it, and what is under that is with it. */
	struct lanes_item i[] = { { 0, 100, 0, 9, 9 }, { 10, 60, 1, 9, 9 }, { 20, 80, 1, 9, 9 }, { 30, 40, 3, 9, 9 } };

	cr_assert_eq(pack(i, 4, false), 2);
	cr_assert_eq(i[1].lane, 0);
	cr_assert_eq(i[2].lane, 1);
	cr_assert_eq(i[3].lane, 1);
	cr_assert_eq(i[3].depth, 1);
}

Test(lanes, strangers)
{
	/* Within another in time, but not under it. */
	struct lanes_item own[] = { { 0, 100, 0, 9, 9 }, { 10, 20, 0, 9, 9 } };
	struct lanes_item others[] = { { 0, 100, 0, 9, 9 }, { 10, 20, 0, 9, 9 } };

	cr_assert_eq(pack(own, 2, true), 1);
	cr_assert_eq(pack(others, 2, false), 2);
}

Test(lanes, empty_ones_are_used_again)
{
	struct lanes_item i[] = { { 0, 10, 0, 9, 9 }, { 5, 15, 0, 9, 9 }, { 10, 20, 0, 9, 9 }, { 15, 15, 0, 9, 9 },
				  { 20, 20, 0, 9, 9 } };

	cr_assert_eq(pack(i, 5, false), 2);
	cr_assert_eq(i[2].lane, 0);
}

static int by_start(const void *a, const void *b)
{
	const struct lanes_item *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

static void check_pair(const struct lanes_item *a, const struct lanes_item *b, bool by_time, size_t b_index,
		       const struct lanes_item *all)
{
	bool apart = b->start_ns >= a->end_ns, within = b->end_ns <= a->end_ns && a->depth < b->depth;
	size_t up;

	if (a->lane != b->lane)
		return;
	cr_assert(apart || within, "[%ld,%ld] and [%ld,%ld]", (long)a->start_ns, (long)a->end_ns, (long)b->start_ns,
		  (long)b->end_ns);
	if (apart || by_time)
		return;
	/* Within only what it is under, over any number of steps. */
	for (up = all[b_index].parent; up && &all[up - 1] != a; up = all[up - 1].parent)
		;
	cr_assert(up);
}

Test(lanes, by_chance)
{
	enum { N = 120 };

	srandom(7);
	for (int round = 0; round < 400; round++) {
		struct lanes_item i[N];
		bool by_time = round % 2;
		uint32_t lane_n;

		for (size_t k = 0; k < N; k++) {
			int64_t start = random() % 200;

			i[k] = (struct lanes_item){ .start_ns = start, .end_ns = start + random() % (random() % 8 ? 20 : 120) };
		}
		qsort(i, N, sizeof(i[0]), by_start);
		for (size_t k = 1; k < N; k++) {
			size_t parent = (size_t)random() % k;

			if (i[parent].end_ns >= i[k].end_ns && random() % 3)
				i[k].parent = (uint32_t)parent + 1;
		}
		lane_n = pack(i, N, by_time);
		for (size_t b = 0; b < N; b++) {
			cr_assert_lt(i[b].lane, lane_n);
			for (size_t a = 0; a < b; a++)
				check_pair(&i[a], &i[b], by_time, b, i);
		}
	}
}

/* As many lanes as overlap at one time, no more: for items that are under nothing the packing is the best there is. */
Test(lanes, no_more_than_needed)
{
	enum { N = 300 };
	struct lanes_item i[N];
	size_t most = 0;

	srandom(3);
	for (size_t k = 0; k < N; k++) {
		int64_t start = random() % 500;

		i[k] = (struct lanes_item){ .start_ns = start, .end_ns = start + 1 + random() % 30 };
	}
	qsort(i, N, sizeof(i[0]), by_start);
	for (int64_t t = 0; t < 600; t++) {
		size_t n = 0;

		for (size_t k = 0; k < N; k++)
			n += i[k].start_ns <= t && t < i[k].end_ns;
		most = n > most ? n : most;
	}
	cr_assert_eq(pack(i, N, false), most);
}
