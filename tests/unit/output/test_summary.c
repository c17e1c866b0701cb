/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The summary parsed back with json-c, key by key. */
#include <criterion/criterion.h>
#include <string.h>

#include "fixture.h"
#include "util/cleanup.h"

static void json_putp(struct json_object **o)
{
	json_object_put(*o);
}

static struct json_object *summary_of(const struct model *m, const struct output_facts *f)
{
	char *dir = fixture_mkdtemp();
	_cleanup_(freep) char *out = fixture_output(dir, m, f);
	struct json_object *o = fixture_summary(out);

	fixture_rmdir(dir);
	return o;
}

static void expect_string(struct json_object *o, const char *key, const char *value)
{
	const char *got = fixture_get_string(o, key);

	cr_expect(got && !strcmp(got, value), "%s is \"%s\", not \"%s\"", key, got, value);
}

static void expect_int(struct json_object *o, const char *key, int64_t value)
{
	int64_t got = fixture_get_int(o, key);

	cr_expect_eq(got, value, "%s is %lld, not %lld", key, (long long)got, (long long)value);
}

Test(output_summary, the_harness_keys_come_first_and_in_order)
{
	static const char *const keys[] = {"kind", "tool", "mode", "capture_path", "diagnostics_path", "summary_path",
					   "state", "caveat_kind", "caveat_message", "capture_integrity"};
	_cleanup_(model_freep) struct model *m = fixture_model();
	struct output_facts f = fixture_facts(OUTPUT_STACKS);
	char *dir = fixture_mkdtemp();
	_cleanup_(freep) char *out = fixture_output(dir, m, &f);
	_cleanup_(freep) char *text = fixture_read(out, "offcpu.summary.json");
	_cleanup_(json_putp) struct json_object *o = fixture_summary(out);
	const char *at = text;

	cr_assert(strstr(text, "{\n  \"kind\": \"offcpu_time\",\n  \"tool\": \"wcbpf\",\n"
			       "  \"mode\": \"stacks\",\n") == text);
	for (size_t i = 0; i < 10; i++) {
		_cleanup_(freep) char *line = NULL;
		const char *found;

		cr_assert(asprintf(&line, "\n  \"%s\": ", keys[i]) > 0);
		found = strstr(at, line);
		cr_assert(found, "%s is missing or out of order", keys[i]);
		at = found + 1;
	}
	/* All ten precede any key of ours. */
	cr_expect_lt(at, strstr(text, "\n  \"version\": "));
	expect_string(o, "kind", "offcpu_time");
	expect_string(o, "tool", "wcbpf");
	expect_string(o, "mode", "stacks");
	cr_expect(!strncmp(fixture_get_string(o, "capture_path"), out, strlen(out)));
	cr_expect_str_eq(fixture_get_string(o, "capture_path") + strlen(out), "/offcpu.stacks.txt");
	cr_expect_str_eq(fixture_get_string(o, "diagnostics_path") + strlen(out), "/offcpu.diagnostics.txt");
	cr_expect_str_eq(fixture_get_string(o, "summary_path") + strlen(out), "/offcpu.summary.json");
	fixture_rmdir(dir);
}

Test(output_summary, recording)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	_cleanup_(json_putp) struct json_object *o = NULL;

	f.command = (const char *const[]){"sh", "-c", "echo \"\xff\"\n", NULL};
	f.has_exit_status = true;
	f.exit_status = 7 << 8;
	f.tracer_cpu_ns = 1300000000;
	f.bpf_run_n = 10;
	f.bpf_run_ns = 4000;
	f.interval_ns_per_run = 400;
	o = summary_of(m, &f);
	expect_string(o, "version", "1.2.3");
	expect_string(o, "host", "box");
	expect_string(o, "kernel", "6.1.0-test");
	expect_string(o, "clock", "CLOCK_MONOTONIC");
	expect_string(o, "target", "all");
	expect_string(o, "options", "--mode time");
	expect_string(o, "command.0", "sh");
	expect_string(o, "command.2", "echo \"\xef\xbf\xbd\"\n");
	expect_int(o, "exit_status", 7 << 8);
	expect_int(o, "exit_code", 7);
	cr_expect_null(fixture_get(o, "exit_signal"));
	expect_int(o, "window.begin_unix_ns", 1700000000000000000);
	expect_int(o, "window.end_unix_ns", 1700000005000000000);
	expect_int(o, "window.duration_ns", 5000000000);
	expect_int(o, "tracer.cpu_ns", 1300000000);
	expect_int(o, "tracer.bpf_run_n", 10);
	expect_int(o, "tracer.bpf_run_ns", 4000);
	expect_int(o, "tracer.interval_ns_per_run", 400);
}

