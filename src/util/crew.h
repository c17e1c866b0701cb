/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Independent jobs on as many threads as there are CPUs. Jobs read what nobody
 * writes meanwhile, and write what is theirs alone.
 */
#include <stddef.h>

/* Calls job(arg, i) for i < n, in any order. 0, or the -errno of one that failed. */
int crew_run(size_t n, int (*job)(void *arg, size_t i), void *arg);
/* How many jobs run at once, at most. */
size_t crew_size(void);
