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
	uint32_t at;   /* point, of the strand's */
	uint32_t next; /* of those who wait for the same, NONE */
	uint8_t doing;
	bool begun;
	double due;   /* when it goes on, if it sleeps; what the heap says otherwise is of a sleep that was cut short */
	bool retries; /* was woken for its point's lock before, and found it taken */
};

struct sim_lock {
	uint32_t owner; /* strand, NONE */
	uint32_t head, tail;
};

struct sim {
	const struct replay *r;
	const struct weights *w;
	double now;
	struct actor *actors;
	uint32_t *left, *waiting; /* by token */
	struct sim_lock *locks;
	uint8_t *free_locks;
	struct cpus *cpus;
	uint32_t *of_group;
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
	free(x->left);
	free(x->waiting);
	free(x->locks);
	free(x->free_locks);
	free(x->cpus);
	free(x->of_group);
	free(x->sleepers.v);
	for (size_t g = 0; g < CPUS_GROUPS; g++)
		free(x->computers[g].v);
}

static int sim_init(struct sim *x, const struct replay *r, const struct weights *w, double *times, double *begins)
{
	*x = (struct sim){ .r = r, .w = w, .times = times, .begins = begins, .sink_end = (double)r->facts.begin_ns };
	x->actors = calloc(r->strand_n + 1, sizeof(*x->actors));
	x->left = malloc((r->token_n + 1) * sizeof(*x->left));
	x->waiting = malloc((r->token_n + 1) * sizeof(*x->waiting));
	x->locks = malloc((r->lock_n + 1) * sizeof(*x->locks));
	x->free_locks = calloc(r->lock_n + 1, 1);
	x->cpus = malloc(sizeof(*x->cpus));
	x->of_group = calloc(r->group_n + 1, sizeof(*x->of_group));
	if (!x->actors || !x->left || !x->waiting || !x->locks || !x->free_locks || !x->cpus || !x->of_group)
		return -ENOMEM;
	if (r->token_n)
		memcpy(x->left, r->token_need, r->token_n * sizeof(*x->left));
	memset(x->waiting, 0xff, r->token_n * sizeof(*x->waiting));
	for (size_t i = 0; i < r->lock_n; i++)
		x->locks[i] = (struct sim_lock){ .owner = NONE, .head = NONE, .tail = NONE };
	for (size_t i = 0; i < w->free_lock_n; i++)
		x->free_locks[w->free_locks[i]] = 1;
	cpus_init(x->cpus, r, w->no_runqueue ? 0 : w->cpu_n, w->no_runqueue || w->own_cpus, x->of_group);
	x->rates = cpus_rates(x->cpus, x->counts);
	for (size_t i = 0; times && i < r->points.n; i++)
		times[i] = NAN;
	for (size_t i = 0; begins && i < r->strand_n; i++)
		begins[i] = NAN;
	return 0;
}

static size_t point_of(const struct sim *x, uint32_t s)
{
	return x->r->strands[s].first + x->actors[s].at;
}

static int sleep_for(struct sim *x, uint32_t s, double ns, enum doing doing)
{
	x->actors[s].doing = (uint8_t)doing;
	x->actors[s].due = x->now + ns;
	return heap_push(&x->sleepers, x->actors[s].due, s);
}

static int compute(struct sim *x, uint32_t s, double ns)
{
	uint32_t g = x->of_group[x->r->strands[s].group];

	x->actors[s].doing = DOING_COMPUTE;
	x->counts[g]++;
	x->rates = cpus_rates(x->cpus, x->counts);
	return heap_push(&x->computers[g], x->clock[g] + ns, s);
}

static double latency(const struct sim *x, size_t p)
{
	return x->w->no_runqueue ? 0 : (double)x->r->points.lat_ns[p];
}

/* The last signal has come: whoever waits for it goes on after his latency. */
static int token_fire(struct sim *x, uint32_t token)
{
	uint32_t next;

	if (!x->left[token] || --x->left[token])
		return 0;
	for (uint32_t s = x->waiting[token]; s != NONE; s = next) {
		next = x->actors[s].next;
		if (sleep_for(x, s, x->actors[s].begun ? latency(x, point_of(x, s)) : 0, DOING_SLEEP) < 0)
			return -ENOMEM;
	}
	x->waiting[token] = NONE;
	return 0;
}

static void token_wait(struct sim *x, uint32_t s, uint32_t token)
{
	x->actors[s].doing = DOING_WAIT;
	x->actors[s].next = x->waiting[token];
	x->waiting[token] = s;
}

static uint32_t lock_of(const struct sim *x, size_t p)
{
	const struct points *points = &x->r->points;
	uint8_t what = points->what[p];

	return what == POINT_ACQUIRE || what == POINT_RELEASE ? x->r->token_lock[points->object[p]] : points->object[p];
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
	size_t p = point_of(x, s);

	if (x->r->points.what[p] == POINT_ACQUIRE && !x->actors[s].retries)
		return latency(x, p);
	return x->w->no_runqueue ? 0 : (double)x->r->locks[lock].latency_ns;
}

/* The first in the queue is woken; until he is there the lock is anybody's. */
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
	return sleep_for(x, first, lock_latency(x, first, lock), DOING_RETRY);
}

static void point_pass(struct sim *x, uint32_t s)
{
	if (x->times)
		x->times[point_of(x, s)] = x->now;
	x->actors[s].at++;
}

