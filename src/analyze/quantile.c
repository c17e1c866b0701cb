/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "analyze/quantile.h"

#include <stdlib.h>

static int u64_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void quantile_sort(uint64_t *values, size_t n)
{
	if (n)
		qsort(values, n, sizeof(*values), u64_compare);
}

uint64_t quantile_at(const uint64_t *sorted, size_t n, unsigned permille)
{
	size_t rank = (n * permille + 999) / 1000;

	return n ? sorted[rank ? rank - 1 : 0] : 0;
}
