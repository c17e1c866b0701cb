/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* A parent that starts a child program a batch, asks it through a pipe and waits for each answer. */
#include <sys/wait.h>

#include "truth.h"

static TRUTH_FUNCTION void serve_one(void)
{
	truth_burn(truth_knob("burn", 1000));
	truth_nap(truth_knob("serve", 2000));
}

static TRUTH_FUNCTION void prepare(void)
{
	truth_nap(truth_knob("prepare", 1000));
}

static int child(void)
{
	char c;

	prctl(PR_SET_NAME, "server");
	while (read(STDIN_FILENO, &c, 1) == 1) {
		serve_one();
		if (write(STDOUT_FILENO, &c, 1) != 1)
			return 1;
	}
	return 0;
}

static void batch(char **argv)
{
	int to[2], from[2], status;
	pid_t pid;
	char c = 'x';

	truth_check(pipe(to) < 0 || pipe(from) < 0 ? errno : 0, "pipe");
	pid = fork();
	truth_check(pid < 0 ? errno : 0, "fork");
	if (!pid) {
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		close(to[0]), close(to[1]), close(from[0]), close(from[1]);
		setenv("TRUTH_CHILD", "1", 1);
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	close(to[0]), close(from[1]);
	for (unsigned long i = 0; i < truth_knob("calls", 10); i++) {
		prepare();
		truth_check(write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1 ? EIO : 0, "call");
	}
	close(to[1]), close(from[0]);
	waitpid(pid, &status, 0);
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv);
	if (getenv("TRUTH_CHILD"))
		return child();
	for (unsigned long i = 0; i < truth_knob("batches", 4); i++)
		batch(argv);
	return truth_end();
}
