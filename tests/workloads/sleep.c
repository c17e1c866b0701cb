/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * sleep [ROUNDS [US [THREADS]]]
 *
 * main calls g calls f, f sleeps: a known user stack. With THREADS, that many
 * threads do the same at once. After SIGTERM no sleep begins any more.
 */
#include <signal.h>

#include "lib.h"

void f(unsigned int rounds, unsigned int us);
void g(unsigned int rounds, unsigned int us);

static unsigned int rounds_each, us_each;
static atomic_int tids[64];
static volatile sig_atomic_t enough;

static void enough_set(int sig)
{
	enough = sig;
}

__attribute__((noinline)) void f(unsigned int rounds, unsigned int us)
{
	for (unsigned int i = 0; i < rounds && !enough; i++) {
		uint64_t start = now_ns();

		usleep(us);
		truth_wait("sleep", start, now_ns(), "us=%u ctx=timer", us);
	}
}

__attribute__((noinline)) void g(unsigned int rounds, unsigned int us)
{
	f(rounds, us);
	atomic_signal_fence(memory_order_seq_cst);
}

static void *sleeper(void *arg)
{
	uint64_t begin = now_ns();

	atomic_store((atomic_int *)arg, own_tid());
	g(rounds_each, us_each);
	truth_thread(begin);
	return arg;
}

int main(int argc, char **argv)
{
	unsigned int threads = arg_number(argc, argv, 3, 0);
	pthread_t thread[64];

	signal(SIGTERM, enough_set);
	truth_begin();
	rounds_each = arg_number(argc, argv, 1, 3);
	us_each = arg_number(argc, argv, 2, 500000);
	if (!threads)
		g(rounds_each, us_each);
	for (unsigned int i = 0; i < threads && i < 64; i++)
		thread[i] = thread_start(sleeper, &tids[i]);
	for (unsigned int i = 0; i < threads && i < 64; i++)
		thread_join(thread[i], &tids[i]);
	truth_end();
	return 0;
}
