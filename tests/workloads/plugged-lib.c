/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The library of plugged. */
#include "plugged.h"

void plugged_in(uint64_t ns);

__attribute__((noinline)) void plugged_in(uint64_t ns)
{
	compute(ns);
	__asm__ volatile("");
}
