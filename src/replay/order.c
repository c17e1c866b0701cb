/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * An order in which everything can be computed in one go: each strand as far as
 * it gets, then whoever it has made go on. No recursion and no sorting: each
 * point is passed once, each token once.
 *
 * If all that are left wait for each other, there is a circle of them. One in it
 * loses its dependency, and its wait keeps its length; nobody outside does, who
 * is held up and will go on. First one that was given up, which needs nobody.
 * Else the recording contradicts itself, a clock that is off, a lost event, a
 * damaged dump: whose wait was over first got on without the others.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/draft.h"
#include "util/cleanup.h"
#include "util/vec.h"

struct orderer {
	struct draft *d;
	uint32_t *left;	   /* by token: signals that are still to come */
	uint32_t *waiting; /* by token: first strand that waits, NONE */
	uint32_t *next;	   /* by strand: the next that waits for the same */
	uint32_t *at;	   /* by strand: its next point */
	uint8_t *parked;
	uint32_t *ready, *queue; /* a stack; those parked, oldest first, also ones that went on since */
	size_t ready_n, queue_n, queue_cap, queue_at;
	/* Who signals what; made when it is first needed. signal_first: by token, token_n + 1. */
	size_t *signal_first;
	struct signaller *signals;
	uint32_t *seen; /* by strand: the walk in which it was met last */
	uint32_t walk_n;
	size_t steps_left; /* of all walks */
};

struct signaller {
	uint32_t strand, at; /* of its points */
};

/* Longer walks than so many steps a strand in all, which only odd recordings need, would take more than linear time. */
#define STEPS_PER_STRAND 16

static void orderer_done(struct orderer *o)
{
	free(o->left);
	free(o->waiting);
	free(o->next);
	free(o->at);
	free(o->parked);
	free(o->ready);
	free(o->queue);
	free(o->signal_first);
	free(o->signals);
	free(o->seen);
}

static int orderer_init(struct orderer *o, struct draft *d)
{
	const struct replay *r = d->r;
	size_t n = r->strand_n + 1, tokens = r->token_n + 1;

	*o = (struct orderer){ .d = d };
	o->left = malloc(tokens * sizeof(*o->left));
	o->waiting = malloc(tokens * sizeof(*o->waiting));
	o->next = malloc(n * sizeof(*o->next));
	o->at = calloc(n, sizeof(*o->at));
	o->parked = calloc(n, 1);
	o->ready = malloc(n * sizeof(*o->ready));
	if (!o->left || !o->waiting || !o->next || !o->at || !o->parked || !o->ready)
		return -ENOMEM;
	if (r->token_n)
		memcpy(o->left, r->token_need, r->token_n * sizeof(*o->left));
	memset(o->waiting, 0xff, tokens * sizeof(*o->waiting));
	return 0;
}

static int park(struct orderer *o, uint32_t s, uint32_t token)
{
	if (VEC_RESERVE(o->queue, o->queue_cap, o->queue_n + 1) < 0)
		return -ENOMEM;
	o->queue[o->queue_n++] = s;
	o->next[s] = o->waiting[token];
	o->waiting[token] = s;
	o->parked[s] = 1;
	return 0;
}

static void signal_come(struct orderer *o, uint32_t token)
{
	if (!o->left[token] || --o->left[token])
		return;
	for (uint32_t s = o->waiting[token]; s != NONE; s = o->next[s]) {
		o->parked[s] = 0;
		o->ready[o->ready_n++] = s;
	}
	o->waiting[token] = NONE;
}

static int run_add(struct replay *r, uint32_t s, uint32_t from, uint32_t to)
{
	if (to == from)
		return 0;
	if (VEC_RESERVE(r->runs, r->run_cap, r->run_n + 1) < 0)
		return -ENOMEM;
	r->runs[r->run_n++] = (struct run){ .strand = s, .from = from, .n = to - from };
	return 0;
}

