/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The first thing a reader should know, in a sentence or two that each state a
 * number from below: what most of the time went to that is not idle by design,
 * and the largest single thing in that.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/report-replay.h"
#include "cmd/report-sections.h"
#include "util/cleanup.h"

enum { NAME_COLUMNS = 44, REST_MAX = 4, INDENT = 9 };

/* Shares of less than this are not "mostly". */
#define MOSTLY 0.5
/* A thread that is at it for less of the time has time left. */
#define BUSY 0.5
/* One in so many is worth a sentence. */
#define GO_SHARE 10
/* The same of locks beside a path, as of their place on the page. */
#define LOCKS_SHARE 5

static uint64_t busy_ns(const struct analyze_states *s)
{
	return s->total_ns - s->ns[WHERE_IDLE] - s->ns[WHERE_CHILD];
}

static unsigned most_of(const struct analyze_states *s)
{
	unsigned most = WHERE_RUNNING;

	for (unsigned i = 0; i < WHERE_MAX; i++) {
		if (i != WHERE_IDLE && i != WHERE_CHILD && s->ns[i] > s->ns[most])
			most = i;
	}
	return most;
}

static const char *clause_of(const struct analyze_states *s, unsigned where)
{
	static const char *const clauses[WHERE_MAX] = {
		[WHERE_RUNNING] = "on the CPU",
		[WHERE_RUNNABLE] = "ready, with no CPU free",
		[WHERE_LOCK] = "waiting for locks",
		[WHERE_DISK] = "waiting for the disk",
		[WHERE_NET] = "waiting for the network",
		[WHERE_PIPE] = "waiting for other programs (pipes, unix sockets, terminals)",
		[WHERE_TIMER] = "asleep",
		[WHERE_CHILD] = "waiting for children",
		[WHERE_WORK] = "waiting for other ops",
		[WHERE_IDLE] = "idle by design",
		[WHERE_UNKNOWN] = "in unknown states",
	};

	if (s->goroutine_n && where == WHERE_WORK)
		return "waiting for other goroutines or ops";
	return s->of_ops && where == WHERE_UNKNOWN ? "in the ops' own work" : clauses[where];
}

/* What took most of that state's waits: "; most for mutex futex:..: 390.0 ms"; most is more than half. */
static void largest_print(const struct page *p, unsigned where)
{
	const struct analyze_table *t = &p->r->resources;
	uint64_t all_ns = p->r->states.ns[where];

	for (size_t i = 0; i < t->n; i++) {
		const struct analyze_entry *e = &t->entries[i];

		if (e->idle || e->where != where)
			continue;
		fputs((double)e->blocked_ns > MOSTLY * (double)all_ns ? "; most for " : "; the largest part for ",
		      p->f);
		page_thing_print(p, e->reason, e->kind_id, e->name_id, NAME_COLUMNS);
		fprintf(p->f, ": %s", page_time(e->blocked_ns).text);
		return;
	}
}

/* ---- of the critical path ---- */

struct share {
	uint64_t ns;
	uint32_t class; /* of most of it */
	uint64_t class_ns;
};

/* Time of the path by state; in each the class with most of it. */
static void path_sum(const struct report *r, struct share ret[WHERE_MAX], uint64_t *ret_sum_ns)
{
	size_t n = replay_class_n(r->replay);
	uint64_t *by_class = calloc((n + 1) * WHERE_MAX, sizeof(*by_class));

	*ret_sum_ns = 0;
	for (size_t i = 0; by_class && i < r->stretch_n; i++) {
		const struct replay_stretch *x = &r->stretches[i];
		unsigned where = report_stretch_where(r, x);
		uint64_t ns = (uint64_t)(x->end_ns - x->start_ns),
			 *at = &by_class[(x->class < n ? x->class : n) * WHERE_MAX + where];

		*at += ns;
		ret[where].ns += ns;
		*ret_sum_ns += ns;
		if (*at > ret[where].class_ns) {
			ret[where].class_ns = *at;
			ret[where].class = x->class;
		}
	}
	free(by_class);
}

