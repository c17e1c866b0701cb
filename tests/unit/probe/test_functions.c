/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Which functions a name means: versions, languages, and names that lead to no code. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../objfile/build.h"
#include "plans.h"

TestSuite(functions, .init = build_begin, .fini = build_end, .timeout = 60);

/* The one note of what is missing. */
static void expect_missing(const struct probe_set *s, const struct probe_plan *p, enum probe_severity severity,
			   const char *text)
{
	const struct probe_plan *plans[] = {p};
	struct probe_note *notes;
	size_t n;

	cr_assert_eq(probe_set_missing(s, plans, 1, &notes, &n), 0);
	cr_assert_eq(n, text != NULL, "%s", n ? notes[0].text : "");
	if (text) {
		cr_expect_not_null(strstr(notes[0].text, text), "%s", notes[0].text);
		cr_expect_eq(notes[0].severity, severity);
	}
	probe_notes_free(notes, n);
}

static void expect_not_there(const char *path, const char *inline_text, const char *why)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = plans_inline(path, inline_text, &s);

	cr_expect_eq(p->point_n, 0);
	expect_missing(s, p, PROBE_CAVEAT, why);
}

static size_t found_n(const char *path, const char *inline_text)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = plans_inline(path, inline_text, &s);

	if (p->point_n)
		expect_missing(s, p, PROBE_CAVEAT, NULL);
	return p->point_n;
}

Test(functions, versions)
{
	static const char source[] =
		"__asm__(\".symver old, f@V_1\\n.symver new, f@@V_2\\n.symver odd, g@V_1\");\n"
		"int old(int n) { return n + 1; }\nint new(int n) { return n + 2; }\nint odd(int n) { return n; }\n";
	const char *map = build_path("map"), *path;
	char args[600];

	build_run("echo 'V_1 { global: f; g; local: *; }; V_2 { global: f; } V_1;' > %s", map);
	snprintf(args, sizeof(args), "-xc -O1 -shared -fPIC -Wl,--version-script=%s -s", map);
	path = build_compile("lib.so", args, source);
	cr_expect_eq(found_n(path, "f"), 2, "both: a call is one of them");
	cr_expect_eq(found_n(path, "f@V_1"), 1);
	cr_expect_eq(found_n(path, "f@V_2"), 1);
	cr_expect_eq(found_n(path, "g"), 1);
	expect_not_there(path, "g@V_2", "-e: g@V_2: no such function");
}

/* As glibc's old pthread_cond_wait: it goes on in the new one, so that a call through it would count twice. */
Test(functions, version_that_jumps_to_another)
{
	static const char source[] =
		"__asm__(\".symver old, f@V_1\\n.symver new, f@@V_2\");\n"
		"__attribute__((visibility(\"hidden\"), noinline)) int impl(int n);\n"
		"__asm__(\".globl new\\n.type new,@function\\nnew: push %rbx\\nmov %edi,%eax\\npop %rbx\\nret\\n"
		".size new,.-new\\n.globl old\\n.type old,@function\\nold: inc %edi\\njmp new\\n.size old,.-old\");\n";
	const char *map = build_path("map"), *path;
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = NULL;
	char args[600];

	build_run("echo 'V_1 { global: f; local: *; }; V_2 { global: f; } V_1;' > %s", map);
	snprintf(args, sizeof(args), "-xc -shared -fPIC -Wl,-Bsymbolic -Wl,--version-script=%s", map);
	path = build_compile("lib.so", args, source);
	p = plans_inline(path, "f", &s);
	cr_expect_eq(p->point_n, 1, "%s", plans_notes(p));
	cr_expect_eq(plans_site_n(p, WCBPF_SITE_EXIT), 1);
	cr_expect_eq(p->duplicates, 1);
}

Test(functions, absent)
{
	static const char source[] =
		"#include <string.h>\n#include <stdio.h>\n"
		"static void *pick(void) { return memset; }\n"
		"void *mine(void *, int, unsigned long) __attribute__((ifunc(\"pick\")));\n"
		"int main(int argc, char **argv) { char b[64]; mine(b, argc, 64); puts(b); return 0; }\n";
	const char *path = build_compile("p", "-O1", source);
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = plans_inline(path, "mine", &s);

	cr_expect_eq(p->point_n, 0);
	cr_expect(plans_has_note(p, "mine", "an indirect function (IFUNC)"), "%s", plans_notes(p));
	expect_missing(s, p, PROBE_CAVEAT, NULL);
	expect_not_there(path, "puts", "-e: puts: only imported");
	expect_not_there(path, "nope", "-e: nope: no such function");
	expect_not_there(path, "libc:nope", "no file of the target is meant by 'file = libc'");
	expect_not_there(path, "usdt:a:b role=begin", "-e: a:b: no such marker (USDT)");
}

/* What a profile calls optional is a note; a profile for another program is one line. */
Test(functions, optional_and_other_programs)
{
	const char *path = build_compile("p", "-O1", "int f(void) { return 1; }\nint main(void) { return f(); }\n");
	_cleanup_(probe_set_freep) struct probe_set *optional =
		plans_set("[op a]\nsymbol = nope\noptional = yes\n", NULL);
	_cleanup_(probe_set_freep) struct probe_set *other =
		plans_set("file = postgres\n[op a]\nsymbol = f\n[op b]\nsymbol = g\n", NULL);
	_cleanup_(probe_set_freep) struct probe_set *go = plans_set("language = go\n[op a]\nsymbol = f\n", NULL);
	_cleanup_(probe_plan_freep) struct probe_plan *p = plans_resolve(optional, path);
	_cleanup_(probe_plan_freep) struct probe_plan *q = plans_resolve(other, path);
	_cleanup_(probe_plan_freep) struct probe_plan *r = plans_resolve(go, path);

	expect_missing(optional, p, PROBE_NOTE, "test:1: nope: no such function");
	expect_missing(other, q, PROBE_CAVEAT,
		       "test: the profile is not for this target: no file of it is meant by 'file = postgres'");
	expect_missing(go, r, PROBE_CAVEAT, "no Go file of the target is meant");
}

