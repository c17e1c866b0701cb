/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What hangs. A stuck program is hundreds of threads that wait for one thing,
 * so a line is a thing: who waits for it, since when at least, who has it. What
 * the known owners add up to, deadlocks and the one thread behind all others,
 * is said first and last.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report-sections.h"
#include "util/cleanup.h"
#include "util/map.h"

enum { NUMBERS_COLUMNS = 22, AWAITED_COLUMNS = 36, DEADLOCKS_MAX = 3, STUCK_THREADS_MIN = 2, LOCKS_NAMED = 2 };

/* A goroutine that waits for work waits for a channel, or for what may come from the network. */
bool report_is_parked_goroutine(const struct report *r, const struct model_wait *w)
{
	const struct model *m = r->m;
	const char *kind = strtab_str(m->strings, m->rows[w->row].kind_id);
	const char *name = strtab_str(m->strings, analyze_awaited_name(m, w));

	return m->threads[w->thread].goid && m->ops[w->op].kind == OP_INTERNAL &&
	       (strcmp(kind, "chan_receive") == 0 || strcmp(kind, "chan_select") == 0 ||
		strncmp(name, "netpoll:", 8) == 0);
}

/* Of a program that hardly does anything also the waits that look idle: it may hang in one. */
static bool idle_too(const struct report *r)
{
	const struct analyze_states *s = &r->states;

	return r->o->everything ||
	       (r->idle_listed && s->total_ns - s->ns[WHERE_IDLE] - s->ns[WHERE_CHILD] < s->total_ns / 20);
}

int report_open_make(struct report *r)
{
	struct analyze_filter f = r->filter;

	if (report_section_make(r, SECTION_WALL) < 0)
		return -ENOMEM;
	f.idle = idle_too(r) ? ANALYZE_IDLE_TOO : ANALYZE_IDLE_NOT;
	if (analyze_open_waits(r->m, &f, &r->open, &r->open_n) < 0 ||
	    analyze_stuck(r->m, &f, &r->stuck, &r->stuck_n) < 0)
		return -ENOMEM;
	return 0;
}

/* The same thing: reason, kind, name and, as far as known, who has it. */
struct group {
	uint32_t wait; /* the oldest */
	size_t n;
};

static uint32_t owner_of(const struct model *m, const struct model_wait *w)
{
	return model_wait_words(m, w).owner_tid;
}

static bool same_thing(const struct model *m, const struct model_wait *a, const struct model_wait *b)
{
	const struct model_row *x = &m->rows[a->row], *y = &m->rows[b->row];

	if (analyze_lock_function(m, a) || analyze_lock_function(m, b))
		return analyze_lock_function(m, a) == analyze_lock_function(m, b);
	return x->reason == y->reason && x->kind_id == y->kind_id &&
	       analyze_awaited_name(m, a) == analyze_awaited_name(m, b) && owner_of(m, a) == owner_of(m, b) &&
	       (owner_of(m, a) || analyze_awaited_name(m, a) || a == b);
}

static uint64_t thing_hash(const struct model *m, const struct model_wait *w)
{
	uint64_t h = (uint64_t)analyze_awaited_name(m, w) << 32 | m->rows[w->row].kind_id;

	if (analyze_lock_function(m, w))
		return analyze_lock_function(m, w);
	h ^= (uint64_t)m->rows[w->row].reason << 58 ^ (uint64_t)owner_of(m, w) << 20;
	return h;
}

