/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/target.h"
#include "util/cleanup.h"

struct checked {
	struct target t;
	char *why;
	int r;
};

static struct checked check(enum capture_scope scope, const uint32_t *ids, size_t n, uint32_t self)
{
	struct capture_config c = {.scope = scope, .ids = (uint32_t *)(uintptr_t)ids, .id_n = n};
	struct checked k = {0};

	k.r = target_check(&c, self, &k.t, &k.why);
	return k;
}

static void checked_done(struct checked *k)
{
	target_done(&k->t);
	free(k->why);
}

/* A child that stays until killed, or with zombie set has exited and is not reaped. */
static pid_t child_new(bool zombie)
{
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		if (!zombie)
			pause();
		_exit(0);
	}
	if (zombie) {
		siginfo_t info;

		cr_assert_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	}
	return pid;
}

static void child_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

Test(target, living_processes_each_once)
{
	pid_t a = child_new(false), b = child_new(false);
	uint32_t ids[] = {(uint32_t)a, (uint32_t)b, (uint32_t)a};
	_cleanup_(checked_done) struct checked k = check(CAPTURE_PIDS, ids, 3, 1);
	char text[64];

	snprintf(text, sizeof(text), "pid %d,%d", a, b);
	cr_expect_eq(k.r, 0, "%s", k.why);
	cr_expect_eq(k.t.id_n, 2);
	cr_expect_str_eq(k.t.text, text);
	cr_expect_eq(k.t.note_n, 0);
	child_end(a);
	child_end(b);
}

Test(target, nobody)
{
	pid_t gone = child_new(true);
	char text[64];

	child_end(gone); /* reaped: now nobody has the number */
	_cleanup_(checked_done) struct checked k = check(CAPTURE_PIDS, (uint32_t[]){(uint32_t)gone}, 1, 1);
	snprintf(text, sizeof(text), "no process %d", gone);
	cr_expect_eq(k.r, -EINVAL);
	cr_expect_str_eq(k.why, text);
	_cleanup_(checked_done) struct checked t = check(CAPTURE_TIDS, (uint32_t[]){2147483647}, 1, 1);
	cr_expect_eq(t.r, -EINVAL);
	cr_expect_str_eq(t.why, "no thread 2147483647");
}

Test(target, zombie_is_called_so)
{
	pid_t zombie = child_new(true);
	_cleanup_(checked_done) struct checked k = check(CAPTURE_PIDS, (uint32_t[]){(uint32_t)zombie}, 1, 1);
	char parent[32];

	snprintf(parent, sizeof(parent), "parent %d", getpid());
	cr_expect_eq(k.r, -EINVAL);
	cr_expect_not_null(strstr(k.why, "zombie"), "%s", k.why);
	cr_expect_not_null(strstr(k.why, parent), "%s", k.why);
	child_end(zombie);
}

static void *thread_pause(void *arg)
{
	pid_t *tid = arg;

	__atomic_store_n(tid, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	while (pause() < 0)
		;
	return NULL;
}

static pid_t thread_new(void)
{
	static pid_t tid;
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, thread_pause, &tid), 0);
	while (!__atomic_load_n(&tid, __ATOMIC_SEQ_CST))
		usleep(1000);
	return tid;
}

Test(target, thread_given_as_a_process)
{
	pid_t tid = thread_new();
	_cleanup_(checked_done) struct checked k = check(CAPTURE_PIDS, (uint32_t[]){(uint32_t)tid}, 1, 1);
	_cleanup_(checked_done) struct checked t = check(CAPTURE_TIDS, (uint32_t[]){(uint32_t)tid}, 1, 1);
	char note[64];

	snprintf(note, sizeof(note), "%d is a thread of process %d", tid, getpid());
	cr_assert_eq(k.r, 0, "%s", k.why);
	cr_expect_eq(k.t.ids[0], (uint32_t)getpid());
	cr_assert_eq(k.t.note_n, 1);
	cr_expect_eq(strncmp(k.t.notes[0], note, strlen(note)), 0, "%s", k.t.notes[0]);
	cr_assert_eq(t.r, 0, "%s", t.why);
	cr_expect_eq(t.t.ids[0], (uint32_t)tid);
	cr_expect_eq(t.t.note_n, 0);
}

