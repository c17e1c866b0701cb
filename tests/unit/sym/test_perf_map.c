/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Names of generated code from perf-PID.map files. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sym/sym.h"
#include "util/cleanup.h"

#define JIT 0x7e0000000000ull

static struct proc_maps *maps;
static struct sym *sym;
static char path[64];

static void setup(void)
{
	cr_assert_eq(proc_maps_new(&maps), 0);
	cr_assert_eq(sym_new(maps, NULL, &sym), 0);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	cr_assert_eq(proc_maps_add(maps, (uint32_t)getpid(), 0, JIT, 1 << 20, 0, 0, 0, 0, "//anon"), 0);
}

static void teardown(void)
{
	sym_free(sym);
	proc_maps_free(maps);
	unlink(path);
}

TestSuite(perf_map, .init = setup, .fini = teardown);

__attribute__((format(printf, 1, 2))) static void append(const char *format, ...)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "ae");
	va_list args;

	va_start(args, format);
	cr_assert_geq(vfprintf(f, format, args), 0);
	va_end(args);
}

static void check_of(uint32_t pid, uint64_t addr, const char *name, uint32_t offset)
{
	struct sym_frame f;

	sym_user(sym, pid, 1, addr, false, &f, 1);
	cr_assert_str_eq(f.module, "//anon");
	cr_assert_eq(f.address + f.bias, addr);
	cr_assert(!f.name == !name && (!name || !strcmp(f.name, name)), "%lx is %s, not %s", addr,
		  f.name ? f.name : "unknown", name ? name : "unknown");
	cr_assert_eq(f.offset, offset);
}

static void check(uint64_t addr, const char *name, uint32_t offset)
{
	check_of((uint32_t)getpid(), addr, name, offset);
}

Test(perf_map, lines)
{
	struct sym_frame f;

	append("%llx 100 plain\n", JIT);
	append("0x%llx 0x40 LazyCompile:*f o o /a b.js:1:2\n", JIT + 0x100);
	append("%llX 10 upper\r\n", JIT + 0x200);
	append("\n# comment\nxyz 10 bad\n%llx bad\n%llx 10\n%llx 10 \n%llx 0 empty\n-1 10 neg\n", JIT + 0x300, JIT + 0x300,
	       JIT + 0x300, JIT + 0x300);
	append("fffffffffffffffff0 10 too_long\n%llx 10 _ZN3fooEv\n%llx ffffffffffffffff wrap", JIT + 0x400, JIT + 0x500);
	check(JIT, "plain", 0);
	check(JIT + 0xff, "plain", 0xff);
	check(JIT + 0x100, "LazyCompile:*f o o /a b.js:1:2", 0);
	check(JIT + 0x140, NULL, 0);
	check(JIT + 0x201, "upper", 1);
	check(JIT + 0x300, NULL, 0);
	check(JIT + 0x408, "_ZN3fooEv", 8);
	/* Half a line is none yet. */
	check(JIT + 0x500, NULL, 0);
	append("\n");
	check(JIT + 0x500, "wrap", 0);
	/* Code that ends in a call: the return address is the next function's first byte. */
	sym_user(sym, (uint32_t)getpid(), 1, JIT + 0x100, true, &f, 1);
	cr_assert_str_eq(f.name, "plain");
	cr_assert_eq(f.offset, 0x100);
}

Test(perf_map, grows_and_is_replaced)
{
	append("%llx 10 one\n", JIT + 0x1000);
	check(JIT + 0x1000, "one", 0);
	check(JIT + 0x2000, NULL, 0);
	append("%llx 10 two\n%llx 10 zero\n%llx 10 three\n", JIT + 0x2000, JIT, JIT + 0x3000);
	check(JIT + 0x2000, "two", 0);
	check(JIT, "zero", 0);
	check(JIT + 0x1000, "one", 0);
	check(JIT + 0x3000, "three", 0);
	unlink(path);
	append("%llx 10 other\n", JIT + 0x4000);
	check(JIT + 0x4000, "other", 0);
	check(JIT + 0x1000, NULL, 0);
	/* Gone: what was read stays. */
	unlink(path);
	check(JIT + 0x4000, "other", 0);
}

Test(perf_map, the_last_of_several_counts)
{
	append("%llx 100 old\n%llx 1000 around\n%llx 20 new\n%llx 20 inside\n", JIT + 0x100, JIT, JIT + 0x100, JIT + 0x180);
	check(JIT + 0x100, "new", 0);
	check(JIT + 0x11f, "new", 0x1f);
	check(JIT + 0x120, "around", 0x120);
	check(JIT + 0x190, "inside", 0x10);
	check(JIT + 0x1a0, "around", 0x1a0);
	append("%llx 200 above_all\n%llx 10 far\n", JIT + 0x80, JIT + 0x8000);
	check(JIT + 0x8000, "far", 0);
	check(JIT + 0x190, "above_all", 0x110);
}

Test(perf_map, many_lines_in_any_order)
{
	for (unsigned int round = 0; round < 4; round++) {
		_cleanup_(fclosep) FILE *f = fopen(path, "ae");

		for (unsigned int i = 0; i < 2000; i++)
			fprintf(f, "%llx 8 f%u\n", JIT + (i * 977 % 2000 * 4 + round) * 16, i * 977 % 2000 * 4 + round);
		fflush(f);
		for (unsigned int i = round; i < 8000; i += 4) {
			char name[16];

			snprintf(name, sizeof(name), "f%u", i);
			check(JIT + i * 16 + 7, name, 7);
			check(JIT + i * 16 + 8, NULL, 0);
		}
	}
}

