/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What was recorded, and whether the numbers below can be trusted. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report-sections.h"
#include "util/cleanup.h"

enum { LOSSES_SHOWN = 3, KINDS_MAX = 4 };

/* The command, how it ended, how long, how much of it. */
static void identity_print(const struct page *p, FILE *f)
{
	const struct report *r = p->r;
	const struct dump_facts *x = &r->facts;

	report_name_print(f, x->command ? x->command : x->target ? x->target : r->path, p->columns / 2);
	if (x->has_exit_status)
		fprintf(f, "  %s", wording_status(x->exit_status).text);
	fprintf(f, "  %s", page_time((uint64_t)r->m->end_ns).text);
	if (r->time.thread_n)
		fprintf(f, "  %s, %s", wording_counted(r->time.process_n, "process", "processes").text,
			wording_counted(r->time.thread_n, "thread", NULL).text);
	if (r->m->cpu_n)
		fprintf(f, "  %s", wording_counted(r->m->cpu_n, "CPU", NULL).text);
}

/* Two lines at most: what is missing from the tables, and everything else in the order of weight. */
static void losses_print(const struct page *p)
{
	struct report_loss losses[REPORT_LOSSES_MAX];
	size_t n = report_losses(p->r->m, losses), first = p->r->m->integrity.dropped_events != 0, k;

	if (first)
		fprintf(p->f, "%s  LOST %s %s%s\n", p->bad, wording_count(losses[0].n).text, losses[0].words, p->plain);
	for (k = first; k < n && k < first + LOSSES_SHOWN; k++)
		fprintf(p->f, "%s%s %s %s", k == first ? p->bad : "", k == first ? "  LOST" : ";",
			wording_count(losses[k].n).text, losses[k].words);
	if (k > first) {
		if (n > k)
			fprintf(p->f, "; and %zu other kinds (--json)", n - k);
		fprintf(p->f, "%s\n", p->plain);
	}
	if (p->r->partial)
		fprintf(p->f, "%s  CUT DUMP the disk was full while it was written: the tables show its beginning%s\n",
			p->bad, p->plain);
	else if (p->r->problem.message[0])
		fprintf(p->f, "%s  DAMAGED FILE %s; the rest was used%s\n", p->bad, p->r->problem.message, p->plain);
}

void report_damage_print(const struct page *p)
{
	if (!report_is_damaged(p->r))
		return;
	fprintf(p->f, "%s  DAMAGED FILE ", p->bad);
	report_path_print(p->f, p->r->path, 40);
	if (p->r->partial)
		fputs(": the disk was full while it was written", p->f);
	else
		fprintf(p->f, ", %s; the rest was used", p->r->problem.message);
	fprintf(p->f, "%s\n", p->plain);
}

void report_damage_json(const struct report *r, struct json *j)
{
	json_kv_string(j, "file_problem", r->problem.message[0] ? r->problem.message : NULL);
	json_kv_bool(j, "dump_is_cut", r->partial);
	json_kv_uint(j, "bad_lines", r->problem.bad_n);
}

/* "; stacks 99.9%": how many intervals that blocked have a user stack that is sure to be whole. Never rounded up. */
static void stacks_share_print(const struct page *p, FILE *f)
{
	uint64_t all = p->r->facts.user_stack_n, whole = p->r->facts.complete_user_stack_n;
	unsigned permille = all ? (unsigned)(1000.0 * (double)whole / (double)all) : 0;

	if (!all)
		return;
	if (whole >= all)
		fputs("; stacks 100%", f);
	else
		fprintf(f, "; stacks %u.%u%%", permille / 10, permille % 10);
}

static uint64_t lost_n(const struct model *m)
{
	struct report_loss losses[REPORT_LOSSES_MAX];
	size_t n = report_losses(m, losses);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += losses[i].n;
	return sum;
}

static void capture_print(const struct page *p, FILE *f)
{
	bool complete = report_is_complete(p->r);

	if (p->r->profile) {
		fprintf(f, "a sampling profile (%u samples a second)", p->r->m->sample_hz);
		return;
	}
	if (!p->r->facts.is_wcbpf) {
		fprintf(f, "not recorded by wcbpf (%s dropped; nothing else is counted)",
			wording_counted(dump_dropped_events(p->r->m), "event", NULL).text);
		return;
	}
	fprintf(f, "%scapture %s%s (lost %s", complete ? p->good : p->bad, complete ? "COMPLETE" : "PARTIAL", p->plain,
		wording_count(lost_n(p->r->m)).text);
	stacks_share_print(p, f);
	fputc(')', f);
}

/* Text of a part of the line, NULL: no memory. */
static char *part_make(const struct page *p, void (*print)(const struct page *p, FILE *f))
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	print(p, f);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

