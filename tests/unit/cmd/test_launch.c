/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What a workload gets, told by /proc and compared with the same program
 * started without wcbpf from the same state.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/launch.h"
#include "rig.h"

/* A starter with everything unusual that can be inherited. */
static void prepare_unusual(void *arg)
{
	struct rlimit files = {100, 200}, stack = {4 << 20, 16 << 20}, locked = {65536, 65536};
	sigset_t blocked;
	cpu_set_t cpus;

	(void)arg;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_STACK, &stack);
	setrlimit(RLIMIT_MEMLOCK, &locked);
	if (nice(3) < 0)
		_exit(98);
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	umask(027);
	if (dup2(1, 9) < 0 || dup2(0, 42) < 0)
		_exit(98);
	setenv("UNUSUAL", "a=b\nc", 1);
}

static void prepare_closed(void *arg)
{
	(void)arg;
	close(0);
	close(1);
	close(2);
}

/* Drops lines that differ from process to process by nature. */
static char *status_filter(char *text)
{
	static const char *const kept[] = {"Umask", "Uid", "Gid", "Groups", "Sig", "Shd", "Cap", "NoNewPrivs",
					   "Seccomp", "Speculation", "Cpus_allowed", "Mems_allowed", "Max ",
					   "THP_enabled"};
	char *to = text;

	for (char *line = text; *line;) {
		size_t n = strcspn(line, "\n");
		bool keep = false;

		n += line[n] == '\n';
		for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
			keep |= strncmp(line, kept[i], strlen(kept[i])) == 0;
		keep &= strncmp(line, "SigQ", 4) != 0; /* signals queued by the whole user */
		if (keep) {
			memmove(to, line, n);
			to += n;
		}
		line += n;
	}
	*to = '\0';
	return text;
}

static void compare_status(void (*prepare)(void *))
{
	struct rig r;

	rig_init(&r);
	r.prepare = prepare;
	r.direct = true;
	RIG_RUN(&r, "cat", "/proc/self/status", "/proc/self/limits");
	cr_assert_eq(r.code, 0, "%s", r.err);
	_cleanup_(freep) char *direct = strdup(status_filter(r.out));
	cr_assert_gt(strlen(direct), 500);
	r.direct = false;
	RIG_RUN(&r, "record", "-q", "--", "cat", "/proc/self/status", "/proc/self/limits");
	cr_assert_eq(r.code, 0, "%s", r.err);
	cr_expect_str_eq(status_filter(r.out), direct);
	rig_done(&r);
}

Test(launch, same_signals_limits_ids_affinity)
{
	compare_status(NULL);
	compare_status(prepare_unusual);
}

/* Fields of /proc/PID/stat after the name, from 0 (state); see proc(5). */
static long stat_field(const char *stat, int index)
{
	const char *p = strrchr(stat, ')');

	cr_assert_not_null(p);
	for (p += 2; index > 0; index--)
		p += strcspn(p, " ") + 1;
	return strtol(p, NULL, 10);
}

Test(launch, same_group_session_terminal_priority)
{
	enum { PGRP = 2, SESSION = 3, TTY = 4, PRIORITY = 15, NICE = 16, RT_PRIORITY = 37, POLICY = 38 };
	static const int same[] = {SESSION, TTY, PRIORITY, NICE, RT_PRIORITY, POLICY};
	int nice_now = getpriority(PRIO_PROCESS, 0); /* the tests may run niced themselves */
	struct rig r;

	rig_init(&r);
	r.prepare = prepare_unusual;
	r.direct = true;
	RIG_RUN(&r, "cat", "/proc/self/stat");
	_cleanup_(freep) char *direct = strdup(r.out);
	cr_assert_eq(stat_field(direct, PGRP), r.pid);
	cr_assert_eq(stat_field(direct, NICE), nice_now + 3 < 19 ? nice_now + 3 : 19);
	r.direct = false;
	RIG_RUN(&r, "record", "-q", "--", "cat", "/proc/self/stat");
	cr_expect_eq(stat_field(r.out, PGRP), r.pid, "the workload is in wcbpf's own group");
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		cr_expect_eq(stat_field(r.out, same[i]), stat_field(direct, same[i]), "field %d", same[i]);
	rig_done(&r);
}

