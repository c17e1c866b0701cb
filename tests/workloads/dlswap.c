/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * dlswap [ROUNDS [US [fork]]]: loads a library, sleeps in it, unloads it, loads another build of it, which gets the
 * same addresses, sleeps there; ROUNDS times. With fork, a child does the same at the same time, beginning with the
 * other one.
 *
 *   phase tid=N lib=WORD at=ADDRESS start=NS end=NS
 */
#include <dlfcn.h>
#include <sys/wait.h>

#include "lib.h"

#define SLEEPS 3

static __attribute__((noinline)) void sleep_in(const char *folder, const char *word, unsigned int us)
{
	void (*const *entry)(unsigned int);
	char path[4096];
	uint64_t start;
	void *library;

	snprintf(path, sizeof(path), "%s/libdlswap-%s.so", folder, word);
	library = dlopen(path, RTLD_NOW);
	entry = library ? (void (*const *)(unsigned int))dlsym(library, "dlswap_entry") : NULL;
	if (!entry) {
		fprintf(stderr, "workload: %s\n", dlerror());
		_exit(99);
	}
	start = now_ns();
	for (int i = 0; i < SLEEPS; i++)
		(*entry)(us);
	truth("phase tid=%d lib=%s at=%p start=%llu end=%llu", own_tid(), word, (void *)entry,
	      (unsigned long long)start, (unsigned long long)now_ns());
	dlclose(library);
}

static void swap(const char *folder, unsigned int rounds, unsigned int us, int first)
{
	static const char *const words[] = { "alpha", "gamma" };

	/* one call for both: their stacks are the same addresses */
	for (unsigned int i = 0; i < 2 * rounds; i++)
		sleep_in(folder, words[(i ^ (unsigned int)first) & 1], us);
}

int main(int argc, char **argv)
{
	char *slash = strrchr(argv[0], '/');
	unsigned int rounds = arg_number(argc, argv, 1, 2), us = arg_number(argc, argv, 2, 50000);
	pid_t child = 0;

	truth_begin();
	if (!slash)
		die("call it by path");
	*slash = '\0';
	if (argc > 3) {
		child = fork();
		if (child < 0)
			die("fork");
		if (!child)
			truth_n = 0;
	}
	swap(argv[0], rounds, us, argc > 3 && !child);
	if (argc > 3 && !child) {
		truth_flush();
		_exit(0);
	}
	if (child)
		waitpid(child, NULL, 0);
	truth_flush();
	return 0;
}
