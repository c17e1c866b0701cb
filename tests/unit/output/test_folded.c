/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* offcpu.time.txt against text written by hand from the format's description. */
#include <criterion/criterion.h>
#include <regex.h>
#include <string.h>

#include "fixture.h"
#include "util/cleanup.h"

static const char *const kernel[] = {"schedule", "futex_wait", "do_futex", NULL};
static const char *const user[] = {"lock", "work", "main", NULL};

static char *folded(const struct model *m)
{
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	char *dir = fixture_mkdtemp();
	_cleanup_(freep) char *out = fixture_output(dir, m, &f);
	char *text = fixture_read(out, "offcpu.time.txt");

	cr_assert_not_null(text);
	cr_assert(!fixture_exists(out, "offcpu.stacks.txt"));
	fixture_rmdir(dir);
	return text;
}

static void expect(const struct model *m, const char *text)
{
	_cleanup_(freep) char *got = folded(m);

	cr_expect_str_eq(got, text);
}

Test(output_folded, user_outside_kernel_inside)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	uint32_t k = fixture_stack(m, STACK_KERNEL, "complete", kernel);
	uint32_t u = fixture_stack(m, STACK_USER, "fp", user);

	fixture_row(m, "bench-worker", u, k, 3, 4200000);
	fixture_row(m, "kworker/0:1", 0, k, 3, 7000);
	expect(m, "bench-worker;main;work;lock;do_futex;futex_wait;schedule 4200\n"
		  "kworker/0:1;do_futex;futex_wait;schedule 7\n");
}

Test(output_folded, runnable_time_is_no_blocking)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	uint32_t k = fixture_stack(m, STACK_KERNEL, "complete", kernel);

	fixture_row(m, "spin", 0, k, 50, 0)->runnable_ns = 9000000;
	fixture_row(m, "wait", 0, k, 50, 2000)->runnable_ns = 9000000;
	expect(m, "wait;do_futex;futex_wait;schedule 2\n");
}

Test(output_folded, equal_lines_merge_and_sort)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	uint32_t k = fixture_stack(m, STACK_KERNEL, "complete", kernel);
	uint32_t same = fixture_stack(m, STACK_KERNEL, "complete", kernel);

	fixture_row(m, "z", 0, k, 1, 1000);
	fixture_row(m, "a", 0, k, 1, 1600);
	fixture_row(m, "a", 0, same, 1, 1400);
	expect(m, "a;do_futex;futex_wait;schedule 3\n"
		  "z;do_futex;futex_wait;schedule 1\n");
}

Test(output_folded, missing_parts_have_words)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	uint32_t k = fixture_stack(m, STACK_KERNEL, "complete", kernel);
	uint32_t cut = fixture_stack(m, STACK_USER, "truncated", user);
	uint32_t empty = fixture_stack(m, STACK_USER, "unreadable", NULL);
	uint32_t broken = fixture_stack(m, STACK_USER, "no_frame", user);
	uint32_t fp = fixture_stack(m, STACK_USER, "fp", user), guessed = fixture_stack(m, STACK_USER, "guessed", user);
	uint32_t lost;

	cr_assert_eq(model_stack_add(m, STACK_USER, &lost), 0);
	fixture_row(m, "a", cut, k, 1, 1000);
	fixture_row(m, "b", lost, k, 1, 2000);
	fixture_row(m, "c", empty, k, 1, 3000);
	fixture_row(m, "d", 0, 0, 1, 4000);
	fixture_row(m, "", 0, 0, 1, 5000);
	fixture_row(m, "e", broken, k, 1, 6000);
	fixture_row(m, "f", fp, k, 1, 7000);
	fixture_row(m, "g", guessed, k, 1, 8000);
	expect(m, "[unnamed];[no stack] 5\n"
		  "a;[truncated];main;work;lock;do_futex;futex_wait;schedule 1\n"
		  "b;[lost stack];do_futex;futex_wait;schedule 2\n"
		  "c;[unknown];do_futex;futex_wait;schedule 3\n"
		  "d;[no stack] 4\n"
		  "e;[incomplete];main;work;lock;do_futex;futex_wait;schedule 6\n"
		  "f;main;work;lock;do_futex;futex_wait;schedule 7\n"
		  "g;main;work;lock;do_futex;futex_wait;schedule 8\n");
}

Test(output_folded, frames_without_names)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	struct model_frame frames[5] = {
		{.address = 0x1234}, {.address = 0xff}, {.address = 0xdeadbeef}, {.address = 0x10}, {.address = 0x20},
	};
	const char *paths[] = {"/usr/lib/x86_64-linux-gnu/libc.so.6", "[vdso]", "/tmp/a;b 7", "//anon"};
	uint32_t u;

	for (size_t i = 0; i < 4; i++) {
		uint32_t module;

		cr_assert_eq(model_module_add(m, &module), 0);
		m->modules[module].path_id = fixture_string(m, paths[i]);
		frames[i < 2 ? i : i + 1].module = module;
	}
	cr_assert_eq(model_stack_add(m, STACK_USER, &u), 0);
	cr_assert_eq(model_stack_set(m, u, "fp", frames, 5), 0);
	fixture_row(m, "t", u, 0, 1, 1000);
	expect(m, "t;[anon+0x20];[a\\x3bb\\x207+0x10];[unknown];[vdso+0xff];[libc.so.6+0x1234] 1\n");
}

/* The names of case C34 and worse: every line keeps the grammar, the total is kept. */
Test(output_folded, hostile_names)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	const char *const names[] = {
		"operator()(int, char)", "x;y", "tail 99", "[unknown]", "\xff\x01", "a\nb", " ", NULL,
	};
	const char *const comms[] = {"a;b c", "[x 0]", "n 12", "new\nline", "\xd0\xbf\xd0", " ", "\t"};
	uint32_t u = fixture_stack(m, STACK_USER, "fp", names);
	_cleanup_(freep) char *text = NULL;
	unsigned long long total_us = 0;
	size_t lines = 0;
	char *rest = NULL;
	regex_t grammar;

	for (size_t i = 0; i < 7; i++)
		fixture_row(m, comms[i], u, 0, 1, 1000000);
	text = folded(m);
	cr_assert_eq(regcomp(&grammar, "^[^;\n]+(;[^;\n]+){7} [0-9]+$", REG_EXTENDED | REG_NOSUB), 0);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), lines++) {
		cr_expect_eq(regexec(&grammar, line, 0, NULL, 0), 0, "%s", line);
		total_us += strtoull(strrchr(line, ' '), NULL, 10);
	}
	regfree(&grammar);
	cr_expect_eq(lines, 7);
	cr_expect_eq(total_us, 7000);
}

Test(output_folded, total_is_the_blocked_time)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	unsigned long long total_us = 0;
	uint64_t total_ns = 0;
	_cleanup_(freep) char *text = NULL;
	char *rest = NULL;

	for (uint64_t i = 0; i < 3000; i++) {
		char name[24];

		snprintf(name, sizeof(name), "f%d", (int)(i * 7919 % 2500));
		fixture_row(m, "t", fixture_stack(m, STACK_USER, "fp", (const char *const[]){name, NULL}), 0, 1,
			    i * i % 2000 + 1);
		total_ns += i * i % 2000 + 1;
	}
	text = folded(m);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		total_us += strtoull(strrchr(line, ' '), NULL, 10);
	cr_assert_eq(total_us, (total_ns + 500) / 1000);
}
