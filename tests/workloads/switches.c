/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * switches [N [MS]]: two processes hand a byte to and fro, N times or for MS:
 * the most context switches a second there can be.
 */
#include <sys/wait.h>

#include "lib.h"

/* Gives the rounds made; ends early when the time is over or the other side has gone. */
static unsigned int hand_over(int in, int out, unsigned int n, uint64_t until_ns)
{
	unsigned int i;
	char c = 'x';

	for (i = 0; i < n; i++) {
		if (i % 64 == 0 && now_ns() > until_ns)
			break;
		if (write(out, &c, 1) != 1 || read(in, &c, 1) != 1)
			break;
	}
	return i;
}

int main(int argc, char **argv)
{
	unsigned int n = arg_number(argc, argv, 1, 50000);
	unsigned int ms = arg_number(argc, argv, 2, 3600000);
	int there[2], back[2];
	uint64_t start;
	pid_t pid;

	truth_begin();
	if (pipe(there) || pipe(back))
		die("pipe");
	start = now_ns();
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		atomic_store(&truth_n, 1);
		close(there[1]);
		close(back[0]);
		hand_over(there[0], back[1], n, UINT64_MAX);
		truth_thread(start);
		truth_flush();
		_exit(0);
	}
	close(there[0]);
	close(back[1]);
	n = hand_over(back[0], there[1], n, start + (uint64_t)ms * 1000000);
	close(there[1]);
	truth("handed n=%u ns=%llu", n, (unsigned long long)(now_ns() - start));
	truth_thread(start);
	waitpid(pid, NULL, 0);
	truth_flush();
	return 0;
}
