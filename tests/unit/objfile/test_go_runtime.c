/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What is found of a stripped program's runtime against its twin's symbols and
 * debug information, and the runtime's own source.
 */
#include <criterion/criterion.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "build.h"
#include "go.h"
#include "objfile/objfile.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct objfile_go *, objfile_go_free)

TestSuite(go_runtime, .init = build_begin, .fini = build_end, .timeout = 200);

/* Where a member of a structure is, by libdw alone; -1: there is no such member. */
static long member_offset(Dwarf *dwarf, const char *structure, const char *member)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	Dwarf_Die unit;

	while (!dwarf_get_units(dwarf, cu, &cu, &version, NULL, &unit, NULL)) {
		Dwarf_Die die, child;

		if (dwarf_child(&unit, &die))
			continue;
		do {
			if (dwarf_tag(&die) != DW_TAG_structure_type || !dwarf_diename(&die) ||
			    strcmp(dwarf_diename(&die), structure) || dwarf_child(&die, &child))
				continue;
			do {
				Dwarf_Attribute attr;
				Dwarf_Word off;

				if (!dwarf_diename(&child) || strcmp(dwarf_diename(&child), member))
					continue;
				cr_assert_eq(dwarf_formudata(dwarf_attr(&child, DW_AT_data_member_location, &attr), &off), 0);
				return (long)off;
			} while (!dwarf_siblingof(&child, &child));
			return -1;
		} while (!dwarf_siblingof(&die, &die));
	}
	cr_assert_fail("no %s", structure);
	return -1;
}

static void compare_layout(const char *twin, const struct wcbpf_go_layout *l)
{
	_cleanup_(closep) int fd = open(go_program(twin), O_RDONLY | O_CLOEXEC);
	Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
	long parent;

	cr_assert_not_null(dwarf);
	cr_expect_eq(l->stack_hi, member_offset(dwarf, "runtime.g", "stack") + member_offset(dwarf, "runtime.stack", "hi"));
	cr_expect_eq(l->m, member_offset(dwarf, "runtime.g", "m"));
	cr_expect_eq(l->status, member_offset(dwarf, "runtime.g", "atomicstatus"));
	cr_expect_eq(l->goid, member_offset(dwarf, "runtime.g", "goid"));
	cr_expect_eq(l->wait_reason, member_offset(dwarf, "runtime.g", "waitreason"));
	cr_expect_eq(l->gopc, member_offset(dwarf, "runtime.g", "gopc"));
	cr_expect_eq(l->start_pc, member_offset(dwarf, "runtime.g", "startpc"));
	parent = member_offset(dwarf, "runtime.g", "parentGoid");
	cr_expect_eq(l->parent_goid, parent < 0 ? 0 : parent);
	cr_expect_eq(l->curg, member_offset(dwarf, "runtime.m", "curg"));
	dwarf_end(dwarf);
}

static void compare_points(const char *twin, const struct objfile_go_runtime *r)
{
	static const char *const names[] = { "gopark", "ready", "casgstatus", "execute", "newproc1", "(gdestroy|goexit0)",
					     "netpollready" };

	for (size_t i = 0; i < OBJFILE_GO_POINTS; i++) {
		/* Up to 1.21 there is no gdestroy; from then on goexit0 calls it. */
		_cleanup_(freep) char *text = build_output("nm %s | grep -E ' runtime\\.%s(\\.abi.*)?$' | sort -k3 | awk 'NR == 1 {print $1}'",
							   go_program(twin), names[i]);

		cr_expect_eq(r->points[i], strtoull(text, NULL, 16), "%s", names[i]);
	}
}

