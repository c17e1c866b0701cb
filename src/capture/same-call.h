/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* By which thread flags a second switch in one system call is told from a switch in the next. */
#include <stddef.h>
#include <stdint.h>

#define SAME_CALL_BLOCKS 2 /* switches in each call that is made to learn it */

/*
 * The flags that were set at each second switch of a call and at no first one. A thread's very first switch may carry
 * flags of its birth. A switch more than was expected, at a page fault say, leaves none: then it is to be learned again.
 */
static inline uint64_t same_call_mask(const uint64_t *flags, size_t n)
{
	uint64_t mask = UINT64_MAX;

	for (size_t i = 1; i < n; i++)
		mask &= i % SAME_CALL_BLOCKS ? flags[i] : ~flags[i];
	return mask;
}
