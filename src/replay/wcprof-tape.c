/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The rules ask for the end of an op, which asks for those that it waited for,
 * and so on: a stack of ops that are being worked through, on the heap, since a
 * chain of them may be as long as the dump.
 *
 * An op whose end is asked for before it was begun is begun by its parent, so
 * that is worked through first. If that is under way already, the op keeps its
 * distance from the parent's start.
 */
#include "replay/wcprof-tape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/vec.h"

/* A target that ended so much later than the wait did end it. */
#define TARGET_SLACK_NS 1000000
/* Delays of one op between two other steps, of so many tags at once. */
enum { DELAYS_MAX = 16 };

enum stage { ASK, ASKED, GO, ACT };
enum { BEGUN = 1, UNDER_WAY = 2, DONE = 4 };

struct frame {
	uint32_t op;
	uint32_t join; /* its end is waited for, 0: none */
	uint8_t stage;
	bool circle; /* that op can't end before this one does */
	uint32_t child, end, wait; /* the next of each */
	int64_t covered_ns; /* up to here children, waits and self time lie without a gap */
};

struct walker {
	const struct wcprof_graph *g;
	struct wcprof_tape t;
	struct frame *frames;
	size_t frame_n, frame_cap;
	uint8_t *state; /* by op: bits */
	uint8_t *keep;	/* by op: its start is asked for */
	uint32_t inside; /* the op that the last steps happen in */
	int64_t self_ns, fixed_ns; /* of it, not yet steps */
	struct {
		int64_t ns;
		uint32_t ref;
		uint8_t what;
	} delays[DELAYS_MAX];
	size_t delay_n;
};

void wcprof_tape_done(struct wcprof_tape *t)
{
	free(t->v);
	free(t->fars);
	*t = (struct wcprof_tape){ 0 };
}

static void walker_done(struct walker *x)
{
	wcprof_tape_done(&x->t);
	free(x->frames);
	free(x->state);
	free(x->keep);
}

static int step_put(struct wcprof_tape *t, enum wcprof_step_what what, uint32_t ref, int64_t ns)
{
	bool far = ns < 0 || ns > UINT32_MAX;

	if (VEC_RESERVE(t->v, t->cap, t->n + 1) < 0 || (far && VEC_RESERVE(t->fars, t->far_cap, t->far_n + 1) < 0))
		return -ENOMEM;
	t->v[t->n++] = (struct wcprof_step){ .ns = far ? (uint32_t)t->far_n : (uint32_t)ns, .ref = ref & WCPROF_REF_NONE,
					     .what = what & 15u, .far = far };
	if (far)
		t->fars[t->far_n++] = ns;
	return 0;
}

/* Times of the present op that are no steps yet. */
static int times_put(struct walker *x)
{
	uint32_t key = x->g->nodes[x->inside].self_key;
	int e = 0;

	if (x->self_ns)
		e = step_put(&x->t, key == NONE ? STEP_FIXED : STEP_SELF, key, x->self_ns);
	if (e == 0 && x->fixed_ns)
		e = step_put(&x->t, STEP_FIXED, 0, x->fixed_ns);
	for (size_t i = 0; i < x->delay_n && e == 0; i++)
		e = step_put(&x->t, (enum wcprof_step_what)x->delays[i].what, x->delays[i].ref, x->delays[i].ns);
	x->self_ns = x->fixed_ns = 0;
	x->delay_n = 0;
	return e;
}

static int step_add(struct walker *x, enum wcprof_step_what what, uint32_t ref, int64_t ns)
{
	return times_put(x) < 0 ? -ENOMEM : step_put(&x->t, what, ref, ns);
}

/* A step of an op, which may not be the one of the step before. */
static int step_of(struct walker *x, uint32_t op, enum wcprof_step_what what, uint32_t ref, int64_t ns)
{
	if (x->inside != op && step_add(x, STEP_ENTER, op, 0) < 0)
		return -ENOMEM;
	x->inside = op;
	return step_add(x, what, ref, ns);
}

static int enter(struct walker *x, uint32_t op)
{
	int e = x->inside != op ? step_add(x, STEP_ENTER, op, 0) : 0;

	x->inside = op;
	return e;
}