/* As far as the strand gets. */
static int strand_go(struct orderer *o, uint32_t s)
{
	struct replay *r = o->d->r;
	const struct strand *x = &r->strands[s];
	uint32_t from = o->at[s], i = from;

	for (; i < x->n; i++) {
		size_t p = x->first + i;

		switch (r->points.what[p]) {
		case POINT_SIGNAL:
		case POINT_RELEASE:
			signal_come(o, r->points.object[p]);
			break;
		case POINT_WAIT:
		case POINT_ACQUIRE:
		case POINT_EITHER:
			if (!o->left[r->points.object[p]])
				break;
			o->at[s] = i;
			if (run_add(r, s, from, i) < 0)
				return -ENOMEM;
			return park(o, s, r->points.object[p]);
		default:
			break;
		}
	}
	o->at[s] = i;
	return run_add(r, s, from, i);
}

static bool is_unstarted(const struct orderer *o, uint32_t s)
{
	uint32_t token = o->d->r->strands[s].token;

	return !o->at[s] && token != NONE && o->left[token];
}

static bool is_given_up(const struct orderer *o, uint32_t s)
{
	const struct replay *r = o->d->r;

	return !is_unstarted(o, s) && r->points.what[r->strands[s].first + o->at[s]] == POINT_EITHER;
}

/* The wait of the dump that a strand is parked at, or NULL: at its begin, or at an end that is only taken to be needed. */
static const struct model_wait *wait_of(const struct orderer *o, uint32_t s)
{
	const struct replay *r = o->d->r;
	uint32_t wait = is_unstarted(o, s) ? 0 : r->points.ref[r->strands[s].first + o->at[s]];

	return wait ? &o->d->m->waits[wait] : NULL;
}

/* What the recording says of how long: of a strand that did not begin how long it was not there. */
static int64_t parked_ns(const struct orderer *o, uint32_t s)
{
	const struct model_wait *w = wait_of(o, s);
	const struct replay *r = o->d->r;

	if (w)
		return wait_wake_ns(w) - w->start_ns;
	return is_unstarted(o, s) ? o->d->m->threads[r->strands[s].thread].begin_ns - r->facts.begin_ns : 0;
}

/* What a strand is parked at waits for nobody any more. One that a wait of the dump stands behind keeps its length. */
static void point_free(struct orderer *o, uint32_t s)
{
	struct replay *r = o->d->r;
	size_t p = r->strands[s].first + o->at[s];
	const struct model_wait *w = &o->d->m->waits[r->points.ref[p]];
	int64_t ns = wait_wake_ns(w) - w->start_ns;

	if (r->points.what[p] == POINT_EITHER) {
		r->points.what[p] = POINT_LONG;
		r->points.object[p] = r->points.object[p - 1];
		r->longs[r->points.object[p]].what = LONG_WAIT;
		return;
	}
	r->points.what[p] = POINT_NONE;
	if (r->points.ref[p]) {
		r->points.what[p] = POINT_DELAY;
		r->points.wait_ns[p] = ns < INT32_MAX ? (uint32_t)ns : INT32_MAX;
		r->points.object[p] = r->points.cpu_tag[p];
	}
}

/* All that wait with it for the same lose that dependency too. */
static void dependency_drop(struct orderer *o, uint32_t s)
{
	struct replay *r = o->d->r;
	const struct strand *x = &r->strands[s];
	uint32_t token = is_unstarted(o, s) ? x->token : r->points.object[x->first + o->at[s]];

	for (uint32_t k = o->waiting[token]; k != NONE; k = o->next[k]) {
		if (!is_given_up(o, k)) {
			r->facts.broken_n++;
			r->facts.broken_ns += (uint64_t)parked_ns(o, k);
		}
		if (is_unstarted(o, k))
			r->strands[k].token = NONE;
		else
			point_free(o, k);
		o->parked[k] = 0;
		o->ready[o->ready_n++] = k;
	}
	o->waiting[token] = NONE;
	o->left[token] = 0;
}

static bool is_signal(const struct replay *r, size_t i)
{
	return r->points.what[i] == POINT_SIGNAL || r->points.what[i] == POINT_RELEASE;
}

