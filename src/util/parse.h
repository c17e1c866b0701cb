/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Strict readers of what users and sysfs write: the whole string must fit, no
 * sign, no blanks. -EINVAL: not of that form. -ERANGE: too large (or small).
 */
#include <stddef.h>
#include <stdint.h>

/* Decimal digits only. */
int parse_u64(const char *s, uint64_t *ret);
int parse_u32(const char *s, uint32_t *ret);
/* The same, for the first n bytes of s. */
int parse_u64_n(const char *s, size_t n, uint64_t *ret);
/* Hex digits only, at least one; an "0x" before them is allowed. */
int parse_hex_n(const char *s, size_t n, uint64_t *ret);

/* "10us" "1.5s" "2m" "1h" "250ms" "80ns"; a bare number is seconds. Rounded down to ns; at most INT64_MAX. */
int parse_duration_ns(const char *s, uint64_t *ret);
/* Bytes: "4096", "64K", "16M", "1G"; units of 1024, also lower case. */
int parse_size_bytes(const char *s, uint64_t *ret);

/* "1,2,3", at least one. ret is malloc'd, in the order given. Also -ENOMEM. */
int parse_u32_list(const char *s, uint32_t **ret, size_t *ret_n);
/* A CPU or node list of sysfs: "0-3,7", perhaps a newline at the end; "" has none (*ret is NULL). Also -ENOMEM. */
int parse_range_list(const char *s, uint32_t **ret, size_t *ret_n);
