/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Ops in a scenario: those that happen on a strand have points, threads and processes are all of theirs. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/e2.h"
#include "replay/scenario.h"
#include "util/cleanup.h"
#include "util/vec.h"

static void span_widen(struct replay_span *s, bool *known, int64_t start_ns, int64_t end_ns)
{
	if (!*known || start_ns < s->start_ns)
		s->start_ns = start_ns;
	if (!*known || end_ns > s->end_ns)
		s->end_ns = end_ns;
	*known = true;
}

static uint32_t process_op(const struct replay *r, const struct strand *s)
{
	const struct model *m = r->m;
	uint32_t op = s->process < m->process_n ? m->processes[s->process].op : 0;

	return op < m->op_n ? op : 0;
}

static void strand_times(const struct replay *r, const struct strand *s, const double *times, double begin,
			 struct replay_span *spans, bool *known)
{
	const struct points *p = &r->points;
	uint32_t process = process_op(r, s);
	double end;

	for (size_t i = s->first; i < s->first + s->n; i++) {
		uint32_t op = p->ref[i];

		if (isnan(times[i]) || op >= r->m->op_n)
			continue;
		if (p->what[i] == POINT_OP_BEGIN) {
			spans[op].start_ns = ns_round(times[i]);
			spans[op].end_ns = spans[op].start_ns > spans[op].end_ns ? spans[op].start_ns : spans[op].end_ns;
		} else if (p->what[i] == POINT_OP_END) {
			spans[op].end_ns = ns_round(times[i]);
		}
	}
	if (!s->n || isnan(begin) || isnan(times[s->first + s->n - 1]))
		return;
	end = times[s->first + s->n - 1];
	if (s->op)
		span_widen(&spans[s->op], &known[s->op], ns_round(begin), ns_round(end));
	if (process && process != s->op)
		span_widen(&spans[process], &known[process], ns_round(begin), ns_round(end));
}

int replay_op_times(const struct replay *r, const struct replay_scenario *s, enum replay_engines engine,
		    struct replay_span **ret)
{
	_cleanup_(weights_done) struct weights w = { 0 };
	_cleanup_(freep) struct replay_span *spans = malloc(r->m->op_n * sizeof(*spans));
	_cleanup_(freep) bool *known = calloc(r->m->op_n, sizeof(*known));
	_cleanup_(e1_detail_done) struct e1_detail d = { 0 };
	struct e2_result two;
	int e;

	if (!spans || !known)
		return -ENOMEM;
	for (size_t i = 0; i < r->m->op_n; i++)
		spans[i] = (struct replay_span){ r->m->ops[i].start_ns, r->m->ops[i].end_ns };
	e = weights_make(r, s, &w);
	if (e < 0)
		return e;
	if (engine == REPLAY_E1) {
		e = e1_detail(r, &w, E1_TIMES, &d);
	} else if (engine == REPLAY_E2) {
		d.times = malloc((r->points.n + 1) * sizeof(*d.times));
		d.begins = malloc((r->strand_n + 1) * sizeof(*d.begins));
		e = d.times && d.begins ? e2_run(r, &w, d.times, d.begins, &two) : -ENOMEM;
	} else {
		return -EINVAL;
	}
	for (size_t k = 0; k < r->strand_n && e == 0; k++)
		strand_times(r, &r->strands[k], d.times, d.begins[k], spans, known);
	if (e == 0)
		*ret = TAKE_PTR(spans);
	return e;
}

static void slack_least(int64_t *slack, double ns)
{
	int64_t x = isfinite(ns) ? ns_round(ns) : INT64_MAX;

	x = x < 0 ? 0 : x;
	if (*slack < 0 || x < *slack)
		*slack = x;
}

/*
 * Ops that are open at a point of a strand, the inner ones last, each with the least slack of the points so far in which it
 * was the innermost: those of the ones behind it are its points, too.
 */
struct open_ops {
	struct open_op {
		uint32_t op;
		double least;
	} *v;
	size_t n, cap;
};

/* The place of an op that ends: mostly the last. Its points were those of the one around it, too. */
static void open_op_end(struct open_ops *o, size_t k, int64_t *slacks)
{
	double least = o->v[k].least;

	for (size_t i = k + 1; i < o->n; i++)
		least = fmin(least, o->v[i].least);
	slack_least(&slacks[o->v[k].op], least);
	if (k)
		o->v[k - 1].least = fmin(o->v[k - 1].least, least);
	memmove(&o->v[k], &o->v[k + 1], (o->n - k - 1) * sizeof(*o->v));
	o->n--;
}

static int point_slack(struct open_ops *o, const struct points *p, size_t i, double ns, int64_t *slacks)
{
	if (p->what[i] == POINT_OP_BEGIN) {
		if (VEC_RESERVE(o->v, o->cap, o->n + 1) < 0)
			return -ENOMEM;
		o->v[o->n++] = (struct open_op){ .op = p->ref[i], .least = INFINITY };
	}
	if (o->n)
		o->v[o->n - 1].least = fmin(o->v[o->n - 1].least, ns);
	for (size_t k = o->n; p->what[i] == POINT_OP_END && k-- > 0;) {
		if (o->v[k].op != p->ref[i])
			continue;
		open_op_end(o, k, slacks);
		break;
	}
	return 0;
}

int replay_op_slacks(const struct replay *r, int64_t **ret)
{
	static const struct weights unchanged;
	_cleanup_(e1_detail_done) struct e1_detail d = { 0 };
	_cleanup_(freep) int64_t *slacks = malloc(r->m->op_n * sizeof(*slacks));
	struct open_ops open = { 0 };
	int e = slacks ? e1_detail(r, &unchanged, E1_TIMES | E1_LATEST, &d) : -ENOMEM;

	for (size_t i = 0; i < r->m->op_n && e == 0; i++)
		slacks[i] = -1;
	for (size_t k = 0; k < r->strand_n && e == 0; k++) {
		const struct strand *s = &r->strands[k];
		uint32_t process = process_op(r, s);
		double least = INFINITY;

		open.n = 0;
		for (size_t i = s->first; i < s->first + s->n && e == 0; i++) {
			least = fmin(least, d.latest[i] - d.times[i]);
			e = point_slack(&open, &r->points, i, d.latest[i] - d.times[i], slacks);
		}
		if (s->n && s->op)
			slack_least(&slacks[s->op], least);
		if (s->n && process)
			slack_least(&slacks[process], least);
	}
	free(open.v);
	if (e == 0)
		*ret = TAKE_PTR(slacks);
	return e;
}
