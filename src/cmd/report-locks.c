/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Locks, and what else threads give to each other: waited for how long, held by whom doing what. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cmd/report-replay.h"
#include "cmd/report-sections.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

enum { NUMBERS_COLUMNS = 66, HOLDERS_MAX = 3, INDENT = 19, CALLERS_MAX = 8, CALLERS_ON_PAGE = 2, CALLER_COLUMNS = 10, CALLER_NUMBERS = 22 };

/* By string the last wait for what has that name, by wait the one before: so a lock's are found without a search. */
static int waits_find(struct report *r)
{
	const struct model *m = r->m;

	r->lock_waits = calloc(strtab_n(m->strings), sizeof(*r->lock_waits));
	r->lock_waits_before = calloc(m->wait_n, sizeof(*r->lock_waits_before));
	if (!r->lock_waits || !r->lock_waits_before)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->wait_n; i++) {
		uint32_t *at = &r->lock_waits[m->waits[i].ident_id];

		if (!m->waits[i].ident_id || (report_is_filtered(r) && !r->picked.waits[i]))
			continue;
		r->lock_waits_before[i] = *at;
		*at = i;
	}
	return 0;
}

int report_locks_make(struct report *r)
{
	int e = report_replay_need(r);

	if (e == 0)
		e = replay_locks(r->replay, &r->locks, &r->lock_n);
	return e < 0 ? e : waits_find(r);
}

/* Holders of one name are one: a pool's workers. */
struct holder {
	uint32_t comm_id;
	uint64_t threads, count, ns, blamed_ns, most_ns;
	uint32_t kstack, ustack;
};

static size_t holders_merge(const struct report *r, const struct replay_lock *l, struct holder *ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < l->holder_n; i++) {
		const struct replay_holder *h = &l->holders[i];
		uint32_t comm_id = r->m->threads[h->thread].comm_id;
		size_t at = 0;

		while (at < n && ret[at].comm_id != comm_id)
			at++;
		if (at == max)
			continue;
		if (at == n)
			ret[n++] = (struct holder){ .comm_id = comm_id };
		ret[at].threads++;
		ret[at].count += h->count;
		ret[at].ns += h->ns;
		ret[at].blamed_ns += h->blamed_ns;
		if (h->blamed_ns >= ret[at].most_ns && (h->kstack || h->ustack)) {
			ret[at].most_ns = h->blamed_ns;
			ret[at].kstack = h->kstack;
			ret[at].ustack = h->ustack;
		}
	}
	return n;
}

static void stack_line(const struct page *p, const char *word, uint32_t kstack, uint32_t ustack)
{
	unsigned used = (unsigned)fprintf(p->f, "%*s%s ", INDENT, "", word);

	report_caller_print(p->f, p->r, kstack, ustack, p->columns - used);
	fputc('\n', p->f);
}

static void holder_print(const struct page *p, const struct holder *h)
{
	fprintf(p->f, "%*sheld ", INDENT, "");
	if (h->count)
		fprintf(p->f, "%s ", page_time(h->ns).text);
	fputs("by ", p->f);
	report_name_print(p->f, page_string(p, h->comm_id), 16);
	if (h->threads > 1)
		fprintf(p->f, " (%s)", wording_counted(h->threads, "thread", NULL).text);
	fprintf(p->f, ", others waited %s", page_time(h->blamed_ns).text);
	if (!h->kstack && !h->ustack) {
		fputs(h->count ? ": it computed\n" : "\n", p->f);
		return;
	}
	fputc('\n', p->f);
	stack_line(p, "  meanwhile in", h->kstack, h->ustack);
}

/* The waits for it by their rows, which have one stack each. */
static int callers_group(const struct report *r, const struct replay_lock *l, struct analyze_table *t)
{
	const struct model *m = r->m;
	_cleanup_(map_freep) struct map *places = NULL;
	size_t cap = 0;

	if (map_new(&places) < 0)
		return -ENOMEM;
	for (uint32_t i = r->lock_waits[l->ident_id]; i; i = r->lock_waits_before[i]) {
		const struct model_wait *w = &m->waits[i];
		const struct model_row *row = &m->rows[w->row];
		uint64_t at;

		if (row->reason != l->reason || (!row->kstack && !row->ustack) || w->blocked_ns <= 0 ||
		    (l->process && m->threads[w->thread].process != l->process))
			continue;
		if (!map_get(places, w->row, &at)) {
			at = t->n;
			if (VEC_RESERVE(t->entries, cap, at + 1) < 0 || map_put(places, w->row, at) < 0)
				return -ENOMEM;
			t->entries[t->n++] = (struct analyze_entry){ .stack_k = row->kstack, .stack_u = row->ustack,
								     .reason = row->reason };
		}
		t->entries[at].count++;
		t->entries[at].blocked_ns += (uint64_t)w->blocked_ns;
	}
	return 0;
}

