/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The page: whether it can be trusted first, then from the whole to the
 * detail, at most 40 lines unless more is asked for. Numbers stand left, names
 * right, so that long names cost no alignment.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report.h"
#include "cmd/wording.h"
#include "util/cleanup.h"

enum { LOSSES_SHOWN = 3, KINDS_MAX = 4, NUMBERS_COLUMNS = 34, OPEN_LINES = 1, ONCPU_LINES = 3, ONCPU_COLUMNS = 30, OPEN_AGE_COLUMNS = 13, HOLDER_COLUMNS = 30 };

struct page {
	const struct report *r;
	FILE *f;
	unsigned columns;
	size_t extra_lines; /* of losses and the like; tables give way to them */
	size_t give_way[SECTION_MAX]; /* lines a table has less for them */
	const char *bold, *good, *bad, *plain; /* colour, or "" */
};

/* "12.3 s"; the few that are below a microsecond in full, 0 without a unit. */
static struct wording time_of(uint64_t ns)
{
	struct wording w = { "0" };

	if (ns >= 1000)
		return wording_duration(ns);
	if (ns)
		snprintf(w.text, sizeof(w.text), "%" PRIu64 " ns", ns);
	return w;
}

/* "8.00": sums over threads stay in seconds, so that they can be set beside the wall time. */
static struct wording seconds_of(uint64_t ns)
{
	struct wording w;

	snprintf(w.text, sizeof(w.text), "%.*f", ns && ns < 10000000 ? 6 : 2, (double)ns / 1e9);
	return w;
}

/* Without a limit given a table has few lines on the page, and all where only it is asked for. */
static size_t lines_max(const struct page *p, enum report_section section, size_t on_page)
{
	const struct report_options *o = p->r->o;

	return o->top ? o->top : o->sections || o->everything ? SIZE_MAX : on_page - p->give_way[section];
}

/* Who gives way to each extra line, so that a page stays one. */
static void lines_give_way(struct page *p)
{
	static const enum report_section order[] = {
		SECTION_RESOURCES, SECTION_RESOURCES, SECTION_ONCPU, SECTION_STACKS, SECTION_WAKERS,	SECTION_REASONS,
		SECTION_STACKS,	   SECTION_WAKERS,    SECTION_REASONS, SECTION_ONCPU, SECTION_RESOURCES, SECTION_REASONS,
	};
	size_t given = 0;

	for (size_t i = 0; given < p->extra_lines && i < sizeof(order) / sizeof(order[0]); i++) {
		if (order[i] == SECTION_ONCPU && !p->r->function_n)
			continue;
		p->give_way[order[i]]++;
		given++;
	}
}

/* How many of count lines a table shows: a last line "in 1 more" would be no shorter than that one. */
static size_t lines_shown(size_t count, size_t max)
{
	return count <= max || count - max == 1 ? count : max;
}

/* What was cut off by the recording's begin or end lasted longer than that. */
static struct wording longest_of(uint64_t ns, bool cut)
{
	struct wording w;

	snprintf(w.text, sizeof(w.text), "%s%.40s", cut && ns ? ">=" : "", time_of(ns).text);
	return w;
}

static void percent_print(FILE *f, uint64_t part, uint64_t whole)
{
	if (whole)
		fprintf(f, " %5.1f%%", 100.0 * (double)part / (double)whole);
	else
		fprintf(f, "       ");
}

static void identity_print(const struct page *p)
{
	const struct report *r = p->r;
	const struct dump_facts *x = &r->facts;

	fprintf(p->f, "%swcbpf%s  ", p->bold, p->plain);
	report_name_print(p->f, x->command ? x->command : x->target ? x->target : r->path, p->columns / 2);
	if (x->has_exit_status)
		fprintf(p->f, "   %s", wording_status(x->exit_status).text);
	fprintf(p->f, "   %s", time_of((uint64_t)r->m->end_ns).text);
	if (r->time.thread_n)
		fprintf(p->f, "   %s, %s", wording_counted(r->time.process_n, "process", "processes").text,
			wording_counted(r->time.thread_n, "thread", NULL).text);
	if (x->kernel) {
		fputs("   Linux ", p->f);
		report_name_print(p->f, x->kernel, 30);
	}
	fputc('\n', p->f);
}

