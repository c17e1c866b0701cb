/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* /tmp/perf-PID.map: names that a process gives to code it made itself. */
#include <stdint.h>

struct perf_map;

/* Of a process, by our number for it. Nothing is read before the first perf_map_find. 0, -ENOMEM. */
int perf_map_new(uint32_t pid, struct perf_map **ret);
struct perf_map *perf_map_free(struct perf_map *m);
/*
 * The name last given to what covers addr, raw, valid until the next call;
 * NULL: none. Reads what has been added to the file when addr is not covered.
 */
const char *perf_map_find(struct perf_map *m, uint64_t addr, uint64_t *ret_start);
