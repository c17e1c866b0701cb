/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Sorts what is made of ascending rows, as a list of what one thread after the other did is: rows are found, and merged
 * with those before them when these are not much longer. All of it is inlined, so that where size and compare are known
 * nothing is called for an element.
 */
#include <stdlib.h>
#include <string.h>

#define SORT_INLINE static inline __attribute__((always_inline))

/* A row that is shorter is made so long by insertion. Each row that waits to be merged is twice as long as the next. */
enum { SORT_ROW_LEAST = 12, SORT_ROWS_MAX = 64, SORT_BYTES_MAX = 64 };

typedef int (*sort_compare)(const void *a, const void *b, void *arg);

/* The length of the row with which n elements begin, made at least SORT_ROW_LEAST. */
SORT_INLINE size_t sort_row(char *v, size_t n, size_t size, sort_compare compare, void *arg)
{
	char moved[SORT_BYTES_MAX];
	size_t row = n ? 1 : 0;

	while (row < n && compare(v + (row - 1) * size, v + row * size, arg) <= 0)
		row++;
	for (; row < n && row < SORT_ROW_LEAST; row++) {
		size_t at = row;

		memcpy(moved, v + row * size, size);
		for (; at && compare(v + (at - 1) * size, moved, arg) > 0; at--)
			memcpy(v + at * size, v + (at - 1) * size, size);
		memcpy(v + at * size, moved, size);
	}
	return row;
}

/* Two rows that lie side by side. scratch has room for the first. */
SORT_INLINE void sort_merge(char *v, size_t first_n, size_t second_n, size_t size, sort_compare compare, void *arg,
			    char *scratch)
{
	const char *a = scratch, *a_end = scratch + first_n * size, *b = v + first_n * size, *b_end = b + second_n * size;

	if (compare(b - size, b, arg) <= 0)
		return;
	memcpy(scratch, v, first_n * size);
	while (a < a_end && b < b_end) {
		int second = compare(b, a, arg) < 0;

		memcpy(v, second ? b : a, size);
		a += second ? 0 : size;
		b += second ? size : 0;
		v += size;
	}
	memcpy(v, a, (size_t)(a_end - a));
}

/* Equal ones stay in their order, unless memory is short. What has more bytes than SORT_BYTES_MAX is left to qsort_r(). */
SORT_INLINE void sort_rows(void *elements, size_t n, size_t size, sort_compare compare, void *arg)
{
	size_t rows[SORT_ROWS_MAX], row_n = 0, end = 0;
	char *v = elements, *scratch = malloc(n * size + 1);

	if (!scratch || size > SORT_BYTES_MAX) {
		free(scratch);
		qsort_r(v, n, size, compare, arg);
		return;
	}
	while (end < n) {
		rows[row_n] = sort_row(v + end * size, n - end, size, compare, arg);
		end += rows[row_n++];
		while (row_n > 1 && (end == n || rows[row_n - 2] < 2 * rows[row_n - 1])) {
			size_t first_n = rows[row_n - 2], second_n = rows[row_n - 1];

			sort_merge(v + (end - first_n - second_n) * size, first_n, second_n, size, compare, arg, scratch);
			rows[--row_n - 1] += second_n;
		}
	}
	free(scratch);
}
