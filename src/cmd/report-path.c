/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The critical path: by what it was made of, then in time. A stretch counts by
 * its state and by who was in it; where it waited, for what.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report-replay.h"
#include "cmd/report-sections.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

enum { STATE_COLUMNS = 9, SUBJECT_COLUMNS = 22, OP_COLUMNS = 34, OP_DRAG_COLUMNS = 26, NUMBERS_COLUMNS = 19, DRAG_COLUMNS = 10,
       TIMELINE_DEFAULT = 40, TIMELINE_COLUMNS = 33, THING_COLUMNS = 15 };

int report_stretches_make(struct report *r)
{
	int e = r->has_stretches ? 0 : replay_path(r->replay, &r->stretches, &r->stretch_n);

	r->has_stretches = e == 0;
	return e;
}

int report_queued_make(struct report *r)
{
	_cleanup_(freep) struct replay_queued *v = NULL;

	if (r->queued)
		return 0;
	v = calloc(r->stretch_n + 1, sizeof(*v));
	if (!v || replay_path_queued(r->replay, r->stretches, r->stretch_n, v) < 0)
		return -ENOMEM;
	r->queued = TAKE_PTR(v);
	return 0;
}

int report_path_make(struct report *r)
{
	int e = report_replay_need(r);

	if (e == 0)
		e = report_stretches_make(r);
	return e < 0 ? e : report_queued_make(r);
}

/* Stretches of one state and class; of those that waited, for one sort of thing. */
struct piece {
	uint8_t state;	 /* enum replay_state */
	uint8_t where;	 /* enum analyze_where */
	uint32_t class;
	uint64_t ns, count, longest_ns;
	uint32_t longest; /* stretch */
	int64_t drag_ns;  /* so much shorter the whole would be without it; -1: not known */
	uint64_t run_n, run_longest_ns; /* processes that were in it, most time of one */
	uint32_t run_longest;	        /* a stretch of that one */
	struct replay_queued queued;	/* if it was ready */
};
struct pieces {
	struct piece *list; /* most time first */
	size_t n, cap;
	uint64_t sum_ns;
	uint64_t left_out_ns; /* of stretches that don't pass the filter */
};

static void pieces_done(struct pieces *x)
{
	free(x->list);
}

/* What a process was on the path with, in one piece. */
static int run_add(struct map *runs, struct pieces *x, uint64_t at, uint32_t process, uint32_t stretch, uint64_t ns)
{
	struct piece *piece = &x->list[at];
	uint64_t key = at << 32 | process, sum_ns = 0;

	piece->run_n += !map_get(runs, key, &sum_ns);
	sum_ns += ns;
	if (sum_ns >= piece->run_longest_ns) {
		piece->run_longest_ns = sum_ns;
		piece->run_longest = stretch;
	}
	return map_put(runs, key, sum_ns);
}

static int piece_compare(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	return x->where < y->where ? -1 : x->where > y->where;
}

static void queued_add(struct replay_queued *to, const struct replay_queued *q)
{
	to->like_ns += q->like_ns;
	to->others_ns += q->others_ns;
	to->outside_ns += q->outside_ns;
}

static int pieces_make(const struct report *r, struct pieces *x)
{
	_cleanup_(map_freep) struct map *places = NULL, *runs = NULL;

	if (map_new(&places) < 0 || map_new(&runs) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->stretch_n; i++) {
		const struct replay_stretch *s = &r->stretches[i];
		enum analyze_where where = report_stretch_where(r, s);
		uint64_t key = (uint64_t)s->class << 16 | (uint64_t)s->state << 8 | where, at;
		uint64_t ns = (uint64_t)(s->end_ns - s->start_ns);

		x->sum_ns += ns;
		if (!report_stretch_passes(r, s)) {
			x->left_out_ns += ns;
			continue;
		}
		if (!map_get(places, key, &at)) {
			at = x->n;
			if (VEC_RESERVE(x->list, x->cap, at + 1) < 0 || map_put(places, key, at) < 0)
				return -ENOMEM;
			x->list[x->n++] = (struct piece){
				.state = s->state, .where = (uint8_t)where, .class = s->class, .longest = i
			};
		}
		x->list[at].ns += ns;
		x->list[at].count++;
		queued_add(&x->list[at].queued, &r->queued[i]);
		if (ns > x->list[at].longest_ns) {
			x->list[at].longest_ns = ns;
			x->list[at].longest = i;
		}
		if (run_add(runs, x, at, r->m->threads[s->thread].process, i, ns) < 0)
			return -ENOMEM;
	}
	if (x->n)
		qsort(x->list, x->n, sizeof(*x->list), piece_compare);
	return 0;
}

