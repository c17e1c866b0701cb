/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Quantiles by nearest rank: always a value that was there. Private to analyze/. */
#include <stddef.h>
#include <stdint.h>

void quantile_sort(uint64_t *values, size_t n);
/* Of sorted values: the smallest that isn't below so many permille of them; 0 if there are none. */
uint64_t quantile_at(const uint64_t *sorted, size_t n, unsigned permille);
