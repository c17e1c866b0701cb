/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Which libraries a program will map only its dynamic linker knows: search
 * paths, hardware variants, preloads. So it is asked (--list, as ldd does). It
 * maps the libraries and runs nothing of them. It is the system's own: another
 * one, that a file names, would be a program that nobody has asked us to run.
 */
#include "cmd/command-files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/poll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "objfile/objfile.h"
#include "util/cleanup.h"
#include "util/log.h"
#include "util/vec.h"

#define SCRIPTS_MAX 4 /* a script's interpreter may be a script: as the kernel has it */
#define FILES_MAX 1000
#define LIST_MAX_MS 5000

extern char **environ;

void command_files_done(struct command_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->v[i]);
	free(f->v);
	*f = (struct command_files){ 0 };
}

/* Once each, by the path without links. */
static int file_add(struct command_files *f, const char *path)
{
	_cleanup_(freep) char *whole = realpath(path, NULL);

	if (!whole)
		return errno == ENOMEM ? -ENOMEM : 0;
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->v[i], whole))
			return 0;
	if (f->n == FILES_MAX)
		return 0;
	if (VEC_RESERVE(f->v, f->cap, f->n + 1) < 0)
		return -ENOMEM;
	f->v[f->n++] = TAKE_PTR(whole);
	return 0;
}

/* What a script names in its first line. */
static bool interpreter_read(const char *path, char ret[PATH_MAX])
{
	_cleanup_(fclosep) FILE *f = fopen(path, "re");
	char line[PATH_MAX], *word;

	if (!f || !fgets(line, sizeof(line), f) || strncmp(line, "#!", 2) != 0)
		return false;
	word = line + 2 + strspn(line + 2, " \t");
	word[strcspn(word, " \t\r\n")] = 0;
	snprintf(ret, PATH_MAX, "%s", word);
	return *word;
}

/* Is it the system's, which doesn't run what it lists? Its name is fixed by the ABI. */
static bool is_system_linker(const char *path)
{
	static const char *const names[] = { "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1",
					     "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(path, names[i]))
			return true;
	return false;
}

DEFINE_CLEANUP(struct objfile *, objfile_free)

/* The dynamic linker that a program asks for. */
static bool linker_read(const char *path, char ret[PATH_MAX])
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;

	return objfile_open_path(-1, path, &o) == 0 && objfile_interpreter(o, ret, PATH_MAX) == 0;
}

/* "	libc.so.6 => /lib/libc.so.6 (0x7f...)" and "	/lib64/ld-linux-x86-64.so.2 (0x7f...)"; the vDSO has no path. */
static int line_take(struct command_files *f, char *line)
{
	char *arrow = strstr(line, " => "), *path = arrow ? arrow + 4 : line + strspn(line, " \t");
	char *end = strstr(path, " (0x");

	if (*path != '/' || !end)
		return 0;
	*end = 0;
	return file_add(f, path);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

/* All that comes within the time. *ret is malloc'd. */
static int text_read(int fd, char **ret)
{
	_cleanup_(freep) char *text = NULL;
	size_t n = 0, cap = 0;
	int64_t until_ms = now_ms() + LIST_MAX_MS;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left_ms = until_ms - now_ms();
		ssize_t got;

		if (VEC_RESERVE(text, cap, n + 4096) < 0)
			return -ENOMEM;
		if (left_ms <= 0 || poll(&p, 1, (int)left_ms) < 0)
			return -ETIMEDOUT;
		got = p.revents ? read(fd, text + n, 4095) : 0;
		if (got < 0 || (!got && p.revents)) {
			text[n] = 0;
			*ret = TAKE_PTR(text);
			return 0;
		}
		n += (size_t)got;
	}
}

static int list_start(const char *linker, const char *program, int out, pid_t *ret)
{
	char *const argv[] = { (char *)linker, (char *)"--list", (char *)program, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int err;

	sigemptyset(&none);
	if (posix_spawn_file_actions_init(&actions))
		return -ENOMEM;
	if (posix_spawnattr_init(&attr)) {
		posix_spawn_file_actions_destroy(&actions);
		return -ENOMEM;
	}
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	err = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, out, 1);
	if (!err)
		err = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (!err)
		err = posix_spawn(ret, linker, &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return -err;
}

static int list_ask(const char *linker, const char *program, char **ret)
{
	_cleanup_(closep) int in = -1, out = -1;
	int fds[2], status, r;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	in = fds[0];
	out = fds[1];
	r = list_start(linker, program, out, &pid);
	if (r < 0)
		return r;
	close(TAKE_FD(out));
	r = text_read(in, ret);
	if (r < 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return r;
}

static int libraries_find(const char *program, struct command_files *f)
{
	_cleanup_(freep) char *text = NULL;
	char linker[PATH_MAX], *line, *rest;
	int r;

	if (!linker_read(program, linker))
		return 0; /* static */
	r = file_add(f, linker);
	if (r < 0 || !is_system_linker(linker))
		return r;
	r = list_ask(linker, program, &text);
	if (r < 0) {
		log_debug("%s: its libraries can't be listed: %s", program, strerror(-r));
		return r == -ENOMEM ? r : 0;
	}
	for (line = strtok_r(text, "\n", &rest); line && r == 0; line = strtok_r(NULL, "\n", &rest))
		r = line_take(f, line);
	return r;
}

int command_files_find(const char *program, struct command_files *ret)
{
	_cleanup_(command_files_done) struct command_files f = { 0 };
	char path[PATH_MAX], next[PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%s", program);
	for (int i = 0; i < SCRIPTS_MAX && interpreter_read(path, next); i++)
		memcpy(path, next, sizeof(path));
	r = file_add(&f, path);
	if (r == 0 && f.n)
		r = libraries_find(f.v[0], &f);
	if (r < 0)
		return r;
	*ret = f;
	f = (struct command_files){ 0 };
	return 0;
}
