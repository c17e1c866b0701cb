/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The heap beside a list that is searched from its begin: first the least time, of equals the first that came. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "replay/heap.h"

struct entry {
	double key;
	uint32_t strand;
};

/* In the order in which they came. */
struct list {
	struct entry v[2048];
	size_t n;
};

static struct entry list_pop(struct list *l)
{
	size_t at = 0;
	struct entry first;

	for (size_t i = 1; i < l->n; i++) {
		if (l->v[i].key < l->v[at].key)
			at = i;
	}
	first = l->v[at];
	l->n--;
	for (size_t i = at; i < l->n; i++)
		l->v[i] = l->v[i + 1];
	return first;
}

static void push(struct heap *h, struct list *l, double key, uint32_t strand)
{
	cr_assert(heap_push(h, key, strand) == 0);
	l->v[l->n++] = (struct entry){ key, strand };
}

static void pop(struct heap *h, struct list *l)
{
	struct entry first = list_pop(l);

	cr_assert(heap_first(h) <= first.key && heap_first(h) >= first.key, "%g, not %g", heap_first(h), first.key);
	cr_assert_eq(heap_pop(h), first.strand);
	cr_assert_eq(h->n, l->n);
}

/* Grows and shrinks by turns, down to nothing; of few different times, so that most have equals, or of many. */
static void compare(unsigned seed, uint32_t times)
{
	struct list *l = calloc(1, sizeof(*l));
	struct heap h = { 0 };

	srand(seed);
	cr_assert(l);
	for (uint32_t round = 0; round < 40; round++) {
		size_t more = (size_t)rand() % 50;

		for (size_t i = 0; i < more; i++)
			push(&h, l, (double)(rand() % (int)times) * 0.37, round * 100 + (uint32_t)i);
		for (size_t i = (size_t)rand() % (round % 8 == 7 ? 2000 : 60); i > 0 && h.n; i--)
			pop(&h, l);
	}
	while (h.n)
		pop(&h, l);
	free(h.v);
	free(l);
}

Test(heap, beside_a_list)
{
	for (unsigned seed = 1; seed <= 20; seed++) {
		compare(seed, 1);
		compare(seed, 3);
		compare(seed, 1000000);
	}
}

/* One that is taken out and comes again is behind its equals. */
Test(heap, equals_take_turns)
{
	struct heap h = { 0 };

	for (uint32_t s = 0; s < 9; s++)
		cr_assert(heap_push(&h, 5, s) == 0);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t s = heap_pop(&h);

		cr_assert_eq(s, i % 9);
		cr_assert(heap_push(&h, 5, s) == 0);
	}
	free(h.v);
}

/* The bits of a time are compared: zeros are equal whatever their sign, and what is never is last. */
Test(heap, times_at_the_ends)
{
	static const double keys[] = { INFINITY, 0.0, -0.0, 1e-300, 0x1p62, 0.0, 1, INFINITY, 0x1p53 };
	static const uint32_t order[] = { 1, 2, 5, 3, 6, 8, 4, 0, 7 };
	struct heap h = { 0 };

	for (uint32_t i = 0; i < 9; i++)
		cr_assert(heap_push(&h, keys[i], i) == 0);
	for (size_t i = 0; i < 9; i++)
		cr_assert_eq(heap_pop(&h), order[i], "at %zu", i);
	free(h.v);
}

/* Strands and times of any size are apart in it. */
Test(heap, large_numbers)
{
	struct heap h = { 0 };

	cr_assert(heap_push(&h, 2, UINT32_MAX) == 0);
	cr_assert(heap_push(&h, 1, UINT32_MAX - 1) == 0);
	cr_assert(heap_push(&h, 2, 0) == 0);
	cr_assert_eq(heap_pop(&h), UINT32_MAX - 1);
	cr_assert_eq(heap_pop(&h), UINT32_MAX);
	cr_assert_eq(heap_pop(&h), 0);
	free(h.v);
}