static int either_do(struct sim *x, uint32_t s, size_t p)
{
	const struct long_time *l = point_limit(x->r, p);
	double ns = (double)l->ns * (x->w->times && l->tag < x->r->tag_n ? (double)x->w->times[l->tag] : 1);
	uint32_t token = x->r->points.object[p];

	if (!x->left[token])
		return 1;
	token_wait(x, s, token);
	return sleep_for(x, s, ns, DOING_EITHER);
}

/* Its time is up: the token is nothing to it any more. */
static int either_end(struct sim *x, uint32_t s)
{
	size_t p = point_of(x, s);
	uint32_t *at = &x->waiting[x->r->points.object[p]];
	double late = latency(x, p);

	while (*at != s)
		at = &x->actors[*at].next;
	*at = x->actors[s].next;
	return late > 0 ? sleep_for(x, s, late, DOING_SLEEP) : 1;
}

/* Computing is done before; else as a delay, or as time in the run queue. */
static int long_do(struct sim *x, uint32_t s, size_t p)
{
	const struct long_time *l = &x->r->longs[x->r->points.object[p]];
	double late = x->w->no_runqueue ? 0 : (double)l->lat_ns;

	if (l->what == LONG_CPU)
		return 1;
	if (l->what == LONG_WAIT)
		late = (double)l->ns * (x->w->times && l->tag < x->r->tag_n ? (double)x->w->times[l->tag] : 1);
	return late > 0 ? sleep_for(x, s, late, DOING_SLEEP) : 1;
}

/* What a point says, its computing done. 1: the strand goes on at once, 0: not yet. */
static int point_do(struct sim *x, uint32_t s)
{
	const struct points *points = &x->r->points;
	size_t p = point_of(x, s);
	uint32_t object = points->object[p];
	double ns;

	switch (points->what[p]) {
	case POINT_RUNQ:
		ns = latency(x, p);
		return ns > 0 ? sleep_for(x, s, ns, DOING_SLEEP) : 1;
	case POINT_LONG:
		return long_do(x, s, p);
	case POINT_EITHER:
		return either_do(x, s, p);
	case POINT_DELAY:
		ns = (double)points->wait_ns[p] * (x->w->times && object < x->r->tag_n ? (double)x->w->times[object] : 1);
		return sleep_for(x, s, ns + latency(x, p), DOING_SLEEP);
	case POINT_SIGNAL:
	case POINT_SIGNAL_MORE:
		return token_fire(x, object) < 0 ? -ENOMEM : 1;
	case POINT_WAIT:
	case POINT_GATHER:
		if (!x->left[object])
			return 1;
		token_wait(x, s, object);
		return 0;
	case POINT_ACQUIRE:
	case POINT_TAKE:
		return lock_get(x, s, lock_of(x, p));
	case POINT_RELEASE:
	case POINT_DROP:
		return lock_leave(x, s, lock_of(x, p)) < 0 ? -ENOMEM : 1;
	default:
		return 1;
	}
}

/* Does a point say anything to anybody? Those that don't are no events, unless somebody asks when they were. */
static bool is_inert(const struct sim *x, size_t p)
{
	switch (x->r->points.what[p]) {
	case POINT_NONE:
	case POINT_OP_BEGIN:
	case POINT_OP_END:
		return !x->times;
	case POINT_RUNQ:
		return !x->times && (!x->r->points.lat_ns[p] || x->w->no_runqueue);
	default:
		return false;
	}
}

/* What is computed up to the next point that says something, or the last; the strand is at that one then. */
static double compute_next(struct sim *x, uint32_t s)
{
	const struct points *points = &x->r->points;
	const struct strand *strand = &x->r->strands[s];
	const float *times = x->w->times;
	double ns = 0;

	for (size_t p = point_of(x, s);; p++, x->actors[s].at++) {
		uint32_t tag = points->cpu_tag[p];

		ns += times && tag < x->r->tag_n ? point_cpu_ns(x->r, p) * (double)times[tag] : point_cpu_ns(x->r, p);
		if (!is_inert(x, p) || p + 1 == strand->first + strand->n)
			return ns;
	}
}

/* From the beginning of a point until there is something to wait for, or the end. */
static int strand_go(struct sim *x, uint32_t s)
{
	const struct strand *strand = &x->r->strands[s];
	int e;

	for (;;) {
		double ns;

		if (x->actors[s].at >= strand->n) {
			x->actors[s].doing = DOING_NOTHING;
			if (strand->sink) {
				x->sinks_left--;
				x->sink_end = x->now > x->sink_end ? x->now : x->sink_end;
			}
			return 0;
		}
		ns = compute_next(x, s);
		if (ns > 0)
			return compute(x, s, ns);
		e = point_do(x, s);
		if (e <= 0)
			return e;
		point_pass(x, s);
	}
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
		e = point_do(x, s);
	else if (a->doing == DOING_EITHER)
		e = either_end(x, s);
	else if (a->doing == DOING_RETRY)
		e = lock_get(x, s, lock_of(x, point_of(x, s)));
	if (e <= 0)
		return e;
	point_pass(x, s);
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
		at = x->now + (x->computers[g].v[0].key - x->clock[g]) / x->rates[g];
		if (at < first) {
			first = at;
			from = g;
		}
	}
	while (x->sleepers.n && x->sleepers.v[0].key <= first) {
		double at = x->sleepers.v[0].key;
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
	if (x->clock[from] < x->computers[from].v[0].key)
		x->clock[from] = x->computers[from].v[0].key;
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
		object = lock_of(x, point_of(x, s));
		return lock_leave(x, x->locks[object].owner, object);
	}
	object = a->begun ? x->r->points.object[point_of(x, s)] : x->r->strands[s].token;
	x->left[object] = 1;
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
		if (strand->token != NONE && x->left[strand->token])
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
