/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* How far the numbers can be trusted, in full; the first page has one line of it. */
#include <errno.h>

#include "cmd/report-points.h"
#include "cmd/report-replay.h"
#include "cmd/report-sections.h"

void report_health_find(struct report *r)
{
	if (!r->has_health)
		analyze_health(r->m, &r->health);
	r->has_health = true;
}

int report_health_make(struct report *r)
{
	int e = report_section_make(r, SECTION_WALL);

	if (e == 0)
		e = report_section_make(r, SECTION_CLASSES);
	if (e == 0 && analyze_endings(r->m, STACK_USER, &r->user_endings) < 0)
		e = -ENOMEM;
	if (e == 0 && analyze_endings(r->m, STACK_KERNEL, &r->kernel_endings) < 0)
		e = -ENOMEM;
	if (e == 0)
		report_health_find(r);
	/* The path's sum is the third of the sums that must close. */
	if (e == 0)
		e = report_section_make(r, SECTION_PATH);
	return e == 0 ? report_wcprof_need(r) : e;
}

/* The time of intervals that are in the threads' accounts and in no table. */
static void below_min_print(const struct page *p)
{
	const struct model *m = p->r->m;
	uint64_t threads_ns = 0, rows_ns = 0;

	if (!m->integrity.below_min)
		return;
	fprintf(p->f, ", %s shorter than --min", wording_count(m->integrity.below_min).text);
	for (size_t i = 1; i < m->thread_n; i++)
		threads_ns += m->threads[i].goid ? 0 : m->threads[i].blocked_ns + m->threads[i].runnable_ns;
	for (size_t i = 1; i < m->row_n; i++)
		rows_ns += m->rows[i].parked ? 0 : m->rows[i].blocked_ns + m->rows[i].runnable_ns;
	/* With other things missing the difference would be theirs too. */
	if (threads_ns > rows_ns && !m->integrity.dropped_events && !p->r->problem.message[0])
		fprintf(p->f, ": their %s are in the wall time only", page_time(threads_ns - rows_ns).text);
}

static void capture_print(const struct page *p)
{
	const struct model_integrity *i = &p->r->m->integrity;

	fprintf(p->f, "\n  %-11s %s", "capture", report_is_complete(p->r) ? "complete" : "partial");
	if (i->attempted) {
		fprintf(p->f, ": %s of %s recorded", wording_count(i->recorded).text,
			wording_counted(i->attempted, "interval", NULL).text);
		below_min_print(p);
	} else {
		fprintf(p->f, ": %s dropped", wording_counted(dump_dropped_events(p->r->m), "event", NULL).text);
	}
	if (i->out_of_scope)
		fprintf(p->f, "\n  %-11s %s left out %s", "",
			wording_counted(i->out_of_scope, "interval", NULL).text, report_left_out_word(p->r));
	if (i->inferred_switches)
		fprintf(p->f,
			"\n  %-11s %s by the kernel's account of the run time, not by a tracepoint", "",
			wording_counted(i->inferred_switches, "switch timed", "switches timed").text);
	fprintf(p->f, "\n  %-11s %s, %s\n", "dump", wording_counted(p->r->m->wait_n - 1, "wait", NULL).text,
		wording_counted(p->r->m->op_n - 1, "op", NULL).text);
}

static void endings_print(const struct page *p, const char *side, const struct analyze_endings *e)
{
	fprintf(p->f, "%s: ", side);
	if (!e->n)
		fputs("none", p->f);
	for (size_t i = 0; i < e->n; i++) {
		fputs(i ? ", " : "", p->f);
		report_name_print(p->f, *e->v[i].word ? e->v[i].word : "?", 20);
		fprintf(p->f, " %s", wording_count(e->v[i].count).text);
	}
}

/* Waits that don't lie in their ops, or two at a time in one: time that the class table could not place. */
static uint64_t outside_ns(const struct report *r)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < r->class_n; i++)
		ns += r->classes[i].outside_ns;
	return ns;
}

static void arithmetic_print(const struct page *p, const void *arg)
{
	const struct report *r = p->r;

	(void)arg;
	if (r->states.gap_ns)
		fprintf(p->f, "%sstates miss %s of %s%s; ", p->bad, page_signed_time(r->states.gap_ns).text,
			page_time(r->states.total_ns).text, p->plain);
	else
		fprintf(p->f, "states sum to 100%% of %s %s; ", page_seconds(r->states.total_ns).text,
			report_states_unit(&r->states));
	if (outside_ns(r))
		fprintf(p->f, "%s of waits lie outside their ops, or two at a time in one",
			page_time(outside_ns(r)).text);
	else
		fputs("own time, waits and children of each class sum to its ops' time", p->f);
}

static uint64_t path_ns(const struct report *r)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < r->stretch_n; i++)
		ns += (uint64_t)(r->stretches[i].end_ns - r->stretches[i].start_ns);
	return ns;
}

static void engine_print(const struct page *p, const char *word, int64_t ns)
{
	int64_t whole_ns = p->r->replay_facts.makespan_ns;

	if (ns < 0 || !whole_ns)
		fprintf(p->f, "%s can't tell", word);
	else
		fprintf(p->f, "%s %+.2f%%", word, 100.0 * (double)(ns - whole_ns) / (double)whole_ns);
}

