/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* jit-PID.dump files, made by hand as the kernel's specification has it. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sym/sym.h"
#include "util/cleanup.h"

#define JIT 0x7e0000000000ull
#define MARKER 0x7d0000000000ull

static struct proc_maps *maps;
static struct sym *sym;
static char folder[] = "/tmp/wcbpf-jit-XXXXXX", path[64];
static uint32_t pid;

static void append(const void *bytes, size_t n)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "ae");

	cr_assert_not_null(f);
	cr_assert_eq(fwrite(bytes, 1, n, f), n);
}

struct header {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t time, flags;
};

static void append_header(uint64_t flags)
{
	struct header h = { 0x4a695444, 1, sizeof(h), 62, 0, pid, 1, flags };

	append(&h, sizeof(h));
}

struct prefix {
	uint32_t id, size;
	uint64_t time;
};

struct load {
	struct prefix prefix;
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
};

static void append_load(uint64_t time, uint64_t address, uint64_t size, uint64_t index, const char *name)
{
	struct load l = { { 0, (uint32_t)(sizeof(l) + strlen(name) + 1 + size), time }, pid, pid, address, address, size, index };
	_cleanup_(freep) char *code = calloc(1, size + 1);

	append(&l, sizeof(l));
	append(name, strlen(name) + 1);
	append(code, size);
}

struct move {
	struct prefix prefix;
	uint32_t pid, tid;
	uint64_t vma, from, to, size, index;
};

static void append_move(uint64_t time, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	struct move m = { { 1, sizeof(m), time }, pid, pid, to, from, to, size, index };

	append(&m, sizeof(m));
}

static void map_dump(void)
{
	struct stat st;

	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(proc_maps_add(maps, pid, 0, MARKER, 4096, 0, major(st.st_dev), minor(st.st_dev), st.st_ino, path), 0);
}

static void setup(void)
{
	pid = (uint32_t)getpid();
	cr_assert_not_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/jit-%u.dump", folder, pid);
	cr_assert_eq(proc_maps_new(&maps), 0);
	cr_assert_eq(sym_new(maps, NULL, &sym), 0);
	cr_assert_eq(proc_maps_add(maps, pid, 0, JIT, 1 << 20, 0, 0, 0, 0, "//anon"), 0);
}

static void teardown(void)
{
	sym_free(sym);
	proc_maps_free(maps);
	unlink(path);
	rmdir(folder);
}

TestSuite(jitdump, .init = setup, .fini = teardown);

static struct sym_frame frame_at(uint64_t address, uint64_t time)
{
	struct sym_frame f;

	cr_assert_eq(sym_user(sym, pid, time, address, false, &f, 1), 1);
	return f;
}

static void check(uint64_t address, uint64_t time, const char *name, uint32_t offset)
{
	struct sym_frame f = frame_at(address, time);

	cr_assert(!f.name == !name && (!name || !strcmp(f.name, name)), "%lx at %lu is %s, not %s", address, time,
		  f.name ? f.name : "unknown", name ? name : "unknown");
	cr_assert_eq(f.offset, offset);
}

Test(jitdump, code_has_its_time)
{
	append_header(0);
	append_load(100, JIT, 64, 1, "first f(a, b)");
	append_load(200, JIT + 64, 64, 2, "second");
	map_dump();
	check(JIT + 3, 100, "first f(a, b)", 3);
	check(JIT + 3, 99, NULL, 0); /* it wasn't there yet */
	check(JIT + 64, 199, NULL, 0);
	check(JIT + 127, 200, "second", 63);
	check(JIT + 128, 300, NULL, 0);
	/* Another one in its place, of which some of the first is left. */
	append_load(300, JIT + 32, 64, 3, "third");
	check(JIT + 33, 299, "first f(a, b)", 33);
	check(JIT + 33, 300, "third", 1);
	check(JIT + 31, 300, "first f(a, b)", 31);
	check(JIT + 96, 300, "second", 32);
	check(JIT + 64, 250, "second", 0);
}

Test(jitdump, moves)
{
	append_header(0);
	append_load(100, JIT, 64, 7, "moved");
	append_load(110, JIT + 64, 64, 8, "other");
	append_move(200, JIT, JIT + 0x1000, 64, 7);
	append_move(200, JIT + 0x9000, JIT + 0x8000, 64, 99); /* never told of */
	map_dump();
	check(JIT + 5, 150, "moved", 5);
	check(JIT + 5, 250, NULL, 0);
	check(JIT + 0x1005, 250, "moved", 5);
	check(JIT + 0x1005, 150, NULL, 0);
	check(JIT + 65, 250, "other", 1);
	check(JIT + 0x8000, 250, NULL, 0);
	append_move(300, JIT + 0x1000, JIT, 64, 7);
	check(JIT + 5, 350, "moved", 5);
	check(JIT + 0x1005, 250, "moved", 5);
}

