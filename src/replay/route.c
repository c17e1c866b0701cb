/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The critical path as people read it: stretches of time, each with what its
 * thread did, and where it was in the recording. They are laid one behind the
 * other up to its end, so they sum to the whole, also where the replay makes a
 * little more or less of it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/draft.h"
#include "replay/path.h"
#include "util/cleanup.h"
#include "util/vec.h"

/* The ops that a strand is in at a point; points are asked for in order. */
struct op_cursor {
	size_t at; /* points before it are done */
	uint32_t *ops;
	size_t n, cap;
};

struct router {
	const struct replay *r;
	int64_t *ends; /* by point, behind it, as recorded */
	uint32_t *class_of_op_key;
	struct op_cursor *cursors; /* by strand */
	struct replay_stretch *v;
	size_t n, cap;
	int64_t cursor_ns; /* up to here stretches lie */
};

static void router_done(struct router *x)
{
	for (size_t s = 0; x->cursors && s < x->r->strand_n; s++)
		free(x->cursors[s].ops);
	free(x->cursors);
	free(x->class_of_op_key);
	free(x->ends);
	free(x->v);
}

/* When everything was, in the recording. Waits tell it, so an order that the clocks contradict does no harm. */
struct recorded {
	const struct replay *r;
	int64_t *strands, *tokens; /* tokens: by slot */
};