static int signals_list(struct orderer *o)
{
	const struct replay *r = o->d->r;
	_cleanup_(freep) size_t *next = calloc(r->token_n + 1, sizeof(*next));

	o->signal_first = calloc(r->token_n + 2, sizeof(*o->signal_first));
	o->seen = calloc(r->strand_n + 1, sizeof(*o->seen));
	if (!next || !o->signal_first || !o->seen)
		return -ENOMEM;
	for (size_t i = 0; i < r->points.n; i++) {
		if (is_signal(r, i))
			o->signal_first[r->points.object[i] + 1]++;
	}
	for (size_t t = 0; t < r->token_n; t++) {
		o->signal_first[t + 1] += o->signal_first[t];
		next[t] = o->signal_first[t];
	}
	o->signals = malloc((o->signal_first[r->token_n] + 1) * sizeof(*o->signals));
	if (!o->signals)
		return -ENOMEM;
	for (uint32_t s = 0; s < r->strand_n; s++) {
		for (uint32_t k = 0; k < r->strands[s].n; k++) {
			size_t i = r->strands[s].first + k;

			if (is_signal(r, i))
				o->signals[next[r->points.object[i]]++] = (struct signaller){ s, k };
		}
	}
	o->steps_left = STEPS_PER_STRAND * (r->strand_n + 1);
	return 0;
}

/* A strand that a parked one waits for: it has a signal to give yet. NONE: there is none. */
static uint32_t awaited(const struct orderer *o, uint32_t s)
{
	const struct replay *r = o->d->r;
	uint32_t token = is_unstarted(o, s) ? r->strands[s].token : r->points.object[r->strands[s].first + o->at[s]];

	for (size_t i = o->signal_first[token]; i < o->signal_first[token + 1]; i++) {
		if (o->signals[i].at >= o->at[o->signals[i].strand])
			return o->signals[i].strand;
	}
	return NONE;
}

/* Of two in a circle the one that should go on without whom it waits for. */
static bool goes_before(const struct orderer *o, uint32_t s, uint32_t other)
{
	const struct model_wait *w = wait_of(o, s), *v = wait_of(o, other);
	bool given_up = is_given_up(o, s), guess = !w && !is_unstarted(o, s);
	const struct replay *r = o->d->r;
	int64_t at_ns, other_ns;

	if (given_up != is_given_up(o, other))
		return given_up;
	if (guess != (!v && !is_unstarted(o, other)))
		return guess;
	at_ns = w ? wait_wake_ns(w) : o->d->m->threads[r->strands[s].thread].begin_ns;
	other_ns = v ? wait_wake_ns(v) : o->d->m->threads[r->strands[other].thread].begin_ns;
	return at_ns < other_ns;
}

/*
 * Everybody waits for somebody, so from anyone the way leads into a circle, or to one whom nobody will ever wake. Who of
 * them is to go on; if it would take too long to find, who was asked about.
 */
static uint32_t circle_pick(struct orderer *o, uint32_t from)
{
	uint32_t s = from, best;

	o->walk_n++;
	while (o->seen[s] != o->walk_n) {
		uint32_t to = awaited(o, s);

		if (!o->steps_left)
			return from;
		o->steps_left--;
		o->seen[s] = o->walk_n;
		if (to == NONE)
			return s;
		s = to;
	}
	from = best = s;
	while ((s = awaited(o, s)) != from)
		best = goes_before(o, s, best) ? s : best;
	return best;
}

/* Where nobody gets on, one does. *ret: did one? 0, -ENOMEM. */
static int circle_break(struct orderer *o, bool *ret)
{
	*ret = false;
	while (o->queue_at < o->queue_n && !o->parked[o->queue[o->queue_at]])
		o->queue_at++;
	if (o->queue_at == o->queue_n)
		return 0;
	if (!o->signal_first && signals_list(o) < 0)
		return -ENOMEM;
	dependency_drop(o, circle_pick(o, o->queue[o->queue_at]));
	*ret = true;
	return 0;
}

/*
 * In the order of runs a token matters from its first signal to its last wait:
 * meanwhile it has a slot, which others have before and behind. So what a pass
 * has to remember fits a cache, however many tokens there are.
 *
 * Where a dependency was dropped, a wait comes before signals of its token: to
 * nobody does that token matter any more.
 */
struct slots {
	uint32_t *of_token, *waits_left, *signals_left;
	uint32_t *free;
	size_t free_n, free_cap;
};

static void slots_done(struct slots *s)
{
	free(s->of_token);
	free(s->waits_left);
	free(s->signals_left);
	free(s->free);
}

