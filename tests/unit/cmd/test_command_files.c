/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Against ldd, which asks in its own way. */
#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/command-files.h"
#include "util/cleanup.h"

static bool has(const struct command_files *f, const char *path)
{
	char whole[PATH_MAX];

	cr_assert(realpath(path, whole));
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->v[i], whole))
			return true;
	return false;
}

Test(command_files, as_ldd_has_them)
{
	_cleanup_(command_files_done) struct command_files f = {0};
	FILE *ldd;
	char line[2 * PATH_MAX], self[PATH_MAX], want[2 * PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t n = 0;

	cr_assert_gt(len, 0);
	self[len] = 0;
	snprintf(line, sizeof(line), "ldd '%s'", self);
	ldd = popen(line, "r");
	cr_assert_eq(command_files_find(self, &f), 0);
	cr_assert_str_eq(f.v[0], self);
	while (fgets(line, sizeof(line), ldd)) {
		if (sscanf(line, "%*s => %s (", want) != 1 && sscanf(line, " /%s (", want + 1) != 1)
			continue;
		want[0] = '/';
		cr_expect(has(&f, want), "%s", want);
		n++;
	}
	pclose(ldd);
	cr_expect_gt(n, 3);
	/* Several names of one file are one; the program itself is no line of ldd's. */
	cr_expect_leq(f.n, n + 1);
}

Test(command_files, of_a_script_its_interpreters)
{
	_cleanup_(command_files_done) struct command_files f = {0};
	char path[] = "/tmp/command-files-XXXXXX";
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_gt(dprintf(fd, "#! /bin/sh -e\nexit 0\n"), 0);
	close(fd);
	cr_assert_eq(command_files_find(path, &f), 0);
	unlink(path);
	cr_assert_gt(f.n, 1);
	cr_expect(has(&f, "/bin/sh"));
	cr_expect_neq(strcmp(f.v[0], path), 0);
}

Test(command_files, nothing_to_run)
{
	_cleanup_(command_files_done) struct command_files f = {0};

	cr_assert_eq(command_files_find("/nonexistent", &f), 0);
	cr_expect_eq(f.n, 0);
}

/* A file that names a dynamic linker of its own: it is not run to ask it. */
Test(command_files, no_stranger_is_run)
{
	_cleanup_(command_files_done) struct command_files f = {0};
	char dir[] = "/tmp/command-files-XXXXXX", cmd[PATH_MAX], program[64], linker[64], ran[64];

	cr_assert(mkdtemp(dir));
	snprintf(program, sizeof(program), "%s/p", dir);
	snprintf(linker, sizeof(linker), "%s/ld.so", dir);
	snprintf(ran, sizeof(ran), "%s/ran", dir);
	snprintf(cmd, sizeof(cmd),
		 "printf '#!/bin/sh\\ntouch %s\\n' > %s && chmod +x %s && echo 'int main(void) { return 0; }' | "
		 "cc -xc - -o %s -Wl,--dynamic-linker=%s", ran, linker, linker, program, linker);
	cr_assert_eq(system(cmd), 0);
	cr_assert_eq(command_files_find(program, &f), 0);
	cr_expect_eq(f.n, 2);
	cr_expect_neq(access(ran, F_OK), 0);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	cr_expect_eq(system(cmd), 0);
}