Test(launch, same_environment)
{
	struct rig r;

	rig_init(&r);
	r.prepare = prepare_unusual;
	r.direct = true;
	RIG_RUN(&r, "env", "-0");
	_cleanup_(freep) char *direct = TAKE_PTR(r.out);
	r.direct = false;
	RIG_RUN(&r, "record", "-q", "--", "env", "-0");
	cr_expect_eq(memcmp(r.out, direct, 1 << 16), 0);
	cr_expect_not_null(memmem(r.out, 1 << 16, "UNUSUAL=a=b\nc", 13));
	rig_done(&r);
}

static void compare_fds(void (*prepare)(void *))
{
	struct rig r;

	rig_init(&r);
	r.prepare = prepare;
	r.direct = true;
	RIG_RUN(&r, "sh", "-c", "cd /proc/$$/fd; echo * > $OLDPWD/fds");
	_cleanup_(freep) char *direct = rig_read(&r, "fds");
	r.direct = false;
	RIG_RUN(&r, "record", "-q", "--", "sh", "-c", "cd /proc/$$/fd; echo * > $OLDPWD/fds");
	_cleanup_(freep) char *traced = rig_read(&r, "fds");
	cr_assert_eq(r.code, 0);
	cr_expect_gt(strlen(direct), 0);
	cr_expect_str_eq(traced, direct);
	rig_done(&r);
}

Test(launch, same_fds)
{
	compare_fds(NULL);
	compare_fds(prepare_unusual);
	compare_fds(prepare_closed);
}

Test(launch, find)
{
	setenv("PATH", "/nonexistent:/usr/bin:/bin", 1);
	cr_expect_eq(launch_find("sh", NULL), 0);
	cr_expect_eq(launch_find("/bin/sh", NULL), 0);
	cr_expect_eq(launch_find("no-such-program", NULL), -ENOENT);
	cr_expect_eq(launch_find("/no/such/program", NULL), -ENOENT);
	cr_expect_eq(launch_find("", NULL), -ENOENT);
	cr_expect_eq(launch_find("/etc/passwd", NULL), -EACCES);
	cr_expect_eq(launch_find("/etc", NULL), -EACCES);
	setenv("PATH", "/etc", 1);
	cr_expect_eq(launch_find("passwd", NULL), -EACCES, "found, but can't be run");
	setenv("PATH", "", 1); /* the working folder, as execvp() has it */
	cr_assert_eq(chdir("/usr/bin"), 0);
	cr_expect_eq(launch_find("env", NULL), 0);
	cr_assert_eq(chdir("/proc"), 0);
	cr_expect_eq(launch_find("env", NULL), -ENOENT);
	setenv("PATH", "/nonexistent:/usr/bin:/bin", 1);
	_cleanup_(freep) char *path = NULL;
	cr_assert_eq(launch_find("env", &path), 0);
	cr_expect_str_eq(path, "/usr/bin/env");
}

/* 0 while the child waits, 1 when it runs the program, -1 when it isn't there. */
static int child_runs(pid_t pid, const char *program)
{
	char path[64], link[256] = "";

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (readlink(path, link, sizeof(link) - 1) < 0)
		return -1;
	return strstr(link, program) != NULL;
}

Test(launch, waits_until_let_go)
{
	static char program[] = "sleep", arg[] = "10", *argv[] = {program, arg, NULL};
	struct launch *l;
	const char *what;
	int r, status;

	cr_assert_eq(launch_new(argv, NULL, &l), 0);
	rig_sleep(0.2);
	cr_expect_eq(child_runs(launch_pid(l), "sleep"), 0, "ran before it was let go");
	cr_expect_eq(launch_started(l, &what), -EAGAIN);
	cr_expect_eq(launch_status(l, &status), -EAGAIN);
	cr_expect_not(launch_gone(l));
	cr_assert_eq(launch_go(l), 0);
	cr_expect_eq(launch_go(l), -EALREADY);
	while ((r = launch_started(l, &what)) == -EAGAIN)
		rig_sleep(0.005);
	cr_expect_eq(r, 0);
	cr_expect_eq(child_runs(launch_pid(l), "sleep"), 1);
	cr_expect_eq(launch_signal(l, SIGTERM), 0);
	while ((r = launch_status(l, &status)) == -EAGAIN)
		rig_sleep(0.005);
	cr_expect_eq(r, 0);
	cr_expect_eq(status, SIGTERM);
	cr_expect_eq(launch_signal(l, SIGTERM), -ESRCH);
	cr_expect_eq(launch_status(l, &status), 0, "asked again");
	launch_free(l);
}

