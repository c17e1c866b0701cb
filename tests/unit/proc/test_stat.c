/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Facts of /proc against what system calls say about the same processes. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proc/proc.h"
#include "util/cleanup.h"

#define NO_PID 0x7ffffff0u /* above any pid_max */

Test(stat, own_process)
{
	struct proc_stat s;
	struct timespec boot;

	prctl(PR_SET_NAME, "a) R 1 (b\n c");
	cr_assert_eq(proc_stat_read((uint32_t)getpid(), &s), 0);
	cr_assert_str_eq(s.comm, "a) R 1 (b\n c");
	cr_assert_eq(s.pid, (uint32_t)getpid());
	cr_assert_eq(s.ppid, (uint32_t)getppid());
	cr_assert_eq(s.pgrp, (uint32_t)getpgrp());
	cr_assert_eq(s.session, (uint32_t)getsid(0));
	cr_assert_eq(s.state, 'R');
	cr_assert_not(s.kthread);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	/* This test's process is young. */
	cr_assert_leq(s.start_ticks, (uint64_t)(boot.tv_sec + 1) * (uint64_t)sysconf(_SC_CLK_TCK));
	cr_assert_geq(s.start_ticks + 600 * (uint64_t)sysconf(_SC_CLK_TCK),
		      (uint64_t)boot.tv_sec * (uint64_t)sysconf(_SC_CLK_TCK));
}

Test(stat, start_is_the_child_s_own)
{
	struct proc_stat mine, its;
	pid_t child;

	usleep(30000);
	child = fork();
	if (!child)
		for (;;)
			pause();
	cr_assert_eq(proc_stat_read((uint32_t)getpid(), &mine), 0);
	cr_assert_eq(proc_stat_read((uint32_t)child, &its), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	cr_assert_gt(its.start_ticks, mine.start_ticks);
	cr_assert_eq(its.ppid, mine.pid);
	cr_assert_eq(proc_stat_read((uint32_t)child, &its), -ESRCH);
}

Test(stat, kernel_thread)
{
	struct proc_stat s;
	char *cmdline = NULL;
	size_t n = 1;

	if (proc_stat_read(2, &s) || strcmp(s.comm, "kthreadd"))
		cr_skip_test("PID 2 is not kthreadd in this PID namespace");
	cr_assert(s.kthread);
	cr_assert_eq(proc_cmdline(2, &cmdline, &n), 0);
	cr_assert_eq(n, 0);
	free(cmdline);
}

Test(stat, gone)
{
	struct proc_stat s = { .pid = 77 };
	uint32_t tgid = 77, *tids = NULL;
	uint64_t v = 77, nv = 77;
	char *text = NULL;
	size_t n = 77;

	cr_assert_eq(proc_stat_read(NO_PID, &s), -ESRCH);
	cr_assert_eq(proc_tgid(NO_PID, &tgid), -ESRCH);
	cr_assert_eq(proc_ns_pid(NO_PID, &tgid), -ESRCH);
	cr_assert_eq(proc_threads(NO_PID, &tids, &n), -ESRCH);
	cr_assert_eq(proc_cmdline(NO_PID, &text, &n), -ESRCH);
	cr_assert_eq(proc_switches(NO_PID, NO_PID, &v, &nv), -ESRCH);
	cr_assert_lt(proc_fd_link(NO_PID, 0, &text), 0);
	cr_assert(s.pid == 77 && tgid == 77 && v == 77 && nv == 77 && n == 77 && !tids && !text);
}

struct thread {
	pthread_t thread;
	pid_t tid;
	pthread_barrier_t *started, *end;
};

static void *thread_main(void *arg)
{
	struct thread *t = arg;

	t->tid = (pid_t)syscall(SYS_gettid);
	pthread_barrier_wait(t->started);
	for (int i = 0; i < 20; i++)
		usleep(1000);
	pthread_barrier_wait(t->end);
	pthread_barrier_wait(t->end);
	return NULL;
}

Test(threads, tids_tgid_switches)
{
	pthread_barrier_t started, end;
	struct thread t[3];
	uint32_t *tids = NULL, tgid = 0;
	uint64_t v = 0, nv = 0;
	size_t n = 0;

	pthread_barrier_init(&started, NULL, 4);
	pthread_barrier_init(&end, NULL, 4);
	for (int i = 0; i < 3; i++) {
		t[i] = (struct thread){ .started = &started, .end = &end };
		pthread_create(&t[i].thread, NULL, thread_main, &t[i]);
	}
	pthread_barrier_wait(&started);
	pthread_barrier_wait(&end);
	cr_assert_eq(proc_threads((uint32_t)getpid(), &tids, &n), 0);
	for (int i = 0; i < 3; i++) {
		bool found = false;

		for (size_t j = 0; j < n; j++)
			found |= tids[j] == (uint32_t)t[i].tid;
		cr_assert(found);
		cr_assert_eq(proc_tgid((uint32_t)t[i].tid, &tgid), 0);
		cr_assert_eq(tgid, (uint32_t)getpid());
		cr_assert_eq(proc_switches((uint32_t)getpid(), (uint32_t)t[i].tid, &v, &nv), 0);
		cr_assert_geq(v, 20);
		cr_assert_leq(v, 40);
	}
	free(tids);
	pthread_barrier_wait(&end);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i].thread, NULL);
}

