/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Threads that do something within a mutex and something outside, in turns.
 * With enough of them the lock is always held, and only what is done within counts.
 */
#include "truth.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void work(unsigned long us)
{
	if (truth_knob("burn", 0))
		truth_burn(us);
	else
		truth_nap(us);
}

static TRUTH_FUNCTION void critical(void)
{
	work(truth_knob("critical", 2000));
}

static TRUTH_FUNCTION void outside(void)
{
	work(truth_knob("outside", 2000));
}

static void *worker(void *arg)
{
	for (unsigned long i = 0; i < truth_knob("rounds", 26); i++) {
		pthread_mutex_lock(&lock);
		critical();
		pthread_mutex_unlock(&lock);
		outside();
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	unsigned long n;

	truth_begin(argc, argv);
	n = truth_knob("threads", 4);
	for (unsigned long i = 0; i < n && i < 64; i++)
		threads[i] = truth_thread(worker, NULL, "worker");
	for (unsigned long i = 0; i < n && i < 64; i++)
		pthread_join(threads[i], NULL);
	return truth_end();
}
