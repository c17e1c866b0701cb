/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Go programs, stripped: functions by Go's own tables, return probes refused, the runtime's choke points. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../objfile/build.h"
#include "../objfile/go.h"
#include "plans.h"

TestSuite(go_probes, .init = build_begin, .fini = build_end, .timeout = 200);

/* A function's address, by nm of the program that has its symbols. */
static uint64_t address(const char *name)
{
	_cleanup_(freep) char *text = build_output("nm %s | awk '$3 == \"%s\" {print $1}'", go_program("plain"), name);

	cr_assert(*text, "%s", name);
	return strtoull(text, NULL, 16);
}

Test(go_probes, stripped)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p =
		plans_inline(go_program("stripped"), "runtime.(*mcache).refill ident={$arg1}", &s);
	const struct probe_site *entry = plans_site(p, WCBPF_SITE_ENTRY, 0);

	cr_assert_not_null(entry, "%s", plans_notes(p));
	cr_expect_eq(entry->function, address("runtime.(*mcache).refill"));
	cr_expect_gt(plans_site_n(p, WCBPF_SITE_EXIT), 0);
	cr_assert_eq(entry->wire.fetch_n, 1);
	cr_expect_eq(entry->wire.fetch[0].reg, 0, "the receiver is in ax");
}
