/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * threads [SECONDS]: three threads that sleep 50 ms at a time, two more after
 * 1.5 s; main waits for them. Prints each tid at once, to be attached to.
 */
#include "lib.h"

static uint64_t end_at_ns;

static __attribute__((noinline)) void thread_loop_sleeps(void)
{
	while (now_ns() < end_at_ns)
		usleep(50000);
}

static void *named_loop(void *arg)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%s tid=%d\n", (const char *)arg, own_tid());

	if (write(1, line, (size_t)n) < 0)
		die("write");
	thread_loop_sleeps();
	return arg;
}

int main(int argc, char **argv)
{
	static char early[] = "early", late[] = "late";
	pthread_t thread[5];

	end_at_ns = now_ns() + (uint64_t)arg_number(argc, argv, 1, 4) * 1000000000;
	printf("main tid=%d\n", own_tid());
	fflush(stdout);
	for (int i = 0; i < 5; i++) {
		if (i == 3)
			usleep(1500000);
		thread[i] = thread_start(named_loop, i < 3 ? early : late);
	}
	for (int i = 0; i < 5; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
