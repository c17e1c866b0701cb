/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Names and patterns: what is meant and what is not. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <string.h>

#include "probe/pattern.h"

TestSuite(pattern, .timeout = 60);

static bool matches(const char *text, const char *name, bool go, bool readable)
{
	_cleanup_(complaints_done) struct complaints c = {0};
	_cleanup_(pool_freep) struct probe_pool *pool = NULL;
	struct source s = {.complaints = &c, .name = "test"};
	struct symbol_pattern p;

	cr_assert_eq(pool_new(&pool), 0);
	s.pool = pool;
	cr_assert_eq(symbol_pattern_parse(&s, text, &p), 0, "%s", c.text);
	return readable ? symbol_pattern_match_readable(&p, name) : symbol_pattern_match(&p, name, go);
}

Test(pattern, names)
{
	static const struct {
		const char *pattern, *name;
		bool match;
	} rows[] = {
		{"f", "f", true},
		{"f", "ff", false},
		{"f*", "f", true},
		{"f*", "foo", true},
		{"*f", "elf", true},
		{"*a*b*c", "xaxxbxbxc", true},
		{"*a*b*c", "xaxxbxbxcd", false},
		{"f?o", "foo", true},
		{"f?o", "fo", false},
		{"operator\\*", "operator*", true},
		{"operator\\*", "operator+", false},
		{"main.(*T).f", "main.(*T).f", true},
		{"main.(*T).f", "main.(*Tx).f", false},
		{"main.(*T).f", "main.(xyT).f", false},
		{"*.(*T).f", "a/b/main.(*T).f", true},
		{"main.(*call*).run", "main.(*call).run", true},
		{"main.(*call*).run", "main.(*call[go.shape.int]).run", true},
		{"main.(*call*).run", "main.(*cell).run", false},
		{"main.f[...]", "main.f[...]", true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_expect_eq(matches(rows[i].pattern, rows[i].name, false, false), rows[i].match, "%s on %s",
			     rows[i].pattern, rows[i].name);
}

Test(pattern, vendor)
{
	static const char solve[] = "github.com/moby/buildkit/solver/llbsolver.(*Solver).Solve";
	static const char vendored[] =
		"github.com/docker/docker/vendor/github.com/moby/buildkit/solver/llbsolver.(*Solver).Solve";

	cr_expect(matches(solve, solve, true, false));
	cr_expect(matches(solve, vendored, true, false));
	cr_expect(!matches(solve, vendored, false, false), "of Go only");
	cr_expect(matches("*/buildkit/solver/llbsolver.(*Solver).Solve", vendored, true, false));
	cr_expect(matches("github.com/moby/buildkit/*.Solve", vendored, true, false));
	cr_expect(!matches("buildkit/solver/llbsolver.(*Solver).Solve", vendored, true, false), "not any suffix");
}

Test(pattern, readable)
{
	static const struct {
		const char *pattern, *name;
		bool match;
	} rows[] = {
		{"ns::f", "ns::f(int, char const*)", true},
		{"ns::f(int, char const*)", "ns::f(int, char const*)", true},
		{"ns::f(int)", "ns::f(int, char const*)", false},
		{"f", "ns::f(int)", false},
		{"f", "f(int)", true},
		{"ns::T::g", "ns::T::g() const", true},
		{"ns::T::operator()", "ns::T::operator()(int)", true},
		{"(anonymous namespace)::f", "(anonymous namespace)::f(int)", true},
		{"ns::t<int>", "void ns::t<int>(int)", true},
		{"ns::t<*>", "std::pair<int, int> ns::t<char>(char)", true},
		{"std::sys::*Mutex::lock_contended", "std::sys::sync::mutex::futex::Mutex::lock_contended", true},
		{"std::sys::*Mutex::lock_contended", "<std::sys::sync::mutex::futex::Mutex>::lock_contended", true},
		{"app::Q::push", "<app::Q<T>>::push", false},
		{"app::Q<T>::push", "<app::Q<T>>::push", true},
		{"app::T::f", "<app::T as app::X>::f", false},
		{"app::run", "app::run::h0123456789abcdef", true},
		{"app::run", "app::run::h0123456789abcdeg", false},
		{"<app::T as app::X>::f", "<app::T as app::X>::f", true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_expect_eq(matches(rows[i].pattern, rows[i].name, false, true), rows[i].match, "%s on %s",
			     rows[i].pattern, rows[i].name);
}

static bool file_matches(const char *text, const char *path, bool is_program)
{
	_cleanup_(complaints_done) struct complaints c = {0};
	_cleanup_(pool_freep) struct probe_pool *pool = NULL;
	struct source s = {.complaints = &c, .name = "test"};
	struct file_patterns p;

	cr_assert_eq(pool_new(&pool), 0);
	s.pool = pool;
	cr_assert_eq(file_patterns_parse(&s, text, &p), 0, "%s", c.text);
	return file_patterns_match(&p, path, is_program);
}

Test(pattern, files)
{
	cr_expect(file_matches("*", "/a/b", false));
	cr_expect(file_matches("program", "/a/b", true));
	cr_expect(!file_matches("program", "/a/b", false));
	cr_expect(file_matches("libc", "/lib/x86_64-linux-gnu/libc.so.6", false));
	cr_expect(file_matches("libc", "/lib/libc-2.31.so", false));
	cr_expect(file_matches("libc", "/lib/libc.so", false));
	cr_expect(!file_matches("libc", "/lib/libcap.so.2", false));
	cr_expect(!file_matches("libc", "/lib/libc-client.so.2", false));
	cr_expect(file_matches("libx | postgres", "/usr/lib/postgresql/15/bin/postgres", true));
	cr_expect(!file_matches("postgres", "/usr/lib/postgresql/15/bin/pg_ctl", true));
	cr_expect(file_matches("libpython*", "/usr/lib/libpython3.11.so.1.0", false));
	cr_expect(file_matches("/opt/*/app", "/opt/x/app", true));
	cr_expect(!file_matches("/opt/*/app", "/srv/opt/x/app", true));
}

/* A process's files are known by the path that is left when all links are followed. */
Test(pattern, files_from_here)
{
	char dir[] = "/tmp/wcbpf-pattern-XXXXXX", app[64];

	cr_assert(mkdtemp(dir));
	snprintf(app, sizeof(app), "%s/app", dir);
	cr_assert_eq(close(open(app, O_CREAT | O_WRONLY, 0600)), 0);
	cr_assert_eq(chdir(dir), 0);
	cr_assert_eq(symlink("app", "link"), 0);
	cr_expect(file_matches("./app", app, true));
	cr_expect(file_matches("../*/app | ./link", app, true));
	cr_expect(!file_matches("./other", app, true));
	cr_expect(!file_matches("./app", "/app", true));
	unlink("link");
	unlink("app");
	cr_assert_eq(chdir("/"), 0);
	rmdir(dir);
}
