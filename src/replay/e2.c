/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Two sorts of events: a time has come (a delay, a latency), a computation is
 * done. For the second each group of strands has a clock of its own that runs as
 * fast as each of them gets on: when another becomes ready all slow down alike,
 * and no event has to be moved.
 */
#include "replay/e2.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/cpus.h"
#include "replay/heap.h"
#include "replay/steps.h"
#include "util/cleanup.h"

/* Waits that nothing ends, before the simulation is given up. */
#define FORCED_MAX 10000

enum doing {
	DOING_NOTHING, /* not begun, or its end */
	DOING_COMPUTE,
	DOING_SLEEP,   /* a delay or latency, then the next point */
	DOING_RETRY,   /* a latency, then the lock of its point */
	DOING_WAIT,    /* for its point's token, or its beginning's */
	DOING_LOCK,    /* queued for its point's lock */
	DOING_EITHER,  /* for its point's token, and no longer than until it is due */
};

struct actor {
	double due;    /* when it goes on, if it sleeps; what the heap says otherwise is of a sleep that was cut short */
	uint32_t at;   /* step */
	uint32_t end;  /* behind its last */
	uint32_t next; /* of those who wait for the same, NONE */
	uint8_t group; /* of cpus */
	uint8_t doing;
	bool begun;
	bool retries; /* was woken for its step's lock before, and found it taken */
};

/* Who waits for it, signals that are still to come. */
struct sim_token {
	uint32_t left, waiting;
};

struct sim_lock {
	uint32_t owner; /* strand, NONE */
	uint32_t head, tail;
};

struct sim {
	const struct replay *r;
	const struct weights *w;
	double now;
	const struct steps *steps;
	struct steps own_steps; /* if not all scenarios share them */
	double *cpu;		/* by step: what is computed before it */
	struct actor *actors;
	struct sim_token *tokens;
	struct sim_lock *locks;
	uint8_t *free_locks;
	struct cpus *cpus;
	struct heap sleepers, computers[CPUS_GROUPS];
	uint32_t counts[CPUS_GROUPS];
	double clock[CPUS_GROUPS]; /* how much a strand computed that did all the time */
	const double *rates;
	double *times, *begins;
	size_t sinks_left;
	double sink_end;
	uint64_t forced_n;
	uint32_t force_at; /* strands before it were looked at */
};

static void sim_done(struct sim *x)
{
	free(x->actors);
	steps_done(&x->own_steps);
	free(x->cpu);
	free(x->tokens);
	free(x->locks);
	free(x->free_locks);
	free(x->cpus);
	free(x->sleepers.v);
	for (size_t g = 0; g < CPUS_GROUPS; g++)
		free(x->computers[g].v);
}

/* Those that all scenarios share, but for one that looks at more points, or at less. */
static int steps_find(struct sim *x)
{
	bool own = x->times || x->w->no_runqueue || !x->r->steps.v;

	if (own && steps_make(x->r, x->times, x->w->no_runqueue, &x->own_steps) < 0)
		return -ENOMEM;
	x->steps = own ? &x->own_steps : &x->r->steps;
	x->cpu = malloc((x->steps->n + 1) * sizeof(*x->cpu));
	if (!x->cpu)
		return -ENOMEM;
	steps_cpu(x->r, x->steps, x->w->times, x->cpu);
	return 0;
}

static int actors_init(struct sim *x)
{
	const struct replay *r = x->r;
	uint32_t *of_group = calloc(r->group_n + 1, sizeof(*of_group));

	if (!of_group)
		return -ENOMEM;
	cpus_init(x->cpus, r, x->w->no_runqueue ? 0 : x->w->cpu_n, x->w->no_runqueue || x->w->own_cpus, of_group);
	x->rates = cpus_rates(x->cpus, x->counts);
	for (size_t i = 0; i < r->strand_n; i++) {
		x->actors[i].at = (uint32_t)x->steps->first[i];
		x->actors[i].end = (uint32_t)x->steps->first[i + 1];
		x->actors[i].group = (uint8_t)of_group[r->strands[i].group];
	}
	free(of_group);
	return 0;
}

