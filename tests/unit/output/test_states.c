/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Every state and caveat of the off-CPU lane, and what the diagnostics say with it: words the harness looks for. */
#include <criterion/criterion.h>
#include <string.h>

#include "fixture.h"
#include "util/cleanup.h"

/* A recording's files, read back. */
struct lane {
	char *dir, *out, *diagnostics, *text;
	struct json_object *summary;
};

static struct lane lane_of(const struct model *m, const struct output_facts *f)
{
	struct lane l = {.dir = fixture_mkdtemp()};

	l.out = fixture_output(l.dir, m, f);
	l.diagnostics = fixture_read(l.out, "offcpu.diagnostics.txt");
	l.text = fixture_read(l.out, "offcpu.summary.json");
	l.summary = fixture_summary(l.out);
	cr_assert(l.diagnostics && l.text);
	return l;
}

static void lane_done(struct lane *l)
{
	json_object_put(l->summary);
	free(l->text);
	free(l->diagnostics);
	free(l->out);
	fixture_rmdir(l->dir);
}

static void expect_string(const struct lane *l, const char *key, const char *value)
{
	const char *got = fixture_get_string(l->summary, key);

	if (value)
		cr_expect(got && !strcmp(got, value), "%s is \"%s\", not \"%s\"", key, got, value);
	else
		cr_expect_null(got, "%s is \"%s\", not null", key, got);
}

static void expect_state(const struct lane *l, const char *state, const char *kind, const char *message)
{
	expect_string(l, "state", state);
	expect_string(l, "caveat_kind", kind);
	expect_string(l, "caveat_message", message);
}

static struct model *model_with_row(void)
{
	struct model *m = fixture_model();
	uint32_t k = fixture_stack(m, STACK_KERNEL, "complete", (const char *const[]){"schedule", "futex_wait", NULL});

	fixture_row(m, "bench", 0, k, 3, 4200000);
	m->integrity.attempted = m->integrity.recorded = 3;
	return m;
}

Test(output_states, complete)
{
	_cleanup_(model_freep) struct model *m = model_with_row();
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	_cleanup_(lane_done) struct lane l = lane_of(m, &f);

	expect_state(&l, "summary_written", NULL, NULL);
	expect_string(&l, "capture_integrity.status", "complete");
	expect_string(&l, "capture_integrity.message", NULL);
	cr_expect_str_eq(l.diagnostics, "");
	cr_expect(strstr(l.text, "\"lost_stack_trace_count\": 0"));
}

/* Neither what --min leaves out nor an unseen wake nor a deep stack is a loss. */
Test(output_states, complete_with_oddities)
{
	_cleanup_(model_freep) struct model *m = model_with_row();
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	_cleanup_(lane_done) struct lane l = {0};

	m->integrity.below_min = 5;
	m->integrity.unmatched_wakes = 6;
	m->integrity.truncated_stacks = 7;
	l = lane_of(m, &f);
	expect_state(&l, "summary_written", NULL, NULL);
	cr_expect_str_eq(l.diagnostics, "");
}

Test(output_states, partial)
{
	_cleanup_(model_freep) struct model *m = model_with_row();
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	_cleanup_(lane_done) struct lane l = {0};
	const char *message = "2 stack trace(s) lost: 2 interval(s) found no room in the ring buffer";

	m->integrity.attempted = 5;
	m->integrity.lost_ring_full = 2;
	l = lane_of(m, &f);
	expect_state(&l, "summary_written", "offcpu_capture_partial", message);
	expect_string(&l, "capture_integrity.status", "partial");
	expect_string(&l, "capture_integrity.message", message);
	cr_expect(strstr(l.text, "\"lost_stack_trace_count\": 2"));
	cr_expect_str_eq(l.diagnostics,
			 "WARNING: 2 stack traces lost and could not be displayed.\n"
			 "lost_ring_full: 2 interval(s) found no room in the ring buffer\n");
}

