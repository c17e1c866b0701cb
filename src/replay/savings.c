/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * All classes by all factors. In recorded order a class that is not on the
 * critical path saves nothing, and none saves more than its time on it: that
 * leaves few to replay. Queues break that bound: what is done in a lock, or on
 * CPUs that many want, may hold up others who are on the path. Such classes are
 * simulated wherever they are.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "replay/e2.h"
#include "replay/scenario.h"
#include "util/cleanup.h"
#include "util/vec.h"

const double replay_factors[REPLAY_FACTOR_N] = { 0, 0.5, 0.9 };

/* Less of the makespan than this is no saving. */
#define WORTH 0.001
/* A class with so much of the CPUs' time may hold up others by it. */
#define CPU_SHARE 0.05
/* So many points simulated are a matter of a few seconds: then for every factor, else for the middle one. */
#define SIMULATED_POINTS 100000000.0
/* Classes for which the factor is found at which the path leaves them. */
#define SHIFTS 10

struct saver {
	const struct replay *r;
	struct replay_saving *v;
	size_t n, cap;
};

static void saver_done(struct saver *x)
{
	free(x->v);
}

static double path_ns(const struct replay_class *c)
{
	return (double)(c->path_cpu_ns + c->path_delay_ns);
}

/* Is there anything that could queue behind it? */
static bool may_queue(const struct replay *r, const struct class_entry *e)
{
	const struct replay_class *c = &e->c;
	double cpus_ns = (double)r->facts.makespan_ns * (r->facts.cpu_n ? r->facts.cpu_n : 1);
	double held_ns = 0;

	if (c->kind == REPLAY_CLASS_LOCK)
		return true;
	if (r->facts.cpu_n && r->facts.strand_n > r->facts.cpu_n && (double)c->cpu_ns > CPU_SHARE * cpus_ns)
		return true;
	for (size_t i = e->first; i < e->first + e->n && r->lock_n; i++) {
		const struct tag *t = &r->tags[r->shares[i].tag];

		held_ns += t->lock != NONE ? (double)t->ns * (double)r->shares[i].share : 0;
	}
	return held_ns > CPU_SHARE * (double)r->facts.makespan_ns;
}

static int candidate_add(struct saver *x, uint32_t class, uint8_t what)
{
	if (VEC_RESERVE(x->v, x->cap, x->n + 1) < 0)
		return -ENOMEM;
	x->v[x->n] = (struct replay_saving){ .class = class, .what = what };
	for (size_t k = 0; k < REPLAY_FACTOR_N; k++)
		x->v[x->n].at[k] = (struct replay_outcome){ .e1_ns = -1, .e2_ns = -1, .wcprof_ns = -1, .next = UINT32_MAX };
	x->n++;
	return 0;
}

