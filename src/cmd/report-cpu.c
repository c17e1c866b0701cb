/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Standing in the run queue, and moving between CPUs. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cmd/report-replay.h"
#include "cmd/report-sections.h"
#include "util/cleanup.h"

enum { NUMBERS_COLUMNS = 66 };

int report_actors_make(struct report *r)
{
	if (r->actors.list)
		return 0;
	if (analyze_actors(r->m, &r->actors) < 0)
		return -ENOMEM;
	return analyze_queues(r->m, &r->filter, &r->actors, &r->queues);
}

/* Who had the CPU is the replay's to tell: not for the first page. */
int report_cpu_make(struct report *r)
{
	int e = report_actors_make(r);

	if (e == 0)
		e = report_replay_need(r);
	return e < 0 ? e : replay_runqueues(r->replay, &r->runqueues, &r->runqueue_n);
}

static void queued_print(const struct page *p, const struct analyze_queued *q)
{
	fprintf(p->f, "%9s %8s %8s %8s %8s %9s %8s   ", page_time(q->wake_ns + q->preempt_ns).text,
		wording_count(q->wake_n).text, page_time(q->wake_p50_ns).text, page_time(q->wake_p95_ns).text,
		page_time(q->wake_max_ns).text, page_time(q->preempt_ns).text, wording_count(q->preempt_n).text);
}

/* Who ran on the CPUs meanwhile: threads of one name together, most first. */
struct behind {
	uint32_t actor; /* 0: nobody of the recording */
	uint64_t ns;
};

static int behind_compare(const void *a, const void *b)
{
	const struct behind *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->actor < y->actor ? -1 : x->actor > y->actor;
}

/* malloc'd, n entries; NULL: no memory. */
static struct behind *behind_make(const struct report *r, size_t *ret_n)
{
	struct behind *list = calloc(r->actors.n + 1, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; list && i < r->actors.n; i++)
		list[i].actor = (uint32_t)i;
	for (size_t i = 0; list && i < r->runqueue_n; i++)
		list[r->actors.of_thread[r->runqueues[i].by]].ns +=
			report_thread_passes(r, r->runqueues[i].waiter) ? r->runqueues[i].ns : 0;
	if (!list)
		return NULL;
	qsort(list, r->actors.n, sizeof(*list), behind_compare);
	while (n < r->actors.n && list[n].ns)
		n++;
	*ret_n = n;
	return list;
}

static void behind_print(const struct page *p)
{
	size_t n, shown;
	_cleanup_(freep) struct behind *list = behind_make(p->r, &n);

	if (!list || !n)
		return;
	shown = page_lines_shown(n, page_lines_max(p, SECTION_CPU));
	fprintf(p->f, "who had the CPU meanwhile:\n");
	for (size_t i = 0; i < shown; i++) {
		fprintf(p->f, "%9s   ", page_time(list[i].ns).text);
		if (list[i].actor)
			page_actor_print(p, &p->r->actors.list[list[i].actor], 60);
		else
			fputs("nobody of the recording", p->f);
		fputc('\n', p->f);
	}
	page_more(p, n, shown, 12);
}

void report_cpu_text(const struct page *p)
{
	const struct report *r = p->r;
	const struct analyze_queues *q = &r->queues;
	size_t shown = page_lines_shown(q->n, page_lines_max(p, SECTION_CPU));
	uint64_t ns = q->all.wake_ns + q->all.preempt_ns + q->short_ns;

	if (!q->n && !q->short_ns)
		return;
	page_title(p, "    ready    wakes      p50      p95  longest preempted    times   CPU");
	fprintf(p->f, "  time in the run queue\n");
	queued_print(p, &q->all);
	fputs("all", p->f);
	if (r->m->cpu_n)
		fprintf(p->f, ", %s", wording_counted(r->m->cpu_n, "CPU", NULL).text);
	fputc('\n', p->f);
	for (size_t i = 0; i < shown; i++) {
		queued_print(p, &q->list[i]);
		page_actor_print(p, &r->actors.list[q->list[i].actor], p->columns - NUMBERS_COLUMNS);
		fputc('\n', p->f);
	}
	page_more(p, q->n, shown, NUMBERS_COLUMNS);
	if (q->short_ns)
		fprintf(p->f, "%9s   ready in the threads' accounts, in no wait: shorter than --min, or lost\n",
			page_time(q->short_ns).text);
	behind_print(p);
	if (r->time.known && r->m->end_ns)
		fprintf(p->f, "on average %.2f threads ran, %.2f were ready\n",
			(double)r->time.oncpu_ns / (double)r->m->end_ns, (double)ns / (double)r->m->end_ns);
	if (q->all.placed_n)
		fprintf(p->f, "%s of %s ended on another CPU\n", wording_count(q->all.migrated_n).text,
			wording_counted(q->all.placed_n, "wait", NULL).text);
	else
		fputs("between which CPUs threads moved is not in this dump\n", p->f);
}

static void queued_json(struct json *j, const struct analyze_queued *q)
{
	json_kv_uint(j, "wakes", q->wake_n);
	json_kv_uint(j, "wake_ns", q->wake_ns);
	json_kv_uint(j, "wake_p50_ns", q->wake_p50_ns);
	json_kv_uint(j, "wake_p95_ns", q->wake_p95_ns);
	json_kv_uint(j, "wake_longest_ns", q->wake_max_ns);
	json_kv_uint(j, "preemptions", q->preempt_n);
	json_kv_uint(j, "preempted_ns", q->preempt_ns);
	json_kv_uint(j, "preempted_longest_ns", q->preempt_max_ns);
	json_kv_uint(j, "waits_with_cpus", q->placed_n);
	json_kv_uint(j, "migrations", q->migrated_n);
}

static void behind_json(const struct report *r, struct json *j)
{
	size_t n = 0;
	_cleanup_(freep) struct behind *list = behind_make(r, &n);

	json_key(j, "had_the_cpu");
	json_begin_array(j);
	for (size_t i = 0; list && i < report_rows_max(r, n); i++) {
		const struct analyze_actor *a = &r->actors.list[list[i].actor];

		json_begin_object(j);
		json_kv_bool(j, "recorded", list[i].actor != 0);
		report_string_json(r, j, "program", a->program_id);
		report_string_json(r, j, "thread_name", a->name_id);
		json_kv_uint(j, "ns", list[i].ns);
		json_end_object(j);
	}
	json_end_array(j);
}

void report_cpu_json(const struct report *r, struct json *j)
{
	const struct analyze_queues *q = &r->queues;

	json_begin_object(j);
	json_kv_uint(j, "cpus", r->m->cpu_n);
	queued_json(j, &q->all);
	json_kv_uint(j, "in_no_wait_ns", q->short_ns);
	behind_json(r, j);
	json_key(j, "actors");
	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(r, q->n); i++) {
		const struct analyze_actor *a = &r->actors.list[q->list[i].actor];

		json_begin_object(j);
		report_string_json(r, j, "program", a->program_id);
		report_string_json(r, j, "thread_name", a->name_id);
		json_kv_uint(j, "threads", a->thread_n);
		queued_json(j, &q->list[i]);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}