static size_t open_ops(const struct model *m)
{
	size_t n = 0;

	for (size_t i = 1; i < m->op_n; i++)
		n += m->ops[i].open;
	return n;
}

/* What the dump holds, and what of it is cut by the recording's ends. */
static void content_print(const struct page *p)
{
	const struct model *m = p->r->m;
	size_t open_n = open_ops(m), clipped_n = 0;

	for (size_t i = 1; i < m->wait_n; i++)
		clipped_n += m->waits[i].clipped != 0;
	fprintf(p->f, "dump: %s", wording_counted(m->wait_n - 1, "wait", NULL).text);
	if (clipped_n)
		fprintf(p->f, " (%s cut by the recording's begin or end)", wording_count(clipped_n).text);
	fprintf(p->f, ", %s", wording_counted(m->op_n - 1, "op", NULL).text);
	if (open_n)
		fprintf(p->f, " (%s unfinished)", wording_count(open_n).text);
	fputc('\n', p->f);
}

/* Two lines at most: what is missing from the tables, and everything else in the order of weight. */
static void losses_print(struct page *p)
{
	struct report_loss losses[REPORT_LOSSES_MAX];
	size_t n = report_losses(p->r->m, losses), first = p->r->m->integrity.dropped_events != 0, k;

	if (first) {
		fprintf(p->f, "%s  LOST %s %s%s\n", p->bad, wording_count(losses[0].n).text, losses[0].words, p->plain);
		p->extra_lines++;
	}
	for (k = first; k < n && k < first + LOSSES_SHOWN; k++)
		fprintf(p->f, "%s%s %s %s", k == first ? p->bad : "", k == first ? "  LOST" : ";",
			wording_count(losses[k].n).text, losses[k].words);
	if (k > first) {
		if (n > k)
			fprintf(p->f, "; and %zu other kinds (--json)", n - k);
		fprintf(p->f, "%s\n", p->plain);
		p->extra_lines++;
	}
	if (p->r->partial) {
		fprintf(p->f, "%s  CUT DUMP the disk was full while it was written: the tables show its beginning%s\n",
			p->bad, p->plain);
		p->extra_lines++;
	} else if (p->r->problem.message[0]) {
		fprintf(p->f, "%s  DAMAGED FILE %s; the rest was used%s\n", p->bad, p->r->problem.message, p->plain);
		p->extra_lines++;
	}
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
		threads_ns += m->threads[i].blocked_ns + m->threads[i].runnable_ns;
	for (size_t i = 1; i < m->row_n; i++)
		rows_ns += m->rows[i].parked ? 0 : m->rows[i].blocked_ns + m->rows[i].runnable_ns;
	/* With other things missing the difference would be theirs too. */
	if (threads_ns > rows_ns && !m->integrity.dropped_events && !p->r->problem.message[0])
		fprintf(p->f, ": their %s are in the wall time only", time_of(threads_ns - rows_ns).text);
}

/* " (stacks 99.9%)": of the intervals that blocked, how many have a user stack that is sure to be whole. Never rounded up. */
static void stacks_share_print(const struct page *p)
{
	uint64_t all = p->r->facts.user_stack_n, whole = p->r->facts.complete_user_stack_n;
	unsigned permille = all ? (unsigned)(1000.0 * (double)whole / (double)all) : 0;

	if (!all)
		return;
	if (whole >= all)
		fputs(" (stacks 100%)", p->f);
	else
		fprintf(p->f, " (stacks %u.%u%%)", permille / 10, permille % 10);
}

static void integrity_print(struct page *p)
{
	const struct model_integrity *i = &p->r->m->integrity;

	fprintf(p->f, "%scapture %s%s", report_is_complete(p->r) ? p->good : p->bad,
		report_is_complete(p->r) ? "COMPLETE" : "PARTIAL", p->plain);
	stacks_share_print(p);
	fputs("   ", p->f);
	if (i->attempted) {
		fprintf(p->f, "%s of %s recorded%s", wording_count(i->recorded).text,
			wording_counted(i->attempted, "interval", NULL).text,
			p->r->time.blocked_ns ? "" : ", nothing blocked");
		below_min_print(p);
	} else if (p->r->facts.is_wcbpf && p->r->m->wait_n <= 1 && !dump_dropped_events(p->r->m)) {
		fputs("nothing blocked: no interval off the CPU", p->f);
	} else {
		fprintf(p->f, "%s dropped", wording_counted(dump_dropped_events(p->r->m), "event", NULL).text);
		if (!p->r->facts.is_wcbpf)
			fputs(" (no dump of wcbpf: nothing else is counted)", p->f);
	}
	fputc('\n', p->f);
	losses_print(p);
	if (i->inferred_switches) {
		fprintf(p->f, "  %s by the kernel's account of the thread's run time (not seen by a tracepoint)\n",
			wording_counted(i->inferred_switches, "switch timed", "switches timed").text);
		p->extra_lines++;
	}
	content_print(p);
}