void report_head_print(const struct page *p)
{
	_cleanup_(freep) char *identity = part_make(p, identity_print), *capture = part_make(p, capture_print);
	size_t color = strlen(p->good) + strlen(p->plain);

	if (!identity || !capture)
		return;
	/* One line if there is room for it. */
	fprintf(p->f, "%swcbpf:%s %s%s%s\n", p->bold, p->plain, identity,
		strlen(identity) + strlen(capture) - color + 10 > p->columns ? "\n       " : "   ", capture);
	losses_print(p);
}

/* ", pid 1,2": each condition behind the one before. */
static void ids_print(const struct page *p, const char **before, const char *word, const uint32_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fprintf(p->f, "%s%s%" PRIu32, i ? "" : *before, i ? "," : word, ids[i]);
	*before = n ? "; " : *before;
}

static void words_print(const struct page *p, const char **before, const char *word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fprintf(p->f, "%s%s", i ? "" : *before, i ? ", " : word);
		report_name_print(p->f, words[i], 40);
	}
	*before = n ? "; " : *before;
}

void report_filter_print(const struct page *p)
{
	const struct report_options *o = p->r->o;
	const char *before = "only ";

	if (o->has_time) {
		fprintf(p->f, "%s%s to %s of %s (times below are from its begin)", before,
			page_time((uint64_t)o->from_ns).text, page_time((uint64_t)(o->from_ns + p->r->m->end_ns)).text,
			page_time((uint64_t)p->r->whole_ns).text);
		before = "; ";
	}
	words_print(p, &before, "ops of class ", o->classes, o->class_n);
	words_print(p, &before, "ops of client ", o->clients, o->client_n);
	ids_print(p, &before, "pid ", o->pids, o->pid_n);
	ids_print(p, &before, "tid ", o->tids, o->tid_n);
	words_print(p, &before, "threads named ", &o->comm, o->comm != NULL);
	if (*before == ';')
		fputc('\n', p->f);
}

/* Where no table left them out there is nothing to tell. */
static bool idle_is_told(const struct report *r)
{
	uint64_t count = 0;

	for (size_t i = 0; i < r->kinds.n; i++)
		count += r->kinds.entries[i].idle_count;
	return !r->o->everything && count &&
	       (r->sections & (SECTION_BIT(SECTION_RESOURCES) | SECTION_BIT(SECTION_OPEN) |
			       SECTION_BIT(SECTION_WAKERS) | SECTION_BIT(SECTION_STACKS) | SECTION_BIT(SECTION_OPS)));
}

void report_idle_print(const struct page *p)
{
	const struct report *r = p->r;
	uint64_t ns = 0, count = 0;
	size_t n = 0;

	if (!idle_is_told(r))
		return;
	for (size_t i = 0; i < r->kinds.n; i++) {
		ns += r->kinds.entries[i].idle_ns;
		count += r->kinds.entries[i].idle_count;
	}
	fprintf(p->f, "\n%s idle by design: %s thread-s in %s (", r->idle_listed ? "* marks what is" : "Hidden as",
		page_seconds(ns).text, wording_counted(count, "wait", NULL).text);
	for (size_t i = 0; i < r->kinds.n; i++) {
		const struct analyze_entry *e = &r->kinds.entries[i];
		const char *kind = strtab_str(r->m->strings, e->kind_id);

		if (!e->idle_count)
			continue;
		if (n++ == KINDS_MAX)
			break;
		fputs(n > 1 ? ", " : "", p->f);
		report_name_print(p->f, *kind ? kind : wait_reason_name(e->reason), 20);
		fprintf(p->f, " %s", page_time(e->idle_ns).text);
	}
	fprintf(p->f, "%s)%s\n", n > KINDS_MAX ? ", .." : "", r->idle_listed ? "" : "   --all lists them");
}

static void cost_print(const struct page *p)
{
	const struct report *r = p->r;

	if (r->facts.tracer_cpu_ns)
		fprintf(p->f, "Tracing cost: %s CPU.   ", page_time(r->facts.tracer_cpu_ns).text);
	if (r->folder) {
		fputs("Files: ", p->f);
		report_path_print(p->f, r->folder, 40);
	}
	if (r->facts.tracer_cpu_ns || r->folder)
		fputc('\n', p->f);
}

/* The three that say most about this recording. */
void report_foot_print(const struct page *p)
{
	const struct report *r = p->r;
	bool path = r->sections & SECTION_BIT(SECTION_PATH);

	if (!idle_is_told(r))
		fputc('\n', p->f);
	cost_print(p);
	if (r->profile)
		fputs("Next: wcbpf report --section own | wcbpf report --below malloc\n", p->f);
	else
		fprintf(p->f, "Next: wcbpf report --section %s | wcbpf report --section %s | wcbpf explain %s\n",
			path ? "path" : "matrix", path ? "whatif" : r->m->sample_n > 1 ? "nearest" : "classes",
			r->has_tail ? "OP" : "CLASS");
}
