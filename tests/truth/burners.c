/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Four threads that only compute, two each of two sorts: more than there are CPUs. */
#include "truth.h"

static TRUTH_FUNCTION void burn_a(void)
{
	truth_burn(truth_knob("a", 100000));
}

static TRUTH_FUNCTION void burn_b(void)
{
	truth_burn(truth_knob("b", 100000));
}

static void *thread_a(void *arg)
{
	burn_a();
	return arg;
}

static void *thread_b(void *arg)
{
	burn_b();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	truth_begin(argc, argv);
	for (int i = 0; i < 4; i++)
		threads[i] = truth_thread(i % 2 ? thread_b : thread_a, NULL, i % 2 ? "b" : "a");
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return truth_end();
}