static void ids_print(const struct page *p, const char *word, const uint32_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fprintf(p->f, "%s%" PRIu32, i ? "," : word, ids[i]);
}

static void filter_print(struct page *p)
{
	const struct report_options *o = p->r->o;

	if (!o->pid_n && !o->tid_n && !o->comm)
		return;
	fprintf(p->f, "only");
	ids_print(p, " pid ", o->pids, o->pid_n);
	ids_print(p, " tid ", o->tids, o->tid_n);
	if (o->comm) {
		fputs(" threads named ", p->f);
		report_name_print(p->f, o->comm, 0);
	}
	fputc('\n', p->f);
	p->extra_lines++;
}

static void state_print(const struct page *p, uint64_t ns, const char *words)
{
	fprintf(p->f, "%10s", time_of(ns).text);
	percent_print(p->f, ns, p->r->time.lifetime_ns);
	fprintf(p->f, "   %s\n", words);
}

static void wall_print(const struct page *p)
{
	const struct analyze_time *t = &p->r->time;
	uint64_t sum_ns = t->oncpu_ns + t->runnable_ns + t->blocked_ns + t->lost_ns;
	int64_t rest_ns = (int64_t)(t->lifetime_ns - sum_ns);

	if (!t->known) {
		fprintf(p->f, "\n%sWall time%s  no thread accounting in this dump; its waits sum to %s blocked, %s runnable\n",
			p->bold, p->plain, time_of(t->blocked_ns).text, time_of(t->runnable_ns).text);
		return;
	}
	fprintf(p->f, "\n%sWall time%s  %s thread-s in %s s of wall, %s\n", p->bold, p->plain,
		seconds_of(t->lifetime_ns).text, seconds_of((uint64_t)p->r->m->end_ns).text,
		wording_counted(t->thread_n, "thread", NULL).text);
	state_print(p, t->oncpu_ns, "on CPU");
	state_print(p, t->runnable_ns, "runnable: ready, no CPU free");
	state_print(p, t->blocked_ns, "blocked");
	if (t->lost_ns)
		state_print(p, t->lost_ns, "off CPU, why was lost");
	/* More than a rounding: the accounting itself is then in doubt. */
	if ((uint64_t)llabs(rest_ns) > t->lifetime_ns / 1000)
		fprintf(p->f, "%s%9s%s   unaccounted%s\n", p->bad, rest_ns < 0 ? "-" : "",
			time_of((uint64_t)llabs(rest_ns)).text, p->plain);
}

/* "copy_page [kernel] < main": of a thread interrupted in the kernel its innermost function, then the user's. */
static void function_print(const struct page *p, const struct analyze_function *e, unsigned columns)
{
	const struct model *m = p->r->m;
	const struct model_stack *kernel = &m->stacks[e->kstack];
	_cleanup_(freep) char *name = kernel->frame_n ? report_frame_name(m, &kernel->frames[0], true) : NULL;
	unsigned used;

	if (!name) {
		report_stack_print(p->f, p->r, e->kstack, e->ustack, columns);
		return;
	}
	used = report_name_print(p->f, name, columns / 2);
	used += (unsigned)fprintf(p->f, " [kernel]");
	if (!m->stacks[e->ustack].frame_n)
		return;
	used += (unsigned)fprintf(p->f, " < ");
	report_stack_print(p->f, p->r, 0, e->ustack, columns > used + 8 ? columns - used : 8);
}

static void oncpu_line_print(const struct page *p, uint64_t ns, uint64_t count)
{
	fprintf(p->f, "%10s", time_of(ns).text);
	percent_print(p->f, ns, p->r->time.oncpu_ns);
	fprintf(p->f, " %9s   ", wording_count(count).text);
}

