/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * fork() rather than posix_spawn(): the child must stand still between its
 * birth and its exec, so that tracing can be put on its pid. It waits in a
 * read() of a pipe. When wcbpf dies meanwhile the pipe ends and the child goes
 * too, without having run anything. A second pipe carries the errno of a
 * failed exec; exec itself closes it.
 *
 * The child changes nothing of what it got (signals, limits, group, terminal,
 * priority), except the user if --user says so.
 */
#include "cmd/launch.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "util/text.h"

enum stage { STAGE_USER, STAGE_EXEC };

/* What the child says when it could not become the workload. */
struct report {
	int stage;
	int err; /* errno */
};

struct launch {
	pid_t pid;
	int pidfd;
	int go_fd;     /* -1: let go */
	int report_fd; /* -1: answered */
	struct report report;
	bool gone;
	bool reaped;
	int status;
};

static int path_runnable(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == EACCES ? -EACCES : -ENOENT;
	if (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
		return -EACCES;
	return 0;
}

/* path (taken over) if it can be run. */
static int path_try(char *path, char **ret_path)
{
	_cleanup_(freep) char *owned = path;
	int r = path ? path_runnable(path) : -ENOMEM;

	if (!r && ret_path)
		*ret_path = TAKE_PTR(owned);
	return r;
}

int launch_find(const char *program, char **ret_path)
{
	const char *path = getenv("PATH");
	int found = -ENOENT;

	if (strchr(program, '/'))
		return path_try(strdup(program), ret_path);
	if (!*program)
		return -ENOENT;
	if (!path)
		path = "/bin:/usr/bin"; /* execvp()'s own default */
	for (;;) {
		const char *end = strchrnul(path, ':');
		char *full = text_format("%.*s%s%s", (int)(end - path), path, end > path ? "/" : "", program);

		if (!full)
			return -ENOMEM;
		int r = path_try(full, ret_path);
		if (r == 0 || r == -ENOMEM)
			return r;
		if (r == -EACCES)
			found = r;
		if (!*end)
			return found;
		path = end + 1;
	}
}

void launch_user_done(struct launch_user *u)
{
	free(u->groups);
	free(u->name);
	free(u->home);
	free(u->shell);
	*u = (struct launch_user){0};
}

static const struct passwd *passwd_find(const char *name)
{
	const struct passwd *pw = getpwnam(name);
	char *end;

	if (pw || !isdigit((unsigned char)name[0]))
		return pw;
	errno = 0;
	unsigned long uid = strtoul(name, &end, 10);
	if (errno || *end || uid >= (uid_t)-1)
		return NULL;
	return getpwuid((uid_t)uid);
}

int launch_user_find(const char *name, struct launch_user *ret)
{
	_cleanup_(launch_user_done) struct launch_user u = {0};
	const struct passwd *pw = passwd_find(name);

	if (!pw)
		return -ENOENT;
	u.uid = pw->pw_uid;
	u.gid = pw->pw_gid;
	u.name = strdup(pw->pw_name);
	u.home = strdup(pw->pw_dir && *pw->pw_dir ? pw->pw_dir : "/");
	u.shell = strdup(pw->pw_shell && *pw->pw_shell ? pw->pw_shell : "/bin/sh");
	if (!u.name || !u.home || !u.shell)
		return -ENOMEM;
	/* Here and not in the child: it may open files and load libraries. */
	getgrouplist(u.name, u.gid, NULL, &u.group_n);
	u.groups = calloc((size_t)u.group_n + 1, sizeof(gid_t));
	if (!u.groups)
		return -ENOMEM;
	if (getgrouplist(u.name, u.gid, u.groups, &u.group_n) < 0)
		return -EAGAIN; /* the group database changed in between */
	*ret = u;
	u = (struct launch_user){0};
	return 0;
}

/* 0 or errno */
static int child_become(const struct launch_user *u)
{
	if (setgroups((size_t)u->group_n, u->groups) < 0 || setresgid(u->gid, u->gid, u->gid) < 0 ||
	    setresuid(u->uid, u->uid, u->uid) < 0)
		return errno;
	if (setenv("HOME", u->home, 1) < 0 || setenv("USER", u->name, 1) < 0 || setenv("LOGNAME", u->name, 1) < 0 ||
	    setenv("SHELL", u->shell, 1) < 0)
		return errno;
	return 0;
}

static _Noreturn void child_run(char *const *argv, const struct launch_user *user, int go_fd, int report_fd)
{
	struct report report = {.stage = STAGE_USER};
	ssize_t n;
	char byte;

	do
		n = read(go_fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(EXIT_FAILURE); /* wcbpf gave up or died */
	report.err = user ? child_become(user) : 0;
	if (!report.err) {
		report.stage = STAGE_EXEC;
		execvp(argv[0], argv);
		report.err = errno;
	}
	while (write(report_fd, &report, sizeof(report)) < 0 && errno == EINTR)
		;
	_exit(EXIT_FAILURE);
}

int launch_new(char *const *argv, const struct launch_user *user, struct launch **ret)
{
	_cleanup_(launch_freep) struct launch *l = malloc(sizeof(*l));
	int go[2], report[2];

	if (!l)
		return -ENOMEM;
	*l = (struct launch){.pidfd = -1, .go_fd = -1, .report_fd = -1};
	if (pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	_cleanup_(closep) int go_read = go[0];
	l->go_fd = go[1];
	if (pipe2(report, O_CLOEXEC) < 0)
		return -errno;
	l->report_fd = report[0];
	_cleanup_(closep) int report_write = report[1];
	l->pid = fork();
	if (l->pid < 0)
		return -errno;
	if (l->pid == 0) {
		close(l->go_fd); /* or the pipe would never end */
		child_run(argv, user, go_read, report_write);
	}
	/* Ignored by whoever started us, it would make the kernel throw the child's status away. */
	signal(SIGCHLD, SIG_DFL);
	l->pidfd = pidfd_open(l->pid, 0);
	if (l->pidfd < 0)
		return -errno;
	if (fcntl(l->report_fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	*ret = TAKE_PTR(l);
	return 0;
}

struct launch *launch_free(struct launch *l)
{
	if (!l)
		return NULL;
	if (l->pid > 0 && !l->gone && !l->reaped) {
		kill(l->pid, SIGKILL);
		while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	closep(&l->go_fd);
	closep(&l->report_fd);
	closep(&l->pidfd);
	free(l);
	return NULL;
}

pid_t launch_pid(const struct launch *l)
{
	return l->pid;
}

int launch_pidfd(const struct launch *l)
{
	return l->pidfd;
}

int launch_report_fd(const struct launch *l)
{
	return l->report_fd;
}

bool launch_gone(const struct launch *l)
{
	return l->gone;
}

int launch_go(struct launch *l)
{
	ssize_t n;

	if (l->gone)
		return -EALREADY;
	do
		n = write(l->go_fd, "", 1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	l->gone = true;
	close(TAKE_FD(l->go_fd));
	return 0;
}

int launch_started(struct launch *l, const char **ret_what)
{
	if (l->report_fd >= 0) {
		ssize_t n;

		do
			n = read(l->report_fd, &l->report, sizeof(l->report));
		while (n < 0 && errno == EINTR);
		if (n < 0 && errno == EAGAIN)
			return -EAGAIN;
		if (n != sizeof(l->report))
			l->report = (struct report){0};
		close(TAKE_FD(l->report_fd));
	}
	if (!l->report.err)
		return 0;
	*ret_what = l->report.stage == STAGE_USER ? "become user" : "run";
	return -l->report.err;
}

int launch_status(struct launch *l, int *ret_status)
{
	if (!l->reaped) {
		pid_t pid;
		int status;

		do
			pid = waitpid(l->pid, &status, WNOHANG);
		while (pid < 0 && errno == EINTR);
		if (pid < 0)
			return -errno;
		if (pid == 0)
			return -EAGAIN;
		l->status = status;
		l->reaped = true;
	}
	*ret_status = l->status;
	return 0;
}

int launch_signal(const struct launch *l, int signo)
{
	return pidfd_send_signal(l->pidfd, signo, NULL, 0) < 0 ? -errno : 0;
}
