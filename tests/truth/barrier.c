/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Two threads meet at a barrier each round; the gain of the slow one's is capped where the other becomes the slow one. */
#include "truth.h"

static pthread_barrier_t barrier;

static TRUTH_FUNCTION void slow_part(unsigned long us)
{
	truth_nap(us);
}

static TRUTH_FUNCTION void fast_part(unsigned long us)
{
	truth_nap(us);
}

static void *slow_thread(void *arg)
{
	for (unsigned long i = 0; i < truth_knob("rounds", 20); i++) {
		slow_part(truth_knob("slow", 10000));
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

static void *fast_thread(void *arg)
{
	for (unsigned long i = 0; i < truth_knob("rounds", 20); i++) {
		fast_part(truth_knob("fast", 8000));
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	truth_begin(argc, argv);
	truth_check(pthread_barrier_init(&barrier, NULL, 2), "pthread_barrier_init");
	a = truth_thread(slow_thread, NULL, "slow");
	b = truth_thread(fast_thread, NULL, "fast");
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return truth_end();
}
