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

/* Behind a point that was reached, computing done, at t. */
static double point_end(const struct pass *x, size_t i, double t, double own)
{
	const struct points *p = &x->r->points;
	const struct model_wait *w = &x->r->m->waits[p->ref[i]];
	uint8_t reason = x->r->m->rows[w->row < x->r->m->row_n ? w->row : 0].reason;
	bool waits = p->what[i] == POINT_WAIT || p->what[i] == POINT_ACQUIRE;

	if (p->what[i] == POINT_SIGNAL || p->what[i] == POINT_RELEASE) {
		x->tokens[p->object[i]] = fmax(x->tokens[p->object[i]], t);
	} else if (p->what[i] == POINT_DELAY && w->outcome == WAIT_TIMEOUT && reason != REASON_SLEEP) {
		return t;
	} else if (p->what[i] == POINT_DELAY) {
		t += (double)p->wait_ns[i] * weight(x->w->delay, x->r, p->object[i]);
	} else if (waits && p->ref[i] && w->target) {
		t = fmax(t, x->tokens[p->object[i]]);
	} else if (waits && p->ref[i]) {
		t += (double)(wait_wake_ns(w) - w->start_ns);
	}
	return t + (double)p->run_ns[i] * own;
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
		double own = weight(x->w->cpu, r, r->points.cpu_tag[i]);

		t = point_end(x, i, t + (double)r->points.cpu_ns[i] * own, own);
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