Test(functions, first_and_guards)
{
	const char *path = build_compile("p", "-O1 -fno-inline",
					 "int f(void) { return 1; }\nint g(void) { return 2; }\n"
					 "int main(void) { return f() + g(); }\n");
	_cleanup_(probe_set_freep) struct probe_set *s = plans_set(
		"[op first]\nsymbol = nope\nsymbol = g\nsymbol = f\nfirst = yes\n[op all]\nsymbol = g\nsymbol = f\n"
		"[op with]\nsymbol = f\nwith = g\n[op never]\nsymbol = f\nwith = h\n"
		"[op without]\nsymbol = f\nwithout = h\n[op neither]\nsymbol = f\nwithout = g\n",
		NULL);
	_cleanup_(probe_plan_freep) struct probe_plan *p = plans_resolve(s, path);
	static const char *const want[] = {"test/first", "test/all", "test/all", "test/with", "test/without"};

	cr_assert_eq(p->point_n, sizeof(want) / sizeof(*want));
	for (size_t i = 0; i < p->point_n; i++)
		cr_expect_str_eq(p->points[i].name, want[i]);
	cr_expect_str_eq(plans_site(p, WCBPF_SITE_ENTRY, 0)->symbol, "f");
}

Test(functions, cplusplus)
{
	static const char source[] =
		"namespace ns { struct T { int v; __attribute__((noinline)) int get(int n) const { return v + n; }\n"
		"__attribute__((noinline)) int operator()(int n) { return v * n; } };\n"
		"__attribute__((noinline)) int f(int n) { return n + 1; }\n"
		"__attribute__((noinline)) int f(int n, char const *s) { return n + *s; }\n"
		"template<typename X> __attribute__((noinline)) X twice(X x) { return x + x; } }\n"
		"int main(int n, char **v) { ns::T t{n}; return t.get(n) + t(n) + ns::f(n) + ns::f(n, v[0]) +\n"
		"ns::twice<int>(n) + (int)ns::twice<long>(n); }\n";
	const char *path = build_compile("p", "-O1 -xc++", source);

	cr_expect_eq(found_n(path, "ns::f"), 2, "overloads");
	cr_expect_eq(found_n(path, "ns::f(int)"), 1);
	cr_expect_eq(found_n(path, "ns::f(int, char const*)"), 1);
	cr_expect_eq(found_n(path, "ns::T::get"), 1);
	cr_expect_eq(found_n(path, "ns::T::operator()"), 1);
	cr_expect_eq(found_n(path, "ns::twice<int>"), 1);
	cr_expect_eq(found_n(path, "ns::twice<*>"), 2);
	cr_expect_eq(found_n(path, "_ZN2ns1fEi"), 1);
	expect_not_there(path, "ns::g", "no such function");
}

/* A copy that the compiler made for some calls is the function too; a part of it is not. */
Test(functions, clones)
{
	static const char source[] =
		"__asm__(\".globl f,f.constprop.0,f.cold,f.part.0,fg\\n\"\n"
		"\".irp n,f,f.constprop.0,f.cold,f.part.0,fg\\n.type \\\\n,@function\\n\\\\n: push %rbx\\npop %rbx\\n"
		"ret\\n.size \\\\n,.-\\\\n\\n.endr\");\nint main(void) { return 0; }\n";
	const char *path = build_compile("p", "-O1", source);
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = plans_inline(path, "f ident={$arg1}", &s);

	cr_assert_eq(p->point_n, 2, "%s", plans_notes(p));
	cr_expect(plans_has_note(p, "-e: f.constprop.0: ident:", "only debug information can tell"), "%s",
		  plans_notes(p));
	cr_expect_eq(found_n(path, "f*"), 3);
	cr_expect_eq(found_n(path, "f.part.0"), 1);
}

/* Code that the linker has folded: both names, one address. */
Test(functions, shared_address)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = plans_inline(
		build_compile("p", "-O1",
			      "int f(void) { return 1; }\nextern int twin(void) __attribute__((alias(\"f\")));\n"
			      "int main(void) { return f() + twin(); }\n"),
		"f", &s);

	cr_assert_eq(p->point_n, 1);
	cr_assert(plans_has_note(p, "-e: f:", "1 other function has the same address (twin)"), "%s", plans_notes(p));
	cr_expect_eq(p->notes[0].severity, PROBE_CAVEAT);
}

/* Spellings of one name, as libraries have them, are no other functions. */
Test(functions, spellings_of_one_name)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = plans_inline(
		build_compile("p", "-O1",
			      "int f(void) { return 1; }\nextern int __f(void) __attribute__((alias(\"f\")));\n"
			      "int main(void) { return f() + __f(); }\n"),
		"f", &s);

	cr_assert_eq(p->point_n, 1);
	cr_expect(!plans_has_note(p, "-e: f:", "same address"), "%s", plans_notes(p));
}
