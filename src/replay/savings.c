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
#include <string.h>

#include "util/crew.h"
#include "replay/e2.h"
#include "replay/scenario.h"
#include "replay/wcprof.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

const double replay_factors[REPLAY_FACTOR_N] = { 0, 0.5, 0.9 };

/* Less of the makespan than this is no saving. */
#define WORTH 0.001
/* A class with so much of the CPUs' time may hold up others by it. */
#define CPU_SHARE 0.05
/* So many points replayed, eight scenarios at a time, and so many scenarios at least. */
#define REPLAYED_POINTS 600000000.0
#define REPLAYED_LEAST 40
/* So many points simulated are a matter of a few seconds: then for every factor, else for the middle one. */
#define SIMULATED_POINTS 100000000.0
/* Classes for which the factor is found at which the path leaves them. */
#define SHIFTS 10
/* So many steps of wcprof's rules, eight scenarios at a time. */
#define WCPROF_STEPS 600000000.0

struct saver {
	const struct replay *r;
	struct replay_saving *v;
	size_t n, cap;
	uint32_t *same, *unique;
	size_t unique_n, replayed_n; /* of the unique the first so many are replayed */
	size_t part_n;
	bool wcprof;
	size_t wcprof_n; /* the first so many are put to wcprof's rules */
	struct simulation {
		uint32_t candidate;
		uint8_t factor;
	} *simulations;
	size_t simulation_n, simulation_cap;
};

static void saver_done(struct saver *x)
{
	free(x->v);
	free(x->same);
	free(x->unique);
	free(x->simulations);
}

static double path_ns(const struct replay_class *c)
{
	return (double)(c->path_cpu_ns + c->path_delay_ns);
}

/* Most time on the path first; locks that could be removed before all, there are few. */
static int by_bound(const void *a, const void *b, void *arg)
{
	const struct saver *x = arg;
	const struct replay_saving *s = &x->v[*(const uint32_t *)a], *t = &x->v[*(const uint32_t *)b];
	double p = path_ns(&x->r->classes[s->class].c), q = path_ns(&x->r->classes[t->class].c);

	if (s->what != t->what)
		return s->what == REPLAY_NO_LOCK ? -1 : 1;
	if (p != q)
		return p > q ? -1 : 1;
	return s->class < t->class ? -1 : s->class > t->class;
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

/* Different classes often are the same time: a thread's, its only function's, its op's. Hash of the shares in order. */
static uint64_t shares_hash(const struct replay *r, const struct class_entry *e)
{
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15);

	for (size_t i = e->first; i < e->first + e->n; i++) {
		uint32_t bits;

		memcpy(&bits, &r->shares[i].share, sizeof(bits));
		h = (h ^ ((uint64_t)r->shares[i].tag << 32 | bits)) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	return h;
}

static bool shares_equal(const struct replay *r, const struct class_entry *a, const struct class_entry *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct share *x = &r->shares[a->first + i], *y = &r->shares[b->first + i];

		if (x->tag != y->tag || x->share != y->share)
			return false;
	}
	return true;
}

/* x->same: for each candidate the first that is the same time, often itself; x->unique: those, weightiest first. */
static int uniques_find(struct saver *x)
{
	_cleanup_(map_freep) struct map *seen = NULL;

	x->same = calloc(x->n + 1, sizeof(*x->same));
	x->unique = calloc(x->n + 1, sizeof(*x->unique));
	if (!x->same || !x->unique || map_new(&seen) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < x->n; i++) {
		const struct class_entry *e = &x->r->classes[x->v[i].class];
		uint64_t hash = shares_hash(x->r, e), first = i;

		x->same[i] = (uint32_t)i;
		if (x->v[i].what == REPLAY_TIME && map_get(seen, hash, &first) &&
		    shares_equal(x->r, e, &x->r->classes[x->v[first].class]))
			x->same[i] = (uint32_t)first;
		else if (x->v[i].what == REPLAY_TIME && map_put(seen, hash, i) < 0)
			return -ENOMEM;
		if (x->same[i] == i)
			x->unique[x->unique_n++] = (uint32_t)i;
	}
	qsort_r(x->unique, x->unique_n, sizeof(*x->unique), by_bound, x);
	return 0;
}

/* What one lane is about: candidate u of the unique ones at factor k. */
static void lane_lay(const struct saver *x, struct e1_batch *b, size_t lane, size_t u, size_t k)
{
	const struct replay_saving *s = &x->v[x->unique[u]];
	const struct class_entry *e = &x->r->classes[s->class];

	if (s->what == REPLAY_NO_LOCK) {
		e1_batch_lock(b, lane, e->lock);
		return;
	}
	for (size_t i = e->first; i < e->first + e->n; i++)
		e1_batch_tag(b, lane, x->r->shares[i].tag, (float)(1 - (1 - replay_factors[k]) * (double)x->r->shares[i].share));
}