static int slots_init(struct slots *s, const struct replay *r)
{
	s->of_token = malloc((r->token_n + 1) * sizeof(*s->of_token));
	s->waits_left = calloc(r->token_n + 1, sizeof(*s->waits_left));
	s->signals_left = calloc(r->token_n + 1, sizeof(*s->signals_left));
	if (!s->of_token || !s->waits_left || !s->signals_left)
		return -ENOMEM;
	if (r->token_n)
		memcpy(s->signals_left, r->token_need, r->token_n * sizeof(*s->signals_left));
	memset(s->of_token, 0xff, (r->token_n + 1) * sizeof(*s->of_token));
	for (size_t i = 0; i < r->points.n; i++) {
		if (r->points.what[i] == POINT_WAIT || r->points.what[i] == POINT_ACQUIRE || r->points.what[i] == POINT_EITHER)
			s->waits_left[r->points.object[i]]++;
	}
	for (size_t i = 0; i < r->strand_n; i++) {
		if (r->strands[i].token != NONE)
			s->waits_left[r->strands[i].token]++;
	}
	return 0;
}

static void slot_take(struct slots *s, struct replay *r, uint32_t token)
{
	if (!s->waits_left[token])
		return;
	if (s->free_n)
		s->of_token[token] = s->free[--s->free_n];
	else
		s->of_token[token] = (uint32_t)r->slot_n++;
}

/* A wait for it: the slot, NONE if there is nothing to wait for. */
static int slot_leave(struct slots *s, uint32_t token, uint32_t *ret)
{
	bool early = s->signals_left[token];

	*ret = early ? NONE : s->of_token[token];
	if (s->waits_left[token])
		s->waits_left[token] = early ? 0 : s->waits_left[token] - 1;
	if (s->waits_left[token] || s->of_token[token] == NONE)
		return 0;
	if (VEC_RESERVE(s->free, s->free_cap, s->free_n + 1) < 0)
		return -ENOMEM;
	s->free[s->free_n++] = s->of_token[token];
	s->of_token[token] = NONE;
	return 0;
}

static int point_slot(struct slots *s, struct replay *r, size_t i)
{
	struct points *p = &r->points;
	uint32_t token = p->object[i];

	switch (p->what[i]) {
	case POINT_SIGNAL:
	case POINT_RELEASE:
		if (s->signals_left[token])
			s->signals_left[token]--;
		if (s->of_token[token] == NONE)
			slot_take(s, r, token);
		else if (p->what[i] == POINT_SIGNAL)
			p->what[i] = POINT_SIGNAL_MORE;
		p->wait_ns[i] = s->of_token[token];
		return 0;
	case POINT_WAIT:
	case POINT_ACQUIRE:
	case POINT_EITHER:
		return slot_leave(s, token, &p->wait_ns[i]);
	default:
		return 0;
	}
}

static int slots_assign(struct replay *r)
{
	_cleanup_(slots_done) struct slots s = { 0 };

	if (slots_init(&s, r) < 0)
		return -ENOMEM;
	for (size_t k = 0; k < r->run_n; k++) {
		struct strand *x = &r->strands[r->runs[k].strand];
		size_t from = x->first + r->runs[k].from;

		if (!r->runs[k].from) {
			x->slot = NONE;
			if (x->token != NONE && slot_leave(&s, x->token, &x->slot) < 0)
				return -ENOMEM;
		}
		for (size_t i = from; i < from + r->runs[k].n; i++) {
			if (point_slot(&s, r, i) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

int draft_order(struct draft *d)
{
	_cleanup_(orderer_done) struct orderer o;
	struct replay *r = d->r;
	bool freed;

	if (orderer_init(&o, d) < 0)
		return -ENOMEM;
	/* Pushed backwards: the first is the first to go. */
	for (size_t s = r->strand_n; s-- > 0;) {
		if (r->strands[s].token == NONE || !o.left[r->strands[s].token])
			o.ready[o.ready_n++] = (uint32_t)s;
		else if (park(&o, (uint32_t)s, r->strands[s].token) < 0)
			return -ENOMEM;
	}
	do {
		while (o.ready_n) {
			if (strand_go(&o, o.ready[--o.ready_n]) < 0)
				return -ENOMEM;
		}
		if (circle_break(&o, &freed) < 0)
			return -ENOMEM;
	} while (freed);
	return slots_assign(r);
}