static void caller_label(const struct report *r, const struct analyze_entry *e, unsigned columns, FILE *f)
{
	report_caller_print(f, r, e->stack_k, e->stack_u, columns);
}

/* From where it was waited for, most time first. */
static int callers_make(const struct report *r, const struct replay_lock *l, unsigned columns, struct report_lines *ret)
{
	_cleanup_(analyze_table_done) struct analyze_table t = { 0 };
	int e = callers_group(r, l, &t);

	return e < 0 ? e : report_lines_make(r, &t, caller_label, columns, ret);
}

static void callers_print(const struct page *p, const struct replay_lock *l, size_t max)
{
	_cleanup_(report_lines_done) struct report_lines callers = { 0 };
	size_t shown;

	if (callers_make(p->r, l, p->columns - INDENT - CALLER_COLUMNS, &callers) < 0)
		return;
	/* Each of several has its numbers before it. */
	if (callers.n > 1) {
		report_lines_done(&callers);
		if (callers_make(p->r, l, p->columns - INDENT - CALLER_COLUMNS - CALLER_NUMBERS, &callers) < 0)
			return;
	}
	shown = page_lines_shown(callers.n, max);
	for (size_t i = 0; i < shown; i++) {
		const struct report_line *c = &callers.lines[i];

		fprintf(p->f, "%*swaited ", INDENT, "");
		if (callers.n > 1)
			fprintf(p->f, "%s (%s) ", page_time(c->entry.blocked_ns).text,
				wording_counted(c->entry.count, "wait", NULL).text);
		fprintf(p->f, "in %s\n", c->label);
	}
	page_more(p, callers.n, shown, INDENT + 7);
}

static void lock_print(const struct page *p, const struct replay_lock *l, size_t holders)
{
	const struct replay_facts *f = &p->r->replay_facts;
	struct holder list[HOLDERS_MAX];
	size_t n;

	fprintf(p->f, "%9s %8s %8s %8s ", page_time(l->wait_ns).text, wording_count(l->wait_n).text,
		page_time(l->longest_ns).text, l->holds_known ? page_time(l->hold_ns).text : "?");
	if (l->holds_known && f->makespan_ns)
		fprintf(p->f, "%4.0f%% ", 100.0 * (double)l->busy_ns / (double)f->makespan_ns);
	else
		fputs("    ? ", p->f);
	fprintf(p->f, "%8s %5s %7s   ", l->handoff_n ? page_time(l->handoff_ns / l->handoff_n).text : "-",
		wording_count(l->depth_max).text,
		l->holds_known || l->path_ns ? page_time(l->path_ns).text : "?");
	page_thing_print(p, l->reason, l->kind_id, l->ident_id, p->columns - NUMBERS_COLUMNS - 3);
	fputc('\n', p->f);
	if (holders)
		callers_print(p, l, holders == HOLDERS_MAX ? CALLERS_MAX : CALLERS_ON_PAGE);
	n = holders_merge(p->r, l, list, HOLDERS_MAX);
	for (size_t i = 0; i < n && i < holders; i++)
		holder_print(p, &list[i]);
}

/* With a filter those that somebody waited for who passes it. */
static bool is_asked(const struct report *r, const struct replay_lock *l)
{
	return !report_is_filtered(r) || r->lock_waits[l->ident_id];
}

/* Parked threads are no contention: a page has no room for them, nor for what comes to nothing. */
static bool is_shown(const struct page *p, const struct replay_lock *l)
{
	const struct report *r = p->r;

	if (!is_asked(r, l))
		return false;
	return r->o->sections || r->o->everything ||
	       (!analyze_kind_is_idle(r->m, l->reason, l->kind_id) && l->wait_ns * 100 >= (uint64_t)r->m->end_ns);
}

static bool unknown_are_shown(const struct report *r)
{
	for (size_t i = 0; i < r->lock_n; i++) {
		if (!r->locks[i].holds_known)
			return true;
	}
	return false;
}

static bool is_on_page(const struct report *r)
{
	return !r->o->sections && !r->o->everything && !r->o->top;
}

