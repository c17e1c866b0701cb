/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * execburn [BEFORE_MS [AFTER_MS]]: a second thread burns CPU and then executes
 * this program again, by which it takes over the process id; that burns some
 * more and prints what CPU time the kernel has counted for the whole process:
 *
 *   process pid=N second=TID cpu=NS
 */
#include "lib.h"

static char **args;
static unsigned int before_ms;

static void burn_ms(unsigned int ms)
{
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)ms * 1000000;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void *burn_and_exec(void *arg)
{
	char second[16];

	burn_ms(before_ms);
	snprintf(second, sizeof(second), "%d", own_tid());
	execl("/proc/self/exe", args[0], args[1], args[2], second, (char *)NULL);
	die("exec");
	return arg;
}

int main(int argc, char **argv)
{
	args = argv;
	if (argc < 3)
		return 2;
	before_ms = arg_number(argc, argv, 1, 200);
	if (argc == 3)
		pthread_join(thread_start(burn_and_exec, NULL), NULL);
	burn_ms(arg_number(argc, argv, 2, 100));
	printf("process pid=%d second=%s cpu=%llu\n", getpid(), argv[3],
	       (unsigned long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
