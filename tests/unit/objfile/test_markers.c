/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Static markers against readelf, and their arguments in a running program. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "objfile/objfile.h"
#include "target.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct objfile_markers *, objfile_markers_free)

TestSuite(markers, .init = build_begin, .fini = build_end, .timeout = 60);

/* What sys/sdt.h (systemtap-sdt-dev) makes of DTRACE_PROBE: a nop, and a note in a section that isn't loaded. */
#define NOTE(provider, name, semaphore, arguments)                                                         \
	"990: nop\\n.pushsection .note.stapsdt,\\\"?\\\",\\\"note\\\"\\n.balign 4\\n.4byte 992f-991f,994f-993f,3\\n" \
	"991: .asciz \\\"stapsdt\\\"\\n992: .balign 4\\n993: .8byte 990b\\n.8byte _.stapsdt.base\\n.8byte " semaphore "\\n"  \
	".asciz \\\"" provider "\\\"\\n.asciz \\\"" name "\\\"\\n.asciz \\\"" arguments "\\\"\\n994: .balign 4\\n.popsection\\n"

static const char source[] =
	"asm(\".pushsection .stapsdt.base,\\\"aG\\\",\\\"progbits\\\",.stapsdt.base,comdat\\n.weak _.stapsdt.base\\n"
	".hidden _.stapsdt.base\\n_.stapsdt.base: .space 1\\n.size _.stapsdt.base,1\\n.popsection\");\n"
	"unsigned short listeners __attribute__((section(\".probes\"), visibility(\"hidden\")));\n"
	"volatile int sink;\n"
	"__attribute__((noipa)) long f(long a, int b, unsigned char *p) {\n"
	"  volatile short local = -3;\n"
	"  asm volatile(\"" NOTE("shop", "sold", "listeners", "%n[an]@%[a] %n[bn]@%[b] %n[mn]@%[m] %n[ln]@%[l] 8@$-5 8@$0x1122334455") "\"\n"
	"    :: [a] \"r\" (a), [an] \"i\" (8), [b] \"r\" (b), [bn] \"i\" (4), [m] \"m\" (p[3]), [mn] \"i\" (-1), [l] \"m\" (local), [ln] \"i\" (2));\n"
	"  sink++;\n"
	"  asm volatile(\"" NOTE("shop", "closed", "0", "") "\");\n"
	"  asm volatile(\"" NOTE("odd", "places", "0", "8f@%%xmm0 4@sink(%%rip) 8@8(%%rax,%%rdx,8) 3@%%eax 4@%%ah") "\");\n"
	"  return a + b; }\n"
	"int main(void) { unsigned char v[4] = { 1, 2, 3, 200 }; return f(1l << 40, -7, v) == 0; }\n";

static const char *build_program(const char *args)
{
	return build_compile("markers", args, source);
}

static const struct objfile_marker *find(const struct objfile_markers *m, const char *name)
{
	const struct objfile_marker *all;
	size_t n = objfile_markers_all(m, &all);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(all[i].name, name))
			return &all[i];
	cr_assert_fail("no marker %s", name);
	return NULL;
}

/* readelf -n prints them one after the other. */
static void compare(const char *path, const struct objfile_markers *m)
{
	_cleanup_(freep) char *text = build_output("readelf -n %s", path);
	const struct objfile_marker *all;
	size_t n = objfile_markers_all(m, &all), seen = 0;
	char *at = text;

	while ((at = strstr(at, "Provider: "))) {
		char provider[64], name[64], arguments[256] = "";
		uint64_t vaddr, base, semaphore;
		const struct objfile_marker *found;
		char *line;

		cr_assert_eq(sscanf(at, "Provider: %63s Name: %63s Location: %lx, Base: %lx, Semaphore: %lx", provider, name,
				    &vaddr, &base, &semaphore), 5);
		line = strstr(at, "Arguments:");
		cr_assert_not_null(line);
		sscanf(line, "Arguments: %255[^\n]", arguments);
		found = find(m, name);
		cr_expect_str_eq(found->provider, provider);
		cr_expect_eq(found->vaddr, vaddr);
		cr_expect_eq(found->semaphore, semaphore);
		/* readelf's line has what follows in it, if there are none. */
		if (*found->arguments)
			cr_expect_str_eq(found->arguments, arguments);
		seen++;
		at = line;
	}
	cr_expect_eq(seen, n);
	cr_expect_eq(seen, 3);
}

static void check(const char *args)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(objfile_markers_freep) struct objfile_markers *m = NULL;
	static const char *const expected[] = { "1099511627776", "-7", "200", "-3", "18446744073709551611",
						"73588229205" };
	const char *path = build_program(args);
	const struct objfile_marker *sold;
	struct target t;
	uint16_t nothing = 1;

	cr_assert_eq(objfile_open_path(-1, path, &o), 0);
	cr_assert_eq(objfile_markers_new(o, &m), 0);
	compare(path, m);
	sold = find(m, "sold");
	cr_expect_eq(objfile_read(o, sold->semaphore_offset, &nothing, sizeof(nothing)), 0);
	cr_expect_eq(nothing, 0);
	target_start(&t, path, NULL);
	target_break(&t, sold->vaddr + target_bias(&t, o, path));
	cr_assert_eq(target_run(&t), 0);
	for (unsigned int i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		struct objfile_value value;
		struct objfile_why why = { "" };

		cr_assert_eq(objfile_marker_value(sold, i + 1, &value, &why), 0, "%u: %s", i, why.text);
		cr_expect_str_eq(target_value(&t, &value.fetch, 0), expected[i], "%u: %s", i,
				 target_value(&t, &value.fetch, 0));
	}
	target_end(&t);
}

Test(markers, optimized)
{
	check("-O2");
}

Test(markers, not_optimized)
{
	check("-O0 -fno-pie -no-pie");
}

Test(markers, what_cannot_be_fetched)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(objfile_markers_freep) struct objfile_markers *m = NULL;
	static const char *const reasons[] = { "floating point", "at a symbol", "not a register and a number", "not 1, 2, 4 or 8",
					       "no general register" };
	struct objfile_value value;
	struct objfile_why why;

	cr_assert_eq(objfile_open_path(-1, build_program("-O2"), &o), 0);
	cr_assert_eq(objfile_markers_new(o, &m), 0);
	for (unsigned int i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		cr_expect_eq(objfile_marker_value(find(m, "places"), i + 1, &value, &why), -ENOTSUP, "%u", i);
		cr_expect(strstr(why.text, reasons[i]), "%u: %s", i, why.text);
	}
	cr_expect_eq(objfile_marker_value(find(m, "places"), 6, &value, &why), -ENOENT);
	cr_expect_eq(objfile_marker_value(find(m, "closed"), 1, &value, &why), -ENOENT);
	cr_expect_eq(objfile_marker_value(find(m, "closed"), 0, &value, &why), -ENOENT);
}

Test(markers, none)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(objfile_markers_freep) struct objfile_markers *m = NULL;
	const struct objfile_marker *all;

	cr_assert_eq(objfile_open_path(-1, build_compile("none", "-O2", "int main(void) { return 0; }"), &o), 0);
	cr_assert_eq(objfile_markers_new(o, &m), 0);
	cr_expect_eq(objfile_markers_all(m, &all), 0);
}