Test(output_summary, what_is_unknown_is_null)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	struct output_facts f = {.mode = OUTPUT_TIME, .has_exit_status = true, .exit_status = 11};
	_cleanup_(json_putp) struct json_object *o = summary_of(m, &f);

	cr_expect_null(fixture_get(o, "version"));
	cr_expect_null(fixture_get(o, "command"));
	cr_expect_null(fixture_get(o, "target"));
	cr_expect_null(fixture_get(o, "exit_code"));
	expect_int(o, "exit_signal", 11);
	cr_expect_null(fixture_get(o, "tracer.bpf_run_n"));
	cr_expect_null(fixture_get(o, "tracer.bpf_run_ns"));
}

Test(output_summary, integrity_adds_up)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	_cleanup_(json_putp) struct json_object *o = NULL;

	m->integrity.attempted = 100;
	m->integrity.recorded = 60;
	m->integrity.below_min = 20;
	m->integrity.lost_ring_full = 11;
	m->integrity.lost_unprocessed = 6;
	m->integrity.lost_clock_back = 3;
	o = summary_of(m, &f);
	expect_int(o, "capture_integrity.attempted",
		   fixture_get_int(o, "capture_integrity.recorded") +
		   fixture_get_int(o, "capture_integrity.below_min") +
		   fixture_get_int(o, "capture_integrity.lost_ring_full") +
		   fixture_get_int(o, "capture_integrity.lost_unprocessed") +
		   fixture_get_int(o, "capture_integrity.lost_clock_back"));
	expect_int(o, "capture_integrity.attempted", 100);
	expect_int(o, "capture_integrity.lost_stack_trace_count", 20);
}

static void add_thread(struct model *m, uint32_t tid, int64_t begin_ns, int64_t end_ns, const uint64_t times[4])
{
	struct model_thread *t;
	uint32_t i;

	cr_assert_eq(model_thread_add(m, &i), 0);
	t = &m->threads[i];
	t->pid = 100;
	t->tid = tid;
	t->comm_id = fixture_string(m, "a;b \xff");
	t->begin_ns = begin_ns;
	t->end_ns = end_ns;
	t->has_totals = times != NULL;
	if (!times)
		return;
	t->oncpu_ns = times[0];
	t->runnable_ns = times[1];
	t->blocked_ns = times[2];
	t->lost_ns = times[3];
	t->interval_n = 5;
	t->lost_n = 1;
	t->voluntary_n = 4;
	t->involuntary_n = 1;
}

