/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Frames of a stripped Go program: what sym_user() gives for its addresses, against what its tables hold. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "../objfile/go.h"
#include "objfile/objfile.h"
#include "sym/sym.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct objfile_go *, objfile_go_free)

#define PID 0x7ff00001u
#define BASE 0x555500000000ull
#define PLACES_MAX 32

static struct proc_maps *maps;
static struct sym *sym;
static struct objfile *objfile;
static struct objfile_go *go;
static uint64_t bias;

/* The program as if PID had mapped its code. */
static void setup(void)
{
	const char *path = go_program("pie-stripped");
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t vaddr;
	struct stat st;

	cr_assert_eq(fstat(fd, &st), 0);
	cr_assert_eq(objfile_open_fd(fd, &objfile), 0);
	cr_assert_eq(objfile_go_open(objfile, &go), 0);
	cr_assert_eq(proc_maps_new(&maps), 0);
	cr_assert_eq(sym_new(maps, NULL, &sym), 0);
	cr_assert_eq(proc_maps_add(maps, PID, 0, BASE, (uint64_t)st.st_size, 0, major(st.st_dev), minor(st.st_dev),
				   st.st_ino, path), 0);
	cr_assert_eq(objfile_vaddr_of_offset(objfile, 4096, &vaddr), 0);
	bias = BASE + 4096 - vaddr;
}

static void teardown(void)
{
	sym_free(sym);
	proc_maps_free(maps);
	objfile_go_free(go);
	objfile_free(objfile);
}

TestSuite(go_frames, .init = setup, .fini = teardown, .timeout = 200);

static struct objfile_go_function function_named(const char *name)
{
	struct objfile_go_function f = { 0 };

	for (size_t i = 0; i < objfile_go_function_n(go); i++) {
		if (!objfile_go_function_at(go, i, &f) && !strcmp(f.name, name) && !f.wrapper)
			return f;
	}
	cr_assert_fail("no %s", name);
	return f;
}

Test(go_frames, as_written_in_the_source)
{
	struct objfile_go_function f = function_named("main.deep");
	struct sym_frame frames[8];
	bool inlined = false;

	for (uint64_t at = f.start; at < f.end; at++) {
		size_t n = sym_user(sym, PID, 1, bias + at, false, frames, 8);

		cr_assert_geq(n, 1);
		cr_assert_str_eq(frames[n - 1].name, "main.deep");
		cr_assert_eq(frames[n - 1].address, at);
		cr_assert_eq(frames[n - 1].offset, at - f.start);
		cr_assert_not(frames[n - 1].inlined);
		if (n != 3)
			continue;
		/* deep() inlines twice(), which inlines once(). */
		inlined = true;
		cr_assert_str_eq(frames[0].name, "main.once");
		cr_assert_str_eq(frames[1].name, "main.twice");
		cr_assert(frames[0].inlined && frames[1].inlined);
		for (size_t i = 0; i < 3; i++) {
			cr_assert_not_null(strstr(frames[i].file, "/plain/main.go"), "%s", frames[i].file);
			cr_assert_gt(frames[i].line, 0);
		}
		cr_assert_eq(frames[0].line, frames[1].line + 1); /* once() is written below twice() */
	}
	cr_assert(inlined);
}

/* Each function by its name; none takes a wrapper for what it calls. */
Test(go_frames, every_function)
{
	size_t wrappers = 0;

	for (size_t i = 0; i < objfile_go_function_n(go); i++) {
		struct objfile_go_place places[PLACES_MAX];
		struct sym_frame frames[PLACES_MAX];
		struct objfile_go_function f;
		size_t n, kept = 0;
		int place_n;

		cr_assert_eq(objfile_go_function_at(go, i, &f), 0);
		if (f.start == f.end)
			continue;
		n = sym_user(sym, PID, 1, bias + f.start + 1, true, frames, PLACES_MAX);
		place_n = objfile_go_inlined(go, f.start, places, PLACES_MAX);
		for (int k = 0; k < place_n; k++) {
			if (places[k].wrapper && kept) {
				wrappers++;
				continue;
			}
			cr_assert_lt(kept, n);
			cr_assert_str_eq(frames[kept].name, places[k].name);
			cr_assert_eq(frames[kept].inlined, kept + 1 < n);
			kept++;
		}
		cr_assert_eq(kept, n, "%s", f.name);
	}
	(void)wrappers;
}

Test(go_frames, wrappers_are_skipped)
{
	size_t seen = 0;

	for (size_t i = 0; i < objfile_go_function_n(go); i++) {
		struct objfile_go_function f;
		struct sym_frame frames[PLACES_MAX];

		cr_assert_eq(objfile_go_function_at(go, i, &f), 0);
		if (!f.wrapper)
			continue;
		for (uint64_t at = f.start; at < f.end; at++) {
			size_t n = sym_user(sym, PID, 1, bias + at, false, frames, PLACES_MAX);

			/* Alone it is shown, never below what was inlined into it. */
			if (n == 1)
				seen += strcmp(frames[0].name, f.name) != 0;
			for (size_t k = 1; k < n; k++)
				cr_assert_str_neq(frames[k].name, f.name);
		}
	}
	cr_assert_gt(seen, 0);
}
