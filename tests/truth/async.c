/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What takes much time and costs none: threads that nobody waits for, and a hot
 * function in one that is done long before the others.
 */
#include "truth.h"

static TRUTH_FUNCTION void fire_and_forget(void)
{
	truth_nap(truth_knob("async", 15000));
}

static TRUTH_FUNCTION void hot(void)
{
	truth_burn(truth_knob("hot", 60000));
}

static TRUTH_FUNCTION void main_work(void)
{
	truth_nap(truth_knob("main", 20000));
}

static void *async_thread(void *arg)
{
	fire_and_forget();
	return arg;
}

static void *hot_thread(void *arg)
{
	hot();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t h;

	truth_begin(argc, argv);
	h = truth_thread(hot_thread, NULL, "hot");
	for (unsigned long i = 0; i < truth_knob("rounds", 10); i++) {
		pthread_detach(truth_thread(async_thread, NULL, "async"));
		main_work();
	}
	pthread_join(h, NULL);
	return truth_end();
}