Test(perf_map, not_ours)
{
	struct timespec old[2] = { { 1000000, 0 }, { 1000000, 0 } };

	/* Written before this process began: of another one with its number. */
	append("%llx 10 stale\n", JIT);
	cr_assert_eq(utimensat(AT_FDCWD, path, old, 0), 0);
	check(JIT, NULL, 0);
	unlink(path);
	cr_assert_eq(mkfifo(path, 0600), 0);
	check(JIT, NULL, 0);
	unlink(path);
	cr_assert_eq(symlink("/proc/self/maps", path), 0);
	check(JIT, NULL, 0);
	unlink(path);
	append("%llx 10 ours\n", JIT);
	check(JIT, "ours", 0);
}

/* A process that is gone leaves its map in our /tmp. */
Test(perf_map, process_gone)
{
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", 0x7ff00000);
	append("%llx 10 left_behind\n", JIT);
	cr_assert_eq(proc_maps_add(maps, 0x7ff00000, 0, JIT, 4096, 0, 0, 0, 0, "//anon"), 0);
	check_of(0x7ff00000, JIT + 3, "left_behind", 3);
}

/* In a container: its own /tmp, its own number. */
Test(perf_map, other_namespaces)
{
	int ready[2], end[2];
	pid_t maker, child = 0;
	char c = 0;

	cr_assert_eq(pipe(ready), 0);
	cr_assert_eq(pipe(end), 0);
	maker = fork();
	if (!maker) {
		close(end[1]);
		if (unshare(CLONE_NEWPID | CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("none", "/tmp", "tmpfs", 0, NULL) || (child = fork()) < 0)
			child = 0;
		if (getpid() == 1) {
			strcpy(path, "/tmp/perf-1.map");
			append("%llx 10 contained\n", JIT);
			_exit(write(ready[1], &c, 1) < 0 || read(end[0], &c, 1) < 0);
		}
		if (!child && write(ready[1], &c, 1) < 0)
			_exit(1);
		_exit(write(ready[1], &child, sizeof(child)) < 0);
	}
	/* One byte of the child and the child's number, in either order: the number's bytes aren't all 0. */
	char got[1 + sizeof(child)];
	for (size_t n = 0; n < sizeof(got);) {
		ssize_t more = read(ready[0], got + n, sizeof(got) - n);

		cr_assert_gt(more, 0);
		n += (size_t)more;
	}
	waitpid(maker, NULL, 0);
	memcpy(&child, got + (got[0] == 0), sizeof(child));
	if (!child)
		cr_skip_test("may not make namespaces");
	cr_assert_eq(proc_maps_add(maps, (uint32_t)child, 0, JIT, 4096, 0, 0, 0, 0, "//anon"), 0);
	check_of((uint32_t)child, JIT + 3, "contained", 3);
	close(end[1]);
}

/* Everybody can write to /tmp: only the process's own user and root are believed. */
Test(perf_map, of_another_user)
{
	if (geteuid())
		cr_skip_test("needs root");
	append("%llx 10 foreign\n", JIT);
	cr_assert_eq(chown(path, 12345, 12345), 0);
	check(JIT, NULL, 0);
	cr_assert_eq(chown(path, 0, 0), 0);
	check(JIT, "foreign", 0);
}

static pid_t sleeping_child(uid_t uid)
{
	pid_t child = fork();

	if (!child) {
		if (setresuid(uid, uid, uid))
			_exit(1);
		pause();
		_exit(0);
	}
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", child);
	cr_assert_eq(proc_maps_add(maps, (uint32_t)child, 0, JIT, 1 << 20, 0, 0, 0, 0, "//anon"), 0);
	return child;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

Test(perf_map, of_a_user)
{
	pid_t child;

	if (geteuid())
		cr_skip_test("needs root");
	child = sleeping_child(12345);
	usleep(100000);
	append("%llx 10 own\n", JIT);
	cr_assert_eq(chown(path, 54321, 12345), 0);
	check_of((uint32_t)child, JIT, NULL, 0);
	cr_assert_eq(chown(path, 12345, 12345), 0);
	check_of((uint32_t)child, JIT, "own", 0);
	end_child(child);
}

/* Once it was seen it stays readable, to its end, when the process has gone and removed it; what comes later isn't its. */
Test(perf_map, removed_at_the_end)
{
	pid_t child = sleeping_child(geteuid());
	char moved[80];

	append("%llx 10 early\n", JIT);
	check_of((uint32_t)child, JIT, "early", 0);
	append("%llx 10 late\n", JIT + 0x100);
	end_child(child);
	snprintf(moved, sizeof(moved), "%s.moved", path);
	cr_assert_eq(rename(path, moved), 0);
	unlink(moved);
	append("%llx 10 of_the_next\n", JIT + 0x200);
	check_of((uint32_t)child, JIT, "early", 0);
	check_of((uint32_t)child, JIT + 0x100, "late", 0);
	check_of((uint32_t)child, JIT + 0x200, NULL, 0);
}

/* Asked again, it is read again: code is replaced. */
Test(perf_map, replaced_code)
{
	append("%llx 100 old\n", JIT);
	check(JIT + 0x20, "old", 0x20);
	append("%llx 40 new\n", JIT + 0x10);
	check(JIT + 0x20, "new", 0x10);
	check(JIT + 0x60, "old", 0x60);
}
