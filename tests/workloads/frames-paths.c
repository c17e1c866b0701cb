/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * frames-paths N: waits for a byte on stdin, then sleeps a moment on each of N
 * different call paths: LEVELS calls, of path_zero or path_one by the bits of a
 * counter, the highest first. A sleep may be over before it has begun; prints
 * "done slept=N", how many did leave the CPU, as the kernel counts.
 */
#include <sys/resource.h>

#include "frames.h"

#define LEVELS 15

static FRAME int path_one(unsigned int number, unsigned int left);

static FRAME int path_end(void)
{
	ROOM(24);
	return LEAVE(frames_nap(50));
}

static FRAME int path_next(unsigned int number, unsigned int left);

static FRAME int path_zero(unsigned int number, unsigned int left)
{
	ROOM(40);
	return LEAVE(path_next(number, left));
}

static FRAME int path_one(unsigned int number, unsigned int left)
{
	ROOM(88);
	return LEAVE(path_next(number, left));
}

static FRAME int path_next(unsigned int number, unsigned int left)
{
	ROOM(24);
	if (!left)
		return LEAVE(path_end());
	if (number >> (left - 1) & 1)
		return LEAVE(path_one(number, left - 1));
	return LEAVE(path_zero(number, left - 1));
}

int main(int argc, char **argv)
{
	unsigned int n = arg_number(argc, argv, 1, 20000);
	struct rusage before, after;
	char go;

	prctl(PR_SET_TIMERSLACK, 1);
	frames_ready();
	if (read(0, &go, 1) != 1)
		die("stdin");
	getrusage(RUSAGE_THREAD, &before);
	for (unsigned int i = 0; i < n; i++)
		path_next(i, LEVELS);
	getrusage(RUSAGE_THREAD, &after);
	printf("done slept=%ld\n", after.ru_nvcsw - before.ru_nvcsw);
	return 0;
}