Test(output_summary, threads_with_residual)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	_cleanup_(json_putp) struct json_object *o = NULL;

	add_thread(m, 101, 1000, 2000, (const uint64_t[]){100, 200, 600, 100});
	add_thread(m, 100, 0, 5000, (const uint64_t[]){1000, 1000, 2000, 3});
	add_thread(m, 102, 0, 50, NULL);
	o = summary_of(m, &f);
	expect_int(o, "thread_count", 3);
	/* The longest-lived first. */
	expect_int(o, "threads.0.tid", 100);
	expect_int(o, "threads.0.lifetime_ns", 5000);
	expect_int(o, "threads.0.residual_ns", 997);
	expect_int(o, "threads.1.tid", 101);
	expect_int(o, "threads.1.residual_ns", 0);
	expect_int(o, "threads.1.oncpu_ns", 100);
	expect_int(o, "threads.1.runnable_ns", 200);
	expect_int(o, "threads.1.blocked_ns", 600);
	expect_int(o, "threads.1.lost_ns", 100);
	expect_int(o, "threads.1.intervals", 5);
	expect_string(o, "threads.1.comm", "a;b \xef\xbf\xbd");
	cr_expect(!json_object_get_boolean(fixture_get(o, "threads.2.accounted")));
	expect_int(o, "totals.by_state.lifetime_ns", 6000);
	expect_int(o, "totals.by_state.oncpu_ns", 1100);
	expect_int(o, "totals.by_state.runnable_ns", 1200);
	expect_int(o, "totals.by_state.blocked_ns", 2600);
	expect_int(o, "totals.by_state.lost_ns", 103);
	expect_int(o, "totals.by_state.residual_ns", 997);
}

Test(output_summary, by_reason)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	_cleanup_(json_putp) struct json_object *o = NULL;

	fixture_row(m, "a", 0, 0, 2, 1000)->reason = REASON_LOCK;
	fixture_row(m, "b", 0, 0, 3, 5000)->reason = REASON_LOCK;
	fixture_row(m, "c", 0, 0, 4, 0)->runnable_ns = 70;
	o = summary_of(m, &f);
	expect_int(o, "totals.by_reason.lock.count", 5);
	expect_int(o, "totals.by_reason.lock.blocked_ns", 6000);
	expect_int(o, "totals.by_reason.lock.runnable_ns", 0);
	expect_int(o, "totals.by_reason.cpu.count", 4);
	expect_int(o, "totals.by_reason.cpu.runnable_ns", 70);
	cr_expect_eq(json_object_object_length(fixture_get(o, "totals.by_reason")), 2);
}

Test(output_summary, rows_have_exact_names_most_valuable_first)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	uint32_t k = fixture_stack(m, STACK_KERNEL, "complete", (const char *const[]){"schedule", "do_futex", NULL});
	uint32_t u = fixture_stack(m, STACK_USER, "truncated", (const char *const[]){"f;g 12", "main", NULL});
	_cleanup_(json_putp) struct json_object *o = NULL;
	static const char *const stack[] = {"a;b c", "[truncated]", "main", "f;g 12", "do_futex", "schedule"};

	fixture_row(m, "small", 0, k, 1, 1000000);
	fixture_row(m, "a;b c", u, k, 9, 3000000);
	fixture_row(m, "a;b c", u, k, 50, 0)->runnable_ns = 8000000; /* preempted: no row's */
	o = summary_of(m, &f);
	expect_int(o, "row_count", 2);
	expect_int(o, "total_us", 4000);
	cr_assert_eq(json_object_array_length(fixture_get(o, "rows.0.stack")), 6);
	for (size_t i = 0; i < 6; i++) {
		char key[32];

		snprintf(key, sizeof(key), "rows.0.stack.%zu", i);
		expect_string(o, key, stack[i]);
	}
	expect_int(o, "rows.0.value_us", 3000);
	expect_int(o, "rows.0.count", 9);
	cr_expect_float_eq(json_object_get_double(fixture_get(o, "rows.0.share")), 0.75, 1e-9);
	expect_int(o, "rows.1.value_us", 1000);
	expect_string(o, "rows.1.stack.0", "small");
}

Test(output_summary, rows_are_limited_and_counted)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	_cleanup_(json_putp) struct json_object *o = NULL;

	for (uint64_t i = 1; i <= 250; i++) {
		char comm[16];

		snprintf(comm, sizeof(comm), "c%d", (int)i);
		fixture_row(m, comm, 0, 0, 1, i * 1000);
	}
	o = summary_of(m, &f);
	expect_int(o, "row_count", 250);
	expect_int(o, "total_us", 250 * 251 / 2);
	cr_assert_eq(json_object_array_length(fixture_get(o, "rows")), 200);
	expect_int(o, "rows.0.value_us", 250);
	expect_int(o, "rows.199.value_us", 51);
}

