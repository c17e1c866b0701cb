/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Ids may be any numbers, but in nearly all dumps they are dense and come in
 * order: a sorted array, with the place the id would have without gaps tried
 * first, beats a hash map in both time and memory.
 */
#include "dump/ids.h"

#include <errno.h>
#include <stdlib.h>

#include "util/vec.h"

int ids_add(struct ids *x, uint64_t id, uint32_t index)
{
	if (VEC_RESERVE(x->pairs, x->cap, x->n + 1) < 0)
		return -ENOMEM;
	x->pairs[x->n++] = (struct id_pair){ .id = id, .index = index };
	return 0;
}

/* By index too: indexes grow as entries are added. */
static int pair_compare(const void *a, const void *b)
{
	const struct id_pair *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

void ids_sort(struct ids *x)
{
	for (size_t i = 1; i < x->n; i++) {
		if (pair_compare(&x->pairs[i - 1], &x->pairs[i]) > 0) {
			qsort(x->pairs, x->n, sizeof(*x->pairs), pair_compare);
			return;
		}
	}
}

uint32_t ids_find(const struct ids *x, uint64_t id)
{
	size_t low = 0, high = x->n;

	if (!x->n || id < x->pairs[0].id)
		return 0;
	if (id - x->pairs[0].id < x->n) {
		size_t guess = (size_t)(id - x->pairs[0].id);

		if (x->pairs[guess].id == id && (!guess || x->pairs[guess - 1].id != id))
			return x->pairs[guess].index;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (x->pairs[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < x->n && x->pairs[low].id == id ? x->pairs[low].index : 0;
}

void ids_done(struct ids *x)
{
	free(x->pairs);
	*x = (struct ids){ 0 };
}