static void recorded_done(struct recorded *x)
{
	free(x->strands);
	free(x->tokens);
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* What is claimed may be beyond all time. */
static int64_t after(int64_t t, int64_t ns)
{
	int64_t sum;

	return __builtin_add_overflow(t, ns, &sum) ? INT64_MAX : sum;
}

static int64_t ready_ns(const struct replay *r, size_t i)
{
	const struct long_time *l = point_long(r, i, LONG_RUN);

	return l ? l->ns : r->points.run_ns[i];
}

/* As recorded. */
static int64_t delay_ns(const struct replay *r, size_t i)
{
	const struct long_time *l = r->points.what[i] == POINT_EITHER ? point_limit(r, i) : point_long(r, i, LONG_WAIT);

	return l ? l->ns : r->points.what[i] == POINT_DELAY ? r->points.wait_ns[i] : 0;
}

static int64_t recorded_pass(struct recorded *x, size_t i, int64_t t)
{
	const struct points *p = &x->r->points;
	const struct long_time *l = point_long(x->r, i, LONG_CPU);
	int64_t *token = p->wait_ns[i] != NONE ? &x->tokens[p->wait_ns[i]] : NULL;

	t = after(t, l ? l->ns : p->cpu_ns[i]);
	/* Most points; behind them nobody waits for anything. */
	if (p->what[i] == POINT_OP_BEGIN || p->what[i] == POINT_OP_END)
		return t;
	t = after(t, delay_ns(x->r, i));
	switch (p->what[i]) {
	case POINT_SIGNAL:
	case POINT_RELEASE:
		if (token)
			*token = t;
		break;
	case POINT_SIGNAL_MORE:
		if (token)
			*token = larger(*token, t);
		break;
	case POINT_WAIT:
	case POINT_ACQUIRE:
		if (p->ref[i])
			t = larger(t, wait_wake_ns(&x->r->m->waits[p->ref[i]]));
		else if (token)
			t = larger(t, *token);
		break;
	default:
		break;
	}
	return after(t, ready_ns(x->r, i));
}

/* What a point will need of its wait; inlined like model_wait_prefetch(). */
static inline __attribute__((always_inline)) void ahead_prefetch(const struct replay *r, size_t i)
{
	if (i < r->points.n && (r->points.what[i] == POINT_WAIT || r->points.what[i] == POINT_ACQUIRE))
		__builtin_prefetch(&r->m->waits[r->points.ref[i]].end_ns);
}

static int recorded_times(const struct replay *r, int64_t *ends)
{
	_cleanup_(recorded_done) struct recorded x = { .r = r };

	x.strands = calloc(r->strand_n + 1, sizeof(*x.strands));
	x.tokens = calloc(r->slot_n + 1, sizeof(*x.tokens));
	if (!x.strands || !x.tokens)
		return -ENOMEM;
	for (size_t k = 0; k < r->run_n; k++) {
		const struct run *run = &r->runs[k];
		const struct strand *s = &r->strands[run->strand];
		int64_t t = x.strands[run->strand];

		if (!run->from)
			t = s->token == NONE || s->slot == NONE ? s->begin_ns : x.tokens[s->slot];
		for (size_t i = s->first + run->from; i < s->first + run->from + run->n; i++) {
			ahead_prefetch(r, i + 8);
			t = recorded_pass(&x, i, t);
			ends[i] = t;
		}
		x.strands[run->strand] = t;
	}
	return 0;
}

static int router_init(struct router *x, const struct replay *r)
{
	*x = (struct router){ .r = r, .cursor_ns = r->facts.begin_ns };
	x->class_of_op_key = malloc((r->op_key_n + 1) * sizeof(*x->class_of_op_key));
	x->cursors = calloc(r->strand_n + 1, sizeof(*x->cursors));
	x->ends = malloc((r->points.n + 1) * sizeof(*x->ends));
	if (!x->class_of_op_key || !x->cursors || !x->ends || recorded_times(r, x->ends) < 0)
		return -ENOMEM;
	memset(x->class_of_op_key, 0xff, (r->op_key_n + 1) * sizeof(*x->class_of_op_key));
	for (size_t i = 0; i < r->class_n; i++) {
		const struct replay_class *c = &r->classes[i].c;

		for (size_t k = 0; c->kind == REPLAY_CLASS_OP && k < r->op_key_n; k++) {
			if (r->op_keys[k].kind == c->op_kind && r->op_keys[k].class_id == c->name_id)
				x->class_of_op_key[k] = (uint32_t)i;
		}
	}
	return 0;
}

/* Innermost op before a point. 0, -ENOMEM. */
static int op_at(struct router *x, uint32_t s, size_t point, uint32_t *ret)
{
	const struct points *p = &x->r->points;
	struct op_cursor *c = &x->cursors[s];

	if (!c->at)
		c->at = x->r->strands[s].first;
	for (; c->at < point; c->at++) {
		if (p->what[c->at] == POINT_OP_BEGIN) {
			if (VEC_RESERVE(c->ops, c->cap, c->n + 1) < 0)
				return -ENOMEM;
			c->ops[c->n++] = p->ref[c->at];
		} else if (p->what[c->at] == POINT_OP_END) {
			for (size_t i = c->n; i-- > 0;) {
				if (c->ops[i] != p->ref[c->at])
					continue;
				memmove(&c->ops[i], &c->ops[i + 1], (c->n - i - 1) * sizeof(*c->ops));
				c->n--;
				break;
			}
		}
	}
	*ret = c->n ? c->ops[c->n - 1] : x->r->strands[s].op;
	return 0;
}

static bool is_same(const struct replay_stretch *a, const struct replay_stretch *b)
{
	return a->thread == b->thread && a->op == b->op && a->state == b->state && a->wait == b->wait &&
	       a->class == b->class && a->lock == b->lock;
}

/* A stretch from where the last one ended; if there is one, what follows has not jumped. */
static int stretch_add(struct router *x, struct replay_stretch *s, int64_t to_ns)
{
	s->start_ns = x->cursor_ns;
	s->end_ns = to_ns < x->r->facts.end_ns ? to_ns : x->r->facts.end_ns;
	if (s->end_ns <= s->start_ns)
		return 0;
	x->cursor_ns = s->end_ns;
	if (x->n && !s->jumped && is_same(&x->v[x->n - 1], s)) {
		x->v[x->n - 1].end_ns = s->end_ns;
		return 0;
	}
	if (VEC_RESERVE(x->v, x->cap, x->n + 1) < 0)
		return -ENOMEM;
	x->v[x->n++] = *s;
	s->jumped = false;
	return 0;
}

static void tag_take(const struct router *x, uint32_t tag, struct replay_stretch *s)
{
	const struct tag *t = tag < x->r->tag_n ? &x->r->tags[tag] : NULL;

	s->class = t ? x->class_of_op_key[t->op_key] : NONE;
	s->lock = t && t->lock != NONE ? x->r->locks[t->lock].class : NONE;
}

/* When what is computed before a point was done, in the recording. */
static int64_t reached_ns(const struct router *x, uint32_t s, size_t i)
{
	const struct points *p = &x->r->points;

	switch (p->what[i]) {
	case POINT_WAIT:
	case POINT_ACQUIRE:
		return (i > x->r->strands[s].first ? x->ends[i - 1] : x->cursor_ns) + p->cpu_ns[i];
	default:
		return x->ends[i] - ready_ns(x->r, i) - delay_ns(x->r, i);
	}
}

static enum replay_state delay_state(const struct replay *r, size_t i, bool delayed)
{
	delayed = delayed && wait_is_explained(r->m, &r->m->waits[r->points.ref[i]]);
	return delayed || r->points.what[i] == POINT_EITHER ? REPLAY_DELAYED : REPLAY_BLOCKED;
}

/* What happens up to a point and at it; token_only: only what follows the token that it waited for. */
static int point_add(struct router *x, uint32_t s, size_t i, struct replay_stretch *next, bool token_only)
{
	const struct points *p = &x->r->points;
	bool delayed = p->what[i] == POINT_DELAY || point_long(x->r, i, LONG_WAIT);
	bool has_wait = p->what[i] == POINT_DELAY || p->what[i] == POINT_WAIT || p->what[i] == POINT_ACQUIRE ||
			p->what[i] == POINT_RUNQ || p->what[i] == POINT_LONG || p->what[i] == POINT_EITHER;
	int e = op_at(x, s, i, &next->op);

	next->thread = x->r->strands[s].thread;
	tag_take(x, p->cpu_tag[i], next);
	/* Between ops that only follow each other it is nobody's. */
	if (x->r->strands[s].chain && !next->op)
		next->class = NONE;
	if (e == 0 && !token_only) {
		next->wait = 0;
		next->state = REPLAY_ONCPU;
		e = stretch_add(x, next, reached_ns(x, s, i));
	}
	next->wait = has_wait ? p->ref[i] : 0;
	/* A wait that mattered in the recording, and by a hair not in the replay, is none that anybody explains. */
	if (e == 0 && !token_only) {
		next->state = delayed && !p->ref[i] ? REPLAY_GAP : delay_state(x->r, i, delayed);
		e = stretch_add(x, next, x->ends[i] - ready_ns(x->r, i));
	}
	next->state = REPLAY_RUNNABLE;
	return e == 0 ? stretch_add(x, next, x->ends[i]) : e;
}

static int leg_add(struct router *x, const struct path_leg *leg)
{
	const struct points *p = &x->r->points;
	struct replay_stretch next = { .jumped = leg->jumped };
	bool finite = isfinite(leg->slack);
	int e = 0;

	next.slack_ns = leg->jumped && finite ? llround(leg->slack) : 0;
	next.from_wait = leg->jumped && !leg->whole ? p->ref[leg->first] : 0;
	for (size_t i = leg->first; i <= leg->last && e == 0; i++) {
		e = point_add(x, leg->strand, i, &next, i == leg->first && !leg->whole);
		if (!next.jumped) {
			next.slack_ns = 0;
			next.from_wait = 0;
		}
	}
	return e;
}

/* Whose end is the end in the recording; of equals the first. */
static uint32_t last_strand(const struct router *x)
{
	const struct replay *r = x->r;
	uint32_t last = NONE;
	int64_t end_ns = INT64_MIN;

	for (size_t s = 0; s < r->strand_n; s++) {
		size_t n = r->strands[s].first + r->strands[s].n;

		if (r->strands[s].sink && r->strands[s].n && x->ends[n - 1] > end_ns) {
			end_ns = x->ends[n - 1];
			last = (uint32_t)s;
		}
	}
	return last;
}

static int route(struct router *x, const struct path *path)
{
	struct replay_stretch gap = { .state = REPLAY_GAP, .class = NONE, .lock = NONE };
	int e = stretch_add(x, &gap, path->begin_ns);

	for (size_t i = 0; i < path->n && e == 0; i++)
		e = leg_add(x, &path->legs[i]);
	return e;
}

int replay_path(const struct replay *r, struct replay_stretch **ret, size_t *ret_n)
{
	static const struct weights unchanged;
	_cleanup_(e1_detail_done) struct e1_detail d = { 0 };
	_cleanup_(path_done) struct path path = { 0 };
	_cleanup_(router_done) struct router x = { .r = r };
	int e = router_init(&x, r);
	uint32_t last = e == 0 ? last_strand(&x) : NONE;

	if (e == 0 && r->path && r->path_last == last) {
		e = route(&x, r->path);
	} else if (e == 0) {
		e = e1_detail(r, &unchanged, E1_TIMES | E1_SOURCES, &d);
		d.last = last;
		if (e == 0)
			e = path_find(r, &unchanged, &d, &path);
		if (e == 0)
			e = route(&x, &path);
	}
	if (e < 0)
		return e;
	*ret = TAKE_PTR(x.v);
	*ret_n = x.n;
	return 0;
}