enum { DRAGS_MAX = 64 };

/*
 * The drag of the first n: what is saved, in the recorded order, if the class's time of that sort is gone, wherever it
 * lies. Other ways to the end that are nearly as long bound it. Of the run queue nothing can be told so.
 */
static int drags_find(const struct report *r, struct pieces *x, size_t n)
{
	struct replay_change changes[DRAGS_MAX];
	struct replay_scenario scenarios[DRAGS_MAX] = { 0 };
	struct replay_outcome outcomes[DRAGS_MAX];
	struct piece *of[DRAGS_MAX];
	size_t k = 0;
	int e;

	for (size_t i = 0; i < x->n; i++)
		x->list[i].drag_ns = -1;
	for (size_t i = 0; i < n && i < x->n && k < DRAGS_MAX; i++) {
		struct piece *p = &x->list[i];

		if (p->class == UINT32_MAX || p->state == REPLAY_RUNNABLE || p->state == REPLAY_GAP)
			continue;
		changes[k] = (struct replay_change){ .what = p->state == REPLAY_ONCPU ? REPLAY_CPU : REPLAY_DELAY,
						     .class = p->class };
		scenarios[k] = (struct replay_scenario){ .changes = &changes[k], .n = 1 };
		of[k++] = p;
	}
	e = replay_evaluate(r->replay, scenarios, k, REPLAY_E1, outcomes);
	for (size_t i = 0; i < k && e == 0; i++)
		of[i]->drag_ns = outcomes[i].best_ns;
	return e;
}

/* Of ops in a dump without threads nobody measured whether they were on a CPU. */
static const char *state_word(const struct report *r, enum replay_state state, enum analyze_where where, uint32_t class)
{
	if (state == REPLAY_ONCPU)
		return r->m->thread_n > 1 ? "on CPU" : "self";
	if (state == REPLAY_GAP)
		return class == UINT32_MAX ? "gap" : "unplaced";
	return where == WHERE_UNKNOWN ? "waiting" : where == WHERE_IDLE ? "parked" : where == WHERE_TIMER ? "sleep" :
	       analyze_where_name(where);
}

/* Who mostly had the CPU meanwhile: "91% behind other threads". */
static void behind_print(const struct page *p, const struct replay_queued *q, unsigned columns)
{
	uint64_t all_ns = q->like_ns + q->others_ns + q->outside_ns;
	uint64_t most_ns = q->like_ns > q->others_ns ? q->like_ns : q->others_ns;
	const char *who = q->like_ns > q->others_ns ? "behind its like" : "behind other threads";
	const char *shorter = q->like_ns > q->others_ns ? "its like" : "others here";

	if (!all_ns)
		return;
	/* On that CPU was nobody of the recording: somebody else, or nobody yet. */
	if (q->outside_ns > most_ns) {
		most_ns = q->outside_ns;
		who = "others, or waking";
		shorter = "others";
	}
	fprintf(p->f, "%.0f%% %s", 100.0 * (double)most_ns / (double)all_ns,
		strlen(who) + strlen("100% ") <= columns ? who : shorter);
}

/* Of many processes it counts in how many, of one how often. */
static bool counts_runs(const struct report *r, const struct piece *x)
{
	return r->m->process_n > 2 && x->state == REPLAY_ONCPU;
}

