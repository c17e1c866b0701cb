/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * What every workload shares: its clock, its lines of truth, naps that are
 * themselves truth, threads.
 *
 * A workload measures each of its waits with CLOCK_MONOTONIC (the clock that
 * BPF programs read) around the call, keeps the lines in memory so that
 * writing them makes no wait, and prints them at its end:
 *
 *   clock realtime=NS monotonic=NS
 *   wait kind=WORD tid=N start=NS end=NS KEY=VALUE...
 *   thread tid=N begin=NS end=NS oncpu=NS runnable=NS voluntary=N involuntary=N
 *
 * A wait of the kernel lies inside [start, end] and nearly fills it.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define TRUTH_LINES_MAX 65536
#define TRUTH_LINE_LEN 240

static char (*truth_lines)[TRUTH_LINE_LEN];
static atomic_uint truth_n;
static uint64_t truth_main_begin_ns;

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline int own_tid(void)
{
	return (int)syscall(SYS_gettid);
}

static inline void die(const char *what)
{
	fprintf(stderr, "workload: %s: %s\n", what, strerror(errno));
	_exit(99);
}

/* Adds a line of truth; safe from every thread, takes no lock. */
__attribute__((format(printf, 1, 2))) static inline void truth(const char *format, ...)
{
	unsigned int i = atomic_fetch_add(&truth_n, 1);
	va_list args;

	if (i >= TRUTH_LINES_MAX)
		return;
	va_start(args, format);
	vsnprintf(truth_lines[i], TRUTH_LINE_LEN, format, args);
	va_end(args);
}

#define truth_wait(kind, start, end, format, ...)                                                       \
	truth("wait kind=%s tid=%d start=%llu end=%llu " format, kind, own_tid(),                       \
	      (unsigned long long)(start), (unsigned long long)(end), ##__VA_ARGS__)

/* First thing in main(). Touches the whole buffer, so that no later line faults. */
static inline void truth_begin(void)
{
	uint64_t before, real, after;

	truth_main_begin_ns = now_ns();
	truth_lines = malloc((size_t)TRUTH_LINES_MAX * TRUTH_LINE_LEN);
	if (!truth_lines)
		die("malloc");
	memset(truth_lines, 0, (size_t)2048 * TRUTH_LINE_LEN);
	before = now_ns();
	real = clock_ns(CLOCK_REALTIME);
	after = now_ns();
	truth("clock realtime=%llu monotonic=%llu", (unsigned long long)real,
	      (unsigned long long)(before + (after - before) / 2));
}

static inline long long status_number(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? atoll(at + strlen(key)) : -1;
}

/* Last thing in a thread: its totals as the kernel counts them, independent of any tracer. */
static inline void truth_thread(uint64_t begin_ns)
{
	char stat[4096] = "", sched[128] = "";
	unsigned long long oncpu = 0, runnable = 0;
	int fd;

	fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (read(fd, stat, sizeof(stat) - 1) < 0)
			stat[0] = 0;
		close(fd);
	}
	fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (read(fd, sched, sizeof(sched) - 1) < 0)
			sched[0] = 0;
		close(fd);
	}
	sscanf(sched, "%llu %llu", &oncpu, &runnable);
	truth("thread tid=%d begin=%llu end=%llu oncpu=%llu runnable=%llu voluntary=%lld involuntary=%lld",
	      own_tid(), (unsigned long long)begin_ns, (unsigned long long)now_ns(), oncpu, runnable,
	      status_number(stat, "\nvoluntary_ctxt_switches:"),
	      status_number(stat, "nonvoluntary_ctxt_switches:"));
}

/* Prints what was gathered so far and forgets it. */
static inline void truth_flush(void)
{
	unsigned int n = atomic_exchange(&truth_n, 0);

	if (n > TRUTH_LINES_MAX) {
		fprintf(stderr, "workload: %u lines of truth did not fit\n", n - TRUTH_LINES_MAX);
		_exit(98);
	}
	for (unsigned int i = 0; i < n; i++)
		printf("%s\n", truth_lines[i]);
	fflush(stdout);
}

/* Last thing in main(). */
static inline void truth_end(void)
{
	truth_thread(truth_main_begin_ns);
	truth_flush();
}

/* A sleep that is itself a line of truth. */
static inline void nap_ms(unsigned int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };
	uint64_t start = now_ns();

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	truth_wait("sleep", start, now_ns(), "ms=%u", ms);
}

/* Waits for another thread's flag by naps only. */
static inline void nap_until(atomic_int *flag, int value)
{
	while (atomic_load(flag) < value)
		nap_ms(1);
}

static inline pthread_t thread_start(void *(*func)(void *), void *arg)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, func, arg);
	if (errno)
		die("pthread_create");
	return thread;
}

/* tid: where the joined thread writes its own; read after the join, when it surely has. */
static inline void thread_join(pthread_t thread, atomic_int *tid)
{
	uint64_t start = now_ns(), end;

	pthread_join(thread, NULL);
	end = now_ns();
	truth_wait("join", start, end, "waker=%d joined=%d", atomic_load(tid), atomic_load(tid));
}

static inline unsigned int arg_number(int argc, char **argv, int i, unsigned int otherwise)
{
	return argc > i ? (unsigned int)strtoul(argv[i], NULL, 0) : otherwise;
}
