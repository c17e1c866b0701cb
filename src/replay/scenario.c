/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "replay/scenario.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/e2.h"
#include "replay/path.h"
#include "replay/wcprof.h"
#include "replay/workers.h"
#include "util/cleanup.h"
#include "util/crew.h"

#define BASELINE_MAX 0.01
/* By so much no answer that is worked out from it is to be believed. */
#define BASELINE_LOST 0.1
#define APART_MAX 0.03
#define BROKEN_MAX 0.001

void weights_done(struct weights *w)
{
	free(w->times);
	free(w->free_locks);
	*w = (struct weights){ 0 };
}

static bool needs_class(uint8_t what)
{
	return what == REPLAY_CPU || what == REPLAY_DELAY || what == REPLAY_TIME || what == REPLAY_NO_LOCK;
}

static int change_check(const struct replay *r, const struct replay_change *c)
{
	if (c->what >= REPLAY_CHANGE_MAX || (needs_class(c->what) && c->class >= r->class_n))
		return -EINVAL;
	if (c->what == REPLAY_NO_LOCK && r->classes[c->class].lock == NONE)
		return -EINVAL;
	if (!(c->factor >= 0 && c->factor <= REPLAY_FACTOR_MAX))
		return -EINVAL;
	return 0;
}

/* Time that is in no recorded wait goes with all of its class, not with its delays: those are known. */
static bool is_changed(uint8_t what, uint32_t row)
{
	return what == REPLAY_TIME || (what == REPLAY_DELAY ? row && row != TAG_UNPLACED : !row);
}

static void factor_apply(const struct replay *r, const struct replay_change *c, struct weights *w)
{
	const struct class_entry *e = &r->classes[c->class];

	for (size_t i = e->first; i < e->first + e->n; i++) {
		const struct share *x = &r->shares[i];
		float by = (float)(1 - (1 - c->factor) * (double)x->share);

		if (is_changed(c->what, r->tags[x->tag].row))
			w->times[x->tag] *= by;
	}
}

static void change_apply(const struct replay *r, const struct replay_change *c, struct weights *w)
{
	switch (c->what) {
	case REPLAY_NO_LOCK:
		w->free_locks[w->free_lock_n++] = r->classes[c->class].lock;
		break;
	case REPLAY_CPUS:
		w->cpu_n = c->factor < 1 ? 1 : c->factor > CPU_NUMBERS ? CPU_NUMBERS : (uint32_t)c->factor;
		w->own_cpus = true;
		break;
	case REPLAY_NO_RUNQUEUE:
		w->no_runqueue = true;
		break;
	default:
		factor_apply(r, c, w);
	}
}

int weights_make(const struct replay *r, const struct replay_scenario *s, struct weights *ret)
{
	struct weights w = { .cpu_n = r->facts.cpu_n };

	for (size_t i = 0; i < s->n; i++) {
		if (change_check(r, &s->changes[i]) < 0)
			return -EINVAL;
	}
	w.times = malloc((r->tag_n + 1) * sizeof(*w.times));
	w.free_locks = calloc(s->n + 1, sizeof(*w.free_locks));
	if (!w.times || !w.free_locks) {
		weights_done(&w);
		return -ENOMEM;
	}
	for (size_t i = 0; i < r->tag_n; i++)
		w.times[i] = 1;
	for (size_t i = 0; i < s->n; i++)
		change_apply(r, &s->changes[i], &w);
	*ret = w;
	return 0;
}

static double drift(const struct replay *r, int64_t ns)
{
	return r->facts.makespan_ns ? fabs((double)(ns - r->facts.makespan_ns)) / (double)r->facts.makespan_ns : 0;
}

/* An engine's saving, as part of its own baseline, of the recorded makespan. */
static int64_t saving_of(const struct replay *r, int64_t base_ns, int64_t ns)
{
	if (base_ns <= 0)
		return 0;
	return ns_round((double)(base_ns - ns) / (double)base_ns * (double)r->facts.makespan_ns);
}

/* Does the share of the class on the CPU hang on too few samples? */
static bool samples_are_few(const struct replay *r, const struct replay_change *c)
{
	if (!needs_class(c->what) || c->what == REPLAY_DELAY || c->what == REPLAY_NO_LOCK)
		return false;
	return r->classes[c->class].sd_ns * fabs(1 - c->factor) > APART_MAX * (double)r->facts.makespan_ns;
}

