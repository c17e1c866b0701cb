/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Files cut short or with bits changed: any answer or error will do, under the sanitizers. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "build.h"
#include "objfile/objfile.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)

TestSuite(damaged, .init = build_begin, .fini = build_end);

static const char source[] =
	"int shown(int x){return x+1;}\nstatic __attribute__((noinline)) int hid(int x){return x*2;}\n"
	"int shown2(int x){return hid(x)+3;}\nint third(void){return 3;}";

/* 1 if it could be opened. */
static int use(struct objfile *o)
{
	struct objfile_symbol s;
	uint64_t vaddr;
	size_t names = 0;

	cr_assert_leq(strlen(objfile_build_id(o)), 128);
	for (uint64_t offset = 0; offset < 0x5000; offset += 0x40) {
		if (!objfile_vaddr_of_offset(o, offset, &vaddr) && !objfile_symbol(o, vaddr, &s))
			names += strlen(s.name);
		if (!objfile_symbol(o, offset, &s)) {
			names += strlen(s.name);
			cr_assert(s.value <= offset && offset - s.value < s.size);
		}
	}
	return names > 0;
}

static int use_bytes(const unsigned char *bytes, size_t n, bool in_file)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(closep) int fd = -1;
	int r;

	if (in_file) {
		fd = memfd_create("damaged", MFD_CLOEXEC);
		cr_assert_eq(write(fd, bytes, n), (ssize_t)n);
		r = objfile_open_fd(fd, &o);
	} else {
		r = objfile_open_memory(bytes, n, &o);
	}
	return r ? 0 : use(o);
}

Test(damaged, cut_short)
{
	_cleanup_(freep) unsigned char *bytes = NULL;
	size_t n;

	bytes = build_read(build_compile("x.so", "-shared -fPIC", source), &n);
	cr_assert_eq(use_bytes(bytes, n, false), 1);
	for (size_t at = 0; at < n; at += 64) {
		use_bytes(bytes, at, false);
		use_bytes(bytes, at, true);
	}
}

/* Truncated while it is open: reading fails, nothing dies of SIGBUS. */
Test(damaged, shrinks_while_open)
{
	const char *path = build_compile("x.so", "-shared -fPIC", source);
	_cleanup_(closep) int fd = open(path, O_RDWR | O_CLOEXEC);
	_cleanup_(objfile_freep) struct objfile *o = NULL;

	cr_assert_eq(objfile_open_fd(fd, &o), 0);
	cr_assert_eq(ftruncate(fd, 64), 0);
	use(o);
}

/* Fields that lead elsewhere (headers, symbol table) are hit more than by chance. */
static size_t pick(const unsigned char *bytes, size_t n)
{
	uint64_t shoff;

	memcpy(&shoff, bytes + 40, sizeof(shoff));
	switch (rand() % 4) {
	case 0: return (size_t)rand() % 64;
	case 1: return 64 + (size_t)rand() % 512;
	case 2: return shoff + (size_t)rand() % (n - shoff);
	}
	return (size_t)rand() % n;
}

Test(damaged, random_bits)
{
	_cleanup_(freep) unsigned char *bytes = NULL;
	_cleanup_(freep) unsigned char *copy = NULL;
	int whole = 0;
	size_t n;

	bytes = build_read(build_compile("x.so", "-g -shared -fPIC", source), &n);
	copy = malloc(n);
	srand(11);
	for (int i = 0; i < 3000; i++) {
		memcpy(copy, bytes, n);
		for (int hits = 1 + rand() % 8; hits; hits--) {
			size_t at = pick(bytes, n);

			copy[at] = rand() % 2 ? (unsigned char)rand() : copy[at] ^ (unsigned char)(1 << rand() % 8);
		}
		whole += use_bytes(copy, n, i & 1);
	}
	/* Most of the hits don't matter: if nearly nothing could be read, this tests nothing. */
	cr_assert_gt(whole, 300);
}

/* Functions of x.so, inlined ones too, by its debug information; 1 if there are some. */
static int use_source(const unsigned char *bytes, size_t n, uint64_t from, uint64_t to)
{
	_cleanup_(closep) int fd = memfd_create("damaged", MFD_CLOEXEC);
	struct objfile_search where = { .path = "/x.so", .root_fd = -1 };
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	struct objfile_source *s;
	struct objfile_place p[32];
	size_t names = 0;

	cr_assert_eq(write(fd, bytes, n), (ssize_t)n);
	if (objfile_open_fd(fd, &o) || objfile_source_new(o, &where, 16 << 20, &s))
		return 0;
	for (uint64_t vaddr = from; vaddr < to; vaddr += 3) {
		size_t place_n = objfile_source_find(s, vaddr, "shown", p, 32);

		cr_assert_leq(place_n, 32);
		for (size_t i = 0; i < place_n; i++)
			names += (p[i].name ? strlen(p[i].name) : 0) + (p[i].file ? strlen(p[i].file) : 0);
	}
	objfile_source_free(s);
	return names > 0;
}

static uint64_t number(const char *command, const char *path)
{
	_cleanup_(freep) char *text = build_output(command, path);

	return strtoull(text, NULL, 16);
}

Test(damaged, debug_information, .timeout = 280)
{
	static const char inlines[] =
		"extern int getppid(void);\n#define IN static inline __attribute__((always_inline))\n"
		"IN int a(int x){return getppid()+x;} IN int b(int x){{int y=a(x);return y*a(y);}} IN int c(int x){return b(x)+a(x);}\n"
		"int shown(int x){return c(x)+b(x);} int shown2(int x){return c(x)-a(x);}\n";
	const char *path = build_compile("x.so", "-g -O2 -shared -fPIC", inlines);
	_cleanup_(freep) unsigned char *bytes = NULL;
	_cleanup_(freep) unsigned char *copy = NULL;
	uint64_t from = number("readelf -SW %s | awk '$2 == \".debug_aranges\" || $3 == \".debug_aranges\" "
			       "{sub(/.*PROGBITS/, \"\"); print $2}'", path);
	uint64_t to = number("readelf -SW %s | awk '/ \\.symtab /{sub(/.*SYMTAB/, \"\"); print $2}'", path);
	uint64_t shown = number("nm %s | awk '$3 == \"shown\" {print $1}'", path);
	int whole = 0;
	size_t n;

	bytes = build_read(path, &n);
	copy = malloc(n);
	cr_assert(from && from < to && to < n, "%lx %lx", from, to);
	cr_assert_eq(use_source(bytes, n, shown, shown + 200), 1);
	srand(12);
	for (int i = 0; i < 3000; i++) {
		memcpy(copy, bytes, n);
		for (int hits = 1 + rand() % 8; hits; hits--) {
			size_t at = from + (size_t)rand() % (to - from);

			copy[at] = rand() % 2 ? (unsigned char)rand() : copy[at] ^ (unsigned char)(1 << rand() % 8);
		}
		whole += use_source(copy, n, shown, shown + 200);
	}
	cr_assert_gt(whole, 1000);
}
