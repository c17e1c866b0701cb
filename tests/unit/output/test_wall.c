/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* wall.folded.txt against text written by hand from the format's description, and sums of thousands of lines. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "fixture.h"
#include "util/cleanup.h"

static uint32_t thread(struct model *m, const char *comm, struct model_thread t)
{
	uint32_t i;

	cr_assert_eq(model_thread_add(m, &i), 0);
	t.comm_id = fixture_string(m, comm);
	t.pid = t.tid = 100 + i;
	m->threads[i] = t;
	return i;
}

static void sample(struct model *m, uint32_t of, const char *comm, uint32_t ustack, uint32_t kstack, uint64_t count)
{
	uint32_t i;

	cr_assert_eq(model_sample_add(m, &i), 0);
	m->samples[i] = (struct model_sample){.thread = of, .comm_id = fixture_string(m, comm), .ustack = ustack,
					      .kstack = kstack, .count = count};
	m->integrity.samples += count;
	m->integrity.recorded_samples += count;
}

static struct model *small(void)
{
	struct model *m = fixture_model();
	uint32_t k = fixture_stack(m, STACK_KERNEL, "complete", (const char *const[]){"schedule", "do_futex", NULL});
	uint32_t copy = fixture_stack(m, STACK_KERNEL, "complete", (const char *const[]){"copy_page", "do_read", NULL});
	uint32_t u = fixture_stack(m, STACK_USER, "complete", (const char *const[]){"lock", "main", NULL});
	uint32_t f = fixture_stack(m, STACK_USER, "truncated", (const char *const[]){"f", "g", NULL});
	uint32_t t = thread(m, "app", (struct model_thread){.end_ns = 10000000, .oncpu_ns = 6000000, .blocked_ns = 3200000,
							     .runnable_ns = 500000, .lost_ns = 300000, .lost_n = 1,
							     .below_min_n = 4, .has_totals = true});
	struct model_row *r;

	r = fixture_row(m, "app", u, k, 3, 3000000);
	r->runnable_ns = 400000;
	r->thread = t;
	fixture_row(m, "app", 0, 0, 1, 0)->thread = t;
	m->rows[m->row_n - 1].runnable_ns = 50000;
	sample(m, t, "app", f, 0, 4);
	sample(m, t, "old;name", u, copy, 2);
	thread(m, "brief", (struct model_thread){.end_ns = 700000, .oncpu_ns = 700000, .has_totals = true});
	thread(m, "gone", (struct model_thread){.end_ns = 2000000});
	m->sample_hz = 99;
	return m;
}

static const char small_text[] = "app;[lost] 300\n"
				 "app;[runnable] 50\n"
				 "app;[shorter than --min] 250\n"
				 "app;[truncated];g;f;[on-cpu] 4000\n"
				 "app;main;lock;do_futex;schedule;[blocked] 3000\n"
				 "app;main;lock;do_futex;schedule;[runnable] 400\n"
				 "brief;[on-cpu, not sampled] 700\n"
				 "gone;[unaccounted] 2000\n"
				 "old\\x3bname;main;lock;do_read;copy_page;[on-cpu] 2000\n";

Test(output_wall, lines)
{
	_cleanup_(model_freep) struct model *m = small();
	struct output_facts f = fixture_facts(OUTPUT_WALL);
	char *dir = fixture_mkdtemp();
	_cleanup_(freep) char *out = fixture_output(dir, m, &f);
	_cleanup_(freep) char *text = fixture_read(out, "wall.folded.txt");

	cr_assert_not_null(text);
	cr_expect_str_eq(text, small_text);
	cr_expect(!fixture_exists(out, "offcpu.time.txt") && !fixture_exists(out, "offcpu.stacks.txt"));
	fixture_rmdir(dir);
}

static void expect_int(struct json_object *o, const char *path, int64_t value)
{
	cr_expect_eq(fixture_get_int(o, path), value, "%s is %" PRId64, path, fixture_get_int(o, path));
}

