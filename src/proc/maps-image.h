/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What one address space had mapped over its life: from a fork or an exec to the next exec or the exit. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/proc.h"

struct mapping_vec {
	struct proc_mapping *v;
	size_t n, cap;
};

struct image {
	uint64_t from_ns, until_ns; /* alive in [from, until) */
	struct mapping_vec live;    /* held to the image's end: by address, none overlaps another */
	struct mapping_vec past;    /* unmapped or replaced before that: by until_ns */
	struct image *older;	    /* of the same PID, or NULL */
	bool headless;		    /* it began with a record of a mapping: its fork was not told (yet) */
};

int image_new(uint64_t from_ns, uint64_t until_ns, struct image **ret);
struct image *image_free(struct image *i);
/*
 * From map->from_ns on map is what is there; what it overlaps ends then. What
 * is known to have been mapped there later stays (records may come late).
 * map->until_ns is set by this. -ENOMEM: nothing of it, or a part, was added.
 */
int image_add(struct image *i, struct proc_mapping map);
/* Is map, or a longer mapping of the same bytes, live? */
bool image_has(const struct image *i, const struct proc_mapping *map);
/* The same place of the same file, or the same memory without a file. */
bool mapping_same(const struct proc_mapping *a, const struct proc_mapping *b);
/* Held anything at map's addresses at from_ns or later? other: anything that is not the same. */
struct image_known {
	bool any, other;
};
struct image_known image_known(const struct image *i, const struct proc_mapping *map, uint64_t from_ns);
/* The live mapping at index ends at time_ns. */
int image_end_live(struct image *i, size_t index, uint64_t time_ns);
/* Ends the image at time_ns; what began then or later goes to next (NULL: nowhere). */
int image_cut(struct image *i, uint64_t time_ns, struct image *next);
const struct proc_mapping *image_find(const struct image *i, uint64_t time_ns, uint64_t addr);
/* No more is expected to be added. */
void image_shrink(struct image *i);

static inline bool mapping_holds(const struct proc_mapping *m, uint64_t time_ns)
{
	return m->from_ns <= time_ns && time_ns < m->until_ns;
}