/* Each counter of struct model_integrity that is a loss makes the recording partial, and is named. */
Test(output_states, every_loss_has_a_caveat)
{
	static const struct {
		const char *key;
		size_t offset;
		bool stack_trace;
	} losses[] = {
		{"lost_ring_full", offsetof(struct model_integrity, lost_ring_full), true},
		{"lost_unprocessed", offsetof(struct model_integrity, lost_unprocessed), true},
		{"lost_clock_back", offsetof(struct model_integrity, lost_clock_back), true},
		{"lost_stack_bodies", offsetof(struct model_integrity, lost_stack_bodies), true},
		{"failed_kernel_stacks", offsetof(struct model_integrity, failed_kernel_stacks), true},
		{"failed_user_stacks", offsetof(struct model_integrity, failed_user_stacks), true},
		{"mismatched_kernel_stacks", offsetof(struct model_integrity, mismatched_kernel_stacks), false},
		{"lost_lifecycle", offsetof(struct model_integrity, lost_lifecycle), false},
		{"lost_futex_results", offsetof(struct model_integrity, lost_futex_results), false},
		{"lost_resources", offsetof(struct model_integrity, lost_resources), false},
		{"lost_map_full", offsetof(struct model_integrity, lost_map_full), false},
		{"lost_recursion", offsetof(struct model_integrity, lost_recursion), false},
		{"lost_mappings", offsetof(struct model_integrity, lost_mappings), false},
		{"unbalanced", offsetof(struct model_integrity, unbalanced), false},
		{"dropped_events", offsetof(struct model_integrity, dropped_events), false},
		{"lost_samples", offsetof(struct model_integrity, lost_samples), false},
		{"failed_sample_stacks", offsetof(struct model_integrity, failed_sample_stacks), false},
	};
	struct output_facts f = fixture_facts(OUTPUT_TIME);

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		_cleanup_(model_freep) struct model *m = model_with_row();
		_cleanup_(lane_done) struct lane l = {0};
		_cleanup_(freep) char *key = NULL;
		const char *message;

		*(uint64_t *)((char *)&m->integrity + losses[i].offset) = 1234;
		l = lane_of(m, &f);
		expect_string(&l, "state", "summary_written");
		expect_string(&l, "caveat_kind", "offcpu_capture_partial");
		message = fixture_get_string(l.summary, "caveat_message");
		cr_expect(message && strstr(message, "1234 "), "%s", losses[i].key);
		cr_expect_eq(strstr(message, "1234 stack trace(s) lost") != NULL, losses[i].stack_trace);
		cr_expect_eq(strstr(l.diagnostics, "WARNING: 1234 stack traces lost and could not be displayed.\n") ==
			     l.diagnostics, losses[i].stack_trace);
		cr_expect(strstr(l.diagnostics, losses[i].key), "%s not in: %s", losses[i].key, l.diagnostics);
		cr_assert(asprintf(&key, "capture_integrity.%s", losses[i].key) > 0);
		cr_expect_eq(fixture_get_int(l.summary, key), 1234);
		cr_expect_eq(fixture_get_int(l.summary, "capture_integrity.lost_stack_trace_count"),
			     losses[i].stack_trace ? 1234 : 0);
	}
}

Test(output_states, no_rows)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	_cleanup_(lane_done) struct lane l = {0};

	fixture_row(m, "spin", 0, 0, 9, 0)->runnable_ns = 5000;
	f.no_rows_reason = "nothing blocked: 9 intervals, all of them preemption";
	l = lane_of(m, &f);
	expect_state(&l, "tool_failed", "no_rows", f.no_rows_reason);
	expect_string(&l, "capture_integrity.status", "complete");
	cr_expect_str_eq(l.diagnostics, "nothing blocked: 9 intervals, all of them preemption\n");
}

Test(output_states, no_rows_without_a_reason)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	struct output_facts f = fixture_facts(OUTPUT_STACKS);
	_cleanup_(lane_done) struct lane l = lane_of(m, &f);

	expect_string(&l, "state", "tool_failed");
	expect_string(&l, "caveat_kind", "no_rows");
	cr_expect(strlen(fixture_get_string(l.summary, "caveat_message")) > 0);
}

