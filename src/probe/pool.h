/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Memory that is given back all at once. Profiles and plans are many small
 * strings and arrays that refer to each other and die together.
 */
#include <stddef.h>

#include "util/cleanup.h"

struct probe_pool;

int pool_new(struct probe_pool **ret); /* 0, -ENOMEM */
struct probe_pool *pool_free(struct probe_pool *p);
DEFINE_CLEANUP(struct probe_pool *, pool_free)
/* Zeroed and aligned for anything; NULL: no memory. n may be 0. */
void *pool_alloc(struct probe_pool *p, size_t n);
/* A copy of n bytes with a NUL behind them; of a string; formatted. NULL: no memory. */
char *pool_copy(struct probe_pool *p, const char *s, size_t n);
char *pool_string(struct probe_pool *p, const char *s);
char *pool_printf(struct probe_pool *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
