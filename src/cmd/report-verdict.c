/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The first thing a reader should know, in a sentence or two that each state a
 * number from below: what most of the time went to that is not idle by design,
 * and the largest single thing in that.
 */
#include <stdlib.h>

#include "cmd/report-replay.h"
#include "cmd/report-sections.h"
#include "util/cleanup.h"

enum { NAME_COLUMNS = 44, REST_MAX = 4 };

/* Shares of less than this are not "mostly". */
#define MOSTLY 0.5

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

	return s->of_ops && where == WHERE_UNKNOWN ? "in the ops' own work" : clauses[where];
}

/* The waits of that state that took most: "; most for mutex futex:..: 390.0 ms". */
static void largest_print(const struct page *p, unsigned where)
{
	const struct analyze_table *t = &p->r->resources;

	for (size_t i = 0; i < t->n; i++) {
		const struct analyze_entry *e = &t->entries[i];

		if (e->idle || e->where != where)
			continue;
		fprintf(p->f, "; most for ");
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
	fprintf(p->f, "%.0f%% of the critical path is ", 100.0 * (double)shares[most].ns / (double)sum_ns);
	/* Whose it is, if it is nearly all one's. */
	if (shares[most].class_ns * 10 >= shares[most].ns * 9) {
		report_subject_print(p, shares[most].class, NAME_COLUMNS);
		fprintf(p->f, " %s", path_word(p, most));
	} else {
		fprintf(p->f, "%s, %s of it ", path_word(p, most), page_time(shares[most].class_ns).text);
		report_subject_print(p, shares[most].class, NAME_COLUMNS);
	}
	if (sum_ns - work_ns > sum_ns / 100) {
		fprintf(p->f, ".\n         %s of %s is no work", page_time(sum_ns - work_ns).text,
			page_time(sum_ns).text);
		rest_print(p, shares);
	}
	fputs(".\n", p->f);
	return true;
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

void report_verdict_print(const struct page *p)
{
	const struct analyze_states *s = &p->r->states;
	uint64_t busy = busy_ns(s);
	unsigned most = most_of(s);
	double share;

	fprintf(p->f, "\n%sVERDICT%s  ", p->bold, p->plain);
	if (!s->total_ns) {
		fputs("Nothing was recorded.\n", p->f);
		return;
	}
	if (p->r->profile) {
		profile_verdict_print(p);
		return;
	}
	if (report_stuck_verdict_print(p) || path_verdict_print(p))
		return;
	if (busy < s->total_ns / 20) {
		fprintf(p->f, "Mostly idle: %.1f%% of %s thread-s had nothing to do, by design.",
			100.0 * (double)(s->total_ns - busy) / (double)s->total_ns, page_seconds(s->total_ns).text);
		if (busy)
			fprintf(p->f, " Of the other %s s %.0f%% were %s.", page_seconds(busy).text,
				100.0 * (double)s->ns[most] / (double)busy, clause_of(s, most));
		fputc('\n', p->f);
		return;
	}
	share = (double)s->ns[most] / (double)busy;
	fprintf(p->f, "%s %s: %.0f%% of %s %s", share > MOSTLY ? "Mostly" : "Most of it", clause_of(s, most),
		100 * share, page_seconds(busy).text, s->of_ops ? "op-s" : "thread-s");
	if (busy < s->total_ns)
		fputs(" that were not idle by design", p->f);
	if (most > WHERE_RUNNABLE)
		largest_print(p, most);
	fputs(".\n", p->f);
}
