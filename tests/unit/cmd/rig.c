/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Forks and no threads: what is under test changes signals, fds and limits of its whole process. */
#include "rig.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "util/cleanup.h"

#define RIG_SECONDS_MAX 40

double rig_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void rig_sleep(double seconds)
{
	struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

	nanosleep(&t, NULL);
}

void rig_init(struct rig *r)
{
	*r = (struct rig){.pid = -1};
	strcpy(r->dir, "/tmp/wcbpf-test-XXXXXX");
	cr_assert(mkdtemp(r->dir));
	chmod(r->dir, 0755); /* --user's user looks in */
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

void rig_done(struct rig *r)
{
	free(r->out);
	free(r->err);
	nftw(r->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void child_run(const struct rig *r, const char *const *argv)
{
	static const int defaults[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGUSR1, SIGUSR2};
	char *words[32] = {(char *)(uintptr_t) "wcbpf"};
	sigset_t none;
	int n = 0, code;

	sigemptyset(&none);
	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		signal(defaults[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	if (chdir(r->dir) < 0)
		_exit(99);
	int null = open("/dev/null", O_RDONLY), out = open("out", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666),
	    err = open("err", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
	if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(99);
	/* Criterion's own fds must not count as the workload's. */
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	if (r->fake)
		setenv("FAKE_CAPTURE", r->fake, 1);
	for (; argv[n] && n < 30; n++)
		words[n + !r->direct] = (char *)(uintptr_t)argv[n];
	if (r->prepare)
		r->prepare(r->arg);
	if (r->direct) {
		execvp(words[0], words);
		_exit(99);
	}
	code = cmd_main(n + 1, words);
	fflush(stdout);
	_exit(code);
}

void rig_start(struct rig *r, const char *const *argv)
{
	fflush(NULL);
	r->began = rig_now();
	r->pid = fork();
	cr_assert_geq(r->pid, 0);
	if (r->pid == 0)
		child_run(r, argv);
	setpgid(r->pid, r->pid);
}

void rig_wait(struct rig *r)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(r->pid, &status, WNOHANG)) == 0) {
		if (rig_now() - r->began > RIG_SECONDS_MAX) {
			kill(-r->pid, SIGKILL);
			cr_assert_fail("the run doesn't end");
		}
		rig_sleep(0.002);
	}
	cr_assert_eq(pid, r->pid);
	r->seconds = rig_now() - r->began;
	r->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	free(r->out);
	free(r->err);
	r->out = rig_read(r, "out");
	r->err = rig_read(r, "err");
}

void rig_run(struct rig *r, const char *const *argv)
{
	rig_start(r, argv);
	rig_wait(r);
}

static void path_of(const struct rig *r, const char *path, char *full, size_t size)
{
	snprintf(full, size, "%s/%s", r->dir, path);
}

bool rig_has(const struct rig *r, const char *path)
{
	char full[256];
	struct stat st;

	path_of(r, path, full, sizeof(full));
	return stat(full, &st) == 0;
}

char *rig_read(const struct rig *r, const char *path)
{
	char full[256];

	path_of(r, path, full, sizeof(full));
	_cleanup_(fclosep) FILE *f = fopen(full, "r");
	char *text = calloc(1, 1 << 16);
	cr_assert(text);
	if (f)
		text[fread(text, 1, (1 << 16) - 1, f)] = '\0';
	return text;
}

bool rig_await(const struct rig *r, const char *path)
{
	char full[256];
	struct stat st;

	path_of(r, path, full, sizeof(full));
	for (int i = 0; i < 500; i++) {
		if (stat(full, &st) == 0 && st.st_size > 0)
			return true;
		rig_sleep(0.01);
	}
	return false;
}

pid_t rig_read_pid(const struct rig *r, const char *path)
{
	if (!rig_await(r, path))
		return 0;
	_cleanup_(freep) char *text = rig_read(r, path);
	return (pid_t)strtol(text, NULL, 10);
}

char *rig_summary(const struct rig *r, const char *folder, const char *key)
{
	char full[256], first[64];
	const char *dot = strchr(key, '.'), *text;
	struct json_object *o, *value;

	snprintf(full, sizeof(full), "%s/%s/offcpu.summary.json", r->dir, folder);
	o = json_object_from_file(full);
	if (!o)
		return strdup("");
	value = o;
	if (dot) {
		snprintf(first, sizeof(first), "%.*s", (int)(dot - key), key);
		if (!json_object_object_get_ex(o, first, &value))
			value = NULL;
		key = dot + 1;
	}
	if (!value || !json_object_object_get_ex(value, key, &value))
		text = "";
	else if (!value)
		text = "null";
	else
		text = json_object_is_type(value, json_type_string) ? json_object_get_string(value) :
								      json_object_to_json_string(value);
	char *copy = strdup(text);
	json_object_put(o);
	cr_assert(copy);
	return copy;
}
