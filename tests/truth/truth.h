/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * For programs whose makespan under a changed knob is the truth that what-ifs
 * are measured against. Knobs are arguments NAME=MICROSECONDS. A program knows
 * nothing of who watches it, and prints its makespan.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define TRUTH_FUNCTION __attribute__((noinline, noipa))

static int truth_argc;
static char **truth_argv;
static uint64_t truth_begin_ns;

static inline uint64_t truth_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void truth_check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(err));
	exit(1);
}

/* Call first. */
static inline void truth_begin(int argc, char **argv)
{
	truth_argc = argc;
	truth_argv = argv;
	/* Threads get it from their creator. */
	prctl(PR_SET_TIMERSLACK, 1000ul);
	truth_begin_ns = truth_clock(CLOCK_MONOTONIC);
}

/* Call last. */
static inline int truth_end(void)
{
	printf("makespan_us %lu\n", (unsigned long)((truth_clock(CLOCK_MONOTONIC) - truth_begin_ns) / 1000));
	return 0;
}

/* The number behind the last NAME=, or what it is without. */
static inline unsigned long truth_knob(const char *name, unsigned long otherwise)
{
	size_t n = strlen(name);

	for (int i = truth_argc - 1; i > 0; i--) {
		if (strncmp(truth_argv[i], name, n) == 0 && truth_argv[i][n] == '=')
			return strtoul(truth_argv[i] + n + 1, NULL, 10);
	}
	return otherwise;
}

/* Work that takes time and no CPU, as a request to something elsewhere does. */
static inline void truth_nap(unsigned long us)
{
	uint64_t until = truth_clock(CLOCK_MONOTONIC) + us * 1000ul;
	struct timespec t = { .tv_sec = (time_t)(until / 1000000000u), .tv_nsec = (long)(until % 1000000000u) };

	while (us && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* Work on the CPU: so much time of this thread's own, however many share the CPU. */
static inline void truth_burn(unsigned long us)
{
	uint64_t until = truth_clock(CLOCK_THREAD_CPUTIME_ID) + us * 1000ul;

	while (us && truth_clock(CLOCK_THREAD_CPUTIME_ID) < until) {
		for (int i = 0; i < 1000; i++)
			__asm__ volatile("" ::: "memory");
	}
}

static inline pthread_t truth_thread(void *(*f)(void *), void *arg, const char *name)
{
	pthread_t t;

	truth_check(pthread_create(&t, NULL, f, arg), "pthread_create");
	pthread_setname_np(t, name);
	return t;
}