static void oncpu_print(const struct page *p)
{
	const struct report *r = p->r;
	uint64_t rest_ns = r->sampled_ns, rest_n = r->sample_n;
	size_t shown = lines_shown(r->function_n, lines_max(p, SECTION_ONCPU, ONCPU_LINES));

	if (!r->function_n && !r->m->sample_hz) {
		fprintf(p->f, "\n%sOn CPU%s  no samples in this dump (wcbpf record --mode wall takes them)\n", p->bold, p->plain);
		return;
	}
	fprintf(p->f, "\n%s     total      %%   samples   On CPU by function%s  innermost, < its caller (%u samples a second and CPU)\n",
		p->bold, p->plain, r->m->sample_hz);
	for (size_t i = 0; i < shown; i++) {
		const struct analyze_function *e = &r->functions[i];

		oncpu_line_print(p, e->ns, e->count);
		function_print(p, e, p->columns - ONCPU_COLUMNS);
		fputc('\n', p->f);
		rest_ns -= e->ns;
		rest_n -= e->count;
	}
	if (r->function_n > shown) {
		oncpu_line_print(p, rest_ns, rest_n);
		fprintf(p->f, "in %s more\n", wording_count(r->function_n - shown).text);
	}
	if (r->o->sections && r->time.oncpu_ns > r->sampled_ns) {
		oncpu_line_print(p, r->time.oncpu_ns - r->sampled_ns, 0);
		fputs("in threads that no sample met\n", p->f);
	}
}

