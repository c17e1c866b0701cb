/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The verb: what it lists, what it looks at, what it says to wrong requests. What it finds is tests/unit/probe's. */
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probe/probe.h"
#include "rig.h"

/* A function of this program, to be found in it. */
int probes_fixture(int n);
__attribute__((noinline)) int probes_fixture(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

Test(probes, profiles)
{
	struct rig r;
	size_t n;
	const struct probe_builtin *v = probe_builtins(&n);
	struct json_object *o, *profiles;

	rig_init(&r);
	RIG_RUN(&r, "probes");
	cr_expect_eq(r.code, 0);
	for (size_t i = 0; i < n; i++) {
		cr_expect_not_null(strstr(r.out, v[i].name), "%s", v[i].name);
		cr_expect_not_null(strstr(r.out, v[i].about), "%s", v[i].name);
		cr_expect_not_null(strstr(r.out, v[i].tried), "%s", v[i].name);
	}
	RIG_RUN(&r, "probes", "--json");
	o = json_tokener_parse(r.out);
	cr_assert_not_null(o, "%s", r.out);
	cr_assert(json_object_object_get_ex(o, "profiles", &profiles));
	cr_expect_eq(json_object_array_length(profiles), n);
	json_object_put(o);
	rig_done(&r);
}

static void expect_fixture(struct rig *r, const char *target)
{
	struct json_object *o, *files, *points, *sites, *v;
	char address[32];

	RIG_RUN(r, "probes", "-p", target, "-e", "probes_fixture ident={$arg1:s32}");
	cr_expect_eq(r->code, 0, "%s", r->err);
	cr_expect_not_null(strstr(r->out, "  probes_fixture  op call\n"), "%s", r->out);
	cr_expect_not_null(strstr(r->out, "expected to cost"), "%s", r->out);
	cr_expect_not_null(strstr(r->out, "\n1 point, "), "%s", r->out);
	RIG_RUN(r, "probes", "--json", "-p", target, "-e", "probes_fixture ident={$arg1:s32}");
	o = json_tokener_parse(r->out);
	cr_assert_not_null(o, "%s", r->out);
	cr_assert(json_object_object_get_ex(o, "files", &files));
	for (size_t i = 0; i < json_object_array_length(files); i++) {
		cr_assert(json_object_object_get_ex(json_object_array_get_idx(files, i), "points", &points));
		if (json_object_array_length(points))
			break;
	}
	cr_assert_eq(json_object_array_length(points), 1, "%s", r->out);
	cr_assert(json_object_object_get_ex(json_object_array_get_idx(points, 0), "sites", &sites));
	cr_expect_geq(json_object_array_length(sites), 2);
	cr_assert(json_object_object_get_ex(json_object_array_get_idx(sites, 0), "function", &v));
	snprintf(address, sizeof(address), "%llx", (unsigned long long)json_object_get_int64(v));
	/* Position-independent: the page it lies in is another, its place in the page is not. */
	cr_expect_eq(json_object_get_int64(v) & 0xfff, (int64_t)((uintptr_t)probes_fixture & 0xfff), "%s", address);
	json_object_put(o);
}

Test(probes, target)
{
	struct rig r;
	char pid[16], path[64];

	rig_init(&r);
	/* The rig runs the verb in a child of this program. */
	snprintf(pid, sizeof(pid), "%d", getpid());
	snprintf(path, sizeof(path), "/proc/%d/exe", getpid());
	expect_fixture(&r, pid);
	expect_fixture(&r, path);
	rig_done(&r);
}

Test(probes, missing)
{
	struct rig r;

	rig_init(&r);
	RIG_RUN(&r, "probes", "-p", "/proc/self/exe", "-e", "no_such_function");
	cr_expect_eq(r.code, 0);
	cr_expect_not_null(strstr(r.out, "caveat  -e: no_such_function: no such function"), "%s", r.out);
	cr_expect_not_null(strstr(r.out, "0 points, 0 addresses"), "%s", r.out);
	RIG_RUN(&r, "probes", "-p", "/proc/self/exe", "--probes", "postgres");
	cr_expect_not_null(strstr(r.out, "postgres.profile: the profile is not for this target"), "%s", r.out);
	rig_done(&r);
}

Test(probes, wrong)
{
	struct rig r;

	rig_init(&r);
	RIG_RUN(&r, "probes", "x");
	cr_expect_eq(r.code, 2);
	cr_expect_not_null(strstr(r.err, "x: probes takes no operand"), "%s", r.err);
	RIG_RUN(&r, "probes", "-e", "f");
	cr_expect_eq(r.code, 2);
	cr_expect_not_null(strstr(r.err, "-p is missing"), "%s", r.err);
	RIG_RUN(&r, "probes", "-p", "2147483646", "-e", "f");
	cr_expect_eq(r.code, 2);
	cr_expect_not_null(strstr(r.err, "no process 2147483646"), "%s", r.err);
	RIG_RUN(&r, "probes", "-p", "/nowhere", "-e", "f");
	cr_expect_eq(r.code, 2);
	cr_expect_not_null(strstr(r.err, "/nowhere: No such file"), "%s", r.err);
	RIG_RUN(&r, "probes", "-p", "/etc/passwd", "-e", "f");
	cr_expect_eq(r.code, 2);
	cr_expect_not_null(strstr(r.err, "no program or library"), "%s", r.err);
	RIG_RUN(&r, "probes", "-p", "/dev/null", "-e", "f");
	cr_expect_eq(r.code, 2);
	cr_expect_not_null(strstr(r.err, "not a regular file"), "%s", r.err);
	RIG_RUN(&r, "probes", "-p", "1", "-e", "f nope=1");
	cr_expect_eq(r.code, 2);
	cr_expect_not_null(strstr(r.err, "-e: nope: no such key"), "%s", r.err);
	RIG_RUN(&r, "probes", "-p", "1", "--probes", "/nowhere.profile");
	cr_expect_eq(r.code, 2);
	cr_expect_not_null(strstr(r.err, "--probes: /nowhere.profile: No such file"), "%s", r.err);
	rig_done(&r);
}
