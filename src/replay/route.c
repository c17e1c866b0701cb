/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The critical path as people read it: stretches of time, each with what its
 * thread did. They are laid one behind the other, so they sum to the whole.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
	const double *times;
	uint32_t *class_of_op_key;
	struct op_cursor *cursors; /* by strand */
	struct replay_stretch *v;
	size_t n, cap;
	int64_t cursor_ns; /* up to here stretches lie */
	double cursor;	   /* the same, not rounded */
};

static void router_done(struct router *x)
{
	for (size_t s = 0; x->cursors && s < x->r->strand_n; s++)
		free(x->cursors[s].ops);
	free(x->cursors);
	free(x->class_of_op_key);
	free(x->v);
}

static int router_init(struct router *x, const struct replay *r, const double *times)
{
	*x = (struct router){ .r = r, .times = times, .cursor_ns = r->facts.begin_ns, .cursor = (double)r->facts.begin_ns };
	x->class_of_op_key = malloc((r->op_key_n + 1) * sizeof(*x->class_of_op_key));
	x->cursors = calloc(r->strand_n + 1, sizeof(*x->cursors));
	if (!x->class_of_op_key || !x->cursors)
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

/* A stretch from where the last one ended; ends are rounded, so nothing is lost between them. */
static int stretch_add(struct router *x, struct replay_stretch *s, double ns)
{
	x->cursor += ns;
	s->start_ns = x->cursor_ns;
	s->end_ns = llround(x->cursor);
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
	return 0;
}

static bool is_explained(const struct model_wait *w)
{
	return w->outside_waker || w->outcome == WAIT_TIMEOUT || (w->ctx != WAKER_UNKNOWN && w->ctx != WAKER_NONE);
}

static void tag_take(const struct router *x, uint32_t tag, struct replay_stretch *s)
{
	const struct tag *t = tag < x->r->tag_n ? &x->r->tags[tag] : NULL;

	s->class = t ? x->class_of_op_key[t->op_key] : NONE;
	s->lock = t && t->lock != NONE ? x->r->locks[t->lock].class : NONE;
}

/* What happens up to a point and at it; token_only: only what follows the token that it waited for. */
static int point_add(struct router *x, uint32_t s, size_t i, struct replay_stretch *next, bool token_only)
{
	const struct points *p = &x->r->points;
	bool has_wait = p->what[i] == POINT_DELAY || p->what[i] == POINT_WAIT || p->what[i] == POINT_ACQUIRE ||
			p->what[i] == POINT_RUNQ;
	int e = op_at(x, s, i, &next->op);

	next->thread = x->r->strands[s].thread;
	next->wait = has_wait ? p->ref[i] : 0;
	tag_take(x, p->cpu_tag[i], next);
	next->state = REPLAY_ONCPU;
	if (e == 0 && !token_only) {
		next->wait = 0;
		e = stretch_add(x, next, (double)p->cpu_ns[i]);
		next->jumped = next->jumped && !p->cpu_ns[i];
		next->wait = has_wait ? p->ref[i] : 0;
	}
	if (e == 0 && p->what[i] == POINT_DELAY) {
		next->state = is_explained(&x->r->m->waits[p->ref[i]]) ? REPLAY_DELAYED : REPLAY_BLOCKED;
		e = stretch_add(x, next, (double)p->wait_ns[i]);
		next->jumped = next->jumped && !p->wait_ns[i];
	}
	next->state = REPLAY_RUNNABLE;
	if (e == 0)
		e = stretch_add(x, next, (double)p->run_ns[i]);
	next->jumped = next->jumped && !p->run_ns[i];
	return e;
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

int replay_path(const struct replay *r, struct replay_stretch **ret, size_t *ret_n)
{
	static const struct weights unchanged;
	_cleanup_(e1_detail_done) struct e1_detail d = { 0 };
	_cleanup_(path_done) struct path path = { 0 };
	_cleanup_(router_done) struct router x = { .r = r };
	struct replay_stretch gap = { .state = REPLAY_GAP, .class = NONE, .lock = NONE };
	int e = e1_detail(r, &unchanged, E1_TIMES | E1_SOURCES, &d);

	if (e == 0)
		e = path_find(r, &unchanged, &d, &path);
	if (e == 0)
		e = router_init(&x, r, d.times);
	if (e == 0)
		e = stretch_add(&x, &gap, (double)(path.begin_ns - r->facts.begin_ns));
	for (size_t i = 0; i < path.n && e == 0; i++)
		e = leg_add(&x, &path.legs[i]);
	if (e < 0)
		return e;
	*ret = TAKE_PTR(x.v);
	*ret_n = x.n;
	return 0;
}
