/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Go's tables, read from stripped programs, against what nm, the compiler's own
 * .debug_frame (by libdw) and llvm-symbolizer say of unstripped twins.
 */
#include <criterion/criterion.h>
#include <ctype.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "go.h"
#include "objfile/objfile.h"
#include "util/cleanup.h"
#include "util/map.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct objfile_go *, objfile_go_free)

TestSuite(go, .init = build_begin, .fini = build_end, .timeout = 200);

static struct objfile_go *open_go(const char *path)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct objfile_go *g = NULL;

	cr_assert_eq(objfile_open_fd(fd, &o), 0, "%s", path);
	cr_assert_eq(objfile_go_open(o, &g), 0, "%s", path);
	return g;
}

/*
 * What is left of a name when all that the tools write differently is gone: type
 * arguments, which the linker shortens in one of symbol table and DWARF, the ABI
 * at its end, the middle dot.
 */
static void plain_name(const char *name, char *ret, size_t n)
{
	size_t at = 0, depth = 0;

	for (; *name && at + 1 < n; name++) {
		if (!strncmp(name, "\xc2\xb7", 2)) {
			name++;
			ret[at++] = '.';
			continue;
		}
		if (*name == '[')
			depth++;
		if (!depth && strcmp(name, ".abi0") && strcmp(name, ".abiinternal"))
			ret[at++] = *name;
		else if (!depth)
			break;
		if (*name == ']' && depth)
			depth--;
	}
	ret[at] = '\0';
}

static bool is_same_name(const char *a, const char *b)
{
	char plain_a[4096], plain_b[4096];

	plain_name(a, plain_a, sizeof(plain_a));
	plain_name(b, plain_b, sizeof(plain_b));
	return !strcmp(plain_a, plain_b);
}

/* Each function of g has that name at that address in the twin, and it has no others in Go's part of the code. */
static void compare_names(const char *twin, const struct objfile_go *g)
{
	_cleanup_(freep) char *text = build_output("nm %s", go_program(twin));
	_cleanup_(map_freep) struct map *seen = NULL;
	uint64_t start, end;
	size_t right = 0;
	char *save = NULL;

	cr_assert_eq(map_new(&seen), 0);
	objfile_go_text(g, &start, &end);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct objfile_go_function f;
		char type, *name;
		uint64_t at;
		int n = 0;

		if (sscanf(line, "%lx %c %n", &at, &type, &n) != 2 || !n || tolower(type) != 't' || at < start || at >= end)
			continue;
		name = line + n;
		cr_assert_eq(objfile_go_function(g, at, &f), 0, "%s", line);
		cr_assert_eq(f.start, at, "%s: in %s", line, f.name);
		cr_assert_eq(objfile_go_function(g, f.end - 1, &f), 0);
		cr_assert_eq(f.start, at, "%s", line);
		if (is_same_name(name, f.name)) {
			right += !map_get(seen, at, NULL);
			cr_assert_eq(map_put(seen, at, 1), 0);
		} else {
			/* Where the linker has marks of its own, or C's names for what C calls. */
			cr_expect(!strncmp(name, "runtime.", 8) || !strncmp(name, "go:", 3) || !strncmp(name, "go.", 3) ||
				  !strchr(name, '.'), "%s is %s", name, f.name);
		}
	}
	cr_assert_eq(right, objfile_go_function_n(g), "%zu of %zu", right, objfile_go_function_n(g));
}

static void test_names(const char *twin, const char *stripped)
{
	_cleanup_(objfile_go_freep) struct objfile_go *g = open_go(go_program(stripped));
	_cleanup_(freep) char *version = build_output("go version 2>/dev/null || true");

	compare_names(twin, g);
	cr_assert_gt(strlen(objfile_go_version(g)), 4);
	if (!getenv("GO"))
		cr_assert_not_null(strstr(version, objfile_go_version(g)), "%s", version);
}

Test(go, names)
{
	test_names("plain", "stripped");
}