/* What is all below a microsecond is no line of the time file, but its intervals are in the stacks file. */
Test(output_states, rows_are_the_capture_files)
{
	_cleanup_(model_freep) struct model *m = fixture_model();
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	_cleanup_(lane_done) struct lane in_time = {0}, in_stacks = {0};

	fixture_row(m, "quick", 0, 0, 1, 300);
	in_time = lane_of(m, &f);
	expect_string(&in_time, "caveat_kind", "no_rows");
	f.mode = OUTPUT_STACKS;
	in_stacks = lane_of(m, &f);
	expect_state(&in_stacks, "summary_written", NULL, NULL);
}

Test(output_states, tool_missing)
{
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	_cleanup_(lane_done) struct lane l = {0};

	f.missing = "no BTF of the kernel (CONFIG_DEBUG_INFO_BTF)";
	l = lane_of(NULL, &f);
	expect_state(&l, "tool_missing", "tool_unavailable",
		     "the off-CPU profiler is not runnable on this host; blocked time was not captured: "
		     "no BTF of the kernel (CONFIG_DEBUG_INFO_BTF)");
	expect_string(&l, "capture_integrity.status", "unknown");
	cr_expect_null(fixture_get(l.summary, "capture_integrity.lost_stack_trace_count"));
	cr_expect(strstr(l.diagnostics, "CONFIG_DEBUG_INFO_BTF)\n"));
	cr_expect(!fixture_exists(l.out, "offcpu.time.txt"));
	cr_expect(!fixture_exists(l.out, "wcprof.ndjson"));
}

Test(output_states, permission_denied)
{
	struct output_facts f = fixture_facts(OUTPUT_STACKS);
	_cleanup_(lane_done) struct lane l = {0};

	f.failed = "missing capability CAP_BPF";
	f.failed_kind = "permission_denied";
	l = lane_of(NULL, &f);
	expect_state(&l, "tool_failed", "permission_denied", "missing capability CAP_BPF");
	cr_expect_str_eq(l.diagnostics, "missing capability CAP_BPF: Operation not permitted\n");
}

Test(output_states, permission_denied_said_once)
{
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	_cleanup_(lane_done) struct lane l = {0};

	f.failed = "could not open bpf map: Operation not permitted";
	f.failed_kind = "permission_denied";
	l = lane_of(NULL, &f);
	cr_expect_str_eq(l.diagnostics, "could not open bpf map: Operation not permitted\n");
}

/* A recording that broke off midway keeps what it has, and is a failure all the same. */
Test(output_states, failed_with_rows)
{
	_cleanup_(model_freep) struct model *m = model_with_row();
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	_cleanup_(lane_done) struct lane l = {0};

	f.failed = "the ring buffer is gone";
	l = lane_of(m, &f);
	expect_state(&l, "tool_failed", "capture_failed", "the ring buffer is gone");
	cr_expect(fixture_exists(l.out, "offcpu.time.txt"));
	cr_expect_eq(fixture_get_int(l.summary, "total_us"), 4200);
}

Test(output_states, failed_without_reason)
{
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	_cleanup_(lane_done) struct lane l = lane_of(NULL, &f);

	expect_string(&l, "state", "tool_failed");
	expect_string(&l, "caveat_kind", "capture_failed");
	cr_expect(strlen(l.diagnostics) > 0);
}

Test(output_states, diagnostics_are_one_line_a_fact)
{
	_cleanup_(model_freep) struct model *m = model_with_row();
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	_cleanup_(lane_done) struct lane l = {0};

	f.diagnostics = (const char *const[]){"tracefs: not mounted", "odd\nname\xff", NULL};
	l = lane_of(m, &f);
	cr_expect_str_eq(l.diagnostics, "tracefs: not mounted\nodd\\x0aname\xef\xbf\xbd\n");
	expect_state(&l, "summary_written", NULL, NULL);
}