static void numbers_print(const struct page *p, const struct analyze_entry *e)
{
	fprintf(p->f, "%10s %10s %9s %s ", time_of(report_entry_ns(e)).text,
		longest_of(e->longest_ns, e->longest_cut).text, wording_count(e->count).text, e->idle ? "*" : " ");
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
			const struct analyze_table *idle_t, report_label_fn label, size_t on_page, const char *title,
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
	shown = lines_shown(n, lines_max(p, section, on_page));
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
		fprintf(p->f, "%10s %10s %9s   in %s more\n", time_of(rest_ns).text, "", "",
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
		fprintf(p->f, "%s %s", e->idle ? "*" : "", time_of(report_entry_ns(e)).text);
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
	return longest ? longest_of(longest->longest_ns, longest->longest_cut) : longest_of(0, false);
}

static int reason_compare(const void *a, const void *b, void *arg)
{
	const struct analyze_time *t = arg;
	const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	if (t->by_reason_ns[x] != t->by_reason_ns[y])
		return t->by_reason_ns[x] > t->by_reason_ns[y] ? -1 : 1;
	return (int)x - (int)y;
}

static void reason_print(const struct page *p, enum wait_reason reason, uint64_t sum_ns)
{
	const struct analyze_time *t = &p->r->time;

	fprintf(p->f, "%10s", time_of(t->by_reason_ns[reason]).text);
	percent_print(p->f, t->by_reason_ns[reason], sum_ns);
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

static void reasons_print(const struct page *p)
{
	struct analyze_time t = p->r->time;
	unsigned order[REASON_MAX], n = 0;
	size_t max = lines_max(p, SECTION_REASONS, 5);
	uint64_t sum_ns = 0, rest_ns = 0;

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
	fprintf(p->f, "\n%s     total      %%    longest     count   Why threads were off the CPU%s  * idle by design\n",
		p->bold, p->plain);
	max = lines_shown(n, max);
	for (unsigned i = 0; i < n; i++) {
		if (i < max)
			reason_print(p, order[i], sum_ns);
		else
			rest_ns += t.by_reason_ns[order[i]];
	}
	if (n > max) {
		fprintf(p->f, "%10s", time_of(rest_ns).text);
		percent_print(p->f, rest_ns, sum_ns);
		fprintf(p->f, " %10s %9s   for %zu more reasons\n", "", "", n - max);
	}
}

/* "lock    mutex     futex:100:0x10" */
static unsigned awaited_print(const struct report *r, FILE *f, enum wait_reason reason, uint32_t kind_id,
			      uint32_t name_id, unsigned columns)
{
	const char *kind = strtab_str(r->m->strings, kind_id), *name = strtab_str(r->m->strings, name_id);
	unsigned used = (unsigned)fprintf(f, "%-7s ", wait_reason_name(reason));

	used += report_name_print(f, *kind ? kind : "-", 24);
	used += (unsigned)fprintf(f, "%*s", used < 18 ? (int)(18 - used) : 1, "");
	return used + report_path_print(f, *name ? name : "-", columns > used + 8 ? columns - used : 8);
}

static void resource_label(const struct report *r, const struct analyze_entry *e, unsigned columns, FILE *f)
{
	awaited_print(r, f, e->reason, e->kind_id, e->name_id, columns);
}

static void name_label(const struct report *r, const struct analyze_entry *e, unsigned columns, FILE *f)
{
	report_name_print(f, strtab_str(r->m->strings, e->name_id), columns);
}

static void stack_label(const struct report *r, const struct analyze_entry *e, unsigned columns, FILE *f)
{
	report_stack_print(f, r, e->stack_k, e->stack_u, columns);
}

static void resources_print(const struct page *p)
{
	table_print(p, SECTION_RESOURCES, &p->r->resources, &p->r->idle_resources, resource_label, 4,
		    "Waits by resource", "reason, kind, name");
}

static void wakers_print(const struct page *p)
{
	table_print(p, SECTION_WAKERS, &p->r->wakers, &p->r->idle_wakers, name_label, 3, "Waits by who ended them", "");
}

static void ops_print(const struct page *p)
{
	table_print(p, SECTION_OPS, &p->r->ops, &p->r->idle_ops, name_label, 3, "Waits by the op that waited", "");
}

static void stacks_print(const struct page *p)
{
	table_print(p, SECTION_STACKS, &p->r->callers, &p->r->idle_callers, stack_label, 3, "Waits by stack",
		    "innermost function first, < its caller");
}

/* The name of a thread of the recording; of those that had the number, the last. */
static const char *tid_name(const struct model *m, uint32_t tid)
{
	for (size_t i = m->thread_n - 1; i > 0; i--) {
		if (m->threads[i].tid == tid && !m->threads[i].goid)
			return strtab_str(m->strings, m->threads[i].comm_id);
	}
	return "not recorded";
}

static void open_wait_print(const struct page *p, const struct model_wait *w)
{
	const struct model *m = p->r->m;
	const struct model_row *row = &m->rows[w->row];
	uint32_t tid = w->thread ? m->threads[w->thread].tid : m->ops[w->op].tid;
	uint32_t owner_tid = model_wait_words(m, w).owner_tid;
	unsigned used = OPEN_AGE_COLUMNS + HOLDER_COLUMNS;

	fprintf(p->f, "%10s %s ", longest_of((uint64_t)w->blocked_ns, true).text, analyze_wait_is_idle(m, w) ? "*" : " ");
	used += report_name_print(p->f, strtab_str(m->strings, row->comm_id), 20);
	if (m->threads[w->thread].goid)
		used += (unsigned)fprintf(p->f, " (goroutine %" PRIu64 ")  ", m->threads[w->thread].goid);
	else
		used += (unsigned)fprintf(p->f, " (tid %" PRIu32 ")  ", tid);
	awaited_print(p->r, p->f, row->reason, row->kind_id, analyze_awaited_name(m, w), p->columns - used);
	if (owner_tid) {
		fprintf(p->f, "  held by tid %" PRIu32 " (", owner_tid);
		report_name_print(p->f, tid_name(m, owner_tid), 20);
		fputc(')', p->f);
	} else if (row->reason == REASON_LOCK) {
		fprintf(p->f, "  holder unknown%s%s", w->owner_unknown ? ": " : "", owner_unknown_name(w->owner_unknown));
	}
	fputc('\n', p->f);
}

static void open_print(const struct page *p)
{
	const struct report *r = p->r;
	size_t shown = lines_shown(r->open_n, lines_max(p, SECTION_OPEN, OPEN_LINES));

	if (!r->open_n)
		return;
	fprintf(p->f, "\n%s       age   Still waiting at the end%s  thread, reason, kind, name\n", p->bold, p->plain);
	for (size_t i = 0; i < shown; i++)
		open_wait_print(p, &r->m->waits[r->open[i]]);
	if (r->open_n > shown)
		fprintf(p->f, "%10s   in %s\n", "",
			wording_counted(r->open_n - shown, "more thread", NULL).text);
}

static void threads_print(const struct page *p)
{
	const struct report *r = p->r;
	size_t shown = lines_shown(r->thread_n, lines_max(p, SECTION_THREADS, 5));

	if (!r->thread_n)
		return;
	fprintf(p->f, "\n%s    on CPU   runnable    blocked       lost       life   Threads%s\n", p->bold, p->plain);
	for (size_t i = 0; i < shown; i++) {
		const struct model_thread *t = &r->m->threads[r->threads[i]];

		fprintf(p->f, "%10s %10s %10s %10s %10s   ", time_of(t->oncpu_ns).text, time_of(t->runnable_ns).text,
			time_of(t->blocked_ns).text, time_of(t->lost_ns).text,
			time_of((uint64_t)(t->end_ns - t->begin_ns)).text);
		report_name_print(p->f, strtab_str(r->m->strings, t->comm_id), 32);
		fprintf(p->f, "  pid %" PRIu32 " tid %" PRIu32 "%s\n", t->pid, t->tid, t->has_totals ? "" : "  (not accounted)");
	}
	if (r->thread_n > shown)
		fprintf(p->f, "%s more\n", wording_count(r->thread_n - shown).text);
}

static void idle_print(const struct page *p)
{
	const struct report *r = p->r;
	uint64_t ns = 0, count = 0;
	size_t n = 0;

	for (size_t i = 0; i < r->kinds.n; i++) {
		ns += r->kinds.entries[i].idle_ns;
		count += r->kinds.entries[i].idle_count;
	}
	/* Where no table left them out there is nothing to tell. */
	if (r->o->everything || !count ||
	    !(r->sections & ~(1u << SECTION_WALL | 1u << SECTION_ONCPU | 1u << SECTION_REASONS |
			    1u << SECTION_THREADS)))
		return;
	fprintf(p->f, "\n%s idle by design: %s thread-s in %s (", r->idle_listed ? "* marks what is" : "Hidden as",
		seconds_of(ns).text, wording_counted(count, "wait", NULL).text);
	for (size_t i = 0; i < r->kinds.n; i++) {
		const struct analyze_entry *e = &r->kinds.entries[i];
		const char *kind = strtab_str(r->m->strings, e->kind_id);

		if (!e->idle_count)
			continue;
		if (n++ == KINDS_MAX)
			break;
		fputs(n > 1 ? ", " : "", p->f);
		report_name_print(p->f, *kind ? kind : wait_reason_name(e->reason), 20);
		fprintf(p->f, " %s", time_of(e->idle_ns).text);
	}
	fprintf(p->f, "%s)%s\n", n > KINDS_MAX ? ", .." : "", r->idle_listed ? "" : "   --all lists them");
}

void report_text_print(const struct report *r, FILE *f, unsigned columns, bool color)
{
	static void (*const sections[SECTION_MAX])(const struct page *p) = {
		[SECTION_WALL] = wall_print,	 [SECTION_ONCPU] = oncpu_print,
		[SECTION_REASONS] = reasons_print, [SECTION_RESOURCES] = resources_print,
		[SECTION_OPEN] = open_print,	 [SECTION_WAKERS] = wakers_print,   [SECTION_STACKS] = stacks_print,
		[SECTION_THREADS] = threads_print,
		[SECTION_OPS] = ops_print,
	};
	struct page p = {
		.r = r,
		.f = f,
		.columns = columns < 80 ? 80 : columns,
		.bold = color ? "\033[1m" : "",
		.good = color ? "\033[1;32m" : "",
		.bad = color ? "\033[1;31m" : "",
		.plain = color ? "\033[0m" : "",
	};

	identity_print(&p);
	integrity_print(&p);
	filter_print(&p);
	/* Its title, lines and rest; one line is left on the fullest page. */
	if (r->open_n && r->sections >> SECTION_OPEN & 1)
		p.extra_lines += lines_shown(r->open_n, OPEN_LINES) + 1 + (r->open_n > OPEN_LINES + 1);
	/* Its blank line and title too. */
	if (r->function_n && r->sections >> SECTION_ONCPU & 1)
		p.extra_lines += lines_shown(r->function_n, ONCPU_LINES) + 2 + (r->function_n > ONCPU_LINES + 1);
	lines_give_way(&p);
	for (unsigned i = 0; i < SECTION_MAX; i++) {
		if (r->sections >> i & 1)
			sections[i](&p);
	}
	idle_print(&p);
}
