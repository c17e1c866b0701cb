/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Unwind tables with bits changed, and files cut short: any answer will do, under the sanitizers. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../objfile/build.h"
#include "unwind/unwind.h"
#include "util/cleanup.h"

TestSuite(damaged, .init = build_begin, .fini = build_end);

#define PID 0x7ff00000u
#define START 0x10000000ull

/* The tables for BPF of the same file; how many rows, 0: none. What they say must hold together. */
static size_t read_rows(const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct unwind_rows *rows;
	size_t n;

	if (unwind_rows_read(fd, &rows))
		return 0;
	n = rows->n;
	cr_assert_gt(n, 1);
	cr_assert_eq(rows->v[n - 1].rule.cfa, WCBPF_CFA_NONE);
	for (size_t i = 1; i < n; i++)
		cr_assert_gt(rows->v[i].vaddr, rows->v[i - 1].vaddr);
	unwind_rows_free(rows);
	return n;
}

/* Frames found in all, from each 16th address of the file as it is on disk. */
static size_t unwind_everywhere(const char *path)
{
	struct proc_maps *maps;
	struct unwind *unwind;
	uint64_t regs[WCBPF_REGS_MAX], stack[256], frames[16];
	struct unwind_input in = { PID, 1, regs, (uint8_t *)stack, sizeof(stack) };
	enum unwind_end end;
	size_t n, total = 0;
	struct stat st;

	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(proc_maps_new(&maps), 0);
	cr_assert_eq(unwind_new(maps, &unwind), 0);
	cr_assert_eq(proc_maps_add(maps, PID, 0, START, 0x6000, 0, major(st.st_dev), minor(st.st_dev), st.st_ino, path), 0);
	for (size_t i = 0; i < 256; i++)
		stack[i] = START + 0x1000 + i * 8 % 0x200;
	for (uint64_t ip = START; ip < START + 0x3000; ip += 16) {
		for (size_t r = 0; r < 16; r++)
			regs[r] = 0x7ffd00000000;
		regs[16] = ip;
		cr_assert_eq(unwind_copy(unwind, &in, frames, 16, &n, &end), 0);
		total += n - 1;
	}
	unwind_free(unwind);
	proc_maps_free(maps);
	return total;
}

static const char source[] =
	"#include <stdarg.h>\nvolatile int sink;int g(int);\n"
	"int f1(int x){int a[64];for(int i=0;i<x;i++)a[i]=g(i);return a[x/2];}\n"
	"int f2(int x){return f1(x)+f1(x+1)*g(x);}\nint f3(int n){char v[n];sink=(int)(long)v;return f2(n)+v[n/2];}\n";

static void write_file(const char *path, const unsigned char *bytes, size_t n)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "we");

	cr_assert_eq(fwrite(bytes, 1, n, f), n);
}

/* Where a section lies in the file. */
static void section(const char *path, const char *name, size_t *ret_at, size_t *ret_n)
{
	_cleanup_(freep) char *text = build_output("objdump -h %s | awk '$2 == \"%s\" {print $6, $3}'", path, name);

	cr_assert_eq(sscanf(text, "%zx %zx", ret_at, ret_n), 2, "%s", name);
}

static void damage(const char *flags, const char *section_name, int rounds)
{
	const char *path = build_compile("x.so", flags, source);
	_cleanup_(freep) unsigned char *bytes = NULL;
	_cleanup_(freep) unsigned char *copy = NULL;
	size_t n, at, section_n, found, rows = 0;

	bytes = build_read(path, &n);
	section(path, section_name, &at, &section_n);
	cr_assert_gt(unwind_everywhere(path), 10);
	copy = malloc(n);
	srand(3);
	found = 0;
	for (int i = 0; i < rounds; i++) {
		memcpy(copy, bytes, n);
		for (int hits = 1 + rand() % 6; hits; hits--)
			copy[at + (size_t)rand() % section_n] = rand() % 3 ? (unsigned char)rand() : 0xff;
		write_file(path, copy, n);
		found += unwind_everywhere(path);
		rows += read_rows(path);
	}
	cr_assert_gt(found, 100);
	cr_assert_gt(rows, 100);
}

Test(damaged, eh_frame)
{
	damage("-O1 -shared -fPIC", ".eh_frame", 400);
}

Test(damaged, eh_frame_hdr)
{
	damage("-O1 -shared -fPIC", ".eh_frame_hdr", 200);
}

Test(damaged, debug_frame)
{
	damage("-O1 -g -shared -fPIC -fno-asynchronous-unwind-tables", ".debug_frame", 400);
}

Test(damaged, cut_short)
{
	const char *path = build_compile("x.so", "-O1 -g -shared -fPIC", source);
	_cleanup_(freep) unsigned char *bytes = NULL;
	size_t n;

	bytes = build_read(path, &n);
	for (size_t at = 0; at < n; at += 192) {
		write_file(path, bytes, at);
		unwind_everywhere(path);
		read_rows(path);
	}
}
