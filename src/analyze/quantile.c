/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "analyze/quantile.h"

#include <stdbool.h>
#include <stdlib.h>

/* Durations are many, and compare as good as at random: of so many they are put in order by their digits. */
enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, DIGITS_LEAST = 4000 };

static int u64_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* By one digit: those with the same stay in their order. */
static void digit_sort(const uint64_t *from, size_t n, unsigned shift, uint64_t *to)
{
	size_t at[DIGITS] = { 0 }, before = 0;

	for (size_t i = 0; i < n; i++)
		at[from[i] >> shift & (DIGITS - 1)]++;
	for (size_t d = 0; d < DIGITS; d++) {
		size_t count = at[d];

		at[d] = before;
		before += count;
	}
	for (size_t i = 0; i < n; i++)
		to[at[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

/* Two digits at a time, the lowest first; six are more than 64 bits. False: no memory, nothing is done. */
static bool digits_sort(uint64_t *values, size_t n)
{
	uint64_t *other = malloc(n * sizeof(*other)), most = 0;

	if (!other)
		return false;
	for (size_t i = 0; i < n; i++)
		most |= values[i];
	for (unsigned shift = 0; shift < 64 && most >> shift; shift += 2 * DIGIT_BITS) {
		digit_sort(values, n, shift, other);
		digit_sort(other, n, shift + DIGIT_BITS, values);
	}
	free(other);
	return true;
}

void quantile_sort(uint64_t *values, size_t n)
{
	if (n >= DIGITS_LEAST && digits_sort(values, n))
		return;
	if (n)
		qsort(values, n, sizeof(*values), u64_compare);
}

uint64_t quantile_at(const uint64_t *sorted, size_t n, unsigned permille)
{
	size_t rank = (n * permille + 999) / 1000;

	return n ? sorted[rank ? rank - 1 : 0] : 0;
}
