/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Which of the needed capabilities this process lacks, by name. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The i-th needed capability, what it is for, whether it is held; false behind the last. */
bool privilege_check(size_t i, const char **ret_name, const char **ret_for_what, bool *ret_held);
/* "CAP_BPF (loading BPF programs and maps), ..." of those missing; their number. */
size_t privileges_missing(char *ret, size_t n);
