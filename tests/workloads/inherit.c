/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* inherit: prints everything a process inherits, so that a run under a tracer can be compared with one without. */
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/prctl.h>

#include "lib.h"

extern char **environ;

static void print_signals(void)
{
	sigset_t mask;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction sa = { 0 };

		if (sigaction(sig, NULL, &sa) == 0)
			printf("signal %d blocked=%d ignored=%d handler=%d\n", sig, sigismember(&mask, sig),
			       sa.sa_handler == SIG_IGN, sa.sa_handler != SIG_IGN && sa.sa_handler != SIG_DFL);
	}
}

static void print_files(void)
{
	for (int fd = 0; fd < 256; fd++) {
		struct stat st;

		if (fstat(fd, &st) == 0)
			printf("fd %d dev=%llu ino=%llu flags=%x fdflags=%x\n", fd, (unsigned long long)st.st_dev,
			       (unsigned long long)st.st_ino, (unsigned int)fcntl(fd, F_GETFL),
			       (unsigned int)fcntl(fd, F_GETFD));
	}
}

/* Credentials, capabilities, allowed CPUs, seccomp: the lines of /proc/self/status that are not of the moment. */
static void print_status(void)
{
	static const char *const keys[] = { "Uid:", "Gid:", "Groups:", "CapInh:", "CapPrm:", "CapEff:", "CapBnd:",
					    "CapAmb:", "NoNewPrivs:", "Seccomp:", "Cpus_allowed:", "TracerPid:",
					    "Umask:", "SigBlk:", "SigIgn:", "SigCgt:" };
	char line[1024];
	FILE *f = fopen("/proc/self/status", "re");

	if (!f)
		die("/proc/self/status");
	while (fgets(line, sizeof(line), f))
		for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			if (!strncmp(line, keys[i], strlen(keys[i])))
				printf("status %s", line);
	fclose(f);
}

int main(int argc, char **argv)
{
	char cwd[4096];
	struct sched_param param = { 0 };

	print_files();
	print_signals();
	print_status();
	for (int i = 0; i < argc; i++)
		printf("arg %d %s\n", i, argv[i]);
	for (char **e = environ; *e; e++)
		printf("env %s\n", *e);
	for (int r = 0; r < RLIM_NLIMITS; r++) {
		struct rlimit lim = { 0 };

		getrlimit((__rlimit_resource_t)r, &lim);
		printf("rlimit %d %llu %llu\n", r, (unsigned long long)lim.rlim_cur, (unsigned long long)lim.rlim_max);
	}
	sched_getparam(0, &param);
	printf("sched policy=%d priority=%d nice=%d\n", sched_getscheduler(0), param.sched_priority,
	       getpriority(PRIO_PROCESS, 0));
	printf("session same=%d foreground=%d dumpable=%d\n", getsid(0) == getsid(getppid()),
	       tcgetpgrp(0) == getpgrp(), prctl(PR_GET_DUMPABLE));
	printf("cwd %s\n", getcwd(cwd, sizeof(cwd)) ? cwd : "?");
	printf("ids %u %u %u %u\n", getuid(), geteuid(), getgid(), getegid());
	return 0;
}