/* The names in the source, in order: constants of waitReason, and the strings for them. */
static void compare_reasons(const struct objfile_go_runtime *r)
{
	static const char script[] =
		"f=$(%s env GOROOT)/src/runtime/runtime2.go; [ -e $f ] || exit 0; "
		"sed -n '/^type waitReason/,/^)/p' $f | sed -n 's/^[\\t]\\(waitReason[A-Za-z]*\\).*/\\1/p' | while read c; do "
		"sed -n '/^var waitReasonStrings/,/^}/p' $f | sed -n \"s/^[[:space:]]*$c:[[:space:]]*\\\"\\(.*\\)\\\",.*/[\\1]/p\"; done";
	_cleanup_(freep) char *text = build_output(script, getenv("GO") ? getenv("GO") : "go");
	uint32_t n = 0;
	char *save = NULL;

	cr_assert_gt(r->reason_n, 20);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save), n++) {
		const char *name = objfile_go_wait_reason(r, (uint8_t)n);
		char expected[256];

		snprintf(expected, sizeof(expected), "[%s]", name ? name : "");
		cr_expect_str_eq(line, expected, "%u", n);
	}
	if (n)
		cr_expect_eq(n, r->reason_n);
	cr_expect_null(objfile_go_wait_reason(r, (uint8_t)r->reason_n));
	cr_expect_null(objfile_go_wait_reason(r, 255));
}

/* Where all goroutines are, against the twin's symbols; where their registers are, against its debug information. */
static void compare_list(const char *twin, const struct objfile_go_list *l)
{
	_cleanup_(freep) char *text = build_output("nm %s | awk '$3 == \"runtime.allgs\" {print $1}'", go_program(twin));
	_cleanup_(closep) int fd = open(go_program(twin), O_RDONLY | O_CLOEXEC);
	Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
	long sched;

	cr_assert_not_null(dwarf);
	sched = member_offset(dwarf, "runtime.g", "sched");
	cr_expect_eq(l->allgs, strtoull(text, NULL, 16), "%lx, not %s", (unsigned long)l->allgs, text);
	cr_expect_eq(l->sp, sched + member_offset(dwarf, "runtime.gobuf", "sp"));
	cr_expect_eq(l->pc, sched + member_offset(dwarf, "runtime.gobuf", "pc"));
	cr_expect_eq(l->bp, sched + member_offset(dwarf, "runtime.gobuf", "bp"));
	cr_expect_eq(l->pc + 8, sched + member_offset(dwarf, "runtime.gobuf", "g"));
	dwarf_end(dwarf);
}

static void check(const char *twin, const char *stripped)
{
	struct objfile_go_list list;
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(objfile_go_freep) struct objfile_go *g = NULL;
	struct objfile_go_runtime r;
	struct objfile_why why = { "" };

	cr_assert_eq(objfile_open_path(-1, go_program(stripped), &o), 0);
	cr_assert_eq(objfile_go_open(o, &g), 0);
	cr_assert_eq(objfile_go_runtime(o, g, &r, &why), 0, "%s: %s", stripped, why.text);
	compare_layout(twin, &r.layout);
	compare_points(twin, &r);
	compare_reasons(&r);
	cr_assert_eq(objfile_go_list(o, g, &r, &list, &why), 0, "%s: %s", stripped, why.text);
	compare_list(twin, &list);
	objfile_go_runtime_done(&r);
}

Test(go_runtime, stripped)
{
	check("plain", "stripped");
}

Test(go_runtime, without_section_headers)
{
	check("plain", "bare");
}

Test(go_runtime, position_independent)
{
	check("pie", "pie-stripped");
}

Test(go_runtime, linked_by_c)
{
	check("c", "c-stripped");
}