static int sim_init(struct sim *x, const struct replay *r, const struct weights *w, double *times, double *begins)
{
	*x = (struct sim){ .r = r, .w = w, .times = times, .begins = begins, .sink_end = (double)r->facts.begin_ns };
	x->actors = calloc(r->strand_n + 1, sizeof(*x->actors));
	x->tokens = malloc((r->token_n + 1) * sizeof(*x->tokens));
	x->locks = malloc((r->lock_n + 1) * sizeof(*x->locks));
	x->free_locks = calloc(r->lock_n + 1, 1);
	x->cpus = malloc(sizeof(*x->cpus));
	if (!x->actors || !x->tokens || !x->locks || !x->free_locks || !x->cpus || steps_find(x) < 0 || actors_init(x) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < r->token_n; i++)
		x->tokens[i] = (struct sim_token){ .left = r->token_need[i], .waiting = NONE };
	for (size_t i = 0; i < r->lock_n; i++)
		x->locks[i] = (struct sim_lock){ .owner = NONE, .head = NONE, .tail = NONE };
	for (size_t i = 0; i < w->free_lock_n; i++)
		x->free_locks[w->free_locks[i]] = 1;
	for (size_t i = 0; times && i < r->points.n; i++)
		times[i] = NAN;
	for (size_t i = 0; begins && i < r->strand_n; i++)
		begins[i] = NAN;
	return 0;
}

static inline const struct step *step_of(const struct sim *x, uint32_t s)
{
	return &x->steps->v[x->actors[s].at];
}

static int sleep_for(struct sim *x, uint32_t s, double ns, enum doing doing)
{
	x->actors[s].doing = (uint8_t)doing;
	x->actors[s].due = x->now + ns;
	return heap_push(&x->sleepers, x->actors[s].due, s);
}

/* What its next steps need will be here when it is there. */
static int compute(struct sim *x, uint32_t s, double ns)
{
	const struct step *step = step_of(x, s);
	uint32_t g = x->actors[s].group;

	__builtin_prefetch(step + 4);
	__builtin_prefetch(&x->cpu[x->actors[s].at + 8]);
	if (step->what == POINT_SIGNAL || step->what == POINT_WAIT || step->what == POINT_SIGNAL_MORE)
		__builtin_prefetch(&x->tokens[step->object]);
	x->actors[s].doing = DOING_COMPUTE;
	x->counts[g]++;
	x->rates = cpus_rates(x->cpus, x->counts);
	return heap_push(&x->computers[g], x->clock[g] + ns, s);
}

static double latency(const struct sim *x, const struct step *step)
{
	return x->w->no_runqueue ? 0 : (double)step->lat_ns;
}

/* So many times as long is what is of a tag. */
static double times_of(const struct sim *x, uint32_t tag)
{
	return x->w->times && tag < x->r->tag_n ? (double)x->w->times[tag] : 1;
}

/* The last signal has come: whoever waits for it goes on after his latency. */
static int token_fire(struct sim *x, uint32_t token)
{
	struct sim_token *t = &x->tokens[token];
	uint32_t next;

	if (!t->left || --t->left)
		return 0;
	for (uint32_t s = t->waiting; s != NONE; s = next) {
		next = x->actors[s].next;
		if (sleep_for(x, s, x->actors[s].begun ? latency(x, step_of(x, s)) : 0, DOING_SLEEP) < 0)
			return -ENOMEM;
	}
	t->waiting = NONE;
	return 0;
}

static void token_wait(struct sim *x, uint32_t s, uint32_t token)
{
	x->actors[s].doing = DOING_WAIT;
	x->actors[s].next = x->tokens[token].waiting;
	x->tokens[token].waiting = s;
}

/* True: it has it, or nobody needs it. Else it is in the queue. */
static bool lock_get(struct sim *x, uint32_t s, uint32_t lock)
{
	struct sim_lock *l = &x->locks[lock];

	if (x->free_locks[lock] || l->owner == NONE || l->owner == s) {
		l->owner = s;
		return true;
	}
	x->actors[s].retries = x->actors[s].doing == DOING_RETRY;
	x->actors[s].doing = DOING_LOCK;
	x->actors[s].next = NONE;
	if (l->tail != NONE)
		x->actors[l->tail].next = s;
	else
		l->head = s;
	l->tail = s;
	return false;
}

/*
 * As in the recording the first time; then, or if it got the lock at once there, as is usual. An accident of one wake
 * must not be one of all that follow.
 */
static double lock_latency(const struct sim *x, uint32_t s, uint32_t lock)
{
	const struct step *step = step_of(x, s);

	if (step->what == POINT_ACQUIRE && !x->actors[s].retries)
		return latency(x, step);
	return x->w->no_runqueue ? 0 : (double)x->r->locks[lock].latency_ns;
}

/* On the CPU, until it knows whether the lock is free. */
static double look_ns(const struct sim *x, uint32_t lock)
{
	return x->w->no_runqueue ? 0 : (double)x->r->locks[lock].look_ns;
}

