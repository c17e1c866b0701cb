/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Sorting for quantiles, few values and many, of few bits and of all, against the C library's. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/quantile.h"

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t pick(unsigned *seed)
{
	uint64_t v = 0;

	for (int i = 0; i < 5; i++)
		v = v << 15 ^ (uint64_t)rand_r(seed);
	return v;
}

Test(quantile, sorted)
{
	static const size_t counts[] = { 0, 1, 2, 100, 3999, 4000, 4001, 50000 };
	unsigned seed = 1;

	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		for (unsigned bits = 0; bits <= 64; bits += bits < 20 ? 4 : 1) {
			size_t n = counts[c];
			uint64_t *values = calloc(n + 1, sizeof(*values)), *wanted = calloc(n + 1, sizeof(*wanted));

			cr_assert(values && wanted);
			for (size_t i = 0; i < n; i++)
				values[i] = wanted[i] = bits ? pick(&seed) >> (64 - bits) : 0;
			quantile_sort(values, n);
			qsort(wanted, n, sizeof(*wanted), by_value);
			cr_assert(memcmp(values, wanted, n * sizeof(*values)) == 0, "%zu values of %u bits", n, bits);
			free(values);
			free(wanted);
		}
	}
}

/* The largest there is, among the least. */
Test(quantile, extremes)
{
	enum { N = 5000 };
	uint64_t *values = calloc(N, sizeof(*values));

	cr_assert(values);
	values[7] = UINT64_MAX;
	values[8] = UINT64_MAX - 1;
	values[9] = 1;
	quantile_sort(values, N);
	cr_expect(values[N - 1] == UINT64_MAX && values[N - 2] == UINT64_MAX - 1 && values[N - 3] == 1 && !values[N - 4]);
	cr_expect(quantile_at(values, N, 1000) == UINT64_MAX && quantile_at(values, N, 500) == 0);
	free(values);
}
