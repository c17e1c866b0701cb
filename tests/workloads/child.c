/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* child [ROUNDS [MS]]: fork and wait for children that live MS and exit with 3. */
#include <sys/wait.h>

#include "lib.h"

int main(int argc, char **argv)
{
	unsigned int rounds = arg_number(argc, argv, 1, 1), ms = arg_number(argc, argv, 2, 500);

	truth_begin();
	for (unsigned int i = 0; i < rounds; i++) {
		uint64_t start;
		pid_t pid = fork();
		int status;

		if (pid < 0)
			die("fork");
		if (!pid) {
			usleep(ms * 1000);
			_exit(3);
		}
		start = now_ns();
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 3)
			die("waitpid");
		truth_wait("child", start, now_ns(), "child=%d waker=%d", pid, pid);
	}
	truth_end();
	return 0;
}
