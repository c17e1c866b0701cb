/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Ops in a scenario: those that happen on a strand have points, threads and processes are all of theirs. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "replay/e2.h"
#include "replay/scenario.h"
#include "util/cleanup.h"

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

/* When a strand begins is the token's time or its own; the first point's time, less what is before it, is that. */
static double strand_begin(const struct replay *r, const struct weights *w, const struct strand *s, const double *times)
{
	const struct points *p = &r->points;
	size_t i = s->first;
	uint32_t tag = p->cpu_tag[i];
	double ns = (double)p->cpu_ns[i] * (double)(w->cpu && tag < r->tag_n ? w->cpu[tag] : 1);

	if (p->what[i] != POINT_RUNQ && p->what[i] != POINT_NONE)
		return times[i];
	return times[i] - ns - (w->no_runqueue ? 0 : (double)p->run_ns[i]);
}

static void strand_times(const struct replay *r, const struct weights *w, const struct strand *s, const double *times,
			 struct replay_span *spans, bool *known)
{
	const struct points *p = &r->points;
	uint32_t process = process_op(r, s);
	double begin, end;

	for (size_t i = s->first; i < s->first + s->n; i++) {
		uint32_t op = p->ref[i];

		if (isnan(times[i]) || op >= r->m->op_n)
			continue;
		if (p->what[i] == POINT_OP_BEGIN) {
			spans[op].start_ns = llround(times[i]);
			spans[op].end_ns = spans[op].start_ns > spans[op].end_ns ? spans[op].start_ns : spans[op].end_ns;
		} else if (p->what[i] == POINT_OP_END) {
			spans[op].end_ns = llround(times[i]);
		}
	}
	if (!s->n || isnan(times[s->first]) || isnan(times[s->first + s->n - 1]))
		return;
	begin = strand_begin(r, w, s, times);
	end = times[s->first + s->n - 1];
	if (s->op)
		span_widen(&spans[s->op], &known[s->op], llround(begin), llround(end));
	if (process && process != s->op)
		span_widen(&spans[process], &known[process], llround(begin), llround(end));
}

int replay_op_times(const struct replay *r, const struct replay_scenario *s, enum replay_engines engine,
		    struct replay_span **ret)
{
	_cleanup_(weights_done) struct weights w = { 0 };
	_cleanup_(freep) struct replay_span *spans = malloc(r->m->op_n * sizeof(*spans));
	_cleanup_(freep) bool *known = calloc(r->m->op_n, sizeof(*known));
	_cleanup_(freep) double *times = NULL;
	struct e1_detail d;
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
		times = e == 0 ? d.times : NULL;
	} else if (engine == REPLAY_E2) {
		times = malloc((r->points.n + 1) * sizeof(*times));
		e = times ? e2_run(r, &w, times, &two) : -ENOMEM;
	} else {
		return -EINVAL;
	}
	for (size_t k = 0; k < r->strand_n && e == 0; k++)
		strand_times(r, &w, &r->strands[k], times, spans, known);
	if (e == 0)
		*ret = TAKE_PTR(spans);
	return e;
}

static void slack_least(int64_t *slack, double ns)
{
	int64_t x = isfinite(ns) ? llround(ns) : INT64_MAX;

	x = x < 0 ? 0 : x;
	if (*slack < 0 || x < *slack)
		*slack = x;
}

int replay_op_slacks(const struct replay *r, int64_t **ret)
{
	static const struct weights unchanged;
	_cleanup_(e1_detail_done) struct e1_detail d = { 0 };
	int64_t *slacks = malloc(r->m->op_n * sizeof(*slacks));
	int e = slacks ? e1_detail(r, &unchanged, E1_TIMES | E1_LATEST, &d) : -ENOMEM;

	for (size_t i = 0; i < r->m->op_n && e == 0; i++)
		slacks[i] = -1;
	for (size_t k = 0; k < r->strand_n && e == 0; k++) {
		const struct strand *s = &r->strands[k];
		uint32_t process = process_op(r, s);

		for (size_t i = s->first; i < s->first + s->n; i++) {
			double ns = d.latest[i] - d.times[i];

			if (r->points.what[i] == POINT_OP_END)
				slack_least(&slacks[r->points.ref[i]], ns);
			if (i + 1 == s->first + s->n && s->op)
				slack_least(&slacks[s->op], ns);
			if (i + 1 == s->first + s->n && process)
				slack_least(&slacks[process], ns);
		}
	}
	if (e < 0) {
		free(slacks);
		return e;
	}
	*ret = slacks;
	return 0;
}
