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
#include "replay/steps.h"
#include "replay/turns.h"
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
	struct turns sleepers, computers[CPUS_GROUPS];
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
	turns_done(&x->sleepers);
	for (size_t g = 0; g < CPUS_GROUPS; g++)
		turns_done(&x->computers[g]);
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
	for (size_t g = 0; g < x->cpus->group_n; g++) {
		if (turns_init(&x->computers[g], r->strand_n) < 0)
			return -ENOMEM;
	}
	return turns_init(&x->sleepers, r->strand_n);
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

/* Of one that slept the rest of that is nothing to it any more. */
static void sleep_for(struct sim *x, uint32_t s, double ns, enum doing doing)
{
	x->actors[s].doing = (uint8_t)doing;
	turns_put(&x->sleepers, s, x->now + ns);
}

/* What its next steps need will be here when it is there. */
static void compute(struct sim *x, uint32_t s, double ns)
{
	const struct step *step = step_of(x, s);
	uint32_t g = x->actors[s].group;

	__builtin_prefetch(step + 4);
	__builtin_prefetch(&x->cpu[x->actors[s].at + 8]);
	if (step->what == POINT_SIGNAL || step->what == POINT_WAIT || step->what == POINT_SIGNAL_MORE)
		__builtin_prefetch(&x->tokens[step->object]);
	else if (step->what == POINT_DELAY && x->w->times)
		__builtin_prefetch(&x->w->times[step->object]);
	x->actors[s].doing = DOING_COMPUTE;
	x->counts[g]++;
	x->rates = cpus_rates(x->cpus, x->counts);
	turns_put(&x->computers[g], s, x->clock[g] + ns);
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
static void token_fire(struct sim *x, uint32_t token)
{
	struct sim_token *t = &x->tokens[token];
	uint32_t next;

	if (!t->left || --t->left)
		return;
	for (uint32_t s = t->waiting; s != NONE; s = next) {
		next = x->actors[s].next;
		sleep_for(x, s, x->actors[s].begun ? latency(x, step_of(x, s)) : 0, DOING_SLEEP);
	}
	t->waiting = NONE;
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
static void lock_leave(struct sim *x, uint32_t s, uint32_t lock)
{
	struct sim_lock *l = &x->locks[lock];
	uint32_t first = l->head;

	if (l->owner != s)
		return;
	l->owner = NONE;
	if (first == NONE)
		return;
	l->head = x->actors[first].next;
	if (l->head == NONE)
		l->tail = NONE;
	sleep_for(x, first, lock_latency(x, first, lock) + look_ns(x, lock), DOING_RETRY);
}

static void step_pass(struct sim *x, uint32_t s)
{
	if (x->times)
		x->times[step_of(x, s)->point] = x->now;
	x->actors[s].at++;
}

/* Sleeps, if that is any time. As of a step: true: it goes on at once. */
static bool late_by(struct sim *x, uint32_t s, double ns)
{
	if (!(ns > 0))
		return true;
	sleep_for(x, s, ns, DOING_SLEEP);
	return false;
}

static bool either_do(struct sim *x, uint32_t s, const struct step *step)
{
	const struct long_time *l = point_limit(x->r, step->point);

	if (!x->tokens[step->object].left)
		return true;
	token_wait(x, s, step->object);
	sleep_for(x, s, (double)l->ns * times_of(x, l->tag), DOING_EITHER);
	return false;
}

/* Its time is up: the token is nothing to it any more. */
static bool either_end(struct sim *x, uint32_t s)
{
	const struct step *step = step_of(x, s);
	uint32_t *at = &x->tokens[step->object].waiting;

	while (*at != s)
		at = &x->actors[*at].next;
	*at = x->actors[s].next;
	return late_by(x, s, latency(x, step));
}

/* Computing is done before; else as a delay, or as time in the run queue. */
static bool long_do(struct sim *x, uint32_t s, const struct step *step)
{
	const struct long_time *l = &x->r->longs[step->object];
	double late = x->w->no_runqueue ? 0 : (double)l->lat_ns;

	if (l->what == LONG_CPU)
		return true;
	if (l->what == LONG_WAIT)
		late = (double)l->ns * times_of(x, l->tag);
	return late_by(x, s, late);
}

/* What a step says, its computing done. True: the strand goes on at once. */
static bool step_do(struct sim *x, uint32_t s)
{
	const struct step *step = step_of(x, s);

	switch (step->what) {
	case POINT_RUNQ:
		return late_by(x, s, latency(x, step));
	case POINT_LONG:
		return long_do(x, s, step);
	case POINT_EITHER:
		return either_do(x, s, step);
	case POINT_DELAY:
		sleep_for(x, s, (double)step->wait_ns * times_of(x, step->object) + latency(x, step), DOING_SLEEP);
		return false;
	case POINT_SIGNAL:
	case POINT_SIGNAL_MORE:
		token_fire(x, step->object);
		return true;
	case POINT_WAIT:
	case POINT_GATHER:
		if (!x->tokens[step->object].left)
			return true;
		token_wait(x, s, step->object);
		return false;
	case POINT_ACQUIRE:
	case POINT_TAKE:
		return lock_get(x, s, step->object);
	case POINT_RELEASE:
	case POINT_DROP:
		lock_leave(x, s, step->object);
		return true;
	default:
		return true;
	}
}

/* From the beginning of a step until there is something to wait for, or the end. */
static void strand_go(struct sim *x, uint32_t s)
{
	while (x->actors[s].at != x->actors[s].end) {
		double ns = x->cpu[x->actors[s].at];

		if (ns > 0) {
			compute(x, s, ns);
			return;
		}
		if (!step_do(x, s))
			return;
		step_pass(x, s);
	}
	x->actors[s].doing = DOING_NOTHING;
	if (x->r->strands[s].sink) {
		x->sinks_left--;
		x->sink_end = x->now > x->sink_end ? x->now : x->sink_end;
	}
}

/* As recorded, what it computes with the lock begins when it is on the CPU again: it has looked in that time. */
static void lock_got(struct sim *x, uint32_t s)
{
	const struct step *step = step_of(x, s);
	double ns, looked_ns = step->what == POINT_ACQUIRE ? look_ns(x, step->object) : 0;

	step_pass(x, s);
	ns = x->actors[s].at == x->actors[s].end ? 0 : x->cpu[x->actors[s].at];
	if (ns > 0 && looked_ns > 0)
		compute(x, s, ns > looked_ns ? ns - looked_ns : 0);
	else
		strand_go(x, s);
}

/* What it slept or computed for is over. */
static void strand_resume(struct sim *x, uint32_t s)
{
	struct actor *a = &x->actors[s];
	bool on = true;

	if (!a->begun) {
		a->begun = true;
		if (x->begins)
			x->begins[s] = x->now;
		strand_go(x, s);
		return;
	}
	if (a->doing == DOING_RETRY) {
		if (lock_get(x, s, step_of(x, s)->object))
			lock_got(x, s);
		return;
	}
	if (a->doing == DOING_COMPUTE)
		on = step_do(x, s);
	else if (a->doing == DOING_EITHER)
		on = either_end(x, s);
	if (!on)
		return;
	step_pass(x, s);
	strand_go(x, s);
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

/* Whose turn is near will need its step, and what follows it. */
static inline __attribute__((always_inline)) void near_prefetch(const struct sim *x, const struct turns *t)
{
	uint32_t s = turns_first(t), at = x->actors[s != TURNS_NONE ? s : 0].at;

	__builtin_prefetch(&x->steps->v[at]);
	__builtin_prefetch(&x->cpu[at + 1]);
}

/* The next event; false: there is none. */
static bool next_event(struct sim *x, uint32_t *ret)
{
	double first = INFINITY, at;
	size_t from = CPUS_GROUPS;

	for (size_t g = 0; g < x->cpus->group_n; g++) {
		at = x->now + (turns_time(&x->computers[g]) - x->clock[g]) / x->rates[g];
		if (at < first) {
			first = at;
			from = g;
		}
	}
	at = turns_time(&x->sleepers);
	if (at <= first && turns_first(&x->sleepers) != TURNS_NONE) {
		*ret = turns_first(&x->sleepers);
		turns_drop(&x->sleepers, *ret);
		near_prefetch(x, &x->sleepers);
		advance(x, at);
		return true;
	}
	if (from == CPUS_GROUPS)
		return false;
	advance(x, first);
	at = turns_time(&x->computers[from]);
	/* Rounding may leave it a little short. */
	if (x->clock[from] < at)
		x->clock[from] = at;
	*ret = turns_first(&x->computers[from]);
	turns_drop(&x->computers[from], *ret);
	near_prefetch(x, &x->computers[from]);
	x->counts[from]--;
	x->rates = cpus_rates(x->cpus, x->counts);
	return true;
}

/* The wait of one that waits is over, with those of all who wait for the same. */
static void strand_force(struct sim *x, uint32_t s)
{
	const struct actor *a = &x->actors[s];
	uint32_t object;

	x->forced_n++;
	x->force_at = s;
	if (a->doing == DOING_LOCK) {
		object = step_of(x, s)->object;
		lock_leave(x, x->locks[object].owner, object);
		return;
	}
	object = a->begun ? step_of(x, s)->object : x->r->strands[s].token;
	x->tokens[object].left = 1;
	token_fire(x, object);
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

			if (x->actors[s].doing == order[k]) {
				strand_force(x, s);
				return next_event(x, ret);
			}
		}
	}
	return false;
}

static void begin_all(struct sim *x)
{
	const struct replay *r = x->r;

	for (size_t s = 0; s < r->strand_n; s++) {
		const struct strand *strand = &r->strands[s];

		x->sinks_left += strand->sink;
		if (strand->token != NONE && x->tokens[strand->token].left)
			token_wait(x, (uint32_t)s, strand->token);
		else
			sleep_for(x, (uint32_t)s, (double)strand->begin_ns, DOING_SLEEP);
	}
}

int e2_run(const struct replay *r, const struct weights *w, double *times, double *begins, struct e2_result *ret)
{
	_cleanup_(sim_done) struct sim x = { 0 };
	uint32_t s;

	if (sim_init(&x, r, w, times, begins) < 0)
		return -ENOMEM;
	begin_all(&x);
	/* With times asked for everything counts, not only what the end depends on. */
	while (x.sinks_left || times) {
		if (!next_event(&x, &s) && (!x.sinks_left || !force(&x, &s)))
			break;
		strand_resume(&x, s);
	}
	ret->forced_n = x.forced_n;
	ret->makespan_ns = x.sinks_left ? -1 : ns_round(x.sink_end) - r->facts.begin_ns;
	return 0;
}
