/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* All names of functions against nm and readelf. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "objfile/objfile.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct objfile_names *, objfile_names_free)

TestSuite(names, .init = build_begin, .fini = build_end, .timeout = 60);

static struct objfile_names *read_names(const char *path, const char *debug_path)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL, *debug = NULL;
	struct objfile_names *names = NULL;

	cr_assert_eq(objfile_open_path(-1, path, &o), 0, "%s", path);
	if (debug_path)
		cr_assert_eq(objfile_open_path(-1, debug_path, &debug), 0);
	cr_assert_eq(objfile_names_new(o, debug, &names), 0);
	return names;
}

/* The one of that name and version, NULL: any. */
static const struct objfile_name *one(const struct objfile_names *names, const char *name, const char *version)
{
	const struct objfile_name *found;
	size_t n = objfile_names_find(names, name, &found);

	for (size_t i = 0; i < n; i++)
		if (!version || (found[i].version && !strcmp(found[i].version, version)))
			return &found[i];
	return NULL;
}

/*
 * Each function of nm -D is there, with version and size, and there are no others: "000.. 000.. T name@@VERSION",
 * "U name@VERSION" for imports, which also are variables.
 */
Test(names, versions)
{
	static const char libc[] = "/lib/x86_64-linux-gnu/libc.so.6";
	_cleanup_(objfile_names_freep) struct objfile_names *names = read_names(libc, NULL);
	_cleanup_(freep) char *text = build_output("readelf -W --dyn-syms %s | awk '($4 == \"FUNC\" || $4 == \"IFUNC\") && "
						   "$7 != \"UND\" {print $2, $3, $4, $5, $8}'", libc);
	const struct objfile_name *all;
	size_t n = objfile_names_all(names, &all), expected = 0, defined = 0;
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char size_text[32], type[16], bind[16], name[512], *version;
		const struct objfile_name *found;
		uint64_t at;

		cr_assert_eq(sscanf(line, "%lx %31s %15s %15s %511s", &at, size_text, type, bind, name), 5, "%s", line);
		version = strchr(name, '@');
		cr_assert_not_null(version, "%s", line);
		*version++ = '\0';
		found = one(names, name, version + (*version == '@'));
		cr_assert_not_null(found, "%s %s", name, version);
		cr_expect_eq(found->vaddr, at, "%s", name);
		cr_expect_eq(found->size, strtoull(size_text, NULL, 0), "%s", name);
		cr_expect_eq(found->ifunc, !strcmp(type, "IFUNC"), "%s", name);
		cr_expect_eq(found->old_version, *version != '@', "%s@%s", name, version);
		cr_expect_not(found->imported || found->local, "%s", name);
		expected++;
	}
	for (size_t i = 0; i < n; i++)
		defined += !all[i].imported;
	cr_expect_gt(expected, 2000);
	cr_expect_eq(defined, expected, "%zu, not %zu", defined, expected);
}

static const char source[] =
	"#include <stdlib.h>\n"
	"__asm__(\".symver old,both@V_1\\n.symver current,both@@V_2\");\n"
	"int old(int x) { return x + 1; }\n"
	"int current(int x) { return x + 2; }\n"
	"static __attribute__((noinline, used)) int hidden(int x) { return x * 3; }\n"
	"int twin(int x) { return hidden(x); }\n"
	"int same(int x) __attribute__((alias(\"twin\")));\n"
	"static int (*choose(void))(int) { return hidden; }\n"
	"int chosen(int x) __attribute__((ifunc(\"choose\")));\n"
	"char *imports(void) { return getenv(\"X\"); }\n";

static const char *library(void)
{
	char args[512];

	build_run("printf 'V_1 { };\\nV_2 { global: both; twin; same; chosen; imports; local: *; } V_1;\\n' > %s",
		  build_path("map"));
	snprintf(args, sizeof(args), "-shared -fPIC -O1 -Wl,--version-script=%s", build_path("map"));
	return build_compile("library.so", args, source);
}

