/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* offcpu.stacks.txt against text written by hand as bpftrace prints maps. */
#include <criterion/criterion.h>
#include <string.h>

#include "fixture.h"
#include "util/cleanup.h"

static char *stacks(const struct model *m)
{
	struct output_facts f = fixture_facts(OUTPUT_STACKS);
	char *dir = fixture_mkdtemp();
	_cleanup_(freep) char *out = fixture_output(dir, m, &f);
	char *text = fixture_read(out, "offcpu.stacks.txt");

	cr_assert_not_null(text);
	cr_assert(!fixture_exists(out, "offcpu.time.txt"));
	fixture_rmdir(dir);
	return text;
}

static void expect(const struct model *m, const char *text)
{
	_cleanup_(freep) char *got = stacks(m);

	cr_expect_str_eq(got, text);
}

Test(output_stacks, ascending_by_count_innermost_first)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	uint32_t k1 = fixture_stack(m, STACK_KERNEL, "complete", (const char *const[]){"schedule", "futex_wait", NULL});
	uint32_t k2 = fixture_stack(m, STACK_KERNEL, "complete", (const char *const[]){"schedule", "ep_poll", NULL});
	uint32_t u = fixture_stack(m, STACK_USER, "fp", (const char *const[]){"operator()(int, char)", "main", NULL});

	fixture_row(m, "a", u, k1, 42, 1000);
	fixture_row(m, "b", 0, k2, 7, 1000);
	expect(m, "@offcpu_kernel[\n"
		  "    schedule+1\n"
		  "    ep_poll+11\n"
		  "]: 7\n"
		  "@offcpu_kernel[\n"
		  "    schedule+1\n"
		  "    futex_wait+11\n"
		  "]: 42\n"
		  "@offcpu_user[\n"
		  "    [no user stack]\n"
		  "]: 7\n"
		  "@offcpu_user[\n"
		  "    operator()(int, char)+1\n"
		  "    main+11\n"
		  "]: 42\n");
}

/* Two threads at one stack are one entry; preempted intervals are none; an early wake is one. */
Test(output_stacks, counts_intervals_that_blocked)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	uint32_t k = fixture_stack(m, STACK_KERNEL, "complete", (const char *const[]){"schedule", NULL});
	struct model_row *early;

	fixture_row(m, "a", 0, k, 2, 1000);
	fixture_row(m, "b", 0, k, 3, 1000);
	fixture_row(m, "spin", 0, k, 100, 0)->runnable_ns = 1000;
	fixture_row(m, "d", 0, k, 1, 1000)->state = 0;
	early = fixture_row(m, "c", 0, k, 5, 0);
	early->state = 1;
	early->runnable_ns = 1000;
	expect(m, "@offcpu_kernel[\n"
		  "    schedule+1\n"
		  "]: 11\n"
		  "@offcpu_user[\n"
		  "    [no user stack]\n"
		  "]: 11\n");
}

Test(output_stacks, missing_parts_and_hostile_names)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	uint32_t k = fixture_stack(m, STACK_KERNEL, "truncated",
				   (const char *const[]){"]: 5", "@offcpu_kernel[", "a\nb", " ", NULL});
	uint32_t lost;

	cr_assert_eq(model_stack_add(m, STACK_USER, &lost), 0);
	fixture_row(m, "a", lost, k, 2, 1000);
	fixture_row(m, "a", lost, 0, 3, 1000);
	expect(m, "@offcpu_kernel[\n"
		  "    \\x5d:\\x205+1\n"
		  "    \\x40offcpu_kernel[+11\n"
		  "    a\\x0ab+21\n"
		  "    \\x20+31\n"
		  "    [truncated]\n"
		  "]: 2\n"
		  "@offcpu_kernel[\n"
		  "    [no kernel stack]\n"
		  "]: 3\n"
		  "@offcpu_user[\n"
		  "    [lost stack]\n"
		  "]: 5\n");
}

Test(output_stacks, nothing_blocked)
{
	_cleanup_(model_freep) struct model *m = fixture_model();

	fixture_row(m, "spin", 0, 0, 100, 0)->runnable_ns = 1000;
	expect(m, "");
}
