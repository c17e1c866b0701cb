/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What plugged and its library compute. */
#include <stdint.h>
#include <time.h>

/* For ns of the thread's own CPU clock; some 100 us between two looks at it, so that its own time is nothing. */
static inline void compute(uint64_t ns)
{
	struct timespec begin, now;
	volatile uint64_t sum = 0;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do {
		for (uint64_t i = 0; i < 100000; i++)
			sum += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((uint64_t)(now.tv_sec - begin.tv_sec) * 1000000000 + (uint64_t)(now.tv_nsec - begin.tv_nsec) < ns);
}