/* A part of the passes; each lane is one of the unique candidates at one factor. */
static int passes_do(void *arg, size_t part)
{
	struct saver *x = arg;
	_cleanup_(e1_batch_freep) struct e1_batch *b = NULL;
	size_t lanes = x->replayed_n * REPLAY_FACTOR_N, passes = (lanes + E1_LANES - 1) / E1_LANES;
	size_t from = passes * part / x->part_n, to = passes * (part + 1) / x->part_n;

	if (from < to && e1_batch_new(x->r, &b) < 0)
		return -ENOMEM;
	for (size_t pass = from; pass < to; pass++) {
		int64_t ns[E1_LANES];
		size_t at = pass * E1_LANES, n = lanes - at < E1_LANES ? lanes - at : E1_LANES;

		for (size_t lane = 0; lane < n; lane++)
			lane_lay(x, b, lane, (at + lane) / REPLAY_FACTOR_N, (at + lane) % REPLAY_FACTOR_N);
		e1_batch_run(b, ns);
		for (size_t lane = 0; lane < n; lane++)
			x->v[x->unique[(at + lane) / REPLAY_FACTOR_N]].at[(at + lane) % REPLAY_FACTOR_N].e1_ns = ns[lane];
	}
	return 0;
}

/* Classes that are the same time as another have its results. */
static void copies_fill(struct saver *x)
{
	for (size_t i = 0; i < x->n; i++) {
		if (x->same[i] == i)
			continue;
		memcpy(x->v[i].at, x->v[x->same[i]].at, sizeof(x->v[i].at));
		x->v[i].simulated = x->v[x->same[i]].simulated;
	}
}

/* As many as the budget allows; what is left can save no more than its time on the path, which is less than all those. */
static int recorded_order(struct saver *x)
{
	size_t most = (size_t)(REPLAYED_POINTS / (double)(x->r->points.n + 1)) * E1_LANES / REPLAY_FACTOR_N;
	int e = uniques_find(x);

	if (e < 0)
		return e;
	x->replayed_n = x->unique_n < most || x->unique_n < REPLAYED_LEAST ? x->unique_n :
			most < REPLAYED_LEAST				   ? REPLAYED_LEAST :
									     most;
	x->part_n = crew_size();
	e = crew_run(x->part_n, passes_do, x);
	copies_fill(x);
	return e;
}

/* By what E1 makes of it at one half, least first. */
static int by_recorded_order(const void *a, const void *b, void *arg)
{
	const struct saver *x = arg;
	const struct replay_saving *s = &x->v[*(const uint32_t *)a], *t = &x->v[*(const uint32_t *)b];
	int64_t p = s->what == REPLAY_NO_LOCK ? s->at[0].e1_ns : s->at[1].e1_ns;
	int64_t q = t->what == REPLAY_NO_LOCK ? t->at[0].e1_ns : t->at[1].e1_ns;

	if (p != q)
		return p < q ? -1 : 1;
	return s->class < t->class ? -1 : s->class > t->class;
}

static int simulate(struct saver *x, const struct simulation *simulation)
{
	struct replay_saving *s = &x->v[simulation->candidate];
	_cleanup_(weights_done) struct weights w = { 0 };
	struct replay_change c;
	struct replay_scenario one = scenario_of(s, replay_factors[simulation->factor], &c);
	struct e2_result two;
	int e = weights_make(x->r, &one, &w);

	if (e == 0)
		e = e2_run(x->r, &w, NULL, NULL, &two);
	if (e == 0)
		s->at[simulation->factor].e2_ns = two.makespan_ns;
	return e;
}

/* Compiling to wcprof's rules takes longer than any of the simulations: it begins first. */
static int simulation_do(void *arg, size_t i)
{
	struct saver *x = arg;

	if (i > 0)
		return simulate(x, &x->simulations[i - 1]);
	return x->wcprof ? wcprof_need(x->r) : 0;
}

static int simulation_plan(struct saver *x, uint32_t candidate, bool all_factors)
{
	struct replay_saving *s = &x->v[candidate];

	s->simulated = true;
	for (uint8_t k = 0; k < REPLAY_FACTOR_N; k++) {
		if (s->what == REPLAY_NO_LOCK ? k > 0 : !all_factors && k != 1)
			continue;
		if (VEC_RESERVE(x->simulations, x->simulation_cap, x->simulation_n + 1) < 0)
			return -ENOMEM;
		x->simulations[x->simulation_n++] = (struct simulation){ .candidate = candidate, .factor = k };
	}
	return 0;
}