Test(cmdline, arguments_with_any_bytes)
{
	static const char want[] = "sleep\0" "10\0";
	_cleanup_(freep) char *got = NULL;
	size_t n = 0;
	int pipe_fd[2];
	char c;
	pid_t child;

	cr_assert_eq(pipe2(pipe_fd, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		execlp("sleep", "sleep", "10", NULL);
		_exit(127);
	}
	close(pipe_fd[1]);
	/* End of file: exec has closed the other end. */
	cr_assert_eq(read(pipe_fd[0], &c, 1), 0);
	cr_assert_eq(proc_cmdline((uint32_t)child, &got, &n), 0);
	cr_assert_eq(n, sizeof(want) - 1);
	cr_assert_eq(memcmp(got, want, n), 0);
	free(TAKE_PTR(got));
	kill(child, SIGKILL);
	siginfo_t info;
	waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
	/* A zombie has no memory: no arguments, no error. */
	cr_assert_eq(proc_cmdline((uint32_t)child, &got, &n), 0);
	cr_assert_eq(n, 0);
	waitpid(child, NULL, 0);
}

Test(fd_link, what_a_descriptor_is)
{
	_cleanup_(freep) char *link = NULL;
	char want[64];
	struct stat st;
	int p[2];

	cr_assert_eq(pipe(p), 0);
	fstat(p[0], &st);
	snprintf(want, sizeof(want), "pipe:[%lu]", (unsigned long)st.st_ino);
	cr_assert_eq(proc_fd_link((uint32_t)getpid(), p[0], &link), 0);
	cr_assert_str_eq(link, want);
	cr_assert_eq(proc_fd_link((uint32_t)getpid(), 9999, &(char *){ NULL }), -ENOENT);
}

Test(cgroup, id_is_the_inode)
{
	struct stat st;
	struct statfs fs;
	uint64_t id = 7;
	const char *root = "/sys/fs/cgroup";

	cr_assert_eq(proc_cgroup_id("/tmp", &id), -EINVAL);
	cr_assert_eq(proc_cgroup_id("/no/such/folder", &id), -ENOENT);
	cr_assert_eq(id, 7);
	/* where it is alone, and where it is beside the first version */
	if (statfs(root, &fs) || fs.f_type != 0x63677270)
		root = "/sys/fs/cgroup/unified";
	if (statfs(root, &fs) || fs.f_type != 0x63677270)
		cr_skip_test("no cgroup v2");
	cr_assert_eq(stat(root, &st), 0);
	cr_assert_eq(proc_cgroup_id(root, &id), 0);
	cr_assert_eq(id, st.st_ino);
}

Test(ns_pid, innermost)
{
	uint32_t got = 0;
	pid_t maker, child = 0;
	int ready[2];

	cr_assert_eq(proc_ns_pid((uint32_t)getpid(), &got), 0);
	cr_assert_eq(got, (uint32_t)getpid());
	/* The namespace is for children of the process that makes it, which then can do little else. */
	cr_assert_eq(pipe(ready), 0);
	maker = fork();
	if (!maker) {
		child = unshare(CLONE_NEWPID) ? 0 : fork();
		for (bool inside = getpid() == 1; inside;)
			pause();
		_exit(write(ready[1], &child, sizeof(child)) < 0);
	}
	cr_assert_eq(read(ready[0], &child, sizeof(child)), (ssize_t)sizeof(child));
	waitpid(maker, NULL, 0);
	if (!child)
		cr_skip_test("may not make a PID namespace");
	cr_assert_eq(proc_ns_pid((uint32_t)child, &got), 0);
	kill(child, SIGKILL);
	cr_assert_eq(got, 1);
}