/* The first in the queue is woken; until he is there and has looked the lock is anybody's. */
static int lock_leave(struct sim *x, uint32_t s, uint32_t lock)
{
	struct sim_lock *l = &x->locks[lock];
	uint32_t first = l->head;

	if (l->owner != s)
		return 0;
	l->owner = NONE;
	if (first == NONE)
		return 0;
	l->head = x->actors[first].next;
	if (l->head == NONE)
		l->tail = NONE;
	return sleep_for(x, first, lock_latency(x, first, lock) + look_ns(x, lock), DOING_RETRY);
}

static void step_pass(struct sim *x, uint32_t s)
{
	if (x->times)
		x->times[step_of(x, s)->point] = x->now;
	x->actors[s].at++;
}

static int either_do(struct sim *x, uint32_t s, const struct step *step)
{
	const struct long_time *l = point_limit(x->r, step->point);

	if (!x->tokens[step->object].left)
		return 1;
	token_wait(x, s, step->object);
	return sleep_for(x, s, (double)l->ns * times_of(x, l->tag), DOING_EITHER);
}

/* Its time is up: the token is nothing to it any more. */
static int either_end(struct sim *x, uint32_t s)
{
	const struct step *step = step_of(x, s);
	uint32_t *at = &x->tokens[step->object].waiting;
	double late = latency(x, step);

	while (*at != s)
		at = &x->actors[*at].next;
	*at = x->actors[s].next;
	return late > 0 ? sleep_for(x, s, late, DOING_SLEEP) : 1;
}

/* Computing is done before; else as a delay, or as time in the run queue. */
static int long_do(struct sim *x, uint32_t s, const struct step *step)
{
	const struct long_time *l = &x->r->longs[step->object];
	double late = x->w->no_runqueue ? 0 : (double)l->lat_ns;

	if (l->what == LONG_CPU)
		return 1;
	if (l->what == LONG_WAIT)
		late = (double)l->ns * times_of(x, l->tag);
	return late > 0 ? sleep_for(x, s, late, DOING_SLEEP) : 1;
}

/* What a step says, its computing done. 1: the strand goes on at once, 0: not yet. */
static int step_do(struct sim *x, uint32_t s)
{
	const struct step *step = step_of(x, s);
	double ns;

	switch (step->what) {
	case POINT_RUNQ:
		ns = latency(x, step);
		return ns > 0 ? sleep_for(x, s, ns, DOING_SLEEP) : 1;
	case POINT_LONG:
		return long_do(x, s, step);
	case POINT_EITHER:
		return either_do(x, s, step);
	case POINT_DELAY:
		ns = (double)x->r->points.wait_ns[step->point] * times_of(x, step->object);
		return sleep_for(x, s, ns + latency(x, step), DOING_SLEEP);
	case POINT_SIGNAL:
	case POINT_SIGNAL_MORE:
		return token_fire(x, step->object) < 0 ? -ENOMEM : 1;
	case POINT_WAIT:
	case POINT_GATHER:
		if (!x->tokens[step->object].left)
			return 1;
		token_wait(x, s, step->object);
		return 0;
	case POINT_ACQUIRE:
	case POINT_TAKE:
		return lock_get(x, s, step->object);
	case POINT_RELEASE:
	case POINT_DROP:
		return lock_leave(x, s, step->object) < 0 ? -ENOMEM : 1;
	default:
		return 1;
	}
}

/* From the beginning of a step until there is something to wait for, or the end. */
static int strand_go(struct sim *x, uint32_t s)
{
	int e;

	for (;;) {
		double ns;

		if (x->actors[s].at == x->actors[s].end) {
			x->actors[s].doing = DOING_NOTHING;
			if (x->r->strands[s].sink) {
				x->sinks_left--;
				x->sink_end = x->now > x->sink_end ? x->now : x->sink_end;
			}
			return 0;
		}
		ns = x->cpu[x->actors[s].at];
		if (ns > 0)
			return compute(x, s, ns);
		e = step_do(x, s);
		if (e <= 0)
			return e;
		step_pass(x, s);
	}
}

/* As recorded, what it computes with the lock begins when it is on the CPU again: it has looked in that time. */
static int lock_got(struct sim *x, uint32_t s)
{
	const struct step *step = step_of(x, s);
	double ns, looked_ns = step->what == POINT_ACQUIRE ? look_ns(x, step->object) : 0;

	step_pass(x, s);
	ns = x->actors[s].at == x->actors[s].end ? 0 : x->cpu[x->actors[s].at];
	if (!(ns > 0 && looked_ns > 0))
		return strand_go(x, s);
	return compute(x, s, ns > looked_ns ? ns - looked_ns : 0);
}

