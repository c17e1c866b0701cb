/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Tables of waits. Numbers stand left, names right, so that long names cost no
 * alignment.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report-page.h"
#include "cmd/report-sections.h"
#include "util/cleanup.h"

enum { KINDS_MAX = 4, NUMBERS_COLUMNS = 34 };

static void numbers_print(const struct page *p, const struct analyze_entry *e)
{
	fprintf(p->f, "%10s %10s %9s %s ", page_time(report_entry_ns(e)).text,
		page_longest(e->longest_ns, e->longest_cut).text, wording_count(e->count).text, e->idle ? "*" : " ");
}

static void line_print(const struct page *p, const struct report_line *l)
{
	char alike[40] = "";

	if (l->alike_n > 1)
		snprintf(alike, sizeof(alike), " (%zu alike)", l->alike_n);
	numbers_print(p, &l->entry);
	report_name_print(p->f, l->label, alike[0] ? p->columns - NUMBERS_COLUMNS - (unsigned)strlen(alike) : 0);
	fprintf(p->f, "%s\n", alike);
}

/* A line of both in the order of the page: first lines of what is not idle, what is idle, the rest. */
static const struct report_line *line_at(const struct report_lines *busy, const struct report_lines *idle, size_t first,
					 size_t i)
{
	if (i < first)
		return &busy->lines[i];
	return i < first + idle->n ? &idle->lines[i - first] : &busy->lines[i - idle->n];
}

/* A table and, where those are listed, the one of what is idle by design. */
static void table_print(const struct page *p, enum report_section section, const struct analyze_table *t,
			const struct analyze_table *idle_t, report_label_fn label, const char *title,
			const char *last)
{
	_cleanup_(report_lines_done) struct report_lines busy = { 0 }, idle = { 0 };
	unsigned columns = p->columns - NUMBERS_COLUMNS;
	uint64_t rest_ns = 0;
	size_t n, shown, first;

	if (!t->n && !idle_t->n)
		return;
	fprintf(p->f, "\n%s     total    longest     count   %s%s%s%s\n", p->bold, title, p->plain,
		*last ? "  " : "", last);
	if (report_lines_make(p->r, t, label, columns, &busy) < 0 ||
	    report_lines_make(p->r, idle_t, label, columns, &idle) < 0) {
		fputs("   (out of memory)\n", p->f);
		return;
	}
	n = busy.n + idle.n;
	shown = page_lines_shown(n, page_lines_max(p, section));
	/* Both get half of the lines, or what the other leaves. */
	first = busy.n < shown / 2 || !idle.n ? busy.n : shown / 2 + shown % 2;
	for (size_t i = 0; i < n; i++) {
		const struct report_line *l = line_at(&busy, &idle, first < busy.n ? first : busy.n, i);

		if (i < shown)
			line_print(p, l);
		else
			rest_ns += l->entry.blocked_ns;
	}
	if (n > shown)
		fprintf(p->f, "%10s %10s %9s   in %s more\n", page_time(rest_ns).text, "", "",
			wording_count(n - shown).text);
}

/* The kinds of one reason, largest first: " mutex 3.00 s, rwlock 0.20 s"; nothing where none is known. */
static void kinds_print(const struct page *p, enum wait_reason reason)
{
	const struct report *r = p->r;
	size_t n = 0;

	for (size_t i = 0; i < r->kinds.n; i++) {
		const struct analyze_entry *e = &r->kinds.entries[i];
		const char *kind = strtab_str(r->m->strings, e->kind_id);

		if (e->reason != reason || !*kind)
			continue;
		if (n++ == KINDS_MAX) {
			fputs(", ..", p->f);
			return;
		}
		fputs(n > 1 ? ", " : " ", p->f);
		report_name_print(p->f, kind, 24);
		fprintf(p->f, "%s %s", e->idle ? "*" : "", page_time(report_entry_ns(e)).text);
	}
}

static bool reason_has_kinds(const struct report *r, enum wait_reason reason)
{
	for (size_t i = 0; i < r->kinds.n; i++) {
		if (r->kinds.entries[i].reason == reason && r->kinds.entries[i].kind_id)
			return true;
	}
	return false;
}