static uint32_t doubts(const struct replay *r, const struct replay_scenario *s, const struct replay_outcome *o)
{
	uint32_t why = 0, missing = r->facts.missing;

	if (drift(r, r->facts.e1_ns) > BASELINE_MAX)
		why |= REPLAY_WHY_BASELINE_1;
	if (o->e2_ns >= 0 && drift(r, r->facts.e2_ns) > BASELINE_MAX)
		why |= REPLAY_WHY_BASELINE_2;
	if (o->e1_ns >= 0 && o->e2_ns >= 0 &&
	    (double)(o->high_ns - o->low_ns) >= APART_MAX * (double)r->facts.makespan_ns)
		why |= REPLAY_WHY_APART;
	if (missing & REPLAY_EVENTS_LOST)
		why |= REPLAY_WHY_LOST;
	if (missing & REPLAY_DAMAGED)
		why |= REPLAY_WHY_DAMAGED;
	if ((double)r->facts.broken_ns > BROKEN_MAX * (double)r->facts.makespan_ns)
		why |= REPLAY_WHY_BROKEN;
	if (missing & REPLAY_WAKERS_UNKNOWN)
		why |= REPLAY_WHY_WAKERS;
	if (missing & REPLAY_ANSWERS_UNKNOWN)
		why |= REPLAY_WHY_ANSWERS;
	if (missing & (REPLAY_NO_THREADS | REPLAY_NO_WAKERS | REPLAY_NO_RUNNABLE))
		why |= REPLAY_WHY_MISSING;
	for (size_t i = 0; i < s->n; i++) {
		const struct replay_change *c = &s->changes[i];
		bool function = needs_class(c->what) && r->classes[c->class].c.kind == REPLAY_CLASS_FUNCTION;

		why |= samples_are_few(r, c) ? REPLAY_WHY_SAMPLES : 0;
		if (function && missing & REPLAY_NO_SAMPLE_TIMES && r->classes[c->class].c.cpu_ns)
			why |= REPLAY_WHY_AVERAGE;
		/* Less time outside of a lock brings its users closer together; where holds are known they are simulated. */
		if (c->factor < 1 && needs_class(c->what))
			why |= r->unseen_locks ? REPLAY_WHY_UNSEEN : 0;
		if ((c->what == REPLAY_CPUS || c->what == REPLAY_NO_RUNQUEUE) && workers_are_alike(r))
			why |= REPLAY_WHY_ALIKE;
	}
	return why;
}

/* An engine that doesn't find the recording itself again, not by far. */
static bool is_lost(const struct replay *r, const struct replay_outcome *o)
{
	return drift(r, r->facts.e1_ns) > BASELINE_LOST || (o->e2_ns >= 0 && drift(r, r->facts.e2_ns) > BASELINE_LOST);
}

/* Not the answer is uncertain but what it was worked out from. */
#define WHY_C (REPLAY_WHY_LOST | REPLAY_WHY_DAMAGED | REPLAY_WHY_WAKERS | REPLAY_WHY_MISSING | REPLAY_WHY_BROKEN)

void outcome_judge(const struct replay *r, const struct replay_scenario *s, struct replay_outcome *o)
{
	int64_t a = o->e1_ns >= 0 ? saving_of(r, r->facts.e1_ns, o->e1_ns) : 0;
	int64_t b = o->e2_ns >= 0 ? saving_of(r, r->facts.e2_ns, o->e2_ns) : a;

	if (o->e1_ns < 0)
		a = b;
	o->best_ns = b;
	o->low_ns = a < b ? a : b;
	o->high_ns = a < b ? b : a;
	o->why = doubts(r, s, o);
	o->grade = o->why & WHY_C || is_lost(r, o) ? 'C' : o->why ? 'B' : 'A';
	/* Without the simulation nothing is known of what queues would make of it. */
	if (o->grade == 'A' && o->e2_ns < 0)
		o->grade = 'B';
}

/* The op class that has most of the changed critical path. */
static int next_find(const struct replay *r, const struct weights *w, uint32_t *ret)
{
	_cleanup_(e1_detail_done) struct e1_detail d = { 0 };
	_cleanup_(path_done) struct path path = { 0 };
	_cleanup_(freep) double *tag_ns = calloc(r->tag_n + 1, sizeof(*tag_ns));
	double most_ns = 0;
	int e;

	if (!tag_ns)
		return -ENOMEM;
	e = e1_detail(r, w, E1_TIMES | E1_SOURCES, &d);
	if (e == 0)
		e = path_find(r, w, &d, &path);
	if (e < 0)
		return e;
	path_tags(r, &path, w, d.times, tag_ns);
	*ret = UINT32_MAX;
	for (size_t i = 0; i < r->class_n; i++) {
		const struct class_entry *c = &r->classes[i];
		double ns = 0;

		if (c->c.kind != REPLAY_CLASS_OP)
			continue;
		for (size_t k = c->first; k < c->first + c->n; k++)
			ns += tag_ns[r->shares[k].tag] * (double)r->shares[k].share;
		if (ns > most_ns) {
			most_ns = ns;
			*ret = (uint32_t)i;
		}
	}
	return 0;
}

int scenario_next(const struct replay *r, const struct replay_scenario *s, uint32_t *ret)
{
	_cleanup_(weights_done) struct weights w = { 0 };
	int e = weights_make(r, s, &w);

	return e < 0 ? e : next_find(r, &w, ret);
}

_Static_assert((int)E1_LANES == (int)WCPROF_LANES, "one batch for both");

struct evaluation {
	const struct replay *r;
	const struct replay_scenario *s;
	size_t n;
	struct weights w[E1_LANES];
	struct replay_outcome *v;
	unsigned engines;
};