/* How many that others may queue behind are simulated beside the top ones: as many, of a large recording fewer. */
static size_t queued_max(const struct saver *x, size_t top)
{
	double most = SIMULATED_POINTS / (double)(x->r->points.n + 1);

	return most > (double)top ? top : most < (double)top / 4 ? top / 4 : (size_t)most;
}

/* E1's best, then some that others may queue behind. */
static int simulations(struct saver *x, size_t top)
{
	size_t chosen = 0, queued = 0, most = queued_max(x, top);
	bool all;
	int e;

	if (!top || x->r->facts.e2_ns < 0)
		return 0;
	qsort_r(x->unique, x->replayed_n, sizeof(*x->unique), by_recorded_order, x);
	all = (double)x->r->points.n * REPLAY_FACTOR_N * 2 * (double)(x->replayed_n < top ? x->replayed_n : top) <=
	      SIMULATED_POINTS;
	for (size_t i = 0; i < x->replayed_n; i++) {
		bool queue = may_queue(x->r, &x->r->classes[x->v[x->unique[i]].class]);

		if (chosen >= top && (!queue || queued >= most))
			continue;
		queued += chosen >= top;
		chosen++;
		if (simulation_plan(x, x->unique[i], all) < 0)
			return -ENOMEM;
	}
	e = crew_run(1 + x->simulation_n, simulation_do, x);
	copies_fill(x);
	return e;
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

/* As many of the best as the budget allows, eight at a time. */
static int wcprof_do(void *arg, size_t part)
{
	struct saver *x = arg;
	size_t lanes = x->wcprof_n * REPLAY_FACTOR_N, passes = (lanes + WCPROF_LANES - 1) / WCPROF_LANES;
	size_t from = passes * part / x->part_n, to = passes * (part + 1) / x->part_n;
	int e = 0;

	for (size_t pass = from; pass < to && e == 0; pass++) {
		size_t at = pass * WCPROF_LANES, n = lanes - at < WCPROF_LANES ? lanes - at : WCPROF_LANES;
		struct weights w[WCPROF_LANES] = { 0 };
		int64_t ns[WCPROF_LANES];

		for (size_t lane = 0; lane < n && e == 0; lane++) {
			struct replay_change c;
			struct replay_scenario one = scenario_of(&x->v[(at + lane) / REPLAY_FACTOR_N],
								 replay_factors[(at + lane) % REPLAY_FACTOR_N], &c);

			e = weights_make(x->r, &one, &w[lane]);
		}
		if (e == 0)
			e = wcprof_run(x->r, w, n, ns);
		for (size_t lane = 0; lane < n; lane++) {
			if (e == 0)
				x->v[(at + lane) / REPLAY_FACTOR_N].at[(at + lane) % REPLAY_FACTOR_N].wcprof_ns = ns[lane];
			weights_done(&w[lane]);
		}
	}
	return e;
}

static int wcprof_all(struct saver *x)
{
	int e = x->wcprof ? wcprof_need(x->r) : 0;

	if (e < 0 || !x->wcprof)
		return e;
	x->wcprof_n = (size_t)(WCPROF_STEPS / (double)(wcprof_step_n(x->r) + x->r->tag_n + 1)) * WCPROF_LANES /
		      REPLAY_FACTOR_N;
	x->wcprof_n = x->n < x->wcprof_n ? x->n : x->wcprof_n;
	return crew_run(x->part_n, wcprof_do, x);
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

static int next_do(void *arg, size_t i)
{
	struct saver *x = arg;
	struct replay_saving *s = &x->v[i];
	size_t k = s->what == REPLAY_NO_LOCK ? 0 : 1;
	struct replay_change c;
	struct replay_scenario one = scenario_of(s, replay_factors[k], &c);
	int e = s->what == REPLAY_NO_LOCK ? 0 : shift_find(x->r, s);

	return e < 0 ? e : scenario_next(x->r, &one, &s->at[k].next);
}

int replay_savings(const struct replay *r, const struct replay_savings_options *o, struct replay_saving **ret,
		   size_t *ret_n)
{
	_cleanup_(saver_done) struct saver x = { .r = r, .wcprof = o && o->wcprof };
	int e = candidates_add(&x, o ? o->kinds : 0);

	if (e == 0)
		e = recorded_order(&x);
	if (e < 0)
		return e;
	e = simulations(&x, o ? o->e2_top : 0);
	if (e < 0)
		return e;
	judge_all(&x);
	if (x.n)
		qsort(x.v, x.n, sizeof(*x.v), by_saving);
	e = wcprof_all(&x);
	if (e == 0)
		e = crew_run(x.n < SHIFTS ? x.n : SHIFTS, next_do, &x);
	if (e < 0)
		return e;
	*ret = TAKE_PTR(x.v);
	*ret_n = x.n;
	return 0;
}
