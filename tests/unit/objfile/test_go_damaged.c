/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Go programs cut short or with bits changed, above all in the tables: any answer will do, under the sanitizers. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "go.h"
#include "objfile/objfile.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct objfile_go *, objfile_go_free)
DEFINE_CLEANUP(struct objfile_code *, objfile_code_free)

TestSuite(go_damaged, .init = build_begin, .fini = build_end, .timeout = 250);

/* Everything that can be asked of some functions. True if one was named. */
static bool ask(const struct objfile *o, const struct objfile_go *g, size_t every)
{
	size_t names = 0;

	for (size_t i = 0; i < objfile_go_function_n(g); i += every) {
		struct objfile_go_place places[8];
		struct objfile_go_sp_walk walk;
		struct objfile_go_frame frame;
		struct objfile_go_function f;
		struct objfile_go_sp sp;
		uint8_t code[512];
		int n;

		if (objfile_go_function_at(g, i, &f))
			continue;
		names += strlen(f.name);
		n = objfile_go_inlined(g, f.start + (f.end - f.start) / 2, places, 8);
		for (int k = 0; k < n; k++)
			names += strlen(places[k].name) + (places[k].file ? strlen(places[k].file) : 0);
		if (!objfile_go_sp_begin(g, &f, &walk)) {
			while (objfile_go_sp_next(&walk, &sp) == 1)
				cr_assert(sp.start < sp.end && sp.end <= f.end);
		}
		if (!objfile_read_vaddr(o, f.start, code, sizeof(code)))
			objfile_go_frame(g, &f, code, sizeof(code), &frame);
	}
	return names > 0;
}

static void scan(struct objfile *o, const struct objfile_go *g, size_t every)
{
	_cleanup_(objfile_code_freep) struct objfile_code *code = NULL;
	struct objfile_inlines *inlines;
	struct objfile_go_runtime r;

	if (!objfile_go_runtime(o, g, &r, NULL))
		objfile_go_runtime_done(&r);
	if (!objfile_inlines_new(NULL, g, &inlines))
		objfile_inlines_free(inlines);
	if (objfile_code_new(o, g, &code))
		return;
	for (size_t i = 0; i < objfile_go_function_n(g); i += every * 5) {
		struct objfile_go_function f;
		struct objfile_scan s;

		if (objfile_go_function_at(g, i, &f) || objfile_code_scan(code, f.start, 0, 1, &s, NULL))
			continue;
		cr_assert(s.entry.vaddr >= f.start && s.entry.vaddr < f.end);
		objfile_scan_done(&s);
	}
}

static bool use(const unsigned char *bytes, size_t n, size_t every)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(objfile_go_freep) struct objfile_go *g = NULL;

	if (objfile_open_memory(bytes, n, &o) || objfile_go_open(o, &g))
		return false;
	scan(o, g, every);
	return ask(o, g, every);
}

/* Where a section lies in the file. */
static void section(const char *path, const char *name, size_t *ret_at, size_t *ret_n)
{
	_cleanup_(freep) char *text = build_output("objdump -h %s | awk '$2 == \"%s\" {print $6, $3}'", path, name);

	cr_assert_eq(sscanf(text, "%zx %zx", ret_at, ret_n), 2, "%s", name);
}

static void hit(unsigned char *p)
{
	*p = rand() % 2 ? (unsigned char)rand() : *p ^ (unsigned char)(1 << rand() % 8);
}

/* Bits anywhere in a section, or mostly in its first head_n bytes. */
static void damage(const char *name, size_t head_n, int rounds)
{
	const char *path = go_program("stripped");
	_cleanup_(freep) unsigned char *bytes = NULL;
	_cleanup_(freep) unsigned char *undo = NULL;
	size_t n, at, section_n;
	int useful = 0;

	bytes = build_read(path, &n);
	section(path, name, &at, &section_n);
	cr_assert(use(bytes, n, 1));
	undo = malloc(section_n);
	memcpy(undo, bytes + at, section_n);
	srand(5);
	for (int i = 0; i < rounds; i++) {
		/* Some, or in one of four rounds so many that each function has its share. */
		for (int hits = i % 4 ? 1 + rand() % 8 : (int)(section_n / 64); hits; hits--)
			hit(bytes + at + (size_t)rand() % (rand() % 2 && head_n ? head_n : section_n));
		useful += use(bytes, n, 7);
		memcpy(bytes + at, undo, section_n);
	}
	/* If nothing could be read any more, this tests nothing. */
	cr_assert_gt(useful, 5);
}

Test(go_damaged, table)
{
	damage(".gopclntab", 0, 100);
}

Test(go_damaged, header)
{
	damage(".gopclntab", 72, 100);
}

/* The inline trees are there, and much else. */
Test(go_damaged, read_only_data)
{
	damage(".rodata", 0, 60);
}

/* The moduledata and the version. */
Test(go_damaged, data)
{
	damage(".noptrdata", 0, 60);
	damage(".go.buildinfo", 0, 30);
}

Test(go_damaged, cut_short)
{
	_cleanup_(freep) unsigned char *bytes = NULL;
	size_t n;

	bytes = build_read(go_program("bare"), &n);
	for (size_t at = 0; at < n; at += n / 40)
		use(bytes, at, 3);
}

/* Relocations, the dynamic section and the rest of a position-independent program. */
Test(go_damaged, relocations)
{
	const char *path = go_program("c-stripped");
	_cleanup_(freep) unsigned char *bytes = NULL;
	size_t n, at, section_n;
	int useful = 0;

	bytes = build_read(path, &n);
	section(path, ".rela.dyn", &at, &section_n);
	srand(6);
	for (int i = 0; i < 40; i++) {
		for (int hits = 1 + rand() % 8; hits; hits--)
			hit(bytes + at + (size_t)rand() % section_n);
		if (i % 10 == 9)
			hit(bytes + 64 + (size_t)rand() % 512);
		useful += use(bytes, n, 7);
	}
	cr_assert_gt(useful, 0);
}
