/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * wall threads: a thread that computes 300 ms in f and 100 ms in g, one that sleeps 200 ms and computes 50 ms in f, and
 * two that compute 300 ms of wall time each in h, on one CPU. wall alone: the first one's work and a sleep in the only
 * thread. Each prints what it spent in which function by its own CPU clock.
 */
#include <sched.h>
#include <sys/prctl.h>

#include "lib.h"

static atomic_int ready;

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Between two looks at the clock: some 100 us, so that the clock's own time is nothing. */
#define COMPUTE()                                         \
	do {                                              \
		volatile uint64_t sum = 0;                \
		for (uint64_t i = 0; i < 100000; i++)     \
			sum += i;                         \
	} while (0)

static __attribute__((noinline)) void f(uint64_t ns)
{
	uint64_t until = cpu_ns() + ns;

	while (cpu_ns() < until)
		COMPUTE();
}

static __attribute__((noinline)) void g(uint64_t ns)
{
	uint64_t until = cpu_ns() + ns;

	while (cpu_ns() < until)
		COMPUTE();
}

static __attribute__((noinline)) void h(uint64_t ns)
{
	uint64_t until = now_ns() + ns;

	while (now_ns() < until)
		COMPUTE();
}

static void spent(void (*work)(uint64_t ns), const char *name, uint64_t ns)
{
	uint64_t before = cpu_ns();

	work(ns);
	truth("spent tid=%d function=%s ns=%llu", own_tid(), name, (unsigned long long)(cpu_ns() - before));
}

/* Until then it goes by its parent's name, and that may take long on a loaded machine. */
static uint64_t begin_as(const char *name)
{
	uint64_t begin = now_ns();

	prctl(PR_SET_NAME, name);
	truth("named tid=%d at=%llu", own_tid(), (unsigned long long)now_ns());
	return begin;
}

static void *computes(void *arg)
{
	uint64_t begin = begin_as("computes");

	(void)arg;
	spent(f, "f", 300000000);
	spent(g, "g", 100000000);
	truth_thread(begin);
	return NULL;
}

static void *sleeps(void *arg)
{
	uint64_t begin = begin_as("sleeps");

	(void)arg;
	nap_ms(200);
	spent(f, "f", 50000000);
	truth_thread(begin);
	return NULL;
}

static void *contends(void *arg)
{
	uint64_t begin = begin_as(arg);
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	atomic_fetch_add(&ready, 1);
	nap_until(&ready, 2);
	spent(h, "h", 300000000);
	truth_thread(begin);
	return NULL;
}

static void threads(void)
{
	static char names[2][16] = { "contends-a", "contends-b" };
	pthread_t all[4];

	all[0] = thread_start(computes, NULL);
	all[1] = thread_start(sleeps, NULL);
	all[2] = thread_start(contends, names[0]);
	all[3] = thread_start(contends, names[1]);
	for (int i = 0; i < 4; i++)
		pthread_join(all[i], NULL);
}

int main(int argc, char **argv)
{
	truth_begin();
	if (argc > 1 && strcmp(argv[1], "alone") == 0) {
		spent(f, "f", 300000000);
		nap_ms(200);
		spent(g, "g", 100000000);
	} else {
		threads();
	}
	truth_end();
	return 0;
}
