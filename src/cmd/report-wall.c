/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Where the time went, to 100%. */
#include <stdlib.h>

#include "cmd/report-sections.h"

int report_wall_make(struct report *r)
{
	return analyze_states(r->m, &r->filter, &r->states);
}

const char *report_states_unit(const struct analyze_states *s)
{
	if (s->of_ops)
		return "op-s";
	return !s->goroutine_n ? "thread-s" : s->thread_n ? "thread-s and goroutine-s" : "goroutine-s";
}

static const char *words_of(const struct analyze_states *s, enum analyze_where w)
{
	static const char *const words[WHERE_MAX] = {
		[WHERE_RUNNING] = "on CPU",
		[WHERE_RUNNABLE] = "runnable: ready, no CPU free",
		[WHERE_LOCK] = "lock",
		[WHERE_DISK] = "disk",
		[WHERE_NET] = "network",
		[WHERE_PIPE] = "pipe, terminal, unix socket",
		[WHERE_TIMER] = "timer: sleeps, time limits",
		[WHERE_CHILD] = "child: the end of a process or thread",
		[WHERE_WORK] = "another op's work",
		[WHERE_IDLE] = "idle by design",
		[WHERE_UNKNOWN] = "unknown",
	};

	if (w == WHERE_UNKNOWN && s->of_ops)
		return "self: on the CPU, or not known";
	if (w == WHERE_IDLE && s->goroutine_n)
		return "parked: for a channel, the network, work";
	if (w == WHERE_CHILD && s->goroutine_n)
		return "child: the end of goroutines or processes";
	return words[w];
}

static void state_print(const struct page *p, enum analyze_where w)
{
	const struct analyze_states *s = &p->r->states;

	fprintf(p->f, "%10s", page_time(s->ns[w]).text);
	page_percent(p->f, s->ns[w], s->total_ns);
	fprintf(p->f, "   %s", p->r->profile && w == WHERE_UNKNOWN ? "off the CPU, or not sampled" : words_of(s, w));
	if (w == WHERE_UNKNOWN && s->lost_ns && !p->r->profile)
		fprintf(p->f, ", of it %s in intervals that were lost", page_time(s->lost_ns).text);
	/* Some of that was ready to run, which is another line. */
	if (w == WHERE_UNKNOWN && s->left_out_ns && !p->r->profile)
		fprintf(p->f, ", of it %s left out %s",
			s->left_out_ns < s->ns[w] ? page_time(s->left_out_ns).text : "all", report_left_out_word(p->r));
	fputc('\n', p->f);
}

/* Most time first below what ran and what was ready, which keep their places. */
static void order_make(const struct analyze_states *s, unsigned order[WHERE_MAX])
{
	for (unsigned i = 0; i < WHERE_MAX; i++) {
		unsigned k = i;

		for (; k > WHERE_RUNNABLE + 1 && i > WHERE_RUNNABLE + 1 && s->ns[order[k - 1]] < s->ns[i]; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
}

/* What would be 0.0% is no line of a page, nor is 1% where the path has been told. */
static bool is_shown(const struct page *p, enum analyze_where w)
{
	const struct analyze_states *s = &p->r->states;

	if (w == WHERE_RUNNING && !s->of_ops)
		return true;
	if (p->r->o->sections || p->r->o->everything)
		return s->ns[w];
	/* Beside a path they are an aside. */
	return s->ns[w] * (p->r->sections & SECTION_BIT(SECTION_PATH) ? 100 : 2000) >= s->total_ns && s->ns[w];
}

void report_wall_text(const struct page *p)
{
	const struct analyze_states *s = &p->r->states;
	unsigned order[WHERE_MAX];

	if (s->of_ops)
		page_title(p, "Time of ops");
	else
		page_title(p, "Wall time");
	fprintf(p->f, "  %s %s in %s s of wall%s", page_seconds(s->total_ns).text, report_states_unit(s),
		page_seconds((uint64_t)p->r->m->end_ns).text, s->of_ops ? ", each op's own" : "");
	if (s->goroutine_n)
		fprintf(p->f, ", %s", wording_counted(s->goroutine_n, "goroutine", NULL).text);
	if (!s->of_ops && (s->thread_n || !s->goroutine_n))
		fprintf(p->f, ", %s", wording_counted(s->thread_n, "thread", NULL).text);
	if (s->carrier_n)
		fprintf(p->f, " (left out: %s of Go's scheduler)", wording_counted(s->carrier_n, "thread", NULL).text);
	fputc('\n', p->f);
	order_make(s, order);
	for (unsigned i = 0; i < WHERE_MAX; i++) {
		if (is_shown(p, order[i]))
			state_print(p, order[i]);
	}
	if (s->gap_ns)
		fprintf(p->f, "%s%10s          gap: these don't sum to the threads' lives%s\n", p->bad,
			page_signed_time(s->gap_ns).text, p->plain);
}

void report_wall_json(const struct report *r, struct json *j)
{
	const struct analyze_time *t = &r->time;
	const struct analyze_states *s = &r->states;

	json_begin_object(j);
	json_kv_bool(j, "accounted", t->known);
	json_kv_uint(j, "process_count", t->process_n);
	json_kv_uint(j, "thread_count", t->thread_n);
	json_kv_uint(j, "lifetime_ns", t->lifetime_ns);
	json_kv_uint(j, "oncpu_ns", t->oncpu_ns);
	json_kv_uint(j, "runnable_ns", t->runnable_ns);
	json_kv_uint(j, "blocked_ns", t->blocked_ns);
	json_kv_uint(j, "lost_ns", t->lost_ns);
	json_kv_uint_nz(j, "left_out_ns", s->left_out_ns);
	json_kv_bool(j, "states_are_of_ops", s->of_ops);
	json_kv_uint_nz(j, "states_goroutine_count", s->goroutine_n);
	json_kv_uint_nz(j, "states_left_out_thread_count", s->carrier_n);
	json_kv_uint(j, "states_total_ns", s->total_ns);
	report_where_json(j, "states_ns", s->ns);
	report_where_json(j, "state_waits", s->count);
	json_kv_int(j, "states_gap_ns", s->gap_ns);
	json_end_object(j);
}
