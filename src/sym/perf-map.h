/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* /tmp/perf-PID.map: names that a process gives to code it made itself. */
#include <stdint.h>

struct perf_map;

/*
 * Of a process, by our number for it. If there is a file already, it is opened,
 * and stays readable when the process ends and removes it. 0, -ENOMEM.
 */
int perf_map_new(uint32_t pid, struct perf_map **ret);
struct perf_map *perf_map_free(struct perf_map *m);
/*
 * The name last given to what covers addr, raw, valid until the next call;
 * NULL: none. Reads first what has been added to the file.
 */
const char *perf_map_find(struct perf_map *m, uint64_t addr, uint64_t *ret_start);
