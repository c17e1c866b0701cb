/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Who waits for whom: the matrix, blame already split over a lock's successive
 * holders, threads of one name together; and the graph it makes, of which a
 * knot is what waits for nothing but itself: only there can all be made faster.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report-replay.h"
#include "cmd/report-sections.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

enum { NUMBERS_COLUMNS = 34, MEMBERS_MAX = 6, EDGES_MAX = 3, ACTOR_COLUMNS = 28 };

static uint32_t node_of(const struct report *r, const struct replay_blame *b)
{
	switch ((enum replay_culprit)b->culprit) {
	case REPLAY_BY_THREAD:
		return r->actors.of_thread[b->by];
	case REPLAY_BY_OUTSIDE:
		return b->by ? r->actors.of_outside[b->by] : (uint32_t)r->actors.n + b->culprit;
	default:
		return (uint32_t)r->actors.n + b->culprit;
	}
}

static int edge_compare(const void *a, const void *b)
{
	const struct report_edge *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->waiter != y->waiter)
		return x->waiter < y->waiter ? -1 : 1;
	return x->by < y->by ? -1 : x->by > y->by;
}

struct edges {
	struct report *r;
	struct map *places; /* by waiter and whoever it waited for */
	struct map *kinds;  /* by place and kind of wait: ns */
	size_t cap;
};

static void edges_done(struct edges *x)
{
	map_free(x->places);
	map_free(x->kinds);
}

/* An edge is called by what most of its time was. */
static int kind_add(struct edges *x, uint64_t at, const struct replay_blame *b)
{
	struct report_edge *e = &x->r->edges[at];
	uint64_t key = at << 32 | (b->kind_id ? b->kind_id : UINT32_MAX - b->reason), ns = 0;

	if (!map_get(x->kinds, key, &ns))
		e->kind_n++;
	ns += b->ns;
	if (ns >= e->kind_ns) {
		e->kind_ns = ns;
		e->reason = b->reason;
		e->kind_id = b->kind_id;
	}
	return map_put(x->kinds, key, ns);
}

static int blame_add(struct edges *x, const struct replay_blame *b)
{
	struct report *r = x->r;
	uint32_t waiter = r->actors.of_thread[b->waiter], by = node_of(r, b);
	uint64_t key = (uint64_t)waiter << 32 | by, at;
	struct report_edge *e;

	if (!map_get(x->places, key, &at)) {
		at = r->edge_n;
		if (VEC_RESERVE(r->edges, x->cap, at + 1) < 0 || map_put(x->places, key, at) < 0)
			return -ENOMEM;
		r->edges[r->edge_n++] = (struct report_edge){ .waiter = waiter, .by = by };
	}
	if (kind_add(x, at, b) < 0)
		return -ENOMEM;
	e = &r->edges[at];
	e->count += b->count;
	e->ns += b->ns;
	e->longest_ns = b->longest_ns > e->longest_ns ? b->longest_ns : e->longest_ns;
	return 0;
}

static int edges_make(struct report *r)
{
	_cleanup_(edges_done) struct edges x = { .r = r };
	_cleanup_(freep) struct replay_blame *blames = NULL;
	size_t n = 0;
	int e = map_new(&x.places);

	if (e == 0)
		e = map_new(&x.kinds);
	if (e == 0)
		e = replay_blames_of(r->replay, r->picked.waits, &blames, &n);
	for (size_t i = 0; i < n && e == 0; i++)
		e = blame_add(&x, &blames[i]);
	if (e == 0 && r->edge_n)
		qsort(r->edges, r->edge_n, sizeof(*r->edges), edge_compare);
	return e;
}

int report_matrix_make(struct report *r)
{
	int e = report_actors_make(r);

	if (e == 0)
		e = report_replay_need(r);
	return e < 0 ? e : edges_make(r);
}

static unsigned node_print(const struct page *p, uint32_t node, unsigned columns)
{
	const struct analyze_actors *a = &p->r->actors;
	uint32_t culprit = node - (uint32_t)a->n;

	if (node < a->n)
		return page_actor_print(p, &a->list[node], columns);
	return report_name_print(p->f, culprit == REPLAY_BY_OUTSIDE ? "others (not recorded)" :
				 replay_culprit_name((enum replay_culprit)culprit), columns);
}

void report_matrix_text(const struct page *p)
{
	const struct report *r = p->r;
	size_t shown = page_lines_shown(r->edge_n, page_lines_max(p, SECTION_MATRIX));
	uint64_t rest_ns = 0;

	if (!r->edge_n)
		return;
	page_title(p, "   blocked    longest     count   Who waited for whom");
	fputs("  waiter <- whoever it waited for\n", p->f);
	for (size_t i = 0; i < r->edge_n; i++) {
		const struct report_edge *e = &r->edges[i];
		const char *kind = page_string(p, e->kind_id);
		unsigned used;

		if (i >= shown) {
			rest_ns += e->ns;
			continue;
		}
		fprintf(p->f, "%10s %10s %9s   ", page_time(e->ns).text, page_time(e->longest_ns).text,
			wording_count(e->count).text);
		used = node_print(p, e->waiter, ACTOR_COLUMNS);
		used += (unsigned)fprintf(p->f, " <- ");
		used += node_print(p, e->by, ACTOR_COLUMNS);
		fputs(used + NUMBERS_COLUMNS + 12 < p->columns ? "  " : "", p->f);
		if (used + NUMBERS_COLUMNS + 12 < p->columns)
			report_name_print(p->f, *kind ? kind : wait_reason_name(e->reason),
					  p->columns - used - NUMBERS_COLUMNS - 6);
		if (used + NUMBERS_COLUMNS + 12 < p->columns && e->kind_n > 1)
			fputs(", ..", p->f);
		fputc('\n', p->f);
	}
	if (r->edge_n > shown)
		fprintf(p->f, "%10s %10s %9s   in %s more\n", page_time(rest_ns).text, "", "",
			wording_count(r->edge_n - shown).text);
}

