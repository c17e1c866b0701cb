/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * frames-lives KIND [...]: processes and threads that come and go, with stacks
 * that are known from this file. Kinds:
 *
 *   churn           threads that live a millisecond each
 *   fork            children that never execute anything, and a parent that waits for them
 *   vfork           a child in its parent's memory, sleeping there, then gone
 *   spawn           posix_spawn of this program, as "short": the parent is blocked until it has been executed
 *   short           sleeps for 5 ms and exits
 *   exec            sleeps for 400 ms in naps, then executes itself anew, again and again
 *   dlopen A B      when SIGUSR1 comes: loads A, naps in it, closes it, loads B, naps in it, and so on
 */
#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>

#include "frames.h"

static char **args;
static volatile sig_atomic_t go;

static void *short_life(void *arg)
{
	ROOM(120);
	frames_nap(1000);
	return arg + room_[0] - 1;
}

static FRAME int one_churn(void)
{
	pthread_t threads[4];

	ROOM(40);
	for (int i = 0; i < 4; i++)
		threads[i] = thread_start(short_life, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return LEAVE(0);
}

static FRAME int child_life(void)
{
	ROOM(168);
	for (int i = 0; i < 10; i++)
		frames_nap(2000);
	return LEAVE(7);
}

static FRAME int wait_for(pid_t pid)
{
	int status;

	ROOM(24);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
	return LEAVE(WEXITSTATUS(status));
}

static FRAME int one_fork(void)
{
	pid_t pid;

	ROOM(56);
	pid = fork();
	if (pid == 0)
		_exit(child_life());
	if (pid < 0 || wait_for(pid) != 7)
		die("fork");
	return LEAVE(0);
}

static FRAME int one_vfork(void)
{
	pid_t pid;

	ROOM(88);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	pid = vfork();
#pragma GCC diagnostic pop
	if (pid == 0) {
		frames_nap(2000);
		_exit(0);
	}
	if (pid < 0 || wait_for(pid))
		die("vfork");
	return LEAVE(0);
}

static FRAME int one_spawn(void)
{
	char *argv[] = { args[0], (char *)"short", NULL };
	pid_t pid;

	ROOM(136);
	errno = posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ);
	if (errno || wait_for(pid))
		die("posix_spawn");
	return LEAVE(0);
}

static FRAME int one_short(void)
{
	ROOM(72);
	frames_nap(5000);
	_exit(LEAVE(0));
}

static FRAME int one_exec(void)
{
	ROOM(104);
	for (int i = 0; i < 80; i++)
		frames_nap(5000);
	execve("/proc/self/exe", args, environ);
	die("execve");
	return LEAVE(0);
}

static void on_signal(int sig)
{
	(void)sig;
	go = 1;
}

static FRAME int nap_in(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	int (*nap)(void);

	ROOM(184);
	if (!library) {
		fprintf(stderr, "workload: %s\n", dlerror());
		_exit(99);
	}
	*(void **)&nap = dlsym(library, "library_nap");
	printf("loaded path=%s at=%llu\n", path, (unsigned long long)now_ns());
	fflush(stdout);
	for (int i = 0; i < 250; i++)
		nap();
	dlclose(library);
	return LEAVE(0);
}

static FRAME int one_dlopen(void)
{
	ROOM(24);
	if (!go)
		return LEAVE(frames_nap(2000) * 0);
	nap_in(args[2]);
	nap_in(args[3]);
	return LEAVE(0);
}

static FRAME int inner(int (*func)(void))
{
	ROOM(200);
	return LEAVE(func());
}

static FRAME int outer(int (*func)(void))
{
	ROOM(72);
	while (frames_go_on())
		inner(func);
	return LEAVE(0);
}

static const struct {
	const char *name;
	int (*func)(void);
} kinds[] = {
	{ "churn", one_churn }, { "fork", one_fork }, { "vfork", one_vfork }, { "spawn", one_spawn },
	{ "short", one_short }, { "exec", one_exec }, { "dlopen", one_dlopen },
};

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	args = argv;
	signal(SIGUSR1, on_signal);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, kind) == 0 && (strcmp(kind, "dlopen") != 0 || argc == 4)) {
			if (strcmp(kind, "short") != 0)
				frames_ready();
			return outer(kinds[i].func);
		}
	fprintf(stderr, "usage: frames-lives churn|fork|vfork|spawn|short|exec|dlopen A B\n");
	return 2;
}