/* The open waits come oldest first, and so do the groups. 0, -ENOMEM. */
static int groups_make(const struct report *r, struct group **ret, size_t *ret_n)
{
	_cleanup_(map_freep) struct map *places = NULL;
	_cleanup_(freep) struct group *groups = calloc(r->open_n + 1, sizeof(*groups));
	size_t n = 0;

	if (!groups || map_new(&places) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < r->open_n; i++) {
		const struct model_wait *w = &r->m->waits[r->open[i]];
		uint64_t key = thing_hash(r->m, w), at;

		/* Of those a page has no use for hundreds. */
		if (!r->o->sections && !r->o->everything && report_is_parked_goroutine(r, w))
			continue;

		/* Another thing under this hash: the next number is as good as any. */
		while (map_get(places, key, &at) && !same_thing(r->m, &r->m->waits[groups[at].wait], w))
			key++;
		if (!map_get(places, key, &at)) {
			at = n++;
			groups[at] = (struct group){ .wait = r->open[i] };
			if (map_put(places, key, at) < 0)
				return -ENOMEM;
		}
		groups[at].n++;
	}
	*ret = TAKE_PTR(groups);
	*ret_n = n;
	return 0;
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

/* Behind the numbers: what is waited for, by whom, who has it. */
static void group_words_print(const struct page *p, const void *arg)
{
	const struct group *g = arg;
	const struct model *m = p->r->m;
	const struct model_wait *w = &m->waits[g->wait];
	const struct model_row *row = &m->rows[w->row];
	uint32_t owner_tid = owner_of(m, w);

	if (analyze_lock_function(m, w)) {
		fprintf(p->f, "%-7s in ", wait_reason_name(REASON_LOCK));
		report_name_print(p->f, page_string(p, analyze_lock_function(m, w)), AWAITED_COLUMNS);
	} else {
		fprintf(p->f, "%-7s ", wait_reason_name(row->reason));
		page_thing_print(p, row->reason, row->kind_id, analyze_awaited_name(m, w), AWAITED_COLUMNS);
	}
	fputs("  ", p->f);
	page_who_print(p, page_string(p, row->comm_id), m->threads[w->thread].goid,
		       w->thread ? m->threads[w->thread].tid : m->ops[w->op].tid);
	fputs(g->n > 1 ? ", .." : "", p->f);
	if (owner_tid) {
		fputs("  held by ", p->f);
		page_who_print(p, tid_name(m, owner_tid), 0, owner_tid);
	} else if (row->reason == REASON_LOCK || analyze_lock_function(m, w)) {
		fprintf(p->f, "  holder unknown%s%s", w->owner_unknown ? ": " : "",
			owner_unknown_name(w->owner_unknown));
	}
}

static void group_print(const struct page *p, const struct group *g)
{
	const struct model_wait *w = &p->r->m->waits[g->wait];

	fprintf(p->f, "%10s %7s %s ", page_longest((uint64_t)w->blocked_ns, true).text, wording_count(g->n).text,
		analyze_wait_is_idle(p->r->m, w) ? "*" : " ");
	page_wrapped(p, NUMBERS_COLUMNS - 1, group_words_print, g);
}

uint32_t report_deadlock_n(const struct report *r)
{
	uint32_t n = 0;

	for (size_t i = 0; i < r->stuck_n; i++)
		n = r->stuck[i].circle > n ? r->stuck[i].circle : n;
	return n;
}

static const struct analyze_stuck *stuck_of(const struct report *r, uint32_t thread)
{
	for (size_t i = 0; i < r->stuck_n; i++) {
		if (r->stuck[i].thread == thread)
			return &r->stuck[i];
	}
	return NULL;
}

/* "DEADLOCK  a (tid 1) waits for mutex 0x10 of b (tid 2)", and a line for each of the others. */
static void circle_print(const struct page *p, uint32_t circle)
{
	const struct model *m = p->r->m;
	const struct analyze_stuck *first = NULL, *s;
	size_t steps = 0;

	for (size_t i = 0; i < p->r->stuck_n && !first; i++)
		first = p->r->stuck[i].circle == circle ? &p->r->stuck[i] : NULL;
	if (!first)
		return;
	for (s = first; s && steps++ < p->r->stuck_n; s = stuck_of(p->r, s->holder)) {
		const struct model_wait *w = &m->waits[s->wait];

		if (s == first)
			fprintf(p->f, "%s  DEADLOCK%s  ", p->bad, p->plain);
		else
			fprintf(p->f, "%12s", "");
		page_thread_print(p, s->thread);
		fputs(" waits for ", p->f);
		page_thing_print(p, m->rows[w->row].reason, m->rows[w->row].kind_id, analyze_awaited_name(m, w), 30);
		fputs(" of ", p->f);
		page_thread_print(p, s->holder);
		fputc('\n', p->f);
		if (s->holder == first->thread)
			break;
	}
}

void report_deadlocks_text(const struct page *p)
{
	for (uint32_t i = 1; i <= report_deadlock_n(p->r) && i <= DEADLOCKS_MAX; i++)
		circle_print(p, i);
}

/* The thread at the end of most chains, the first of equals. NULL: there is no chain. */
static const struct analyze_stuck *suspect_find(const struct report *r, size_t *ret_n)
{
	_cleanup_(freep) size_t *counts = calloc(r->m->thread_n, sizeof(*counts));
	const struct analyze_stuck *best = NULL;

	*ret_n = 0;
	for (size_t i = 0; counts && i < r->stuck_n; i++)
		counts[r->stuck[i].root] += r->stuck[i].root && !r->stuck[i].leads_to_circle;
	for (size_t i = 0; counts && i < r->stuck_n; i++) {
		if (r->stuck[i].root && counts[r->stuck[i].root] > *ret_n) {
			*ret_n = counts[r->stuck[i].root];
			best = &r->stuck[i];
		}
	}
	return best;
}

static void suspect_print(const struct page *p)
{
	const struct model *m = p->r->m;
	size_t n;
	const struct analyze_stuck *s = suspect_find(p->r, &n);
	const struct model_thread *t;

	if (!s)
		return;
	t = &m->threads[s->root];
	fprintf(p->f, "%10s   suspect: ", "");
	page_thread_print(p, s->root);
	fprintf(p->f, ": %s for it", wording_counted(n, "thread waits", "threads wait").text);
	if (s->root_wait) {
		const struct model_wait *w = &m->waits[s->root_wait];

		fputs(", and it for ", p->f);
		page_thing_print(p, m->rows[w->row].reason, m->rows[w->row].kind_id, analyze_awaited_name(m, w), 40);
	} else {
		fputs(t->end_ns < m->end_ns ? ", which has ended" : ", which runs", p->f);
	}
	fprintf(p->f, "\n%10s   to confirm: wcbpf attach -t %" PRIu32 " -d 2s\n", "", t->tid);
}

/* "3 threads", "3 goroutines": of whom that wait was. */
static struct wording waiters(const struct report *r, const struct model_wait *w, size_t n)
{
	return wording_counted(n, r->m->threads[w->thread].goid ? "goroutine" : "thread", NULL);
}

/* Each of them for another thing, but all of them for a lock, and none of these has come: so a deadlock begins. */
static bool locks_verdict_print(const struct page *p, const struct group *groups, size_t group_n, size_t busy)
{
	const struct model *m = p->r->m;
	const struct model_wait *first = NULL;
	size_t n = 0, shown = 0;

	for (size_t i = 0; i < group_n; i++) {
		const struct model_wait *w = &m->waits[groups[i].wait];

		if (m->rows[w->row].reason != REASON_LOCK || w->blocked_ns * 2 < m->end_ns)
			continue;
		n += groups[i].n;
		first = first ? first : w;
	}
	if (n < STUCK_THREADS_MIN || n * 2 < busy)
		return false;
	fprintf(p->f, "%s hang, the first for %s at least, in wait for locks", waiters(p->r, first, n).text,
		page_longest((uint64_t)first->blocked_ns, false).text);
	for (size_t i = 0; i < group_n && shown < LOCKS_NAMED; i++) {
		const struct model_wait *w = &m->waits[groups[i].wait];

		if (m->rows[w->row].reason != REASON_LOCK || w->blocked_ns * 2 < m->end_ns)
			continue;
		fputs(shown++ ? ", " : " that nobody gives up: ", p->f);
		page_thing_print(p, m->rows[w->row].reason, m->rows[w->row].kind_id, analyze_awaited_name(m, w), 44);
	}
	fprintf(p->f, "%s. A deadlock, if their holders are among them.\n", n > shown ? ", .." : "");
	return true;
}

/* Most of those that want to do something have waited for one thing since the recording was half as long, at least. */
static bool queue_verdict_print(const struct page *p)
{
	const struct model *m = p->r->m;
	_cleanup_(freep) struct group *groups = NULL;
	const struct group *most = NULL;
	size_t n = 0, busy = 0;
	uint32_t function;

	if (groups_make(p->r, &groups, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct model_wait *w = &m->waits[groups[i].wait];

		if (analyze_wait_is_idle(m, w))
			continue;
		busy += groups[i].n;
		if (w->blocked_ns * 2 >= m->end_ns && (!most || groups[i].n > most->n))
			most = &groups[i];
	}
	if (!most || most->n < STUCK_THREADS_MIN || most->n * 2 < busy)
		return locks_verdict_print(p, groups, n, busy);
	function = analyze_lock_function(m, &m->waits[most->wait]);
	fprintf(p->f, "%s hang, the first for %s at least, %s ",
		waiters(p->r, &m->waits[most->wait], most->n).text,
		page_longest((uint64_t)m->waits[most->wait].blocked_ns, false).text,
		function ? "for locks of the program's own, in" : "in wait for");
	if (function) {
		report_name_print(p->f, page_string(p, function), 44);
		fprintf(p->f, ".%s\n", strcmp(page_string(p, function), "ProcSleep") != 0 ? "" :
			" Who has them: SELECT pid, pg_blocking_pids(pid) FROM pg_stat_activity.");
		return true;
	}
	page_thing_print(p, m->rows[m->waits[most->wait].row].reason, m->rows[m->waits[most->wait].row].kind_id,
			 analyze_awaited_name(m, &m->waits[most->wait]), 44);
	fputs(".\n", p->f);
	return true;
}

/* Whoever stopped a program wants to know that it still is; everybody else even more. */
static bool stopped_verdict_print(const struct page *p)
{
	const struct model *m = p->r->m;
	const struct model_wait *oldest = NULL;
	const char *kind;
	bool by_signal;
	size_t n = 0;

	for (uint32_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		if (m->rows[w->row].reason != REASON_STOPPED || !(w->clipped & CLIPPED_AFTER) || w->wake_ns >= 0 ||
		    !report_thread_passes(p->r, w->thread))
			continue;
		n++;
		if (!oldest || w->blocked_ns > oldest->blocked_ns)
			oldest = w;
	}
	if (!oldest || n * 2 < p->r->time.thread_n)
		return false;
	kind = page_string(p, m->rows[oldest->row].kind_id);
	by_signal = strcmp(kind, "traced") != 0 && strcmp(kind, "frozen") != 0;
	fprintf(p->f, "%sSTOPPED%s by %s: %s of %s, for %s", p->bad, p->plain,
		by_signal ? "a signal" : *kind == 't' ? "a debugger" : "the freezer of its cgroup",
		wording_count(n).text, wording_counted(p->r->time.thread_n, "thread", NULL).text,
		page_longest((uint64_t)oldest->blocked_ns, true).text);
	if (by_signal && m->threads[oldest->thread].pid)
		fprintf(p->f, "; kill -CONT %" PRIu32 " lets it go on", m->threads[oldest->thread].pid);
	fputs(".\n", p->f);
	return true;
}

bool report_stuck_verdict_print(const struct page *p)
{
	const struct report *r = p->r;
	const struct analyze_stuck *s;
	size_t n = 0, locked = 0, led = 0;

	if (!(r->made & SECTION_BIT(SECTION_OPEN)))
		return false;
	if (stopped_verdict_print(p))
		return true;
	for (size_t i = 0; i < r->stuck_n; i++) {
		locked += r->stuck[i].circle != 0;
		led += r->stuck[i].leads_to_circle != 0;
	}
	if (locked) {
		fprintf(p->f, "%sDEADLOCK%s: %s each for the next", p->bad, p->plain,
			wording_counted(locked, "thread waits", "threads wait").text);
		if (led)
			fprintf(p->f, ", %s for them", wording_counted(led, "more waits", "more wait").text);
		fputs(".\n", p->f);
		return true;
	}
	s = suspect_find(r, &n);
	if (!s || n < STUCK_THREADS_MIN || n * 2 < r->time.thread_n)
		return queue_verdict_print(p);
	fprintf(p->f, "%s in the end for ", wording_counted(n, "thread waits", "threads wait").text);
	page_thread_print(p, s->root);
	fputs(".\n", p->f);
	return true;
}

void report_open_text(const struct page *p)
{
	_cleanup_(freep) struct group *groups = NULL;
	size_t n, shown;

	if (!p->r->open_n)
		return;
	if (groups_make(p->r, &groups, &n) < 0 || !n)
		return;
	page_title(p, "       age threads   Still waiting at the end");
	fputs("  reason, kind, name, thread, holder\n", p->f);
	report_deadlocks_text(p);
	shown = page_lines_shown(n, page_lines_max(p, SECTION_OPEN));
	for (size_t i = 0; i < shown; i++)
		group_print(p, &groups[i]);
	if (n > shown)
		fprintf(p->f, "%10s   for %s\n", "", wording_counted(n - shown, "thing more", "things more").text);
	suspect_print(p);
}

static void kv_thread(const struct model *m, struct json *j, const char *key, uint32_t thread)
{
	json_kv_uint_or_null(j, key, thread, m->threads[thread].tid);
}

static void wait_json(const struct report *r, struct json *j, uint32_t wait)
{
	static const struct analyze_stuck none;
	const struct model *m = r->m;
	const struct model_wait *w = &m->waits[wait];
	const struct model_row *row = &m->rows[w->row];
	const struct analyze_stuck *s = w->thread ? stuck_of(r, w->thread) : NULL;

	s = s ? s : &none;
	json_begin_object(j);
	json_kv_uint(j, "pid", w->thread ? m->threads[w->thread].pid : m->ops[w->op].pid);
	json_kv_uint(j, "tid", w->thread ? m->threads[w->thread].tid : m->ops[w->op].tid);
	json_kv_uint_nz(j, "goid", m->threads[w->thread].goid);
	json_kv_string(j, "thread_name", strtab_str(m->strings, row->comm_id));
	json_kv_string(j, "reason", wait_reason_name(row->reason));
	json_kv_string(j, "wait_kind", strtab_str(m->strings, row->kind_id));
	json_kv_string(j, "name", strtab_str(m->strings, analyze_awaited_name(m, w)));
	json_kv_bool(j, "idle_by_design", analyze_wait_is_idle(m, w));
	json_kv_int(j, "age_ns_min", w->blocked_ns);
	json_kv_uint_or_null(j, "owner_tid", owner_of(m, w), owner_of(m, w));
	kv_thread(m, j, "waits_for_tid", s->holder);
	kv_thread(m, j, "root_tid", s->root);
	json_kv_uint(j, "deadlock", s->circle);
	json_kv_uint(j, "waits_for_deadlock", s->leads_to_circle);
	json_end_object(j);
}

void report_open_json(const struct report *r, struct json *j)
{
	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(r, r->open_n); i++)
		wait_json(r, j, r->open[i]);
	json_end_array(j);
}
