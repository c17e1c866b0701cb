/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * stop signal|ptrace: a child sleeps; it is stopped 0.3 s later and goes on
 * 0.5 s after that. Its three waits as the parent's clock saw them.
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "lib.h"

static void child_truth(const char *kind, pid_t pid, uint64_t start, uint64_t end)
{
	truth("wait kind=%s tid=%d start=%llu end=%llu", kind, pid, (unsigned long long)start,
	      (unsigned long long)end);
}

int main(int argc, char **argv)
{
	bool ptraced = argc > 1 && !strcmp(argv[1], "ptrace");
	uint64_t begin, stopped, resumed, start, end;
	pid_t pid;
	int status;

	truth_begin();
	begin = now_ns();
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		struct timespec t = { .tv_sec = 1, .tv_nsec = 200000000 };

		syscall(SYS_nanosleep, &t, NULL);
		_exit(0);
	}
	if (ptraced && ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		die("ptrace");
	nap_ms(300);
	stopped = now_ns();
	if (ptraced)
		ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	else
		kill(pid, SIGSTOP);
	if (ptraced) {
		start = now_ns();
		if (waitpid(pid, &status, 0) != pid)
			die("waitpid");
		truth_wait("child", start, now_ns(), "stops=%d", pid);
	}
	nap_ms(500);
	resumed = now_ns();
	if (ptraced)
		ptrace(PTRACE_CONT, pid, NULL, NULL);
	else
		kill(pid, SIGCONT);
	start = now_ns();
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	end = now_ns();
	truth_wait("child", start, end, "child=%d waker=%d", pid, pid);
	truth("child pid=%d", pid);
	child_truth("sleep", pid, begin, stopped);
	child_truth("stopped", pid, stopped, resumed);
	child_truth("sleep", pid, resumed, end);
	truth_end();
	return 0;
}