Test(go, names_without_section_headers)
{
	test_names("plain", "bare");
}

Test(go, names_position_independent)
{
	test_names("pie", "pie-stripped");
}

Test(go, names_linked_by_c)
{
	test_names("c", "c-stripped");
}

Test(go, other_programs)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct objfile_go *g = NULL;

	cr_assert_eq(objfile_open_fd(fd, &o), 0);
	cr_assert_eq(objfile_go_open(o, &g), -ENOENT);
	cr_assert_null(g);
}

/* CFA - rsp as .debug_frame has it; -1: something else. */
static int64_t cfa_offset(Dwarf_CFI *cfi, uint64_t vaddr)
{
	_cleanup_(freep) Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_cfi_addrframe(cfi, vaddr, &frame) || dwarf_frame_cfa(frame, &ops, &n) || n != 1)
		return -1;
	if (ops[0].atom == DW_OP_breg7)
		return (int64_t)ops[0].number;
	if (ops[0].atom == DW_OP_bregx && ops[0].number == 7)
		return (int64_t)ops[0].number2;
	return -1;
}

/* At every address that the linker's own frame information speaks of. */
static void test_stack_pointer(const char *twin, const char *stripped)
{
	_cleanup_(objfile_go_freep) struct objfile_go *g = open_go(go_program(stripped));
	_cleanup_(closep) int fd = open(go_program(twin), O_RDONLY | O_CLOEXEC);
	Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
	Dwarf_CFI *cfi = dwarf_getcfi(dwarf);
	size_t compared = 0;

	cr_assert_not_null(cfi);
	for (size_t i = 0; i < objfile_go_function_n(g); i++) {
		struct objfile_go_sp_walk walk;
		struct objfile_go_function f;
		struct objfile_go_sp sp;
		int r;

		cr_assert_eq(objfile_go_function_at(g, i, &f), 0);
		cr_assert_eq(objfile_go_sp_begin(g, &f, &walk), 0);
		while ((r = objfile_go_sp_next(&walk, &sp)) == 1) {
			for (uint64_t vaddr = sp.start; vaddr < sp.end; vaddr++) {
				int64_t off = cfa_offset(cfi, vaddr);

				if (off < 0)
					continue;
				cr_assert_eq(off, sp.delta + 8, "%s+%#lx: %d, %ld", f.name, vaddr - f.start, sp.delta, off);
				compared++;
			}
		}
		cr_assert_eq(r, 0, "%s", f.name);
	}
	cr_assert_gt(compared, 100000);
	dwarf_end(dwarf);
}

Test(go, stack_pointer)
{
	test_stack_pointer("plain", "stripped");
}

Test(go, stack_pointer_linked_by_c)
{
	test_stack_pointer("c", "c-stripped");
}

#define EVERY 7 /* address, for speed */

struct inlined_counts {
	size_t same, inlined, differ, unknown;
};

/* Without its newline; false: an empty one, or no more. */
static bool next_line(FILE *f, char *ret, size_t n)
{
	if (!fgets(ret, (int)n, f) || *ret == '\n')
		return false;
	ret[strlen(ret) - 1] = '\0';
	return true;
}

/* One answer of llvm-symbolizer: name and place, line by line, then an empty line. */
static void compare_places(const struct objfile_go_place *places, int n, FILE *f, struct inlined_counts *counts)
{
	/* A wrapper is the compiler's: what it inlines isn't in DWARF. */
	bool same = true, unknown = n > 1 && places[n - 1].wrapper;
	char name[8192], place[8192];
	int k = 0;

	for (; next_line(f, name, sizeof(name)); k++) {
		char *colon;

		cr_assert(next_line(f, place, sizeof(place)));
		colon = strrchr(place, ':'); /* column */
		if (colon)
			*colon = '\0';
		colon = strrchr(place, ':');
		cr_assert_not_null(colon, "%s", place);
		*colon = '\0';
		if (!strcmp(name, "??") || !strcmp(place, "??") || !strcmp(place, "<autogenerated>"))
			unknown = true;
		else if (k >= n || !is_same_name(places[k].name, name) || !places[k].file ||
			 strcmp(places[k].file, place) || places[k].line != strtoul(colon + 1, NULL, 10))
			same = false;
	}
	if (unknown) {
		counts->unknown++;
	} else if (same && k == n) {
		counts->same++;
		counts->inlined += n > 1;
	} else {
		counts->differ++;
	}
}

