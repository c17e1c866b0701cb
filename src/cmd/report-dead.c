/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Dead air: when nothing of a process ran or could. */
#include <inttypes.h>

#include "cmd/report-replay.h"
#include "cmd/report-sections.h"

enum { STATES_MAX = 3 };

int report_dead_make(struct report *r)
{
	int e = report_section_make(r, SECTION_PATH);

	return e < 0 ? e : analyze_dead_air(r->m, &r->filter, &r->dead, &r->dead_n);
}

static uint64_t air_ns(const struct analyze_dead *d)
{
	return d->dead_ns - d->ns[WHERE_IDLE] - d->ns[WHERE_CHILD];
}

/* "disk 120.0 ms, timer 30.0 ms": by the wait that ended each gap. */
static void states_print(const struct page *p, const struct analyze_dead *d)
{
	bool done[WHERE_MAX] = { [WHERE_IDLE] = true, [WHERE_CHILD] = true };

	for (int n = 0; n < STATES_MAX; n++) {
		unsigned most = WHERE_IDLE;

		for (unsigned i = 0; i < WHERE_MAX; i++) {
			if (!done[i] && d->ns[i] && (done[most] || d->ns[i] > d->ns[most]))
				most = i;
		}
		if (done[most])
			return;
		done[most] = true;
		fprintf(p->f, "%s%s %s", n ? ", " : "", analyze_where_name((enum analyze_where)most),
			page_time(d->ns[most]).text);
	}
}

static void longest_print(const struct page *p, const struct analyze_dead *d)
{
	const struct model *m = p->r->m;
	const struct model_wait *w = &m->waits[d->longest_wait];

	fprintf(p->f, "longest %s at %s", page_time(d->longest_ns).text, page_time((uint64_t)d->longest_start_ns).text);
	if (!d->longest_wait)
		return;
	fputs(": ", p->f);
	page_thing_print(p, m->rows[w->row].reason, m->rows[w->row].kind_id, analyze_awaited_name(m, w), 46);
}

static void dead_print(const struct page *p, const struct analyze_dead *d)
{
	const struct model *m = p->r->m;
	const struct model_process *x = &m->processes[d->process];

	fprintf(p->f, "%9s", page_time(air_ns(d)).text);
	page_percent(p->f, air_ns(d), d->life_ns);
	fprintf(p->f, " %9s %9s %8s   ", page_time(d->ns[WHERE_IDLE]).text, page_time(d->ns[WHERE_CHILD]).text,
		wording_count(d->gap_n).text);
	if (!d->process) {
		fputs("all together", p->f);
	} else {
		report_name_print(p->f, page_string(p, x->comm_id), 20);
		fprintf(p->f, " (pid %" PRIu32 ")", x->pid);
	}
	fputs(air_ns(d) ? "  " : "", p->f);
	states_print(p, d);
	if (air_ns(d) && page_lines_max(p, SECTION_DEAD) == SIZE_MAX) {
		fprintf(p->f, "\n%48s", "");
		longest_print(p, d);
	}
	fputc('\n', p->f);
}

/* Of the critical path what is neither work nor standing in a run queue, by state; their sum. */
static uint64_t path_sum(const struct report *r, uint64_t ret[WHERE_MAX])
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < r->stretch_n; i++) {
		const struct replay_stretch *s = &r->stretches[i];
		enum analyze_where where = report_stretch_where(r, s);

		if (where == WHERE_RUNNING || where == WHERE_RUNNABLE)
			continue;
		ret[where] += (uint64_t)(s->end_ns - s->start_ns);
		sum_ns += (uint64_t)(s->end_ns - s->start_ns);
	}
	return sum_ns;
}

static void path_print(const struct page *p)
{
	struct analyze_dead d = { 0 };

	d.dead_ns = path_sum(p->r, d.ns);
	if (!p->r->replay_facts.makespan_ns)
		return;
	fprintf(p->f, "%9s", page_time(d.dead_ns).text);
	page_percent(p->f, d.dead_ns, (uint64_t)p->r->replay_facts.makespan_ns);
	fprintf(p->f, " %9s %9s %8s   on the critical path  ", page_time(d.ns[WHERE_IDLE]).text,
		page_time(d.ns[WHERE_CHILD]).text, "");
	states_print(p, &d);
	fputc('\n', p->f);
}

void report_dead_text(const struct page *p)
{
	const struct report *r = p->r;
	size_t shown = page_lines_shown(r->dead_n, page_lines_max(p, SECTION_DEAD));

	if (r->m->thread_n <= 1)
		return;
	page_title(p, "  nothing      %%      idle   child's     gaps   Dead air");
	fputs("  nobody ran or was ready; by what ended it\n", p->f);
	/* One process and all together are the same. */
	for (size_t i = r->dead_n == 2; i < shown; i++)
		dead_print(p, &r->dead[i]);
	page_more(p, r->dead_n, shown, 48);
	path_print(p);
}

static void process_json(const struct report *r, struct json *j, const struct analyze_dead *d)
{
	const struct model_wait *w = &r->m->waits[d->longest_wait];

	json_begin_object(j);
	json_kv_uint(j, "pid", r->m->processes[d->process].pid);
	json_kv_bool(j, "all", !d->process);
	report_string_json(r, j, "name", r->m->processes[d->process].comm_id);
	json_kv_uint(j, "life_ns", d->life_ns);
	json_kv_uint(j, "nothing_ran_ns", d->dead_ns);
	json_kv_uint(j, "dead_air_ns", air_ns(d));
	json_kv_uint(j, "gaps", d->gap_n);
	report_where_json(j, "ended_by_ns", d->ns);
	json_kv_uint(j, "longest_ns", d->longest_ns);
	json_kv_int(j, "longest_start_ns", d->longest_start_ns);
	json_kv_string(j, "longest_reason", d->longest_wait ? wait_reason_name(r->m->rows[w->row].reason) : NULL);
	report_string_json(r, j, "longest_name", d->longest_wait ? analyze_awaited_name(r->m, w) : 0);
	json_end_object(j);
}

void report_dead_json(const struct report *r, struct json *j)
{
	uint64_t ns[WHERE_MAX] = { 0 };

	json_begin_object(j);
	json_key(j, "processes");
	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(r, r->dead_n); i++)
		process_json(r, j, &r->dead[i]);
	json_end_array(j);
	json_kv_uint(j, "on_path_ns", path_sum(r, ns));
	report_where_json(j, "on_path_by_state_ns", ns);
	json_end_object(j);
}
