/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "replay/wcprof.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "replay/draft.h"
#include "replay/scenario.h"
#include "util/cleanup.h"

struct pass {
	const struct replay *r;
	const struct weights *w;
	double *strands, *tokens;
};

static void pass_done(struct pass *x)
{
	free(x->strands);
	free(x->tokens);
}

static double weight(const float *v, const struct replay *r, uint32_t tag)
{
	return v && tag < r->tag_n ? (double)v[tag] : 1;
}

static bool is_cancelled(const struct replay *r, const struct model_wait *w)
{
	return w->outcome == WAIT_TIMEOUT && r->m->rows[w->row < r->m->row_n ? w->row : 0].reason != REASON_SLEEP;
}

/* Behind what a point says; t: reached, computing done. */
static double point_end(const struct pass *x, size_t i, double t)
{
	const struct points *p = &x->r->points;
	const struct model_wait *w;

	switch (p->what[i]) {
	case POINT_SIGNAL:
	case POINT_SIGNAL_MORE:
	case POINT_RELEASE:
		x->tokens[p->object[i]] = fmax(x->tokens[p->object[i]], t);
		return t;
	case POINT_DELAY:
		w = &x->r->m->waits[p->ref[i]];
		return is_cancelled(x->r, w) ? t : t + (double)p->wait_ns[i] * weight(x->w->times, x->r, p->object[i]);
	case POINT_WAIT:
	case POINT_ACQUIRE:
		w = &x->r->m->waits[p->ref[i]];
		if (!p->ref[i])
			return t;
		return w->target ? fmax(t, x->tokens[p->object[i]]) : t + (double)(wait_wake_ns(w) - w->start_ns);
	default:
		return t;
	}
}

static void run_pass(const struct pass *x, const struct run *run)
{
	const struct replay *r = x->r;
	const struct strand *s = &r->strands[run->strand];
	double t = x->strands[run->strand];

	if (!run->from) {
		t = s->token == NONE ? -INFINITY : x->tokens[s->token];
		t = isinf(t) ? (double)s->begin_ns : t;
	}
	for (size_t i = s->first + run->from; i < s->first + run->from + run->n; i++) {
		double own = weight(x->w->times, r, r->points.cpu_tag[i]);

		t = point_end(x, i, t + (double)r->points.cpu_ns[i] * own) + (double)r->points.run_ns[i] * own;
	}
	x->strands[run->strand] = t;
}

int wcprof_run(const struct replay *r, const struct replay_scenario *s, int64_t *ret)
{
	_cleanup_(weights_done) struct weights w = { 0 };
	_cleanup_(pass_done) struct pass x = { .r = r, .w = &w };
	double end = (double)r->facts.begin_ns;
	int e = weights_make(r, s, &w);

	if (e < 0)
		return e;
	*ret = -1;
	if (w.free_lock_n || w.own_cpus || w.no_runqueue)
		return 0;
	x.strands = calloc(r->strand_n + 1, sizeof(*x.strands));
	x.tokens = malloc((r->token_n + 1) * sizeof(*x.tokens));
	if (!x.strands || !x.tokens)
		return -ENOMEM;
	for (size_t i = 0; i < r->token_n; i++)
		x.tokens[i] = -INFINITY;
	for (size_t i = 0; i < r->run_n; i++)
		run_pass(&x, &r->runs[i]);
	for (size_t i = 0; i < r->strand_n; i++)
		end = r->strands[i].n && !r->strands[i].open ? fmax(end, x.strands[i]) : end;
	*ret = llround(end) - r->facts.begin_ns;
	return 0;
}