/* What the longest was: who was in its way, what it waited for, which run of its program it is. */
static void about_print(const struct page *p, const struct piece *x, unsigned columns)
{
	const struct report *r = p->r;
	const struct replay_stretch *s = &r->stretches[x->longest];
	const struct model_wait *w = &r->m->waits[s->wait];
	bool waited = x->state == REPLAY_DELAYED || x->state == REPLAY_BLOCKED;

	/* In whose way a goroutine was the runtime knows, not the CPU. */
	if (x->state == REPLAY_RUNNABLE && !r->m->threads[s->thread].goid)
		behind_print(p, &x->queued, columns);
	else if (waited && s->wait && x->where != WHERE_TIMER)
		page_thing_print(p, r->m->rows[w->row].reason, r->m->rows[w->row].kind_id,
				 analyze_awaited_name(r->m, w), columns);
	else if (x->state != REPLAY_RUNNABLE && r->m->process_n > 2)
		report_run_print(p, r->stretches[counts_runs(r, x) ? x->run_longest : x->longest].op, columns);
}

/* Behind so many blanks, if there is anything to tell. */
static void longest_print(const struct page *p, const struct piece *x, unsigned blanks, unsigned columns)
{
	bool runs = counts_runs(p->r, x);
	uint64_t n = runs ? x->run_n : x->count;
	_cleanup_(freep) char *text = NULL;
	struct page about = *p;
	unsigned used = 0;
	size_t size;

	if (n > 1)
		used = (unsigned)fprintf(p->f, "%*s%s %s, up to %s", (int)blanks, "", wording_count(n).text,
					 runs ? "runs" : "x",
					 page_time(runs ? x->run_longest_ns : x->longest_ns).text) - blanks;
	about.f = columns >= used + 12 ? open_memstream(&text, &size) : NULL;
	if (!about.f)
		return;
	about_print(&about, x, columns - used - 2);
	if (fclose(about.f) == 0 && *text)
		fprintf(p->f, "%*s%s", n > 1 ? 0 : (int)blanks, "", n > 1 ? ": " : "");
	if (text)
		fputs(text, p->f);
}

/* The first page has no room for them. */
static bool has_drags(const struct report *r)
{
	return r->o->sections || r->o->everything;
}

/* Where ops are all there is, few of them differ in their beginnings; what they waited for needs some room, too. */
static unsigned subject_columns(const struct report *r)
{
	return r->m->thread_n > 1 ? SUBJECT_COLUMNS : has_drags(r) ? OP_DRAG_COLUMNS : OP_COLUMNS;
}

static void piece_print(const struct page *p, const struct piece *x, uint64_t whole_ns)
{
	unsigned used, columns = subject_columns(p->r);

	fprintf(p->f, "%10s", page_time(x->ns).text);
	page_percent(p->f, x->ns, whole_ns);
	if (has_drags(p->r))
		fprintf(p->f, " %9s", x->drag_ns < 0 ? "?" : page_time((uint64_t)x->drag_ns).text);
	fprintf(p->f, "  %-*s ", STATE_COLUMNS, state_word(p->r, x->state, x->where, x->class));
	used = report_subject_print(p, x->class, columns);
	longest_print(p, x, used < columns + 2 ? columns + 2 - used : 2,
		      p->columns - NUMBERS_COLUMNS - (has_drags(p->r) ? DRAG_COLUMNS : 0) - STATE_COLUMNS - columns - 4);
	fputc('\n', p->f);
}

static void pieces_print(const struct page *p, const struct pieces *x)
{
	size_t shown = page_lines_shown(x->n, page_lines_max(p, SECTION_PATH));
	uint64_t rest_ns = x->sum_ns - x->left_out_ns;

	for (size_t i = 0; i < shown; i++) {
		piece_print(p, &x->list[i], x->sum_ns);
		rest_ns -= x->list[i].ns;
	}
	if (x->n > shown) {
		fprintf(p->f, "%10s", page_time(rest_ns).text);
		page_percent(p->f, rest_ns, x->sum_ns);
		fprintf(p->f, "%*s  in %s more\n", has_drags(p->r) ? DRAG_COLUMNS : 0, "", wording_count(x->n - shown).text);
	}
	if (x->left_out_ns) {
		fprintf(p->f, "%10s", page_time(x->left_out_ns).text);
		page_percent(p->f, x->left_out_ns, x->sum_ns);
		fputs("  not in what was asked for\n", p->f);
	}
}

