/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Growth for typed arrays that are kept as pointer, count and capacity:
 *
 *   if (VEC_RESERVE(v->items, v->cap, v->n + 1) < 0)
 *           return -ENOMEM;
 *   v->items[v->n++] = item;
 */
#include <errno.h>
#include <stddef.h>

/*
 * Makes room for at least need items of the given size. The (moved) array, and
 * *cap set; NULL, with array and *cap untouched, if there is no memory.
 * Capacity doubles while small and grows by a quarter above 16 MiB, so that the
 * largest arrays waste little.
 */
void *vec_grow(void *items, size_t *cap, size_t need, size_t item_size);

/* 0, -ENOMEM (items and cap untouched). New room is not zeroed. */
#define VEC_RESERVE(items, cap, need)                                                        \
	({                                                                                   \
		int _r = 0;                                                                  \
		size_t _need = (need);                                                       \
		if (_need > (cap)) {                                                         \
			void *_p = vec_grow((items), &(cap), _need, sizeof(*(items)));       \
			if (_p)                                                              \
				(items) = _p;                                                \
			else                                                                 \
				_r = -ENOMEM;                                                \
		}                                                                            \
		_r;                                                                          \
	})