static void check_library(const struct objfile_names *names, bool has_static)
{
	const struct objfile_name *a = one(names, "both", "V_1"), *b = one(names, "both", "V_2"), *all;
	size_t n;

	cr_assert(a && b);
	cr_expect(a->old_version && !b->old_version);
	cr_expect_neq(a->vaddr, b->vaddr);
	cr_expect_eq(objfile_names_find(names, "both", &all), 2);
	cr_expect_eq(objfile_names_find(names, "bot", &all), 0);
	cr_expect_eq(objfile_names_find(names, "", &all), 0);
	cr_expect(one(names, "chosen", NULL)->ifunc);
	cr_expect(one(names, "getenv", NULL)->imported);
	cr_expect_str_eq(one(names, "getenv", NULL)->version, "GLIBC_2.2.5");
	/* Both tables have it, the one with a version, the other without. */
	cr_expect_eq(objfile_names_find(names, "twin", &all), 1);
	cr_expect_str_eq(all->version, "V_2");
	cr_expect_str_eq(objfile_names_at(names, all->vaddr, 0)->name, "same");
	cr_expect_str_eq(objfile_names_at(names, all->vaddr, 1)->name, "twin");
	cr_expect_null(objfile_names_at(names, all->vaddr, 2));
	cr_expect_null(objfile_names_at(names, all->vaddr + 1, 0));
	n = objfile_names_find(names, "hidden", &all);
	cr_expect_eq(n, has_static);
	if (n)
		cr_expect(all->local);
}

Test(names, own_library)
{
	const char *path = library();
	_cleanup_(objfile_names_freep) struct objfile_names *names = read_names(path, NULL);

	check_library(names, true);
}

Test(names, stripped)
{
	const char *path = library(), *stripped = build_path("stripped.so");
	_cleanup_(objfile_names_freep) struct objfile_names *names = NULL;

	build_run("strip -o %s %s", stripped, path);
	names = read_names(stripped, NULL);
	check_library(names, false);
}

Test(names, debug_file)
{
	const char *path = library(), *stripped = build_path("stripped.so"), *debug = build_path("library.debug");
	_cleanup_(objfile_names_freep) struct objfile_names *names = NULL;

	build_run("strip -o %s %s && objcopy --only-keep-debug %s %s", stripped, path, path, debug);
	names = read_names(stripped, debug);
	check_library(names, true);
}

/* Static functions of one name in several units stay several. */
Test(names, static_twins)
{
	const char *a = build_path("a.c"), *b = build_path("b.c"), *program = build_path("twins");
	_cleanup_(objfile_names_freep) struct objfile_names *names = NULL;
	const struct objfile_name *found;

	build_run("echo 'static __attribute__((noinline)) int f(int x) { return x + 1; } int g(int x) { return f(x); }' > %s", a);
	build_run("echo 'int g(int); static __attribute__((noinline)) int f(int x) { return x * 5; } "
		  "int main(int c, char **v) { return f(c) + g(c); }' > %s", b);
	build_run("gcc -O1 -o %s %s %s", program, a, b);
	names = read_names(program, NULL);
	cr_assert_eq(objfile_names_find(names, "f", &found), 2);
	cr_expect(found[0].local && found[1].local && found[0].vaddr < found[1].vaddr);
}

Test(names, offsets_of_addresses)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	const char *path = build_compile("layout", "-O1 -Wl,-z,noseparate-code", "int main(void) { return 0; }");
	_cleanup_(freep) char *text = build_output("nm %s | awk '$3 == \"main\" {print $1}'; objdump -F -d --start-address=0x$(nm %s | "
						   "awk '$3 == \"main\" {print $1}') %s | sed -n 's/.*<main>.*File Offset: "
						   "\\(0x[0-9a-f]*\\)).*/\\1/p' | head -n 1", path, path, path);
	uint64_t vaddr, offset, got;

	cr_assert_eq(sscanf(text, "%lx %lx", &vaddr, &offset), 2, "%s", text);
	cr_assert_eq(objfile_open_path(-1, path, &o), 0);
	cr_assert_eq(objfile_offset_of_vaddr(o, vaddr, &got), 0);
	cr_expect_eq(got, offset);
	cr_expect_eq(objfile_offset_of_vaddr(o, 1ull << 60, &got), -ENOENT);
	cr_expect_eq(objfile_vaddr_of_offset(o, got, &offset), 0);
	cr_expect_eq(offset, vaddr);
}
