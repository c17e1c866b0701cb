/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* How often functions are inlined: debug information against readelf's listing of it, Go's trees against both. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "go.h"
#include "objfile/objfile.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct objfile_go *, objfile_go_free)
DEFINE_CLEANUP(struct objfile_types *, objfile_types_free)
DEFINE_CLEANUP(struct objfile_inlines *, objfile_inlines_free)

TestSuite(inlines, .init = build_begin, .fini = build_end, .timeout = 100);

static struct objfile_inlines *by_debug_information(const char *path)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(objfile_types_freep) struct objfile_types *types = NULL;
	struct objfile_search search = { .path = path, .root_fd = -1 };
	struct objfile_inlines *inlines = NULL;

	cr_assert_eq(objfile_open_path(-1, path, &o), 0);
	cr_assert_eq(objfile_types_new(o, &search, 1u << 30, &types), 0);
	cr_assert_eq(objfile_inlines_new(types, NULL, &inlines), 0);
	return inlines;
}

static struct objfile_inlines *by_trees(const char *path)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(objfile_go_freep) struct objfile_go *go = NULL;
	struct objfile_inlines *inlines = NULL;

	cr_assert_eq(objfile_open_path(-1, path, &o), 0);
	cr_assert_eq(objfile_go_open(o, &go), 0);
	cr_assert_eq(objfile_inlines_new(NULL, go, &inlines), 0);
	return inlines;
}

/* Entries with code, by the name of what they are an instance of: "COUNT NAME". */
static const char script[] =
	"readelf -W --debug-dump=info %s | awk '"
	"/Abbrev Number:/ { tag = $0; sub(/.*\\(/, \"\", tag); sub(/\\).*/, \"\", tag); split($0, a, /[<>]/); id = a[4]; origin = \"\"; code = 0 }"
	"/DW_AT_name/ { n = $0; sub(/.*: /, \"\", n); gsub(/[ \\t]+$/, \"\", n); name[id] = n }"
	"/DW_AT_specification/ { n = $0; sub(/.*<0x/, \"\", n); sub(/>.*/, \"\", n); spec[id] = n }"
	"/DW_AT_abstract_origin/ { origin = $0; sub(/.*<0x/, \"\", origin); sub(/>.*/, \"\", origin) }"
	"/DW_AT_(low_pc|ranges)/ { code = 1 }"
	"tag == \"DW_TAG_inlined_subroutine\" && origin != \"\" && code { count[origin]++; code = 0 }"
	"END { for (o in count) { n = name[o]; if (n == \"\") n = name[spec[o]]; total[n] += count[o] } for (n in total) print total[n], n }'";

static void compare_with_readelf(const char *path, const struct objfile_inlines *inlines, size_t least)
{
	_cleanup_(freep) char *text = build_output(script, path);
	const struct objfile_inline *all;
	size_t n = objfile_inlines_all(inlines, &all), sites = 0, listed = 0;
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *name;
		size_t count = strtoul(line, &name, 10);

		cr_expect_eq(objfile_inlines_n(inlines, name + 1), count, "%s: %u", line, objfile_inlines_n(inlines, name + 1));
		listed += count;
	}
	for (size_t i = 0; i < n; i++)
		sites += all[i].site_n;
	cr_expect_geq(sites, least);
	cr_expect_eq(sites, listed, "%zu, not %zu", sites, listed);
}

static const char cxx_source[] =
	"volatile int sink;\n"
	"static inline __attribute__((always_inline)) int once(int x) { return x * sink; }\n"
	"static inline __attribute__((always_inline)) int twice(int x) { return once(x) + once(x + 1); }\n"
	"struct S { int v; __attribute__((always_inline)) int method(int x) { return twice(x) + v; } };\n"
	"template <class T> __attribute__((always_inline)) inline T generic(T x) { return x + sink; }\n"
	"__attribute__((noinline)) int f(S *s, int x) { return s->method(x) + generic(x) + generic<long>(x); }\n"
	"int main(int c, char **v) { S s = { c }; return f(&s, c) + once(c) + generic(c); }\n";

Test(inlines, cxx)
{
	const char *path = build_compile("inlined", "-xc++ -g -O2", cxx_source);
	_cleanup_(objfile_inlines_freep) struct objfile_inlines *inlines = by_debug_information(path);

	compare_with_readelf(path, inlines, 8);
	cr_expect_eq(objfile_inlines_n(inlines, "once"), 3);
	cr_expect_eq(objfile_inlines_n(inlines, "twice"), 1);
	cr_expect_eq(objfile_inlines_n(inlines, "_ZN1S6methodEi"), 1);
	cr_expect_eq(objfile_inlines_n(inlines, "_Z7genericIiET_S0_"), 2);
	cr_expect_eq(objfile_inlines_n(inlines, "_Z7genericIlET_S0_"), 1);
	cr_expect_eq(objfile_inlines_n(inlines, "f"), 0);
}

/* A stripped program knows as much. */
Test(inlines, go)
{
	_cleanup_(objfile_inlines_freep) struct objfile_inlines *stated = by_debug_information(go_program("plain"));
	_cleanup_(objfile_inlines_freep) struct objfile_inlines *trees = by_trees(go_program("stripped"));
	const struct objfile_inline *all;
	size_t n = objfile_inlines_all(stated, &all), same = 0;

	for (size_t i = 0; i < n; i++) {
		cr_expect_geq(objfile_inlines_n(trees, all[i].name), all[i].site_n, "%s", all[i].name);
		same += objfile_inlines_n(trees, all[i].name) == all[i].site_n;
	}
	cr_expect_geq(same + 1 + n / 200, n, "%zu of %zu", same, n);
	cr_expect_geq(objfile_inlines_n(trees, "main.twice"), 1);
	cr_expect_eq(objfile_inlines_n(trees, "main.deep"), 0);
	cr_expect_eq(objfile_inlines_n(trees, "main.nothing"), 0);
}
