/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Turns beside a list that is searched from its begin: first the least time, of equals the first that came. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/turns.h"

struct entry {
	double key;
	uint32_t strand;
};

/* In the order in which they came; of a strand one. */
struct list {
	struct entry v[2048];
	size_t n;
};

static void list_drop(struct list *l, uint32_t strand)
{
	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i].strand != strand)
			continue;
		l->n--;
		memmove(&l->v[i], &l->v[i + 1], (l->n - i) * sizeof(l->v[0]));
		return;
	}
}

static struct entry list_first(const struct list *l)
{
	struct entry first = { INFINITY, TURNS_NONE };

	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i].key < first.key || first.strand == TURNS_NONE)
			first = l->v[i];
	}
	return first;
}

static void first_check(const struct turns *t, const struct list *l)
{
	struct entry first = list_first(l);

	cr_assert(turns_time(t) <= first.key && turns_time(t) >= first.key, "%g, not %g", turns_time(t), first.key);
	cr_assert_eq(turns_first(t), first.strand);
}

static void put(struct turns *t, struct list *l, double key, uint32_t strand)
{
	turns_put(t, strand, key);
	list_drop(l, strand);
	l->v[l->n++] = (struct entry){ key, strand };
	first_check(t, l);
}

static void drop(struct turns *t, struct list *l, uint32_t strand)
{
	turns_drop(t, strand);
	list_drop(l, strand);
	first_check(t, l);
}

/* Strands come, move, go, whoever is first or any; of few different times, so that most have equals, or of many. */
static void compare(unsigned seed, uint32_t strand_n, uint32_t times)
{
	struct list *l = calloc(1, sizeof(*l));
	struct turns t;

	srand(seed);
	cr_assert(l);
	cr_assert(turns_init(&t, strand_n) == 0);
	first_check(&t, l);
	for (uint32_t i = 0; i < 3000; i++) {
		uint32_t any = (uint32_t)rand() % strand_n;
		/* More come than go, and the other way round, by turns. */
		bool comes = (uint32_t)rand() % 8 < (i / 300 % 2 ? 2 : 6);

		if (comes)
			put(&t, l, (double)((uint32_t)rand() % times) * 0.37, any);
		else
			drop(&t, l, l->n && rand() % 4 ? turns_first(&t) : any);
	}
	while (l->n)
		drop(&t, l, turns_first(&t));
	turns_done(&t);
	free(l);
}

Test(turns, beside_a_list)
{
	static const uint32_t strands[] = { 1, 2, 3, 7, 8, 9, 200, 1025 };

	for (unsigned i = 0; i < sizeof(strands) / sizeof(strands[0]); i++) {
		compare(i + 1, strands[i], 1);
		compare(i + 1, strands[i], 3);
		compare(i + 1, strands[i], 1000000);
	}
}

/* One that comes again is behind its equals. */
Test(turns, equals_take_turns)
{
	struct turns t;

	cr_assert(turns_init(&t, 9) == 0);
	for (uint32_t s = 0; s < 9; s++)
		turns_put(&t, s, 5);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t s = turns_first(&t);

		cr_assert_eq(s, i % 9);
		turns_put(&t, s, 5);
	}
	turns_done(&t);
}

/* The bits of a time are compared: zeros are equal whatever their sign, and what is never is last, but not nobody. */
Test(turns, times_at_the_ends)
{
	static const double keys[] = { INFINITY, 0.0, -0.0, 1e-300, 0x1p62, 0.0, 1, INFINITY, 0x1p53 };
	static const uint32_t order[] = { 1, 2, 5, 3, 6, 8, 4, 0, 7 };
	struct turns t;

	cr_assert(turns_init(&t, 9) == 0);
	for (uint32_t i = 0; i < 9; i++)
		turns_put(&t, i, keys[i]);
	for (size_t i = 0; i < 9; i++) {
		cr_assert_eq(turns_first(&t), order[i], "at %zu", i);
		turns_drop(&t, order[i]);
	}
	cr_assert_eq(turns_first(&t), TURNS_NONE);
	turns_done(&t);
}

Test(turns, of_no_strands)
{
	struct turns t;

	cr_assert(turns_init(&t, 0) == 0);
	cr_assert_eq(turns_first(&t), TURNS_NONE);
	cr_assert(isinf(turns_time(&t)));
	turns_done(&t);
}