Test(output_wall, summary)
{
	_cleanup_(model_freep) struct model *m = small();
	struct output_facts f = fixture_facts(OUTPUT_WALL);
	char *dir = fixture_mkdtemp();
	struct json_object *s;

	m->threads[1].sample_n = 6;
	f.sample_hz_asked = 20000;
	f.bpf_run_n = 9;
	f.sample_run_n = 6;
	f.sample_run_ns = 12000;
	_cleanup_(freep) char *out = fixture_output(dir, m, &f);
	s = fixture_summary(out);
	cr_expect_str_eq(fixture_get_string(s, "mode"), "wall");
	cr_expect_str_eq(fixture_get_string(s, "kind"), "offcpu_time");
	cr_expect_str_eq(strrchr(fixture_get_string(s, "capture_path"), '/'), "/wall.folded.txt");
	expect_int(s, "wall.lifetime_ns", 12700000);
	expect_int(s, "wall.oncpu_sampled_ns", 6000000);
	expect_int(s, "wall.oncpu_unsampled_ns", 700000);
	expect_int(s, "wall.runnable_ns", 450000);
	expect_int(s, "wall.blocked_ns", 3000000);
	expect_int(s, "wall.below_min_ns", 250000);
	expect_int(s, "wall.lost_ns", 300000);
	expect_int(s, "wall.unaccounted_ns", 2000000);
	expect_int(s, "wall.left_out_ns", 0);
	expect_int(s, "sampling.hz", 99);
	expect_int(s, "sampling.hz_asked", 20000);
	expect_int(s, "sampling.samples", 6);
	expect_int(s, "total_us", 12700);
	expect_int(s, "row_count", 9);
	expect_int(s, "rows.0.value_us", 4000);
	expect_int(s, "rows.0.count", 4);
	cr_expect_str_eq(fixture_get_string(s, "rows.0.stack.4"), "[on-cpu]");
	cr_expect_str_eq(fixture_get_string(s, "rows.3.stack.0"), "old;name");
	expect_int(s, "threads.0.samples", 6);
	expect_int(s, "tracer.sample_run_n", 6);
	expect_int(s, "tracer.sample_run_ns", 12000);
	json_object_put(s);
	fixture_rmdir(dir);
}

/* Modes that take no samples say nothing of them. */
Test(output_wall, other_modes_have_none_of_it)
{
	_cleanup_(model_freep) struct model *m = small();
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	char *dir = fixture_mkdtemp();
	struct json_object *s, *ignored;

	m->sample_hz = 0;
	_cleanup_(freep) char *out = fixture_output(dir, m, &f);
	s = fixture_summary(out);
	cr_expect(!json_object_object_get_ex(s, "wall", &ignored) && !json_object_object_get_ex(s, "sampling", &ignored));
	cr_expect(!fixture_exists(out, "wall.folded.txt"));
	json_object_put(s);
	fixture_rmdir(dir);
}

/* A hundred threads, each of a name of its own, in pieces of some hundred ns: every thread's lines sum to its life. */
Test(output_wall, every_thread_sums_to_its_lifetime)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	struct output_facts f = fixture_facts(OUTPUT_WALL);
	char *dir = fixture_mkdtemp(), *rest = NULL;
	unsigned long long us[101] = {0}, total_us = 0;
	uint64_t total_ns = 0;
	uint32_t stacks[40];

	for (size_t i = 0; i < 40; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%zu", i);
		stacks[i] = fixture_stack(m, STACK_USER, "complete", (const char *const[]){name, NULL});
	}
	for (uint32_t n = 1; n <= 100; n++) {
		struct model_thread t = {.has_totals = true, .oncpu_ns = n * 7919 % 50000};
		char comm[16];

		snprintf(comm, sizeof(comm), "t%u", n);
		for (uint32_t i = 0; i < n % 40; i++) {
			struct model_row *r = fixture_row(m, comm, stacks[i], 0, 1, (n * 31 + i * 977) % 2000);

			r->runnable_ns = (n * 17 + i * 389) % 1500;
			r->thread = n;
			t.blocked_ns += r->blocked_ns;
			t.runnable_ns += r->runnable_ns;
		}
		for (uint32_t i = 0; i < n % 30; i++)
			sample(m, n, comm, stacks[i], 0, 1 + i % 3);
		t.end_ns = (int64_t)(t.oncpu_ns + t.blocked_ns + t.runnable_ns);
		total_ns += (uint64_t)t.end_ns;
		thread(m, comm, t);
	}
	_cleanup_(freep) char *out = fixture_output(dir, m, &f);
	_cleanup_(freep) char *text = fixture_read(out, "wall.folded.txt");

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		unsigned long long value = strtoull(strrchr(line, ' '), NULL, 10);

		us[strtoul(line + 1, NULL, 10)] += value;
		total_us += value;
	}
	for (uint32_t n = 1; n <= 100; n++) {
		int64_t rest_ns = m->threads[n].end_ns - (int64_t)us[n] * 1000;

		cr_expect(rest_ns > -1000 && rest_ns < 1000, "thread %u: %" PRId64 " ns missing", n, rest_ns);
	}
	cr_expect_eq(total_us, (total_ns + 500) / 1000);
	fixture_rmdir(dir);
}
