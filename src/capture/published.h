/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Which unwind tables were in force for each process when, and what they knew: told by who makes them. */
#include <stdint.h>

struct published;
int published_new(struct published **ret);
struct published *published_free(struct published *p);
/* From time_ns on the tables in force for pid show what had been mapped until mapped_ns. 0, -ENOMEM. */
int published_add(struct published *p, uint32_t pid, uint64_t time_ns, uint64_t mapped_ns);
/*
 * A new process, with the tables of its parent; a former one of that number is forgotten. mapped_ns UINT64_MAX: they
 * are not known. 0, -ENOMEM.
 */
int published_fork(struct published *p, uint32_t pid, uint64_t time_ns, uint64_t mapped_ns);
/*
 * Until when the tables that were in force at time_ns know what was mapped. What was mapped later they lack, or take
 * for what was there before. 0: not known; UINT64_MAX: nothing was ever told of the process.
 */
uint64_t published_until(const struct published *p, uint32_t pid, uint64_t time_ns);