/* Waits of one op may be of centuries and overlap. */
static int64_t sum_ns(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int delay_add(struct walker *x, enum wcprof_step_what what, uint32_t ref, int64_t ns)
{
	size_t i = 0;

	while (i < x->delay_n && (x->delays[i].ref != ref || x->delays[i].what != what))
		i++;
	if (i == DELAYS_MAX) {
		if (times_put(x) < 0)
			return -ENOMEM;
		i = 0;
	}
	if (i == x->delay_n) {
		x->delays[i].ref = ref;
		x->delays[i].what = (uint8_t)what;
		x->delays[i].ns = 0;
		x->delay_n++;
	}
	x->delays[i].ns = sum_ns(x->delays[i].ns, ns);
	return 0;
}

static int frame_push(struct walker *x, uint32_t op)
{
	if (VEC_RESERVE(x->frames, x->frame_cap, x->frame_n + 1) < 0)
		return -ENOMEM;
	x->frames[x->frame_n++] = (struct frame){
		.op = op, .child = x->g->nodes[op].child, .end = x->g->nodes[op].child, .wait = x->g->nodes[op].wait,
		.covered_ns = x->g->nodes[op].start_ns,
	};
	return 0;
}

static void frame_pop(struct walker *x, bool circle)
{
	x->frame_n--;
	if (x->frame_n)
		x->frames[x->frame_n - 1].circle = circle;
}

/* Nobody began it. */
static int anchor(struct walker *x, uint32_t op)
{
	uint32_t parent = x->g->nodes[op].parent;
	bool of_parent = parent && x->state[parent] & BEGUN;
	int64_t ns = x->g->nodes[op].start_ns;

	if (of_parent) {
		x->keep[parent] = 1;
		ns -= x->g->nodes[parent].start_ns;
	}
	x->state[op] |= BEGUN;
	if (step_add(x, STEP_BASE, of_parent ? parent : NONE, 0) < 0)
		return -ENOMEM;
	return step_add(x, STEP_ANCHOR, op, ns);
}

/* Asks for the end of an op: a join at once if it is known, else when it is. */
static int join(struct walker *x, struct frame *f, uint32_t op)
{
	if (x->state[op] & DONE)
		return step_of(x, f->op, STEP_JOIN, op, 0);
	f->join = op;
	return frame_push(x, op);
}

/* What it asked for has come. */
static int joined(struct walker *x, struct frame *f)
{
	const struct wcprof_node *o = &x->g->nodes[f->join];
	uint32_t op = f->join;

	f->join = 0;
	if (!f->circle)
		return step_of(x, f->op, STEP_JOIN, op, 0);
	x->keep[op] = 1;
	return step_of(x, f->op, STEP_CYCLE, op, o->end_ns - o->start_ns);
}

/* The first child that had ended by a time and was not waited for yet. 1: it is asked for, 0: there is none. */
static int child_join(struct walker *x, struct frame *f, int64_t by_ns)
{
	uint32_t child;
	int e = 0;

	if (f->end == x->g->nodes[f->op + 1].child)
		return 0;
	child = x->g->ends[f->end];
	if (x->g->nodes[child].end_ns > by_ns)
		return 0;
	f->end++;
	if (!(x->state[child] & BEGUN)) {
		x->state[child] |= BEGUN;
		e = step_of(x, f->op, STEP_SPAWN, child, 0);
	}
	/* f is no more: frames may have moved. */
	return e < 0 || join(x, f, child) < 0 ? -ENOMEM : 1;
}

/* Where the next child or wait that takes time begins; those that take none are no end of self time. */
static int64_t next_cut_ns(const struct walker *x, const struct frame *f)
{
	const struct wcprof_graph *g = x->g;
	int64_t ns = INT64_MAX;

	for (size_t i = f->child; i < g->nodes[f->op + 1].child; i++) {
		const struct wcprof_node *o = &g->nodes[g->children[i]];

		if (o->start_ns == f->covered_ns && o->end_ns == o->start_ns)
			continue;
		ns = o->start_ns;
		break;
	}
	for (size_t i = f->wait; i < g->nodes[f->op + 1].wait; i++) {
		const struct wcprof_wait *w = &g->waits[i];

		if (w->start_ns == f->covered_ns && w->end_ns == w->start_ns)
			continue;
		return w->start_ns < ns ? w->start_ns : ns;
	}
	return ns;
}

static void cover(struct frame *f, int64_t to_ns)
{
	f->covered_ns = to_ns > f->covered_ns ? to_ns : f->covered_ns;
}

static int wait_length(struct walker *x, const struct wcprof_wait *w)
{
	int64_t ns = w->end_ns - w->start_ns;

	switch ((enum wcprof_wait_what)w->what) {
	case WAIT_SELF:
		x->self_ns = sum_ns(x->self_ns, ns);
		return 0;
	case WAIT_DELAY:
		x->fixed_ns = sum_ns(x->fixed_ns, w->ready_ns);
		return delay_add(x, STEP_DELAY, w->ref, ns - w->ready_ns);
	case WAIT_LOCK:
		return delay_add(x, STEP_LOCK, w->ref, ns);
	default:
		x->fixed_ns = sum_ns(x->fixed_ns, ns);
		return 0;
	}
}

static int wait_do(struct walker *x, struct frame *f, const struct wcprof_wait *w)
{
	f->wait++;
	cover(f, w->end_ns);
	if (w->what != WAIT_TARGET)
		return wait_length(x, w);
	if (w->ref == f->op || w->end_ns < x->g->nodes[w->ref].end_ns - TARGET_SLACK_NS)
		return 0;
	return join(x, f, w->ref);
}

static int child_do(struct walker *x, struct frame *f, uint32_t child)
{
	f->child++;
	cover(f, x->g->nodes[child].end_ns);
	if (x->state[child] & BEGUN)
		return 0;
	x->state[child] |= BEGUN;
	return step_of(x, f->op, STEP_SPAWN, child, 0);
}

/* The next thing that the op does, or asks for. */
static int act(struct walker *x)
{
	struct frame *f = &x->frames[x->frame_n - 1];
	const struct wcprof_graph *g = x->g;
	int64_t end_ns = g->nodes[f->op].end_ns, cut_ns, child_ns = INT64_MAX, wait_ns = INT64_MAX, at_ns;
	bool self;
	int e;

	if (f->join)
		return joined(x, f);
	if (f->child < g->nodes[f->op + 1].child)
		child_ns = g->nodes[g->children[f->child]].start_ns;
	if (f->wait < g->nodes[f->op + 1].wait)
		wait_ns = g->waits[f->wait].start_ns;
	cut_ns = next_cut_ns(x, f);
	self = f->covered_ns < end_ns && cut_ns > f->covered_ns && child_ns >= f->covered_ns && wait_ns >= f->covered_ns;
	at_ns = self ? f->covered_ns : child_ns < wait_ns ? child_ns : wait_ns;
	e = child_join(x, f, at_ns == INT64_MAX ? end_ns : at_ns);
	if (e)
		return e < 0 ? e : 0;
	if (enter(x, f->op) < 0)
		return -ENOMEM;
	if (self) {
		cut_ns = cut_ns < end_ns ? cut_ns : end_ns;
		x->self_ns = sum_ns(x->self_ns, cut_ns - f->covered_ns);
		f->covered_ns = cut_ns;
		return 0;
	}
	if (child_ns <= wait_ns && child_ns != INT64_MAX)
		return child_do(x, f, g->children[f->child]);
	if (wait_ns != INT64_MAX)
		return wait_do(x, f, &g->waits[f->wait]);
	x->state[f->op] = (uint8_t)((x->state[f->op] | DONE) & ~UNDER_WAY);
	frame_pop(x, false);
	return 0;
}

/* What the op on top of the stack needs before it can do anything. */
static int prepare(struct walker *x)
{
	struct frame *f = &x->frames[x->frame_n - 1];
	uint32_t op = f->op, parent = x->g->nodes[op].parent;

	if (x->state[op] & DONE) {
		frame_pop(x, false);
		return 0;
	}
	if (f->stage == ASK) {
		f->stage = ASKED;
		if (!(x->state[op] & BEGUN) && parent && !(x->state[parent] & UNDER_WAY))
			return frame_push(x, parent);
		return 0;
	}
	if (!(x->state[op] & BEGUN) && anchor(x, op) < 0)
		return -ENOMEM;
	if (x->state[op] & UNDER_WAY) {
		frame_pop(x, true);
		return 0;
	}
	f->stage = ACT;
	x->state[op] |= UNDER_WAY;
	return enter(x, op);
}

static int root_walk(struct walker *x, uint32_t root, int64_t *latest_ns)
{
	const struct wcprof_node *o = &x->g->nodes[root];
	bool latest = o->end_ns >= *latest_ns, seen = x->state[root] & BEGUN;
	int e = step_add(x, seen ? STEP_ROOT_SEEN : STEP_ROOT, root, o->start_ns - *latest_ns);

	x->state[root] |= BEGUN;
	if (e == 0)
		e = frame_push(x, root);
	while (x->frame_n && e == 0)
		e = x->frames[x->frame_n - 1].stage == ACT ? act(x) : prepare(x);
	if (e == 0)
		e = step_add(x, latest ? STEP_END_LATEST : STEP_END, root, 0);
	x->inside = 0;
	*latest_ns = latest ? o->end_ns : *latest_ns;
	return e;
}

static bool is_of_op(const struct wcprof_step *s)
{
	return s->what <= STEP_KEEP && s->ref != WCPROF_REF_NONE;
}

static bool is_beginning(const struct wcprof_step *s)
{
	return s->what == STEP_ROOT || s->what == STEP_SPAWN || s->what == STEP_ANCHOR;
}

/* Starts that are asked for later are kept where they are known; each has a place of its own, there are few. */
static int keeps_put(struct walker *x)
{
	_cleanup_(wcprof_tape_done) struct wcprof_tape t = { 0 };
	_cleanup_(freep) uint32_t *kept = malloc(x->g->node_n * sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	for (size_t i = 0; i < x->g->node_n; i++)
		kept[i] = x->keep[i] ? (uint32_t)t.kept_n++ : NONE;
	if (!t.kept_n)
		return 0;
	for (size_t i = 0; i < x->t.n; i++) {
		struct wcprof_step s = x->t.v[i];
		uint32_t op = s.ref;

		if ((s.what == STEP_BASE || s.what == STEP_CYCLE) && op != WCPROF_REF_NONE)
			s.ref = kept[op] & WCPROF_REF_NONE;
		if (step_put(&t, (enum wcprof_step_what)s.what, s.ref, wcprof_step_ns(&x->t, &s)) < 0)
			return -ENOMEM;
		if (is_beginning(&s) && x->keep[op] && step_put(&t, STEP_KEEP, op, kept[op]) < 0)
			return -ENOMEM;
	}
	t.begin_ns = x->t.begin_ns;
	wcprof_tape_done(&x->t);
	x->t = t;
	t = (struct wcprof_tape){ 0 };
	return 0;
}

int wcprof_tape_make(const struct wcprof_graph *g, struct wcprof_tape *ret)
{
	_cleanup_(walker_done) struct walker x = { .g = g };
	int64_t latest_ns;

	x.state = calloc(g->node_n, 1);
	x.keep = calloc(g->node_n, 1);
	if (!x.state || !x.keep)
		return -ENOMEM;
	latest_ns = x.t.begin_ns = g->root_n ? g->nodes[g->roots[0]].start_ns : 0;
	for (size_t i = 0; i < g->root_n; i++) {
		if (root_walk(&x, g->roots[i], &latest_ns) < 0)
			return -ENOMEM;
	}
	if (keeps_put(&x) < 0)
		return -ENOMEM;
	*ret = x.t;
	x.t = (struct wcprof_tape){ 0 };
	return 0;
}

/* Ops that matter at the same time have slots of their own: few, that stay in a cache. */
int wcprof_tape_slots(struct wcprof_tape *t, size_t node_n)
{
	size_t n = node_n, free_n = 0;
	_cleanup_(freep) size_t *last = calloc(n, sizeof(*last));
	_cleanup_(freep) uint32_t *slot = malloc(n * sizeof(*slot)), *unused = malloc(n * sizeof(*unused));
	uint32_t inside = 0;

	if (!last || !slot || !unused)
		return -ENOMEM;
	memset(slot, 0xff, n * sizeof(*slot));
	for (size_t i = 0; i < t->n; i++) {
		const struct wcprof_step *s = &t->v[i];

		if (!is_of_op(s) || s->what == STEP_BASE || s->what == STEP_CYCLE)
			continue;
		last[s->ref] = i;
		/* Until another is entered, its time is not written back. */
		if (s->what == STEP_ENTER || s->what == STEP_END || s->what == STEP_END_LATEST) {
			last[inside] = i;
			inside = s->what == STEP_ENTER ? s->ref : 0;
		}
	}
	inside = 0;
	for (size_t i = 0; i < t->n; i++) {
		struct wcprof_step *s = &t->v[i];
		uint32_t op = s->ref, left = 0;

		if (!is_of_op(s) || s->what == STEP_BASE || s->what == STEP_CYCLE)
			continue;
		if (slot[op] == NONE)
			slot[op] = free_n ? unused[--free_n] : (uint32_t)t->slot_n++;
		s->ref = slot[op] & WCPROF_REF_NONE;
		if (s->what == STEP_ENTER || s->what == STEP_END || s->what == STEP_END_LATEST) {
			left = inside;
			inside = s->what == STEP_ENTER ? op : 0;
		}
		if (left && left != op && last[left] == i)
			unused[free_n++] = slot[left];
		if (last[op] == i)
			unused[free_n++] = slot[op];
	}
	return 0;
}