Test(output_summary, threads_are_limited_and_counted)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	_cleanup_(json_putp) struct json_object *o = NULL;

	for (uint32_t i = 1; i <= 10010; i++)
		add_thread(m, i, 0, i, (const uint64_t[]){i, 0, 0, 0});
	o = summary_of(m, &f);
	expect_int(o, "thread_count", 10010);
	cr_assert_eq(json_object_array_length(fixture_get(o, "threads")), 10000);
	expect_int(o, "threads.0.tid", 10010);
	expect_int(o, "threads.9999.tid", 11);
	expect_int(o, "totals.by_state.oncpu_ns", 10010LL * 10011 / 2);
}

/* Every interval that blocked is in one ending of each side, if a stack was due. */
Test(output_summary, how_stacks_ended)
{
	static const char *const names[] = {"f", NULL};
	_cleanup_(model_freep) struct model *m = fixture_model();
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	uint32_t k = fixture_stack(m, STACK_KERNEL, "complete", names), cut = fixture_stack(m, STACK_KERNEL, "truncated", names);
	const char *words[] = {"complete", "guessed", "truncated", "fp", "no_frame", "pending"};
	_cleanup_(json_putp) struct json_object *o = NULL;
	uint32_t lost;

	for (size_t i = 0; i < 6; i++)
		fixture_row(m, "a", fixture_stack(m, STACK_USER, words[i], names), k, i + 1, 1000 << i);
	fixture_row(m, "a", fixture_stack(m, STACK_USER, "complete", names), cut, 10, 37000);
	cr_assert_eq(model_stack_add(m, STACK_USER, &lost), 0);
	fixture_row(m, "a", lost, 0, 7, 64000);
	fixture_row(m, "kthread", 0, k, 100, 1000000);	      /* none is due */
	fixture_row(m, "a", 0, k, 8, 28000)->syscall = 3; /* it could not be read */
	fixture_row(m, "preempted", lost, 0, 1000, 0);
	m->integrity.failed_user_stacks = 8;
	m->integrity.failed_kernel_stacks = 7;
	o = summary_of(m, &f);
	expect_int(o, "stacks.user.count", 21 + 10 + 7 + 8);
	expect_int(o, "stacks.user.blocked_ns", 63000 + 37000 + 64000 + 28000);
	expect_int(o, "stacks.user.complete.count", 11);
	expect_int(o, "stacks.user.complete.blocked_ns", 38000);
	cr_expect_float_eq(json_object_get_double(fixture_get(o, "stacks.user.complete.share")), 38.0 / 192, 1e-6);
	expect_int(o, "stacks.user.guessed.count", 2);
	expect_int(o, "stacks.user.truncated.count", 3);
	expect_int(o, "stacks.user.fp.count", 4);
	expect_int(o, "stacks.user.failed.count", 5 + 6 + 7 + 8);
	expect_int(o, "stacks.user.failed.blocked_ns", 16000 + 32000 + 64000 + 28000);
	expect_int(o, "stacks.user.failed.by_ending.no_frame.count", 5);
	expect_int(o, "stacks.user.failed.by_ending.pending.blocked_ns", 32000);
	expect_int(o, "stacks.user.failed.by_ending.lost.count", 7);
	expect_int(o, "stacks.user.failed.by_ending.none.count", 8);
	cr_expect_eq(json_object_object_length(fixture_get(o, "stacks.user.failed.by_ending")), 4);
	expect_int(o, "stacks.kernel.count", 21 + 10 + 7 + 100 + 8);
	expect_int(o, "stacks.kernel.complete.count", 21 + 100 + 8);
	expect_int(o, "stacks.kernel.truncated.count", 10);
	expect_int(o, "stacks.kernel.failed.by_ending.none.count", 7);
	cr_expect_eq(json_object_object_length(fixture_get(o, "stacks.kernel")), 5);
}
