/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* timed-run CMD...: runs it, what it prints goes to stderr, and prints its makespan as the other programs do. */
#include <sys/wait.h>

#include "truth.h"

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc < 2) {
		fputs("usage: timed-run CMD...\n", stderr);
		return 2;
	}
	truth_begin(argc, argv);
	/* Not the timer slack of the other programs: this one's child is somebody else's. */
	prctl(PR_SET_TIMERSLACK, 0ul);
	pid = fork();
	truth_check(pid < 0 ? errno : 0, "fork");
	if (!pid) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	truth_end();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
