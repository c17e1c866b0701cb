/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * nofp [ROUNDS [MS]]: sleeps below main, outer and direct_caller, built without
 * frame pointers; the frames have sizes of their own, so that no chance finds
 * the way back.
 */
#include "lib.h"

static __attribute__((noinline)) int direct_caller(unsigned int ms)
{
	volatile char frame[200];
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	frame[ms % sizeof(frame)] = 1;
	return clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL) + frame[ms % sizeof(frame)];
}

static __attribute__((noinline)) int outer(unsigned int ms)
{
	volatile char frame[72];

	frame[ms % sizeof(frame)] = 1;
	return direct_caller(ms) + frame[ms % sizeof(frame)];
}

int main(int argc, char **argv)
{
	unsigned int rounds = arg_number(argc, argv, 1, 5), ms = arg_number(argc, argv, 2, 20);
	int sum = 0;

	for (unsigned int i = 0; i < rounds; i++)
		sum += outer(ms);
	return sum != 2 * (int)rounds;
}