void report_locks_text(const struct page *p)
{
	const struct report *r = p->r;
	size_t max = page_lines_max(p, SECTION_LOCKS), n = 0, shown, at = 0;

	for (size_t i = 0; i < r->lock_n; i++)
		n += is_shown(p, &r->locks[i]);
	if (!n)
		return;
	/* On a page the first with its details takes the place of two. */
	shown = is_on_page(r) ? (max > 2 && n > 1 ? 2 : 1) : page_lines_shown(n, max);
	page_title(p, "   waited    waits  longest     held   use  handoff depth    path   Locks and resources");
	fputs(unknown_are_shown(r) ? "  ? not known\n" : "\n", p->f);
	report_unfiltered_print(p, "what was asked for waited for these; numbers are");
	for (size_t i = 0; at < shown && i < r->lock_n; i++) {
		if (is_shown(p, &r->locks[i])) {
			lock_print(p, &r->locks[i], max == SIZE_MAX ? HOLDERS_MAX : at || (is_on_page(r) && max < 2) ? 0 : 1);
			at++;
		}
	}
	page_more(p, n, shown, NUMBERS_COLUMNS);
}

static void callers_json(const struct report *r, struct json *j, const struct replay_lock *l)
{
	_cleanup_(report_lines_done) struct report_lines callers = { 0 };

	json_key(j, "waited_in");
	json_begin_array(j);
	if (callers_make(r, l, UINT16_MAX, &callers) == 0) {
		for (size_t i = 0; i < report_rows_max(r, callers.n); i++) {
			const struct analyze_entry *e = &callers.lines[i].entry;

			json_begin_object(j);
			json_kv_uint(j, "waits", e->count);
			json_kv_uint(j, "waited_ns", e->blocked_ns);
			report_frames_json(r, j, "user_frames", e->stack_u);
			report_frames_json(r, j, "kernel_frames", e->stack_k);
			json_end_object(j);
		}
	}
	json_end_array(j);
}

static void lock_json(const struct report *r, struct json *j, const struct replay_lock *l)
{
	json_begin_object(j);
	json_kv_string(j, "reason", wait_reason_name(l->reason));
	report_string_json(r, j, "wait_kind", l->kind_id);
	report_string_json(r, j, "name", l->ident_id);
	json_kv_uint(j, "pid", r->m->processes[l->process].pid);
	json_kv_uint(j, "waits", l->wait_n);
	json_kv_uint(j, "waited_ns", l->wait_ns);
	json_kv_uint(j, "longest_wait_ns", l->longest_ns);
	json_kv_bool(j, "holds_are_known", l->holds_known);
	json_kv_uint(j, "holds", l->hold_n);
	json_kv_uint(j, "inferred_holds", l->inferred_hold_n);
	json_kv_uint(j, "held_ns", l->hold_ns);
	json_kv_uint(j, "longest_hold_ns", l->hold_max_ns);
	json_kv_uint(j, "in_use_ns", l->busy_ns);
	json_kv_uint(j, "handoffs", l->handoff_n);
	json_kv_uint(j, "handoff_ns", l->handoff_ns);
	json_kv_uint(j, "handoff_mean_ns", l->handoff_n ? l->handoff_ns / l->handoff_n : 0);
	json_kv_uint(j, "barged", l->barged_n);
	json_kv_uint(j, "depth_max", l->depth_max);
	json_kv_uint(j, "depth_ns", l->depth_ns);
	json_kv_uint(j, "path_ns", l->path_ns);
	callers_json(r, j, l);
	json_key(j, "holders");
	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(r, l->holder_n); i++) {
		const struct replay_holder *h = &l->holders[i];

		json_begin_object(j);
		json_kv_uint(j, "pid", r->m->threads[h->thread].pid);
		json_kv_uint(j, "tid", r->m->threads[h->thread].tid);
		json_kv_uint_nz(j, "goid", r->m->threads[h->thread].goid);
		report_string_json(r, j, "thread_name", r->m->threads[h->thread].comm_id);
		json_kv_uint(j, "holds", h->count);
		json_kv_uint(j, "held_ns", h->ns);
		json_kv_uint(j, "blamed_ns", h->blamed_ns);
		report_frames_json(r, j, "user_frames", h->ustack);
		report_frames_json(r, j, "kernel_frames", h->kstack);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

void report_locks_json(const struct report *r, struct json *j)
{
	json_begin_array(j);
	for (size_t i = 0, shown = 0; i < r->lock_n && shown < report_rows_max(r, r->lock_n); i++) {
		if (is_asked(r, &r->locks[i])) {
			lock_json(r, j, &r->locks[i]);
			shown++;
		}
	}
	json_end_array(j);
}
