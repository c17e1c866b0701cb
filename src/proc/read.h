/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Whole files of /proc/PID in memory. */
#include <stddef.h>
#include <stdint.h>

/*
 * /proc/PID/NAME with a NUL after its bytes, malloc'd. A process that is gone
 * is -ESRCH however the kernel said it; more than max bytes are -EFBIG.
 */
int read_pid_file(uint32_t pid, const char *name, size_t max, char **ret, size_t *ret_n);