Test(go, inlined_and_lines)
{
	_cleanup_(objfile_go_freep) struct objfile_go *g = open_go(go_program("stripped"));
	_cleanup_(freep) char *command = NULL;
	struct inlined_counts counts = { 0 };
	struct objfile_go_place places[32];
	uint64_t start, end;
	FILE *f;

	objfile_go_text(g, &start, &end);
	f = fopen(build_path("addresses"), "we");
	cr_assert_not_null(f);
	for (uint64_t vaddr = start; vaddr < end; vaddr += EVERY)
		fprintf(f, "%#lx\n", vaddr);
	fclose(f);
	cr_assert_geq(asprintf(&command, "llvm-symbolizer --inlines --relativenames --no-demangle -e %s <%s",
			       go_program("plain"), build_path("addresses")), 0);
	f = popen(command, "re");
	cr_assert_not_null(f);
	for (uint64_t vaddr = start; vaddr < end; vaddr += EVERY) {
		int n = objfile_go_inlined(g, vaddr, places, 32);

		cr_assert_gt(n, 0, "%#lx", vaddr);
		compare_places(places, n, f, &counts);
	}
	cr_assert_eq(pclose(f), 0);
	fprintf(stderr, "%s: %zu same, of them %zu with inlined calls; %zu differ, %zu not known to DWARF\n",
		objfile_go_version(g), counts.same, counts.inlined, counts.differ, counts.unknown);
	cr_assert_gt(counts.inlined, 5000);
	/* Where two lines meet, the line tables of Go and of DWARF don't always agree. */
	cr_assert_lt(counts.differ, counts.same / 1000);
}

Test(go, fewer_places_than_there_are)
{
	_cleanup_(objfile_go_freep) struct objfile_go *g = open_go(go_program("stripped"));
	struct objfile_go_place all[32], two[2];
	uint64_t start, end;
	size_t seen = 0;

	objfile_go_text(g, &start, &end);
	for (uint64_t vaddr = start; vaddr < end && seen < 10; vaddr += EVERY) {
		if (objfile_go_inlined(g, vaddr, all, 32) < 3)
			continue;
		cr_assert_eq(objfile_go_inlined(g, vaddr, two, 2), 2);
		cr_assert_eq(memcmp(all, two, sizeof(two)), 0);
		seen++;
	}
	cr_assert_eq(seen, 10);
	cr_assert_eq(objfile_go_inlined(g, start - 1, all, 32), -ENOENT);
	cr_assert_eq(objfile_go_inlined(g, end, all, 32), -ENOENT);
}

/* The wrapper of window.area(), made by the compiler, and nothing that is written in the source. */
Test(go, wrappers)
{
	_cleanup_(objfile_go_freep) struct objfile_go *g = open_go(go_program("stripped"));
	size_t wrappers = 0;

	for (size_t i = 0; i < objfile_go_function_n(g); i++) {
		struct objfile_go_function f;

		cr_assert_eq(objfile_go_function_at(g, i, &f), 0);
		wrappers += f.wrapper;
		if (!strcmp(f.name, "main.main") || !strcmp(f.name, "main.deep"))
			cr_assert_not(f.wrapper, "%s", f.name);
		if (!strcmp(f.name, "main.(*window).area"))
			cr_assert(f.wrapper);
		if (!strcmp(f.name, "runtime.goexit"))
			cr_assert(f.top_frame);
		if (!strcmp(f.name, "runtime.asmcgocall") && !f.wrapper)
			cr_assert(f.sp_write);
	}
	cr_assert_gt(wrappers, 0);
}