static const char *path_word(const struct page *p, unsigned where)
{
	static const char *const words[WHERE_MAX] = {
		[WHERE_RUNNING] = "on the CPU",
		[WHERE_RUNNABLE] = "ready without a CPU",
		[WHERE_LOCK] = "waiting for a lock",
		[WHERE_DISK] = "waiting for the disk",
		[WHERE_NET] = "waiting for the network",
		[WHERE_PIPE] = "waiting for a pipe",
		[WHERE_TIMER] = "asleep",
		[WHERE_CHILD] = "waiting for a child",
		[WHERE_WORK] = "waiting for another op",
		[WHERE_IDLE] = "parked",
		[WHERE_UNKNOWN] = "unknown",
	};

	return where == WHERE_RUNNING && p->r->m->thread_n <= 1 ? "in ops' own work" : words[where];
}

/* "ready without a CPU 7.20 s, asleep 300.0 ms": what of the path is no work, most first. */
static void rest_print(const struct page *p, const struct share shares[WHERE_MAX])
{
	bool done[WHERE_MAX] = { [WHERE_RUNNING] = true };

	for (int n = 0; n < REST_MAX; n++) {
		unsigned most = WHERE_MAX;

		for (unsigned i = 0; i < WHERE_MAX; i++) {
			if (!done[i] && shares[i].ns && (most == WHERE_MAX || shares[i].ns > shares[most].ns))
				most = i;
		}
		/* What is less than a hundredth of the whole is no part of a verdict. */
		if (most == WHERE_MAX || shares[most].ns * 100 < (uint64_t)p->r->replay_facts.makespan_ns)
			return;
		done[most] = true;
		fprintf(p->f, "%s%s %s", n ? ", " : ": ", path_word(p, most), page_time(shares[most].ns).text);
	}
}

static bool path_verdict_print(const struct page *p)
{
	struct share shares[WHERE_MAX] = { { 0 } };
	uint64_t sum_ns, work_ns;
	unsigned most = 0;

	if (!(p->r->made & SECTION_BIT(SECTION_PATH)) || !p->r->stretch_n)
		return false;
	path_sum(p->r, shares, &sum_ns);
	for (unsigned i = 0; i < WHERE_MAX; i++)
		most = shares[i].ns > shares[most].ns ? i : most;
	if (!sum_ns)
		return false;
	work_ns = shares[WHERE_RUNNING].ns;
	fprintf(p->f, "%s %s: %.0f%% of the critical path, ",
		(double)shares[most].ns > MOSTLY * (double)sum_ns ? "Mostly" : "Largest part", path_word(p, most),
		100.0 * (double)shares[most].ns / (double)sum_ns);
	if (shares[most].class_ns * 100 >= shares[most].ns * 99)
		fputs("all", p->f);
	else
		fprintf(p->f, "%s", page_time(shares[most].class_ns).text);
	fputs(" of it ", p->f);
	report_subject_print(p, shares[most].class, NAME_COLUMNS);
	if (sum_ns - work_ns > sum_ns / 100) {
		fprintf(p->f, ".\n%s of %s is no work", page_time(sum_ns - work_ns).text, page_time(sum_ns).text);
		rest_print(p, shares);
	}
	fputs(".\n", p->f);
	return true;
}

static bool was_left_hanging(const struct model *m, const struct model_wait *w)
{
	return m->threads[w->thread].goid && m->rows[w->row].reason == REASON_LOCK && w->outcome == WAIT_KILLED &&
	       w->blocked_ns * 2 >= m->end_ns;
}

/*
 * A path goes through what was done last. Through a server it may go by the network, whose other end is not known, where
 * each of its goroutines waits for one lock; or by main's sleep, until the process ended and left others hanging.
 */