/* ---- in time ---- */

static unsigned thread_print(const struct page *p, const struct replay_stretch *s)
{
	const struct model_thread *t = &p->r->m->threads[s->thread];

	if (!s->thread)
		return 0;
	return report_name_print(p->f, page_string(p, t->comm_id), 16) +
	       (unsigned)fprintf(p->f, t->goid ? "/goroutine %" PRIu64 " " : "/%" PRIu64 " ", t->goid ? t->goid : t->tid);
}

static void stretch_print(const struct page *p, const struct replay_stretch *s)
{
	const struct model *m = p->r->m;
	const struct model_wait *w = &m->waits[s->wait];
	/* What a sleep waits for is a sleep. */
	bool waits = (s->state == REPLAY_DELAYED || s->state == REPLAY_BLOCKED) && s->wait &&
		     m->rows[w->row].reason != REASON_SLEEP;
	const char *state = state_word(p->r, s->state, report_stretch_where(p->r, s), s->class);
	unsigned room;

	fprintf(p->f, "%10s %10s %9s %s ", page_time((uint64_t)s->start_ns).text,
		page_time((uint64_t)(s->end_ns - s->start_ns)).text, page_time((uint64_t)s->slack_ns).text,
		s->jumped ? "<-" : "  ");
	room = p->columns - (TIMELINE_COLUMNS + 2) - thread_print(p, s) - (unsigned)strlen(state);
	fputs(state, p->f);
	/* The op gets what the thing waited for can spare. */
	if (s->op && m->ops[s->op].kind != OP_INTERNAL && room > THING_COLUMNS) {
		unsigned columns = waits ? room - THING_COLUMNS : room - 1;

		fputc(' ', p->f);
		room -= 1 + page_class_print(p, m->ops[s->op].kind, m->ops[s->op].class_id, columns < 30 ? columns : 30);
	}
	if (waits) {
		fputs(" for ", p->f);
		page_thing_print(p, m->rows[w->row].reason, m->rows[w->row].kind_id, analyze_awaited_name(m, w),
				 room > 13 && room < 29 ? room - 5 : 24);
	}
	fputc('\n', p->f);
}

