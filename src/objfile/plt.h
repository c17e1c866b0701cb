/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The stubs through which functions of other libraries are called. */
#include <gelf.h>
#include <stdint.h>

/*
 * Calls f for each stub whose function is known, by name without version, until it gives non-zero, which is given
 * back. x86_64 only, others have none. -ENOMEM.
 */
int plt_each(Elf *elf, int (*f)(void *arg, uint64_t start, uint64_t len, const char *name), void *arg);
