/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Intervals side by side: on one lane they nest or follow each other. Private to export/. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lanes_item {
	int64_t start_ns, end_ns;
	uint32_t parent; /* index + 1 of the item that it is under, 0: none */
	uint32_t lane;	 /* result, from 0 on */
	uint32_t depth;	 /* result: items of its lane that it lies in */
};

/*
 * Items are in the order of their starts, of equal starts the longer first. by_time: what lies within another in time
 * may be shown within it on lane 0 (one thread's calls); else only what is under it (requests that overlap).
 * ret_lane_n: lanes that were needed, 0 for none. 0, -ENOMEM.
 */
int lanes_pack(struct lanes_item *items, size_t n, bool by_time, uint32_t *ret_lane_n);