/* How far the engines miss the unchanged recording. */
static void replay_print(const struct page *p)
{
	const struct replay_facts *f = &p->r->replay_facts;

	fprintf(p->f, "\n  %-11s ", "replay");
	fprintf(p->f, "%s recorded; off by: ", page_time((uint64_t)f->makespan_ns).text);
	engine_print(p, "E1", f->e1_ns);
	engine_print(p, ", E2", f->e2_ns);
	engine_print(p, ", wcprof's rules", p->r->wcprof_ns);
	if (f->unplaced_ns)
		fprintf(p->f, "\n    %s of the threads neither on a CPU nor in a wait that was recorded: unplaced",
			page_time(f->unplaced_ns).text);
	if (f->broken_n)
		fprintf(p->f, "\n    waits for each other: %s, of %s: they go on without whom they were for",
			wording_count(f->broken_n).text, page_time(f->broken_ns).text);
	for (unsigned bit = 0; bit < 32; bit++) {
		if (f->missing >> bit & 1)
			fprintf(p->f, "\n    %s", replay_missing_text((enum replay_missing)(1u << bit)));
	}
}

void report_health_text(const struct page *p)
{
	const struct report *r = p->r;
	const struct analyze_health *h = &r->health;
	struct report_loss losses[REPORT_LOSSES_MAX];
	size_t n = report_losses(r->m, losses);

	page_title(p, "Health");
	capture_print(p);
	for (size_t i = 0; i < n; i++)
		fprintf(p->f, "  %-11s %s %s\n", i ? "" : "lost", wording_count(losses[i].n).text, losses[i].words);
	fprintf(p->f, "  %-11s unknown: %s of %s that ended, %s of %s blocked\n", "wakers",
		wording_count(h->unknown_waker_n).text, wording_counted(h->ended_wait_n, "wait", NULL).text,
		page_time(h->unknown_waker_ns).text, page_time(h->ended_wait_ns).text);
	fprintf(p->f, "  %-11s ", "stacks");
	endings_print(p, "user", &r->user_endings);
	fputs("; ", p->f);
	endings_print(p, "kernel", &r->kernel_endings);
	fprintf(p->f, "\n  %-11s %s cut by the recording's ends, %s of them still open; %s open", "ends",
		wording_counted(h->clipped_wait_n, "wait", NULL).text, wording_count(h->open_wait_n).text,
		wording_counted(h->open_op_n, "op", NULL).text);
	if (h->unwound_op_n)
		fprintf(p->f, "; %s unwound", wording_counted(h->unwound_op_n, "op", NULL).text);
	if (h->unaccounted_thread_n)
		fprintf(p->f, "\n  %-11s %s without an account", "threads",
			wording_count(h->unaccounted_thread_n).text);
	if (r->problem.late_ns)
		fprintf(p->f, "\n  %-11s set back while recording: events go on for %s after the dump was made", "wall clock",
			page_time((uint64_t)r->problem.late_ns).text);
	if (r->facts.clock) {
		fprintf(p->f, "\n  %-11s ", "clock");
		report_name_print(p->f, r->facts.clock, 40);
	}
	if (r->facts.kernel) {
		fprintf(p->f, "\n  %-11s Linux ", "kernel");
		report_name_print(p->f, r->facts.kernel, 60);
	}
	replay_print(p);
	fputc('\n', p->f);
	report_points_print(p);
	fprintf(p->f, "  %-11s ", "arithmetic");
	page_wrapped(p, 14, arithmetic_print, NULL);
	fprintf(p->f, "  %-11s the critical path sums to ", "");
	if (path_ns(r) == (uint64_t)r->replay_facts.makespan_ns)
		fprintf(p->f, "the %s recorded\n", page_time(path_ns(r)).text);
	else
		fprintf(p->f, "%s%s, which is %s off%s\n", p->bad, page_time(path_ns(r)).text,
			page_signed_time((int64_t)path_ns(r) - r->replay_facts.makespan_ns).text, p->plain);
}

static void endings_json(struct json *j, const char *key, const struct analyze_endings *e)
{
	json_key(j, key);
	json_begin_object(j);
	for (size_t i = 0; i < e->n; i++)
		json_kv_uint(j, *e->v[i].word ? e->v[i].word : "unknown", e->v[i].count);
	json_end_object(j);
}

void report_health_json(const struct report *r, struct json *j)
{
	const struct analyze_health *h = &r->health;

	json_begin_object(j);
	json_kv_uint(j, "ended_waits", h->ended_wait_n);
	json_kv_uint(j, "ended_waits_blocked_ns", h->ended_wait_ns);
	json_kv_uint(j, "unknown_wakers", h->unknown_waker_n);
	json_kv_uint(j, "unknown_wakers_blocked_ns", h->unknown_waker_ns);
	json_kv_uint(j, "clipped_waits", h->clipped_wait_n);
	json_kv_uint(j, "open_waits", h->open_wait_n);
	json_kv_uint(j, "open_ops", h->open_op_n);
	json_kv_int(j, "events_after_dump_ns", r->problem.late_ns);
	json_kv_uint(j, "unwound_ops", h->unwound_op_n);
	json_kv_uint(j, "unaccounted_threads", h->unaccounted_thread_n);
	endings_json(j, "user_stack_endings", &r->user_endings);
	endings_json(j, "kernel_stack_endings", &r->kernel_endings);
	json_kv_int(j, "states_gap_ns", r->states.gap_ns);
	json_kv_uint(j, "waits_outside_ops_ns", outside_ns(r));
	json_kv_int(j, "makespan_ns", r->replay_facts.makespan_ns);
	json_kv_uint(j, "path_sum_ns", path_ns(r));
	json_kv_uint(j, "unplaced_ns", r->replay_facts.unplaced_ns);
	json_kv_uint(j, "contradictory_waits", r->replay_facts.broken_n);
	json_kv_uint(j, "contradictory_waits_ns", r->replay_facts.broken_ns);
	json_kv_int(j, "e1_baseline_ns", r->replay_facts.e1_ns);
	json_kv_int(j, "e2_baseline_ns", r->replay_facts.e2_ns);
	json_kv_int(j, "wcprof_baseline_ns", r->wcprof_ns);
	report_points_json(r, j);
	json_end_object(j);
}