static void goroutine_locks_print(const struct page *p)
{
	const struct analyze_states *s = &p->r->states;
	const struct model *m = p->r->m;
	size_t n = 0, named = 0;

	if (!s->goroutine_n || !(p->r->made & SECTION_BIT(SECTION_PATH)))
		return;
	for (size_t i = 1; i < m->wait_n; i++)
		n += was_left_hanging(m, &m->waits[i]);
	if (n < 2) {
		if (s->ns[WHERE_LOCK] && s->ns[WHERE_LOCK] * LOCKS_SHARE >= busy_ns(s)) {
			fprintf(p->f, "Goroutines waited %s for locks", page_time(s->ns[WHERE_LOCK]).text);
			largest_print(p, WHERE_LOCK);
			fputs(".\n", p->f);
		}
		return;
	}
	fprintf(p->f, "%zu goroutines hung in locks until their process ended: ", n);
	for (size_t i = 1; i < m->wait_n && named < 2; i++) {
		const struct model_wait *w = &m->waits[i];

		if (!was_left_hanging(m, w))
			continue;
		fputs(named++ ? ", " : "", p->f);
		page_thing_print(p, REASON_LOCK, m->rows[w->row].kind_id, analyze_awaited_name(m, w), NAME_COLUMNS);
	}
	fputs(n > named ? ", ..\n" : ".\n", p->f);
}

/* Of a sampling profiler's: which file, which function. */
static void profile_verdict_print(const struct page *p)
{
	const struct analyze_frames *libraries = &p->r->frames[ANALYZE_FRAMES_LIBRARY];
	const struct analyze_frames *self = &p->r->frames[ANALYZE_FRAMES_SELF];
	const struct analyze_frame *library = NULL, *function = NULL;
	_cleanup_(freep) char *name = NULL;

	for (size_t i = 0; i < libraries->n; i++)
		library = !library || libraries->list[i].cpu_ns > library->cpu_ns ? &libraries->list[i] : library;
	for (size_t i = 0; i < self->n; i++)
		function = !function || self->list[i].cpu_ns > function->cpu_ns ? &self->list[i] : function;
	if (!library || !function || !libraries->all_cpu_ns) {
		fputs("No time on the CPU was sampled.\n", p->f);
		return;
	}
	name = report_frame_name(p->r->m, &function->frame, true);
	fprintf(p->f, "%.0f%% of %s on the CPU are in ",
		100.0 * (double)library->cpu_ns / (double)libraries->all_cpu_ns, page_time(libraries->all_cpu_ns).text);
	report_path_print(p->f, page_string(p, p->r->m->modules[library->frame.module].path_id), NAME_COLUMNS);
	fprintf(p->f, "; the function with most is ");
	report_name_print(p->f, name ? name : "?", NAME_COLUMNS);
	fprintf(p->f, ": %.0f%%.\n", 100.0 * (double)function->cpu_ns / (double)libraries->all_cpu_ns);
}

/* ---- of a server ---- */

/* The thread that was on the CPU or ready for the largest part of what was recorded. Thread index, 0: none. */
static uint32_t busiest_find(const struct report *r, double *ret_share)
{
	uint64_t most_ns = 0;
	uint32_t found = 0;

	for (uint32_t i = 1; i < r->m->thread_n; i++) {
		const struct model_thread *t = &r->m->threads[i];

		if (!t->goid && t->has_totals && t->oncpu_ns + t->runnable_ns > most_ns &&
		    report_thread_passes(r, i)) {
			most_ns = t->oncpu_ns + t->runnable_ns;
			found = i;
		}
	}
	*ret_share = r->m->end_ns > 0 ? (double)most_ns / (double)r->m->end_ns : 0;
	return found;
}

/* One thread that has no time left is a limit, however many others wait for work. */
static void busiest_print(const struct page *p)
{
	double share, whole = (double)p->r->m->end_ns;
	uint32_t thread = busiest_find(p->r, &share);
	const struct model_thread *t = &p->r->m->threads[thread];

	if (!thread || share < BUSY || p->r->states.of_ops)
		return;
	fputs(" Busiest is ", p->f);
	page_thread_print(p, thread);
	fprintf(p->f, ": %.0f%% of the time on the CPU, %.0f%% ready without one.",
		100.0 * (double)t->oncpu_ns / whole, 100.0 * (double)t->runnable_ns / whole);
}