/* What it slept or computed for is over. */
static int strand_resume(struct sim *x, uint32_t s)
{
	struct actor *a = &x->actors[s];
	int e = 1;

	if (!a->begun) {
		a->begun = true;
		if (x->begins)
			x->begins[s] = x->now;
		return strand_go(x, s);
	}
	if (a->doing == DOING_COMPUTE)
		e = step_do(x, s);
	else if (a->doing == DOING_EITHER)
		e = either_end(x, s);
	else if (a->doing == DOING_RETRY)
		return lock_get(x, s, step_of(x, s)->object) ? lock_got(x, s) : 0;
	if (e <= 0)
		return e;
	step_pass(x, s);
	return strand_go(x, s);
}

static void advance(struct sim *x, double to)
{
	double ns = to - x->now;

	if (ns <= 0)
		return;
	for (size_t g = 0; g < x->cpus->group_n; g++)
		x->clock[g] += ns * x->rates[g];
	x->now = to;
}

/* The next event; false: there is none. */
static bool next_event(struct sim *x, uint32_t *ret)
{
	double first = INFINITY;
	size_t from = CPUS_GROUPS;

	for (size_t g = 0; g < x->cpus->group_n; g++) {
		double at;

		if (!x->computers[g].n)
			continue;
		at = x->now + (heap_first(&x->computers[g]) - x->clock[g]) / x->rates[g];
		if (at < first) {
			first = at;
			from = g;
		}
	}
	while (x->sleepers.n && heap_first(&x->sleepers) <= first) {
		double at = heap_first(&x->sleepers);
		uint32_t s = heap_pop(&x->sleepers);

		if (!(x->actors[s].due >= at && x->actors[s].due <= at))
			continue;
		advance(x, at);
		x->actors[s].due = NAN;
		*ret = s;
		return true;
	}
	if (from == CPUS_GROUPS)
		return false;
	advance(x, first);
	/* Rounding may leave it a little short. */
	if (x->clock[from] < heap_first(&x->computers[from]))
		x->clock[from] = heap_first(&x->computers[from]);
	*ret = heap_pop(&x->computers[from]);
	x->counts[from]--;
	x->rates = cpus_rates(x->cpus, x->counts);
	return true;
}

/* The wait of one that waits is over, with those of all who wait for the same. */
static int strand_force(struct sim *x, uint32_t s)
{
	const struct actor *a = &x->actors[s];
	uint32_t object;

	x->forced_n++;
	x->force_at = s;
	if (a->doing == DOING_LOCK) {
		object = step_of(x, s)->object;
		return lock_leave(x, x->locks[object].owner, object);
	}
	object = a->begun ? step_of(x, s)->object : x->r->strands[s].token;
	x->tokens[object].left = 1;
	return token_fire(x, object);
}

/*
 * Everyone waits: another order of events than the recorded one led there. Who waits for a token goes on first: locks
 * may come free by that.
 */
static bool force(struct sim *x, uint32_t *ret)
{
	static const uint8_t order[] = { DOING_WAIT, DOING_LOCK };

	for (size_t k = 0; k < 2; k++) {
		for (uint32_t i = 0; i < x->r->strand_n && x->forced_n < FORCED_MAX; i++) {
			uint32_t s = (x->force_at + i) % (uint32_t)x->r->strand_n;

			if (x->actors[s].doing == order[k])
				return strand_force(x, s) == 0 && next_event(x, ret);
		}
	}
	return false;
}

static int begin_all(struct sim *x)
{
	const struct replay *r = x->r;

	for (size_t s = 0; s < r->strand_n; s++) {
		const struct strand *strand = &r->strands[s];

		x->sinks_left += strand->sink;
		if (strand->token != NONE && x->tokens[strand->token].left)
			token_wait(x, (uint32_t)s, strand->token);
		else if (sleep_for(x, (uint32_t)s, (double)strand->begin_ns, DOING_SLEEP) < 0)
			return -ENOMEM;
	}
	return 0;
}

int e2_run(const struct replay *r, const struct weights *w, double *times, double *begins, struct e2_result *ret)
{
	_cleanup_(sim_done) struct sim x = { 0 };
	uint32_t s;

	if (sim_init(&x, r, w, times, begins) < 0 || begin_all(&x) < 0)
		return -ENOMEM;
	/* With times asked for everything counts, not only what the end depends on. */
	while (x.sinks_left || times) {
		if (!next_event(&x, &s) && (!x.sinks_left || !force(&x, &s)))
			break;
		if (strand_resume(&x, s) < 0)
			return -ENOMEM;
	}
	ret->forced_n = x.forced_n;
	ret->makespan_ns = x.sinks_left ? -1 : ns_round(x.sink_end) - r->facts.begin_ns;
	return 0;
}
