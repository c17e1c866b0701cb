/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * What the workloads share whose stacks are known: they are built without
 * frame pointers (unless their file says otherwise), each frame has a size of
 * its own, and each function stays a function.
 *
 * Each runs until its time is over or it is killed, and prints "ready" when it
 * is under way.
 */
#include <signal.h>
#include <sys/prctl.h>

#include "lib.h"

#define RUN_SECONDS 60
#define FRAME __attribute__((noinline, noclone))

/* Room in a frame, touched so that it is really there. */
#define ROOM(bytes)                                \
	volatile char room_[(bytes)];              \
	room_[0] = room_[sizeof(room_) - 1] = 1

/* Left by each function after its call, so that the call is no jump. */
#define LEAVE(value) ((value) + room_[0] - 1)

static inline struct timespec frames_ms(unsigned int ms)
{
	return (struct timespec){ .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };
}

__attribute__((unused)) static FRAME int frames_nap(unsigned int us)
{
	struct timespec t = { .tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000 };

	ROOM(56);
	return LEAVE(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL));
}

/* Ends by itself, should nobody kill it: also when the test is gone. */
static inline bool frames_go_on(void)
{
	static uint64_t end_ns;

	if (!end_ns)
		end_ns = now_ns() + RUN_SECONDS * 1000000000ull;
	return now_ns() < end_ns;
}

static inline void frames_ready(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	printf("ready pid=%d\n", getpid());
	fflush(stdout);
}
