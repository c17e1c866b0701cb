/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* --fail-if: what is understood, and what holds. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/condition.h"
#include "cmd/measures.h"
#include "util/cleanup.h"

static struct measure list[] = {
	{ .key = (char *)(uintptr_t) "count:call:query", .value = 7, .unit = MEASURE_COUNT },
	{ .key = (char *)(uintptr_t) "lock", .value = 250e6, .whole = 1e9, .unit = MEASURE_NS },
	{ .key = (char *)(uintptr_t) "makespan", .value = 2e9, .unit = MEASURE_NS },
	{ .key = (char *)(uintptr_t) "p99:call:f<int>(a, b)", .value = 5e6, .unit = MEASURE_NS },
	{ .key = (char *)(uintptr_t) "p99:call:query", .value = 80e6, .unit = MEASURE_NS },
	{ .key = (char *)(uintptr_t) "p99:call_exec:twice", .value = 3e6, .unit = MEASURE_NS },
	{ .key = (char *)(uintptr_t) "p99:lazy:twice", .value = 3e6, .unit = MEASURE_NS },
};
static const struct measures measures = { .list = list, .n = sizeof(list) / sizeof(list[0]) };

/* 1, 0, or -EINVAL of the parser or the judge. */
static int holds(const char *expr)
{
	_cleanup_(conditions_done) struct conditions c = { 0 };
	_cleanup_(freep) char *why = NULL;
	int e = conditions_parse(&c, expr, &why);

	if (e == 0)
		e = conditions_judge(&c, &measures, NULL, &why);
	cr_assert((e == 0) == !why, "%s: %d, %s", expr, e, why);
	cr_assert(!why || strncmp(why, "--fail-if ", 10) == 0);
	return e;
}

Test(condition, operators_and_units)
{
	static const struct {
		const char *expr;
		int expected;
	} rows[] = {
		{ "lock > 10%", 1 },
		{ "lock > 25%", 0 },
		{ "lock >= 25%", 1 },
		{ "lock < 30%", 1 },
		{ "lock<=24.9%", 0 },
		{ "lock == 25%", 1 },
		{ "lock != 25%", 0 },
		{ "lock > 249ms", 1 },
		{ "lock>250ms", 0 },
		{ "makespan >= 2s", 1 },
		{ "makespan > 2.1s", 0 },
		{ "p99:query > 50ms", 1 },
		{ "p99:call:query > 50ms", 1 },
		{ "count:query == 7", 1 },
		{ "count:query > 7", 0 },
		{ "  lock  >  1%  ", 1 },
		{ "makespan > 9s, lock > 20%", 1 },
		{ "makespan > 9s,lock > 30%", 0 },
		/* It is there, and not on the path. */
		{ "path:query > 0ms", 0 },
		{ "path:call:query > 0ms", 0 },
		{ "wait:fsync > 1ms", 0 },
		{ "cpu:malloc < 1ms", 1 },
		/* Operators and commas in a name. */
		{ "p99:call:f<int>(a, b) > 4ms", 1 },
		{ "p99:f<int>(a, b) > 6ms, lock > 20%", 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(holds(rows[i].expr) == rows[i].expected, "%s: %d", rows[i].expr, holds(rows[i].expr));
}

Test(condition, what_cannot_be_judged_is_no_pass)
{
	static const char *const bad[] = {
		"", "lock", "lock >", "> 5", "lock > 5x", "lock > -5%", "lock = 5%", "lock > 5 %x", "lock >> 5%",
		"nosuch > 5%",	   /* no such number, and no class or name of one */
		"lock > 5",	   /* a time without a unit */
		"count:query > 5s", /* a number with one */
		"makespan > 10%",  /* a share of nothing */
		"p99:twice > 1ms", /* of two kinds */
		"makespan > +5%",  /* grown from what? */
		"p99:gone > 0ms",  /* no op is of that class */
		"count:gone < 1",
		"path:gone < 1s",
		"p99:call:gone > 0ms",
		"lost > 1e400",	   /* no number is larger */
		"lock > 1e400%",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect(holds(bad[i]) == -EINVAL, "%s: %d", bad[i], holds(bad[i]));
}

/* What is wrong, and what there is instead. */
Test(condition, a_class_that_is_not_there_is_told)
{
	_cleanup_(conditions_done) struct conditions c = { 0 };
	_cleanup_(freep) char *why = NULL;
	static struct measure totals[] = {
		{ .key = (char *)(uintptr_t) "total:call:little", .value = 1 },
		{ .key = (char *)(uintptr_t) "total:call:more", .value = 3 },
		{ .key = (char *)(uintptr_t) "total:exec:most", .value = 4 },
		{ .key = (char *)(uintptr_t) "total:thread:some", .value = 2 },
	};
	const struct measures some = { .list = totals, .n = 4 };

	cr_assert(conditions_parse(&c, "lock > 1%, p99:qerry >= 50ms", &why) == 0);
	cr_assert(conditions_judge(&(struct conditions){ .list = c.list + 1, .n = 1 }, &some, NULL, &why) == -EINVAL);
	cr_expect_str_eq(why, "--fail-if p99:qerry >= 50ms: no op is of class qerry; there are exec:most, call:more, "
			      "thread:some (wcbpf report --section classes)");
}

/* Half a file passes no gate, but those that ask what is missing of it. */
Test(condition, of_a_file_that_is_not_whole)
{
	static const struct {
		const char *text;
		int holds;
	} cases[] = { { "lost > 6", 1 }, { "lost > 7", 0 }, { "dropped > 0", 0 }, { "makespan > 2s", 1 },
		      { "lost > 7, makespan > 2s", 1 }, { "p99:no_such_class > 1s", 1 } };
	struct measure of_it[] = { { .key = (char *)(uintptr_t)"dropped", .unit = MEASURE_COUNT },
				  { .key = (char *)(uintptr_t)"lost", .value = 7, .unit = MEASURE_COUNT },
				  { .key = (char *)(uintptr_t)"makespan", .value = 1e9, .unit = MEASURE_NS } };
	const struct measures some = { .list = of_it, .n = 3 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(freep) char *why = NULL;
		_cleanup_(conditions_done) struct conditions c = { 0 };

		cr_assert_eq(conditions_parse(&c, cases[i].text, &why), 0, "%s", cases[i].text);
		cr_expect_eq(conditions_judge(&c, &some, "line 7: cut", &why), cases[i].holds, "%s: %s", cases[i].text, why);
	}
}