static void states_verdict_print(const struct page *p)
{
	static const char parked[] = "were parked, in wait for a channel, the network or the end of others";
	const struct analyze_states *s = &p->r->states;
	uint64_t busy = busy_ns(s);
	unsigned most = most_of(s);
	double share = busy ? (double)s->ns[most] / (double)busy : 0;

	if (busy < s->total_ns / 20) {
		fprintf(p->f, "Mostly idle: %.1f%% of %s %s %s.",
			100.0 * (double)(s->total_ns - busy) / (double)s->total_ns, page_seconds(s->total_ns).text,
			report_states_unit(s), s->goroutine_n ? parked : "had nothing to do, by design");
		if (busy)
			fprintf(p->f, " Of the other %s s %.0f%% were %s.", page_seconds(busy).text, 100 * share,
				clause_of(s, most));
	} else {
		fprintf(p->f, "%s %s: %.0f%% of %s %s", share > MOSTLY ? "Mostly" : "Largest part", clause_of(s, most),
			100 * share, page_seconds(busy).text, report_states_unit(s));
		if (busy < s->total_ns)
			fputs(s->goroutine_n ? " that were not parked" : " that were not idle by design", p->f);
		if (most > WHERE_RUNNABLE)
			largest_print(p, most);
		fputc('.', p->f);
	}
	busiest_print(p);
	fputc('\n', p->f);
}

/* Were goroutines followed? If all of them are parked, then by threads that were known to have none. */
static bool goroutines_are_followed(const struct model *m)
{
	for (size_t i = 1; i < m->row_n && !m->goroutine_n; i++) {
		if (strcmp(strtab_str(m->strings, m->rows[i].kind_id), "go_scheduler") == 0)
			return true;
	}
	return m->goroutine_n;
}

/* One that the recording found running. */
static bool has_go_before(const struct model *m)
{
	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		if (!m->threads[w->thread].goid && m->threads[w->thread].clipped & CLIPPED_BEFORE &&
		    strcmp(strtab_str(m->strings, m->rows[w->row].kind_id), "go_scheduler") == 0)
			return true;
	}
	return false;
}

/* Were those that were parked then looked for? The runtime's own always are, and stay so. */
static bool goroutines_were_listed(const struct model *m)
{
	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		if (m->threads[w->thread].goid && w->clipped == (CLIPPED_BEFORE | CLIPPED_AFTER) && !w->wake_ns)
			return true;
	}
	return false;
}

/* Threads of a Go program that hardly wait for anything say little; its goroutines would say more. */
static void go_hint_print(const struct page *p)
{
	const struct model *m = p->r->m;
	uint64_t ns = 0;

	if (p->r->states.of_ops)
		return;
	if (goroutines_are_followed(m)) {
		if (has_go_before(m) && !goroutines_were_listed(m))
			fputs("Goroutines that were parked before the recording began and stayed so are not seen.\n",
			      p->f);
		return;
	}
	for (size_t i = 1; i < m->row_n; i++)
		ns += analyze_row_is_go_scheduler(m, &m->rows[i]) ? m->rows[i].blocked_ns : 0;
	if (ns * GO_SHARE > p->r->states.total_ns)
		fputs("Threads of Go's scheduler are idle by design; what goroutines wait for: record with --probes go.\n",
		      p->f);
}

/* There may be waits of nobody, or ops that took no time. */
static void nothing_print(const struct page *p)
{
	const struct model *m = p->r->m;

	if (report_is_filtered(p->r))
		fputs("Nothing was recorded of what was asked for: wcbpf report --section threads --section classes "
		      "lists what there is.\n", p->f);
	else if (m->op_n > 1)
		fprintf(p->f, "No time: %s took none.\n", wording_counted(m->op_n - 1, "op", NULL).text);
	else if (m->wait_n > 1)
		fprintf(p->f, "There are no ops and no threads, only %s of nobody knows whom.\n",
			wording_counted(m->wait_n - 1, "wait", NULL).text);
	else
		fputs("Nothing was recorded.\n", p->f);
}

static void sentences_print(const struct page *p, const void *arg)
{
	(void)arg;
	if (report_missing_print(p) || report_off_print(p))
		return;
	if (!p->r->states.total_ns)
		nothing_print(p);
	else if (p->r->profile)
		profile_verdict_print(p);
	else {
		if (!report_stuck_verdict_print(p)) {
			goroutine_locks_print(p);
			if (!path_verdict_print(p))
				states_verdict_print(p);
		}
		go_hint_print(p);
	}
}

void report_verdict_print(const struct page *p)
{
	fprintf(p->f, "\n%sVERDICT%s  ", p->bold, p->plain);
	page_wrapped(p, INDENT, sentences_print, NULL);
}