static struct wording reason_longest(const struct report *r, enum wait_reason reason)
{
	const struct analyze_entry *longest = NULL;

	for (size_t i = 0; i < r->kinds.n; i++) {
		const struct analyze_entry *e = &r->kinds.entries[i];

		if (e->reason == reason && (!longest || e->longest_ns > longest->longest_ns))
			longest = e;
	}
	return longest ? page_longest(longest->longest_ns, longest->longest_cut) : page_longest(0, false);
}

static int reason_compare(const void *a, const void *b, void *arg)
{
	const struct analyze_time *t = arg;
	const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	if (t->by_reason_ns[x] != t->by_reason_ns[y])
		return t->by_reason_ns[x] > t->by_reason_ns[y] ? -1 : 1;
	return (int)x - (int)y;
}

static void reason_print(const struct page *p, const struct analyze_time *t, enum wait_reason reason, uint64_t sum_ns)
{
	fprintf(p->f, "%10s", page_time(t->by_reason_ns[reason]).text);
	page_percent(p->f, t->by_reason_ns[reason], sum_ns);
	fprintf(p->f, " %10s %9s   ", reason_longest(p->r, reason).text,
		wording_count(t->count_by_reason[reason]).text);
	if (reason == REASON_CPU) {
		fputs("cpu     ready to run, preempted\n", p->f);
		return;
	}
	fprintf(p->f, reason_has_kinds(p->r, reason) ? "%-7s" : "%s", wait_reason_name(reason));
	kinds_print(p, reason);
	fputc('\n', p->f);
}

/* What goroutines are parked in is no thread's time, but among the kinds: where there are some, sums are of both. */
static void goroutines_add(const struct report *r, struct analyze_time *t)
{
	memset(t->by_reason_ns, 0, sizeof(t->by_reason_ns));
	memset(t->count_by_reason, 0, sizeof(t->count_by_reason));
	for (size_t i = 0; i < r->kinds.n; i++) {
		const struct analyze_entry *e = &r->kinds.entries[i];

		t->by_reason_ns[e->reason] += report_entry_ns(e);
		t->count_by_reason[e->reason] += e->count;
	}
}

void report_reasons_text(const struct page *p)
{
	struct analyze_time t = p->r->time;
	unsigned order[REASON_MAX], n = 0;
	size_t max = page_lines_max(p, SECTION_REASONS);
	uint64_t sum_ns = 0, rest_ns = 0;

	if (p->r->m->goroutine_n)
		goroutines_add(p->r, &t);
	for (unsigned i = 0; i < REASON_MAX; i++) {
		sum_ns += t.by_reason_ns[i];
		if (t.count_by_reason[i])
			order[n++] = i;
	}
	if (!n) {
		fprintf(p->f, "\n%sNo waits%s\n", p->bold, p->plain);
		return;
	}
	qsort_r(order, n, sizeof(order[0]), reason_compare, &t);
	fprintf(p->f,
		"\n%s     total      %%    longest     count   Why %s%s  * idle by design\n",
		p->bold, p->r->m->goroutine_n ? "threads and goroutines didn't run" : "threads were off the CPU", p->plain);
	max = page_lines_shown(n, max);
	for (unsigned i = 0; i < n; i++) {
		if (i < max)
			reason_print(p, &t, order[i], sum_ns);
		else
			rest_ns += t.by_reason_ns[order[i]];
	}
	if (n > max) {
		fprintf(p->f, "%10s", page_time(rest_ns).text);
		page_percent(p->f, rest_ns, sum_ns);
		fprintf(p->f, " %10s %9s   for %zu more reasons\n", "", "", n - max);
	}
}

/* On a page all places where threads are parked are one: their addresses tell nobody anything. */
static bool is_parking(const struct report *r, const struct analyze_entry *e)
{
	static const char *const prefixes[] = { "futex:", "condvar:", "chan:" };
	const char *name = strtab_str(r->m->strings, e->name_id);
	bool found = false;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		found |= strncmp(name, prefixes[i], strlen(prefixes[i])) == 0;
	return found && e->idle && !r->o->sections && !r->o->everything;
}

