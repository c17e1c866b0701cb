/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* A worker and one who only takes its CPU, until the worker is done. */
#include <sched.h>
#include <stdatomic.h>

#include "truth.h"

static atomic_int done;

static TRUTH_FUNCTION void hog_cpu(void)
{
	while (!atomic_load(&done)) {
		for (int i = 0; i < 1000; i++)
			__asm__ volatile("" ::: "memory");
	}
}

static TRUTH_FUNCTION void compute(void)
{
	truth_burn(truth_knob("work", 100000));
}

static void *hog(void *arg)
{
	hog_cpu();
	return arg;
}

static void *worker(void *arg)
{
	compute();
	atomic_store(&done, 1);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t a, b;
	cpu_set_t one;

	truth_begin(argc, argv);
	CPU_ZERO(&one);
	CPU_SET(truth_knob("cpu", 0), &one);
	truth_check(sched_setaffinity(0, sizeof(one), &one) < 0 ? errno : 0, "sched_setaffinity");
	a = truth_thread(worker, NULL, "worker");
	if (truth_knob("hog", 1)) {
		b = truth_thread(hog, NULL, "hog");
		pthread_join(b, NULL);
	}
	pthread_join(a, NULL);
	return truth_end();
}