Test(launch, given_up_before_it_went)
{
	static char program[] = "touch", arg[] = "/tmp/wcbpf-test-must-not-be", *argv[] = {program, arg, NULL};
	struct launch *l;

	unlink(arg);
	cr_assert_eq(launch_new(argv, NULL, &l), 0);
	pid_t pid = launch_pid(l);
	launch_free(l);
	cr_expect_eq(kill(pid, 0), -1, "reaped");
	cr_expect_neq(access(arg, F_OK), 0);
}

/* wcbpf killed while the child waits: the child must neither run nor stay. */
Test(launch, starter_dies)
{
	static char program[] = "touch", arg[] = "/tmp/wcbpf-test-must-not-be-2", *argv[] = {program, arg, NULL};
	int fds[2];
	pid_t pid, starter;

	unlink(arg);
	cr_assert_eq(pipe(fds), 0);
	starter = fork();
	if (starter == 0) {
		struct launch *l;

		if (launch_new(argv, NULL, &l) < 0)
			_exit(1);
		pid = launch_pid(l);
		if (write(fds[1], &pid, sizeof(pid)) < 0)
			_exit(1);
		pause();
	}
	cr_assert_eq(read(fds[0], &pid, sizeof(pid)), (ssize_t)sizeof(pid));
	kill(starter, SIGKILL);
	waitpid(starter, NULL, 0);
	int state = 0;
	for (int i = 0; i < 300 && state >= 0; i++) {
		state = child_runs(pid, "touch");
		rig_sleep(0.01);
	}
	cr_expect_eq(state, -1, "the child is still there");
	cr_expect_neq(access(arg, F_OK), 0);
}

static int start_error(char *program, const struct launch_user *user, const char **ret_what)
{
	char *argv[] = {program, NULL};
	struct launch *l;
	int r;

	cr_assert_eq(launch_new(argv, user, &l), 0);
	cr_assert_eq(launch_go(l), 0);
	while ((r = launch_started(l, ret_what)) == -EAGAIN)
		rig_sleep(0.005);
	cr_expect_eq(launch_started(l, ret_what), r, "asked again");
	launch_free(l);
	return r;
}

Test(launch, failed_exec_comes_back)
{
	char nothing[] = "/no/such/program", folder[] = "/etc";
	const char *what = NULL;

	cr_expect_eq(start_error(nothing, NULL, &what), -ENOENT);
	cr_expect_str_eq(what, "run");
	cr_expect_eq(start_error(folder, NULL, &what), -EACCES);
}

Test(launch, user_needs_privilege)
{
	struct launch_user nobody = {0};
	char program[] = "true";
	const char *what = NULL;

	if (launch_user_find("nobody", &nobody) < 0)
		cr_skip_test("there is no user nobody");
	if (geteuid() == 0 && (setgid(nobody.gid) < 0 || setuid(nobody.uid) < 0))
		cr_skip_test("can't become nobody");
	cr_expect_eq(start_error(program, &nobody, &what), -EPERM);
	cr_expect_str_eq(what, "become user");
	launch_user_done(&nobody);
}

Test(launch, user_unknown)
{
	struct launch_user u = {.uid = 7};

	cr_expect_eq(launch_user_find("no-such-user", &u), -ENOENT);
	cr_expect_eq(launch_user_find("4294967295", &u), -ENOENT);
	cr_expect_eq(launch_user_find("12x", &u), -ENOENT);
	cr_expect_eq(u.uid, 7, "output touched on failure");
	cr_assert_eq(launch_user_find("0", &u), 0);
	cr_expect_str_eq(u.name, "root");
	launch_user_done(&u);
}

/* id(1) as the user, against id(1) asked about the user. */
Test(launch, user_switch)
{
	struct rig r;

	if (geteuid() != 0)
		cr_skip_test("needs root");
	rig_init(&r);
	r.direct = true;
	RIG_RUN(&r, "sh", "-c", "id nobody; getent passwd nobody | cut -d: -f1,6,7 | tr : '\\n'; echo nobody; "
			       "echo 0000000000000000");
	_cleanup_(freep) char *direct = TAKE_PTR(r.out);
	r.direct = false;
	RIG_RUN(&r, "record", "-q", "--user", "nobody", "--", "sh", "-c",
		"id; echo \"$LOGNAME\"; echo \"$HOME\"; echo \"$SHELL\"; echo \"$USER\"; "
		"sed -n 's/^CapEff:.//p' /proc/self/status");
	cr_expect_eq(r.code, 0, "%s", r.err);
	cr_expect_str_eq(r.out, direct);
	rig_done(&r);
}