Test(target, ourselves_and_our_threads)
{
	uint32_t self = (uint32_t)getpid(), tid = (uint32_t)thread_new();
	_cleanup_(checked_done) struct checked k = check(CAPTURE_PIDS, &self, 1, self);
	_cleanup_(checked_done) struct checked t = check(CAPTURE_TIDS, &tid, 1, self);

	cr_expect_eq(k.r, -EINVAL);
	cr_expect_not_null(strstr(k.why, "wcbpf itself"));
	cr_expect_eq(t.r, -EINVAL);
	cr_expect_not_null(strstr(t.why, "wcbpf itself"));
}

/* The leader of a process may leave before its threads: the process lives. */
Test(target, leader_gone_threads_stay)
{
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		static pid_t tid;
		pthread_t thread;

		pthread_create(&thread, NULL, thread_pause, &tid);
		syscall(SYS_exit, 0); /* of the leader alone */
	}
	char state = 0, path[64];
	for (int i = 0; i < 200 && state != 'Z'; i++) {
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		_cleanup_(fclosep) FILE *f = fopen(path, "r");
		cr_assert_not_null(f);
		cr_assert_eq(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
		usleep(10000);
	}
	cr_assert_eq(state, 'Z', "the leader should have left: %c", state);
	_cleanup_(checked_done) struct checked k = check(CAPTURE_PIDS, (uint32_t[]){(uint32_t)pid}, 1, 1);
	cr_expect_eq(k.r, 0, "%s", k.why);
	child_end(pid);
}

Test(target, kernel_thread_is_noted)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/2/comm", "r");
	char comm[32] = "";

	if (!f || !fgets(comm, sizeof(comm), f) || strcmp(comm, "kthreadd\n") != 0)
		cr_skip_test("no kernel thread in this PID namespace");
	_cleanup_(checked_done) struct checked k = check(CAPTURE_PIDS, (uint32_t[]){2}, 1, 1);
	cr_assert_eq(k.r, 0, "%s", k.why);
	cr_assert_eq(k.t.note_n, 1);
	cr_expect_not_null(strstr(k.t.notes[0], "kernel thread (kthreadd)"));
}

Test(target, one_bad_of_many_refuses_all)
{
	pid_t a = child_new(false), zombie = child_new(true);
	uint32_t ids[] = {(uint32_t)a, (uint32_t)zombie};
	_cleanup_(checked_done) struct checked k = check(CAPTURE_PIDS, ids, 2, 1);

	cr_expect_eq(k.r, -EINVAL);
	cr_expect_null(k.t.text, "output touched on failure");
	child_end(a);
	child_end(zombie);
}

/* where version 2 is alone, and where it is beside the first; NULL: nowhere */
static const char *cgroup_v2_root(void)
{
	static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		_cleanup_(freep) char *procs = NULL;

		cr_assert_gt(asprintf(&procs, "%s/cgroup.procs", roots[i]), 0);
		if (access(procs, F_OK) == 0)
			return roots[i];
	}
	return NULL;
}

Test(target, cgroup_errors)
{
	struct capture_config c = {.scope = CAPTURE_CGROUP, .cgroup = "no-such-cgroup"};
	struct target t = {0};
	_cleanup_(freep) char *why = NULL, *why2 = NULL;

	cr_expect_eq(target_check(&c, 1, &t, &why), -EINVAL);
	cr_expect_not_null(strstr(why, "no cgroup no-such-cgroup"), "%s", why);
	c.cgroup = "/tmp";
	cr_expect_eq(target_check(&c, 1, &t, &why2), -EINVAL);
	cr_expect_not_null(strstr(why2, cgroup_v2_root() ? "not a folder of the cgroup v2" : "no cgroup v2 file system"),
			   "%s", why2);
}

Test(target, cgroup_root)
{
	const char *root = cgroup_v2_root();
	struct capture_config c = {.scope = CAPTURE_CGROUP, .cgroup = (char *)root};
	_cleanup_(target_done) struct target t = {0};
	_cleanup_(freep) char *why = NULL;
	struct stat st;

	if (!root)
		cr_skip_test("no cgroup v2");
	cr_assert_eq(target_check(&c, 1, &t, &why), 0, "%s", why);
	cr_assert_eq(stat(root, &st), 0);
	cr_expect_eq(t.cgroup_id, st.st_ino);
	cr_expect_eq(strncmp(t.text, "cgroup /sys/fs/cgroup", strlen("cgroup /sys/fs/cgroup")), 0);
}
