/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Interned strings: equal bytes have one id. Id 0 is "". Ids are dense and
 * never change; the table only grows. Strings may hold any bytes but NUL.
 */
#include <stddef.h>
#include <stdint.h>

#include "util/cleanup.h"

struct strtab;

int strtab_new(struct strtab **ret); /* 0, -ENOMEM */
struct strtab *strtab_free(struct strtab *t);
DEFINE_CLEANUP(struct strtab *, strtab_free)
/* The id of s (NULL counts as ""). 0, -ENOMEM. */
int strtab_intern(struct strtab *t, const char *s, uint32_t *ret);
int strtab_intern_n(struct strtab *t, const char *s, size_t n, uint32_t *ret);
/* The id of s if it is in the table, else 0. */
uint32_t strtab_find(const struct strtab *t, const char *s);
/* The string of an id; "" for an id that is none. Valid until the table is freed. */
const char *strtab_str(const struct strtab *t, uint32_t id);
/* Number of ids, 0 included. */
size_t strtab_n(const struct strtab *t);