static int longest_compare(const void *a, const void *b, void *arg)
{
	const struct replay_stretch *list = arg, *x = &list[*(const uint32_t *)a], *y = &list[*(const uint32_t *)b];

	if (x->end_ns - x->start_ns != y->end_ns - y->start_ns)
		return x->end_ns - x->start_ns > y->end_ns - y->start_ns ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* The longest stretches in the order of time; all of them with --all. */
static void timeline_print(const struct page *p)
{
	const struct report *r = p->r;
	_cleanup_(freep) uint32_t *order = calloc(r->stretch_n + 1, sizeof(*order));
	_cleanup_(freep) bool *shown = calloc(r->stretch_n + 1, sizeof(*shown));
	size_t max = r->o->top ? r->o->top : r->o->everything ? SIZE_MAX : TIMELINE_DEFAULT, n = 0;

	if (!order || !shown)
		return;
	for (uint32_t i = 0; i < r->stretch_n; i++) {
		if (report_stretch_passes(r, &r->stretches[i]))
			order[n++] = i;
	}
	if (n > max)
		qsort_r(order, n, sizeof(*order), longest_compare, r->stretches);
	for (size_t i = 0; i < n && i < max; i++)
		shown[order[i]] = true;
	page_title(p, "        at       long     slack   The path in time");
	fprintf(p->f, "%s; <- it came by another thread's wake\n", n > max ? "  the longest" : "");
	for (size_t i = 0; i < r->stretch_n; i++) {
		if (shown[i])
			stretch_print(p, &r->stretches[i]);
	}
	page_more(p, n, n > max ? max : n, TIMELINE_COLUMNS);
}

void report_path_text(const struct page *p)
{
	const struct report *r = p->r;
	_cleanup_(pieces_done) struct pieces x = { 0 };
	uint64_t makespan_ns = (uint64_t)r->replay_facts.makespan_ns;

	if (!r->stretch_n)
		return;
	page_title(p, "Critical path");
	if (pieces_make(r, &x) < 0 || (has_drags(r) && drags_find(r, &x, DRAGS_MAX) < 0)) {
		fputs("   (out of memory)\n", p->f);
		return;
	}
	if (x.sum_ns == makespan_ns)
		fprintf(p->f, "  sums to %s%s\n", page_time(x.sum_ns).text,
			has_drags(r) ? "; third column: so much shorter the whole would be without it" : "");
	else
		fprintf(p->f, "  %ssums to %s, not to the %s recorded%s\n", p->bad, page_time(x.sum_ns).text,
			page_time(makespan_ns).text, p->plain);
	if (report_is_damaged(r))
		fprintf(p->f, "%s  what the dump lacks counts as work here%s\n", p->bad, p->plain);
	pieces_print(p, &x);
	if (page_lines_max(p, SECTION_PATH) == SIZE_MAX || r->o->sections)
		timeline_print(p);
}

static void stretch_json(const struct report *r, struct json *j, const struct replay_stretch *s)
{
	const struct model *m = r->m;

	json_begin_object(j);
	json_kv_int(j, "start_ns", s->start_ns);
	json_kv_int(j, "end_ns", s->end_ns);
	json_kv_int(j, "ns", s->end_ns - s->start_ns);
	json_kv_string(j, "state", state_word(r, s->state, report_stretch_where(r, s), s->class));
	json_kv_uint(j, "pid", m->threads[s->thread].pid);
	json_kv_uint(j, "tid", m->threads[s->thread].tid);
	json_kv_uint_nz(j, "goid", m->threads[s->thread].goid);
	json_kv_uint(j, "op", m->ops[s->op].id);
	report_class_json(r, j, m->ops[s->op].kind, m->ops[s->op].class_id);
	report_string_json(r, j, "waits_for", s->wait ? analyze_awaited_name(m, &m->waits[s->wait]) : 0);
	json_kv_bool(j, "came_by_wake", s->jumped);
	json_kv_int(j, "slack_ns", s->slack_ns);
	json_end_object(j);
}

void report_path_json(const struct report *r, struct json *j)
{
	_cleanup_(pieces_done) struct pieces x = { 0 };
	size_t n = pieces_make(r, &x) == 0 ? report_rows_max(r, x.n) : 0, max;

	if (drags_find(r, &x, n) < 0)
		n = 0;

	json_begin_object(j);
	json_kv_int(j, "makespan_ns", r->replay_facts.makespan_ns);
	json_key(j, "by_class");
	json_begin_array(j);
	for (size_t i = 0; i < n; i++) {
		const struct piece *k = &x.list[i];

		json_begin_object(j);
		json_kv_string(j, "state", state_word(r, k->state, k->where, k->class));
		report_subject_json(r, j, k->class);
		json_kv_uint(j, "ns", k->ns);
		json_kv_uint(j, "stretches", k->count);
		json_kv_uint(j, "longest_ns", k->longest_ns);
		if (k->state == REPLAY_RUNNABLE) {
			json_kv_uint(j, "behind_its_like_ns", k->queued.like_ns);
			json_kv_uint(j, "behind_others_ns", k->queued.others_ns);
			json_kv_uint(j, "behind_nobody_ns", k->queued.outside_ns);
		}
		json_kv_int_or_null(j, "drag_ns", k->drag_ns >= 0, k->drag_ns);
		json_kv_uint(j, "processes", k->run_n);
		json_kv_uint(j, "longest_of_a_process_ns", k->run_longest_ns);
		json_end_object(j);
	}
	json_end_array(j);
	json_kv_uint(j, "sum_ns", x.sum_ns);
	json_kv_uint(j, "left_out_by_filter_ns", x.left_out_ns);
	json_key(j, "stretches");
	json_begin_array(j);
	max = report_rows_max(r, r->stretch_n);
	for (size_t i = 0, shown = 0; i < r->stretch_n && shown < max; i++) {
		if (report_stretch_passes(r, &r->stretches[i])) {
			stretch_json(r, j, &r->stretches[i]);
			shown++;
		}
	}
	json_end_array(j);
	json_end_object(j);
}
