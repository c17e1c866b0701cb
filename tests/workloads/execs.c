/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * execs N: sleeps 100 ms, then executes itself with N - 1; every second step
 * from a thread that is not the leader, which then takes over the process id.
 */
#include "lib.h"

static char **args;

static void exec_next(void)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", atoi(args[1]) - 1);
	execl("/proc/self/exe", args[0], number, (char *)NULL);
	die("exec");
}

static void *exec_from_thread(void *arg)
{
	exec_next();
	return arg;
}

int main(int argc, char **argv)
{
	int left = argc > 1 ? atoi(argv[1]) : 3;

	truth_begin();
	args = argv;
	nap_ms(100);
	truth("generation left=%d pid=%d", left, getpid());
	truth_flush();
	if (left <= 0)
		return 0;
	if (left % 2)
		pthread_join(thread_start(exec_from_thread, NULL), NULL);
	exec_next();
	return 1;
}
