/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What a real compiler writes: V8 in node, by perf-PID.map and by jit-PID.dump. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../objfile/build.h"
#include "sym/sym.h"
#include "util/cleanup.h"

TestSuite(node, .init = build_begin, .fini = build_end, .timeout = 120);

static const char program[] =
	"function spinsForTest(ms) { const end = Date.now() + ms; let n = 0;\n"
	"  while (Date.now() < end) for (let i = 0; i < 1e5; i++) n = (n * 31 + i) | 0; return n; }\n"
	"const over = Date.now() + 4000; while (Date.now() < over) spinsForTest(50);\n";

static pid_t start(const char *option)
{
	const char *script = build_path("spin.js"), *folder = build_path("");
	FILE *f = fopen(script, "we");
	pid_t pid;

	fputs(program, f);
	fclose(f);
	pid = fork();
	if (!pid) {
		unsetenv("LD_PRELOAD");
		if (chdir(folder))
			_exit(127);
		execlp("node", "node", option, "--interpreted-frames-native-stack", script, NULL);
		_exit(127);
	}
	return pid;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Where the main thread runs just now. */
static uint64_t running_at(pid_t pid)
{
	struct user_regs_struct regs;
	int status;

	cr_assert_eq(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	cr_assert_eq(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSTOPPED(status));
	cr_assert_eq(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
	cr_assert_eq(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
	return regs.rip;
}

#define MOMENTS 200

/*
 * V8 writes the dump through a buffer, so that what runs now may be told only
 * when something else is compiled, or at the end: names are asked for then.
 */
static void test_option(const char *option)
{
	static struct moment {
		uint64_t at, time_ns;
	} moments[MOMENTS];
	size_t in_function = 0, in_code = 0;
	struct proc_maps *maps;
	struct sym_frame f;
	struct sym *sym;
	int status;
	pid_t pid;

	if (system("command -v node >/dev/null"))
		cr_skip_test("there is no node: not tested at all (install nodejs)");
	pid = start(option);
	usleep(1500 * 1000);
	cr_assert_eq(proc_maps_new(&maps), 0);
	cr_assert_eq(sym_new(maps, NULL, &sym), 0);
	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)pid, 0), 0);
	for (size_t i = 0; i < MOMENTS; i++) {
		moments[i] = (struct moment){ running_at(pid), now_ns() };
		/* Asked for something while it lives, its files are held. */
		sym_user(sym, (uint32_t)pid, moments[i].time_ns, moments[i].at, false, &f, 1);
		usleep(1000);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	build_run("rm -f /tmp/perf-%d.map", pid);
	for (size_t i = 0; i < MOMENTS; i++) {
		sym_user(sym, (uint32_t)pid, moments[i].time_ns, moments[i].at, false, &f, 1);
		if (!f.module || strcmp(f.module, "//anon"))
			continue;
		in_code++;
		in_function += f.name && strstr(f.name, "spinsForTest") != NULL;
	}
	sym_free(sym);
	proc_maps_free(maps);
	fprintf(stderr, "%s: of %d moments %zu in generated code, %zu of them in the function that spins\n", option,
		MOMENTS, in_code, in_function);
	cr_assert_gt(in_code, MOMENTS / 2);
	cr_assert_geq(in_function, in_code * 9 / 10);
}

Test(node, perf_map)
{
	test_option("--perf-basic-prof");
}

Test(node, jitdump)
{
	test_option("--perf-prof");
}
