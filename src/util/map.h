/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * A hash map from u64 to u64 (or to a pointer). Any key and any value is
 * allowed, 0 too. The map doesn't own what a pointer value refers to.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/cleanup.h"

struct map;

int map_new(struct map **ret); /* 0, -ENOMEM */
struct map *map_free(struct map *m); /* NULL-safe, gives NULL */
DEFINE_CLEANUP(struct map *, map_free)

/* True and *ret set if key is there; ret may be NULL. */
bool map_get(const struct map *m, uint64_t key, uint64_t *ret);
/* Adds, or replaces the value of key. 0, -ENOMEM (map unchanged). */
int map_put(struct map *m, uint64_t key, uint64_t value);
/* True if key was there; its value goes to *ret, which may be NULL. */
bool map_remove(struct map *m, uint64_t key, uint64_t *ret);
size_t map_n(const struct map *m);
void map_clear(struct map *m); /* keeps the memory */

/* The same for pointers: NULL if key is not there. */
void *map_get_ptr(const struct map *m, uint64_t key);
int map_put_ptr(struct map *m, uint64_t key, void *value);
void *map_remove_ptr(struct map *m, uint64_t key);

/*
 * Walks all entries in no given order; false at the end. The map must not
 * change during the walk (replacing the value of a key that is there is fine).
 *
 *   for (size_t at = 0; map_next(m, &at, &key, &value);)
 */
bool map_next(const struct map *m, size_t *at, uint64_t *ret_key, uint64_t *ret_value);