static void node_json(const struct report *r, struct json *j, const char *key, uint32_t node)
{
	const struct analyze_actors *a = &r->actors;

	json_key(j, key);
	json_begin_object(j);
	if (node < a->n) {
		report_string_json(r, j, "program", a->list[node].program_id);
		report_string_json(r, j, "thread_name", a->list[node].name_id);
		json_kv_bool(j, "recorded", !a->list[node].outside);
		json_kv_uint(j, "threads", a->list[node].thread_n);
	} else {
		json_kv_string(j, "device", replay_culprit_name((enum replay_culprit)(node - a->n)));
	}
	json_end_object(j);
}

void report_matrix_json(const struct report *r, struct json *j)
{
	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(r, r->edge_n); i++) {
		const struct report_edge *e = &r->edges[i];

		json_begin_object(j);
		node_json(r, j, "waiter", e->waiter);
		node_json(r, j, "by", e->by);
		json_kv_uint(j, "count", e->count);
		json_kv_uint(j, "blocked_ns", e->ns);
		json_kv_uint(j, "longest_ns", e->longest_ns);
		json_kv_string(j, "reason", wait_reason_name(e->reason));
		report_string_json(r, j, "wait_kind", e->kind_id);
		json_end_object(j);
	}
	json_end_array(j);
}

/* ---- the graph ---- */

static size_t node_n(const struct report *r)
{
	return r->actors.n + REPLAY_CULPRIT_MAX;
}

/* Edges of less than a hundredth of the recording are left out: with all of them everything is one knot. */
static uint64_t edge_ns_min(const struct report *r)
{
	return (uint64_t)r->m->end_ns / 100;
}

int report_graph_make(struct report *r)
{
	_cleanup_(freep) struct analyze_edge *edges = NULL;
	int e = report_section_make(r, SECTION_MATRIX);

	if (e == 0)
		e = report_section_make(r, SECTION_OPEN);
	if (e < 0)
		return e;
	edges = calloc(r->edge_n + 1, sizeof(*edges));
	if (!edges)
		return -ENOMEM;
	for (size_t i = 0; i < r->edge_n; i++)
		edges[i] = (struct analyze_edge){ r->edges[i].waiter, r->edges[i].by, r->edges[i].ns };
	return analyze_knots(edges, r->edge_n, node_n(r), edge_ns_min(r), &r->knots);
}

static void members_print(const struct page *p, uint32_t component)
{
	const struct report *r = p->r;
	size_t n = 0;

	for (uint32_t i = 0; i < node_n(r); i++) {
		if (r->knots.of_node[i] != component)
			continue;
		if (n++ == MEMBERS_MAX) {
			fputs(", ..", p->f);
			return;
		}
		fputs(n > 1 ? ", " : "", p->f);
		node_print(p, i, ACTOR_COLUMNS);
	}
}

/* The heaviest waits inside a knot. */
static void inside_print(const struct page *p, uint32_t component)
{
	const struct report *r = p->r;
	size_t n = 0;

	for (size_t i = 0; i < r->edge_n && n < EDGES_MAX; i++) {
		const struct report_edge *e = &r->edges[i];

		if (r->knots.of_node[e->waiter] != component || r->knots.of_node[e->by] != component ||
		    e->ns < edge_ns_min(r))
			continue;
		fprintf(p->f, "%*s", NUMBERS_COLUMNS - 10, "");
		node_print(p, e->waiter, ACTOR_COLUMNS);
		fputs(" <- ", p->f);
		node_print(p, e->by, ACTOR_COLUMNS);
		fprintf(p->f, "  %s\n", page_time(e->ns).text);
		n++;
	}
}

void report_graph_text(const struct page *p)
{
	const struct report *r = p->r;
	size_t shown = page_lines_shown(r->knots.n, page_lines_max(p, SECTION_GRAPH));

	if (!r->knots.n)
		return;
	page_title(p, "    inside   of others   Knots");
	fputs("  wait for nothing outside themselves (waits below 1% left out)\n", p->f);
	for (size_t i = 0; i < shown; i++) {
		const struct analyze_knot *k = &r->knots.list[i];

		fprintf(p->f, "%10s  %10s   ", page_time(k->inside_ns).text, page_time(k->for_it_ns).text);
		members_print(p, k->component);
		fputc('\n', p->f);
		if (k->node_n > 1)
			inside_print(p, k->component);
	}
	page_more(p, r->knots.n, shown, NUMBERS_COLUMNS - 9);
	report_deadlocks_text(p);
}

void report_graph_json(const struct report *r, struct json *j)
{
	json_begin_object(j);
	json_kv_uint(j, "edge_ns_min", edge_ns_min(r));
	json_key(j, "knots");
	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(r, r->knots.n); i++) {
		const struct analyze_knot *k = &r->knots.list[i];

		json_begin_object(j);
		json_kv_uint(j, "inside_ns", k->inside_ns);
		json_kv_uint(j, "for_it_ns", k->for_it_ns);
		json_key(j, "members");
		json_begin_array(j);
		for (uint32_t node = 0; node < node_n(r); node++) {
			if (r->knots.of_node[node] != k->component)
				continue;
			json_begin_object(j);
			node_json(r, j, "who", node);
			json_end_object(j);
		}
		json_end_array(j);
		json_end_object(j);
	}
	json_end_array(j);
	json_kv_uint(j, "deadlocks", report_deadlock_n(r));
	json_end_object(j);
}