static void resource_label(const struct report *r, const struct analyze_entry *e, unsigned columns, FILE *f)
{
	if (is_parking(r, e))
		fprintf(f, "%-7s %s", wait_reason_name(e->reason), strtab_str(r->m->strings, e->kind_id));
	else
		report_awaited_print(r, f, e->reason, e->kind_id, e->name_id, columns);
}

static void name_label(const struct report *r, const struct analyze_entry *e, unsigned columns, FILE *f)
{
	report_name_print(f, strtab_str(r->m->strings, e->name_id), columns);
}

static void stack_label(const struct report *r, const struct analyze_entry *e, unsigned columns, FILE *f)
{
	/* A page says what the program called; how libc waits says a section of its own. */
	if (r->o->sections || r->o->everything)
		report_stack_print(f, r, e->stack_k, e->stack_u, columns);
	else
		report_caller_print(f, r, e->stack_k, e->stack_u, columns);
}

/* Where goroutines wait for work: of no use on a page. */
static bool is_of_goroutines(const struct report *r, const struct analyze_entry *e)
{
	const char *kind = strtab_str(r->m->strings, e->kind_id);

	return strcmp(kind, "chan_receive") == 0 || strcmp(kind, "chan_select") == 0 ||
	       strncmp(strtab_str(r->m->strings, e->name_id), "netpoll:", 8) == 0;
}

void report_resources_text(const struct page *p)
{
	const struct report *r = p->r;
	_cleanup_(freep) struct analyze_entry *entries = calloc(r->resources.n + 1, sizeof(*entries));
	bool all = r->o->sections || r->o->everything || !r->m->goroutine_n;
	struct analyze_table shown = { .entries = entries };

	if (!entries)
		return;
	for (size_t i = 0; i < r->resources.n; i++) {
		if (all || !is_of_goroutines(r, &r->resources.entries[i]))
			entries[shown.n++] = r->resources.entries[i];
	}
	table_print(p, SECTION_RESOURCES, &shown, &r->idle_resources, resource_label, "Waits by resource",
		    "reason, kind, name");
}

void report_wakers_text(const struct page *p)
{
	table_print(p, SECTION_WAKERS, &p->r->wakers, &p->r->idle_wakers, name_label, "Waits by who ended them", "");
}

void report_ops_text(const struct page *p)
{
	table_print(p, SECTION_OPS, &p->r->ops, &p->r->idle_ops, name_label, "Waits by the op that waited", "");
}

void report_stacks_text(const struct page *p)
{
	table_print(p, SECTION_STACKS, &p->r->callers, &p->r->idle_callers, stack_label, "Waits by stack",
		    "innermost function first, < its caller");
}

void report_threads_text(const struct page *p)
{
	const struct report *r = p->r;
	size_t shown = page_lines_shown(r->thread_n, page_lines_max(p, SECTION_THREADS));

	if (!r->thread_n)
		return;
	fprintf(p->f, "\n%s    on CPU   runnable    blocked       lost       life   Threads%s%s\n", p->bold, p->plain,
		r->filter.class_n || r->filter.client_n ? "  all that there are, not their ops" : "");
	for (size_t i = 0; i < shown; i++) {
		const struct model_thread *t = &r->m->threads[r->threads[i]];

		fprintf(p->f, "%10s %10s %10s %10s %10s   ", page_time(t->oncpu_ns).text,
			page_time(t->runnable_ns).text, page_time(t->blocked_ns).text, page_time(t->lost_ns).text,
			page_time((uint64_t)(t->end_ns - t->begin_ns)).text);
		report_name_print(p->f, strtab_str(r->m->strings, t->comm_id), 32);
		fprintf(p->f, "  pid %" PRIu32 " tid %" PRIu32 "%s\n", t->pid, t->tid,
			t->has_totals ? "" : "  (not accounted)");
	}
	if (r->thread_n > shown)
		fprintf(p->f, "%s more\n", wording_count(r->thread_n - shown).text);
}
