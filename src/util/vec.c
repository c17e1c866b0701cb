/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * One growth rule for every array. Large arrays are mmapped by malloc and grow
 * by mremap, without a copy; what counts for them is the unused tail.
 */
#include "util/vec.h"

#include <stdint.h>
#include <stdlib.h>

enum { VEC_FIRST_CAP = 16, VEC_LARGE_BYTES = 16 << 20 };

void *vec_grow(void *items, size_t *cap, size_t need, size_t item_size)
{
	size_t want = *cap, bytes;
	void *p;

	if (need <= *cap && items)
		return items;
	if (want * item_size < VEC_LARGE_BYTES)
		want = want ? want * 2 : VEC_FIRST_CAP;
	else
		want += want / 4;
	if (want < need)
		want = need;
	if (__builtin_mul_overflow(want, item_size, &bytes))
		return NULL;
	p = realloc(items, bytes);
	if (!p)
		return NULL;
	*cap = want;
	return p;
}