static int candidates_add(struct saver *x, unsigned kinds)
{
	const struct replay *r = x->r;
	double least_ns = WORTH * (double)r->facts.makespan_ns;

	for (size_t i = 0; i < r->class_n; i++) {
		const struct class_entry *e = &r->classes[i];

		if (kinds && !(kinds >> e->c.kind & 1))
			continue;
		if ((path_ns(&e->c) >= least_ns || may_queue(r, e)) && candidate_add(x, (uint32_t)i, REPLAY_TIME) < 0)
			return -ENOMEM;
		if (e->lock != NONE && candidate_add(x, (uint32_t)i, REPLAY_NO_LOCK) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The scenario of one candidate at one factor; *c must live as long. */
static struct replay_scenario scenario_of(const struct replay_saving *s, double factor, struct replay_change *c)
{
	*c = (struct replay_change){ .what = s->what, .class = s->class, .factor = s->what == REPLAY_NO_LOCK ? 0 : factor };
	return (struct replay_scenario){ .changes = c, .n = 1 };
}

/* Lanes are filled with whatever comes next: factors of one class or of the one after. */
static int recorded_order(struct saver *x)
{
	size_t all = x->n * REPLAY_FACTOR_N;

	for (size_t at = 0; at < all; at += E1_LANES) {
		struct weights w[E1_LANES] = { 0 };
		int64_t ns[E1_LANES];
		size_t n = all - at < E1_LANES ? all - at : E1_LANES;
		int e = 0;

		for (size_t k = 0; k < n && e == 0; k++) {
			struct replay_change c;
			struct replay_scenario s = scenario_of(&x->v[(at + k) / REPLAY_FACTOR_N],
							       replay_factors[(at + k) % REPLAY_FACTOR_N], &c);

			e = weights_make(x->r, &s, &w[k]);
		}
		if (e == 0)
			e = e1_run(x->r, w, n, ns);
		for (size_t k = 0; k < n; k++) {
			if (e == 0)
				x->v[(at + k) / REPLAY_FACTOR_N].at[(at + k) % REPLAY_FACTOR_N].e1_ns = ns[k];
			weights_done(&w[k]);
		}
		if (e < 0)
			return e;
	}
	return 0;
}

/* By what E1 saves at one half, most first. */
static int by_recorded_order(const void *a, const void *b)
{
	const struct replay_saving *x = a, *y = b;
	int64_t p = x->what == REPLAY_NO_LOCK ? x->at[0].e1_ns : x->at[1].e1_ns;
	int64_t q = y->what == REPLAY_NO_LOCK ? y->at[0].e1_ns : y->at[1].e1_ns;

	if (p != q)
		return p < q ? -1 : 1;
	return x->class < y->class ? -1 : x->class > y->class;
}

static int simulate(struct saver *x, struct replay_saving *s, bool all_factors)
{
	for (size_t k = 0; k < REPLAY_FACTOR_N; k++) {
		_cleanup_(weights_done) struct weights w = { 0 };
		struct replay_change c;
		struct replay_scenario one = scenario_of(s, replay_factors[k], &c);
		struct e2_result two;
		int e;

		if (s->what == REPLAY_NO_LOCK ? k > 0 : !all_factors && k != 1)
			continue;
		e = weights_make(x->r, &one, &w);
		if (e == 0)
			e = e2_run(x->r, &w, NULL, NULL, &two);
		if (e < 0)
			return e;
		s->at[k].e2_ns = two.makespan_ns;
	}
	s->simulated = true;
	return 0;
}

static int simulations(struct saver *x, size_t top)
{
	size_t queued_n = 0;
	bool all;

	if (!top || x->r->facts.e2_ns < 0)
		return 0;
	for (size_t i = 0; i < x->n; i++)
		queued_n += i >= top && may_queue(x->r, &x->r->classes[x->v[i].class]);
	all = (double)x->r->points.n * REPLAY_FACTOR_N * (double)(top + (queued_n < top ? queued_n : top)) <= SIMULATED_POINTS;
	for (size_t i = 0, queued = 0; i < x->n; i++) {
		bool queue = i >= top && may_queue(x->r, &x->r->classes[x->v[i].class]) && queued++ < top;

		if ((i < top || queue) && simulate(x, &x->v[i], all) < 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 * While the path stays where it is, a class saves its time on it, in proportion.
 * Lanes look at eighths; where the gain first falls behind, two lines meet.
 */
static int shift_find(const struct replay *r, struct replay_saving *s)
{
	struct weights w[E1_LANES] = { 0 };
	double whole = path_ns(&r->classes[s->class].c), gain[E1_LANES + 1] = { 0 };
	int64_t ns[E1_LANES];
	int e = 0;

	for (size_t k = 0; k < E1_LANES && e == 0; k++) {
		struct replay_change c;
		struct replay_scenario one = scenario_of(s, 1 - (double)(k + 1) / E1_LANES, &c);

		e = weights_make(r, &one, &w[k]);
	}
	if (e == 0)
		e = e1_run(r, w, E1_LANES, ns);
	for (size_t k = 0; k < E1_LANES; k++)
		weights_done(&w[k]);
	if (e < 0)
		return e;
	for (size_t k = 0; k < E1_LANES; k++)
		gain[k + 1] = (double)(r->facts.e1_ns - ns[k]);
	s->shift = 0;
	for (size_t k = 1; k <= E1_LANES; k++) {
		double full = whole * (double)k / E1_LANES, slope, less;

		if (gain[k] >= 0.99 * full)
			continue;
		/* From here on it gains by the slope of what follows; where do the two lines meet? */
		slope = k < E1_LANES ? (gain[E1_LANES] - gain[k]) / (double)(E1_LANES - k) * E1_LANES : 0;
		less = slope < whole ? (gain[k] - slope * (double)k / E1_LANES) / (whole - slope) : 0;
		less = less < (double)(k - 1) / E1_LANES ? (double)(k - 1) / E1_LANES : less;
		s->shift = less < 1 ? 1 - less : 0;
		break;
	}
	return 0;
}

static void judge_all(struct saver *x)
{
	size_t kept = 0;

	for (size_t i = 0; i < x->n; i++) {
		struct replay_saving *s = &x->v[i];
		int64_t best_ns = INT64_MIN, least_ns = (int64_t)(WORTH * (double)x->r->facts.makespan_ns);

		for (size_t k = 0; k < REPLAY_FACTOR_N; k++) {
			struct replay_change c;
			struct replay_scenario one = scenario_of(s, replay_factors[k], &c);

			if (s->at[k].e1_ns < 0 || (k && s->what == REPLAY_NO_LOCK))
				continue;
			outcome_judge(x->r, &one, &s->at[k]);
			best_ns = s->at[k].high_ns > best_ns ? s->at[k].high_ns : best_ns;
		}
		if (best_ns >= least_ns)
			x->v[kept++] = *s;
	}
	x->n = kept;
}

static int by_saving(const void *a, const void *b)
{
	const struct replay_saving *x = a, *y = b;
	int64_t p = x->what == REPLAY_NO_LOCK ? x->at[0].best_ns : x->at[1].best_ns;
	int64_t q = y->what == REPLAY_NO_LOCK ? y->at[0].best_ns : y->at[1].best_ns;

	if (p != q)
		return p > q ? -1 : 1;
	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	return x->what < y->what ? -1 : x->what > y->what;
}

static int nexts_find(struct saver *x)
{
	for (size_t i = 0; i < x->n && i < SHIFTS; i++) {
		struct replay_saving *s = &x->v[i];
		size_t k = s->what == REPLAY_NO_LOCK ? 0 : 1;
		struct replay_change c;
		struct replay_scenario one = scenario_of(s, replay_factors[k], &c);
		int e = s->what == REPLAY_NO_LOCK ? 0 : shift_find(x->r, s);

		if (e == 0)
			e = scenario_next(x->r, &one, &s->at[k].next);
		if (e < 0)
			return e;
	}
	return 0;
}

int replay_savings(const struct replay *r, const struct replay_savings_options *o, struct replay_saving **ret,
		   size_t *ret_n)
{
	_cleanup_(saver_done) struct saver x = { .r = r };
	int e = candidates_add(&x, o ? o->kinds : 0);

	if (e == 0)
		e = recorded_order(&x);
	if (e < 0)
		return e;
	if (x.n)
		qsort(x.v, x.n, sizeof(*x.v), by_recorded_order);
	e = simulations(&x, o ? o->e2_top : 0);
	if (e < 0)
		return e;
	judge_all(&x);
	if (x.n)
		qsort(x.v, x.n, sizeof(*x.v), by_saving);
	e = nexts_find(&x);
	if (e < 0)
		return e;
	*ret = TAKE_PTR(x.v);
	*ret_n = x.n;
	return 0;
}