/* Lines come before the code that they are of. */
Test(jitdump, lines)
{
	struct __attribute__((packed)) {
		struct prefix prefix;
		uint64_t address, n;
		uint64_t address1; uint32_t line1, discriminator1; char file1[5];
		uint64_t address2; uint32_t line2, discriminator2; char file2[2];
	} lines = { { 2, sizeof(lines), 90 }, JIT, 2, JIT, 10, 0, "a.js", JIT + 16, 12, 0, "\xff" };
	struct sym_frame f;

	append_header(0);
	append(&lines, sizeof(lines));
	append_load(100, JIT, 64, 1, "with_lines");
	append_load(100, JIT + 64, 64, 2, "without");
	map_dump();
	f = frame_at(JIT + 15, 100);
	cr_assert_str_eq(f.file, "a.js");
	cr_assert_eq(f.line, 10);
	f = frame_at(JIT + 16, 100);
	cr_assert_str_eq(f.file, "a.js");
	cr_assert_eq(f.line, 12);
	f = frame_at(JIT + 64, 100);
	cr_assert_null(f.file);
	append_move(200, JIT, JIT + 0x2000, 64, 1);
	f = frame_at(JIT + 0x2010, 200);
	cr_assert_eq(f.line, 12);
}

Test(jitdump, grows_in_pieces)
{
	struct load l = { { 0, sizeof(l) + 5 + 16, 100 }, pid, pid, JIT, JIT, 16, 1 };
	struct prefix other = { 77, sizeof(other) + 8, 120 };

	append("JiT", 0);
	map_dump();
	check(JIT, 200, NULL, 0);
	append_header(0);
	append(&l, sizeof(l));
	check(JIT, 200, NULL, 0);
	append("name", 5);
	check(JIT, 200, NULL, 0); /* the code is still to come */
	append("0123456789abcdef", 16);
	check(JIT, 200, "name", 0);
	append(&other, sizeof(other)); /* of a kind that isn't known */
	append("87654321", 8);
	append_load(150, JIT + 16, 16, 2, "later");
	check(JIT + 16, 200, "later", 0);
}

Test(jitdump, processor_time)
{
	append_header(1);
	append_load(1ull << 60, JIT, 64, 1, "one");
	append_load(1ull << 61, JIT, 32, 2, "two");
	map_dump();
	check(JIT, 5, "two", 0);
	check(JIT + 40, 5, "one", 40);
}

Test(jitdump, before_the_perf_map)
{
	_cleanup_(fclosep) FILE *f = NULL;
	char map[64];

	snprintf(map, sizeof(map), "/tmp/perf-%u.map", pid);
	f = fopen(map, "we");
	fprintf(f, "%llx 40 by_map\n%llx 40 by_map_too\n", JIT, JIT + 64);
	fflush(f);
	append_header(0);
	append_load(100, JIT, 64, 1, "by_dump");
	map_dump();
	check(JIT, 100, "by_dump", 0);
	check(JIT + 64, 100, "by_map_too", 0);
	unlink(map);
}

Test(jitdump, deleted)
{
	append_header(0);
	append_load(100, JIT, 64, 1, "still_known");
	map_dump();
	unlink(path);
	check(JIT, 100, "still_known", 0);
}

Test(jitdump, of_another_process)
{
	append_header(0);
	append_load(100, JIT, 64, 1, "of_the_parent");
	snprintf(path + strlen(path) - 5, 8, "0.dump");
	append_header(0);
	append_load(100, JIT, 64, 1, "of_the_parent");
	map_dump();
	check(JIT, 100, NULL, 0);
	unlink(path);
	snprintf(path, sizeof(path), "%s/jit-%u.dump", folder, pid);
}

/* Bits changed and ends cut off, under the sanitizers: any name that is given lies in the file. */
Test(jitdump, damaged)
{
	unsigned char bytes[4096], copy[sizeof(bytes)];
	size_t n, known = 0;
	FILE *f;

	append_header(0);
	for (unsigned int i = 0; i < 20; i++) {
		char name[16];

		snprintf(name, sizeof(name), "code%u", i);
		append_load(100 + i, JIT + i * 32, 32, i, name);
	}
	append_move(150, JIT, JIT + 0x4000, 32, 0);
	f = fopen(path, "re");
	n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	cr_assert_lt(n, sizeof(bytes));
	srand(9);
	for (int i = 0; i < 600; i++) {
		memcpy(copy, bytes, n);
		for (int hits = rand() % 6; hits; hits--)
			copy[(size_t)rand() % n] = rand() % 3 ? (unsigned char)rand() : 0xff;
		f = fopen(path, "we");
		fwrite(copy, 1, i % 3 ? n : (size_t)rand() % n, f);
		fclose(f);
		sym_free(sym);
		cr_assert_eq(sym_new(maps, NULL, &sym), 0);
		if (!i)
			map_dump();
		for (unsigned int k = 0; k < 24; k++)
			known += frame_at(JIT + k * 32, 200).name != NULL;
	}
	cr_assert_gt(known, 1000);
}