static int together_evaluate(struct evaluation *x)
{
	int64_t e1_ns[E1_LANES], wcprof_ns[E1_LANES];
	int e = 0;

	if (x->engines & REPLAY_E1)
		e = e1_run(x->r, x->w, x->n, e1_ns);
	if (e == 0 && x->engines & REPLAY_WCPROF)
		e = wcprof_run(x->r, x->w, x->n, wcprof_ns);
	for (size_t i = 0; i < x->n && e == 0; i++) {
		if (x->engines & REPLAY_E1)
			x->v[i].e1_ns = e1_ns[i];
		x->v[i].wcprof_ns = x->engines & REPLAY_WCPROF ? wcprof_ns[i] : -1;
	}
	return e;
}

/* What no engine does for several at once. */
static int one_evaluate(struct evaluation *x, size_t i)
{
	struct e2_result two;
	int e = 0;

	if (x->engines & REPLAY_E2 && x->r->facts.e2_ns >= 0) {
		e = e2_run(x->r, &x->w[i], NULL, NULL, &two);
		x->v[i].e2_ns = e == 0 ? two.makespan_ns : -1;
	}
	if (e == 0 && x->engines & REPLAY_NEXT)
		e = next_find(x->r, &x->w[i], &x->v[i].next);
	return e;
}

static int evaluation_do(void *arg, size_t i)
{
	struct evaluation *x = arg;

	return i == 0 ? together_evaluate(x) : one_evaluate(x, i - 1);
}

/* At most E1_LANES of them. */
static int some_evaluate(struct evaluation *x)
{
	size_t jobs = 1 + (x->engines & (REPLAY_E2 | REPLAY_NEXT) ? x->n : 0);
	int e = 0;

	for (size_t i = 0; i < x->n && e == 0; i++) {
		int64_t e1_ns = x->engines & REPLAY_E1_KNOWN ? x->v[i].e1_ns : -1;

		x->v[i] = (struct replay_outcome){ .e1_ns = e1_ns, .e2_ns = -1, .wcprof_ns = -1, .next = UINT32_MAX };
		e = weights_make(x->r, &x->s[i], &x->w[i]);
	}
	if (e == 0)
		e = crew_run(jobs, evaluation_do, x);
	for (size_t i = 0; i < x->n && e == 0; i++)
		outcome_judge(x->r, &x->s[i], &x->v[i]);
	return e;
}

struct batches {
	const struct replay *r;
	const struct replay_scenario *s;
	size_t n;
	unsigned engines;
	struct replay_outcome *v;
};

static int batch_evaluate(void *arg, size_t i)
{
	const struct batches *b = arg;
	size_t from = i * E1_LANES, n = b->n - from < E1_LANES ? b->n - from : E1_LANES;
	struct evaluation x = {
		.r = b->r, .s = b->s + from, .n = n, .v = b->v + from, .engines = b->engines,
	};
	int e = some_evaluate(&x);

	for (size_t k = 0; k < n; k++)
		weights_done(&x.w[k]);
	return e;
}

int replay_evaluate(const struct replay *r, const struct replay_scenario *s, size_t n, unsigned engines,
		    struct replay_outcome *ret)
{
	struct batches b = { .r = r, .s = s, .n = n, .engines = engines, .v = ret };
	size_t batch_n = (n + E1_LANES - 1) / E1_LANES;
	int e = 0;

	/* What is simulated is on all CPUs within a batch, and has more to remember than E1. */
	if (!(engines & REPLAY_E2))
		return crew_run(batch_n, batch_evaluate, &b);
	for (size_t i = 0; i < batch_n && e == 0; i++)
		e = batch_evaluate(&b, i);
	return e;
}

const char *replay_why_text(enum replay_grade_why bit)
{
	switch (bit) {
	case REPLAY_WHY_BASELINE_1:
		return "replayed in its recorded order the recording comes out more than 1% off";
	case REPLAY_WHY_BASELINE_2:
		return "the simulation of the unchanged recording comes out more than 1% off";
	case REPLAY_WHY_APART:
		return "recorded order and simulation differ by 3% of the whole or more";
	case REPLAY_WHY_LOST:
		return "events were lost";
	case REPLAY_WHY_WAKERS:
		return "who ended some waits on the critical path is not known";
	case REPLAY_WHY_UNSEEN:
		return "a lock that was free when asked for leaves no trace: contention that is new would not be seen";
	case REPLAY_WHY_SAMPLES:
		return "few samples: its share of the CPU time is uncertain";
	case REPLAY_WHY_AVERAGE:
		return "where its CPU time lies is not known";
	case REPLAY_WHY_DAMAGED:
		return "the file is damaged: what its bad lines told is missing";
	case REPLAY_WHY_BROKEN:
		return "what waits for what contradicts itself: some waits go on without whom they were for";
	case REPLAY_WHY_ALIKE:
		return "threads alike are woken for work: which takes which hangs on who is free, and is replayed as recorded";
	case REPLAY_WHY_ANSWERS:
		return "goroutines wait for the network: if who answers is recorded too, its time is taken for a fixed delay";
	case REPLAY_WHY_MISSING:
		return "the dump lacks facts that the engines need";
	}
	return "";
}