/* A copy of the program in which what an instruction of a function refers to lies eight bytes further on. */
static void spoil(const char *function, const char *begins, size_t n_begins, const char *reason)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(objfile_go_freep) struct objfile_go *g = NULL;
	const char *copy = build_path("spoiled");
	struct objfile_go_function f;
	struct objfile_go_runtime r;
	struct objfile_why why = { "" };
	uint64_t offset;
	size_t n;
	unsigned char *file, *at;
	FILE *out;

	cr_assert_eq(objfile_open_path(-1, go_program("stripped"), &o), 0);
	cr_assert_eq(objfile_go_open(o, &g), 0);
	cr_assert_eq(objfile_go_function_named(g, function, &f), 0);
	cr_assert_eq(objfile_offset_of_vaddr(o, f.start, &offset), 0);
	file = build_read(go_program("stripped"), &n);
	at = memmem(file + offset, f.end - f.start, begins, n_begins);
	cr_assert_not_null(at, "%s", function);
	at[n_begins] += 8;
	out = fopen(copy, "we");
	cr_assert_eq(fwrite(file, 1, n, out), n);
	fclose(out);
	free(file);
	objfile_go_free(g);
	objfile_free(o);
	g = NULL;
	cr_assert_eq(objfile_open_path(-1, copy, &o), 0);
	cr_assert_eq(objfile_go_open(o, &g), 0);
	cr_expect_eq(objfile_go_runtime(o, g, &r, &why), -ENOTSUP, "%s", function);
	cr_expect(strstr(why.text, reason), "%s", why.text);
}

/* As a runtime would be whose structures have been changed. */
Test(go_runtime, code_that_differs)
{
	/* lock cmpxchg %ecx,0x9.(%rdi) */
	/* lock cmpxchg %ecx,STATUS(%rdi) */
	spoil("runtime.casgstatus", "\xf0\x0f\xb1\x8f", 4, "status lies elsewhere");
	/* mov %cl,WAIT_REASON(%r8) */
	spoil("runtime.gopark", "\x41\x88\x88", 3, "wait reason lies elsewhere");
}

/* Another version stated than the runtime is of. reason NULL: it is understood nevertheless. */
static void with_version(const char *version, const char *reason)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(objfile_go_freep) struct objfile_go *g = NULL;
	const char *copy = build_path("version");
	struct objfile_go_runtime r;
	struct objfile_why why = { "" };
	size_t n;
	unsigned char *file = build_read(go_program("stripped"), &n), *at;
	FILE *out;

	at = memmem(file, n, "\xff Go buildinf:", 14);
	cr_assert_not_null(at);
	cr_assert_eq(memcmp(at + 33, "go1.", 4), 0);
	memcpy(at + 33, version, strlen(version));
	out = fopen(copy, "we");
	cr_assert_eq(fwrite(file, 1, n, out), n);
	fclose(out);
	free(file);
	cr_assert_eq(objfile_open_path(-1, copy, &o), 0);
	cr_assert_eq(objfile_go_open(o, &g), 0);
	if (!reason) {
		cr_assert_eq(objfile_go_runtime(o, g, &r, &why), 0, "%s: %s", version, why.text);
		compare_layout("plain", &r.layout);
		objfile_go_runtime_done(&r);
		return;
	}
	cr_expect_eq(objfile_go_runtime(o, g, &r, &why), -ENOTSUP, "%s", version);
	cr_expect(strstr(why.text, reason), "%s: %s", version, why.text);
}

Test(go_runtime, version_that_is_not_known)
{
	with_version("go1.98", "isn't known");
	with_version("go1.11", "isn't known");
	with_version("go2.00", "doesn't tell");
}

Test(go_runtime, version_that_is_not_true)
{
	/* Whatever the compiler is, one of these isn't its own. */
	const char *program = go_program("stripped"); /* skips this without a compiler */
	_cleanup_(freep) char *text = build_output("%s version", getenv("GO") ? getenv("GO") : "go");
	int minor = 0;

	cr_assert_not_null(program);
	cr_assert_eq(sscanf(text, "go version go1.%d", &minor), 1);
	/* Of those that could not be looked at, the runtime may be as either neighbour's. */
	if (minor >= 19 && minor <= 22)
		with_version("go1.20", NULL);
	if (minor != 25)
		with_version("go1.25", "lies elsewhere");
	if (minor >= 23)
		with_version("go1.20", "lies elsewhere");
	if (minor != 19)
		with_version("go1.19", "lies elsewhere");
	if (minor < 26)
		with_version("go1.26", "lies elsewhere");
	if (minor != 23 && minor != 24)
		with_version("go1.24", "lies elsewhere");
}
