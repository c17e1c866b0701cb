/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* A function for probed.c to call. */
#include <stdint.h>

static volatile uint64_t sink;

uint64_t probed_library(uint64_t i);
uint64_t probed_library(uint64_t i)
{
	sink += i;
	return sink;
}
