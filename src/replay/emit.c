/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Each strand becomes its points. What it computes between two of them is cut
 * where something happens, so a wake moves when the computing before it does.
 *
 * Computing is tagged by the op and lock it is in and by what lies at its two
 * ends: pieces between the same two ends are taken to be the same code, and
 * share their samples. A piece with samples enough stands for itself. A
 * preemption is no end.
 */
#include "replay/emit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/tags.h"
#include "util/cleanup.h"
#include "util/vec.h"

/* A piece with so many samples is known by its own. */
#define OWN_SAMPLES 12
/* A resource with a smaller part of all blocked time than this has no name of its own. */
#define RESOURCE_PART 1000
/* How late a timer may be by itself; beyond, a time limit is not what it seems. */
#define TIMER_LATE_NS 1000000
/* Of what a strand computes, less than such a part that it did on no CPU is not told apart. */
#define UNPLACED_PART 1000

enum end_what { END_EDGE = 1u << 28, END_WAIT = 2u << 28, END_WAKE = 3u << 28, END_OP = 4u << 28, END_LOCK = 5u << 28 };

struct emitter {
	struct draft *d;
	struct tags *tags;
	struct emit_samples *samples;
	const struct emit_idents *idents;
	size_t sample_at;   /* of the strand's */
	uint32_t s;
	int64_t cursor_ns;  /* up to here the strand has points */
	size_t piece_first; /* points since the last end have no tag yet */
	int64_t piece_ns, piece_from_ns;
	uint32_t before;
	uint32_t strand_key, op_key, own_n;
	uint32_t *held; /* locks that it has, innermost last */
	struct emit_op {
		uint32_t op, op_key;
	} *ops;		/* that it is in, innermost last */
	size_t held_n, held_cap, op_n, op_cap;
	uint32_t frame_key; /* op_key in none of them */
	double unplaced, unplaced_exit; /* share of what it computes, and of that behind its thread's exit */
};

static void emitter_done(struct emitter *e)
{
	free(e->held);
	free(e->ops);
}

static int points_grow(struct points *p)
{
	size_t cap = p->cap;

	if (p->n >= POINTS_MAX)
		return -E2BIG;
#define GROW(member) (cap = p->cap, VEC_RESERVE(p->member, cap, p->n + 1) < 0)
	if (GROW(what) || GROW(cpu_ns) || GROW(cpu_tag) || GROW(wait_ns) || GROW(run_ns) || GROW(lat_ns) || GROW(object) ||
	    GROW(ref))
		return -ENOMEM;
#undef GROW
	p->cap = cap;
	return 0;
}

struct point {
	int64_t cpu_ns, wait_ns, run_ns, lat_ns;
	uint32_t object, ref;
	uint8_t what;
};

static int point_put(struct emitter *e, uint8_t what, int64_t cpu_ns, int64_t wait_ns, int64_t run_ns, int64_t lat_ns,
		     const struct point *x)
{
	struct points *p = &e->d->r->points;
	int err = p->n < p->cap ? 0 : points_grow(p);

	if (err < 0)
		return err;
	p->what[p->n] = what;
	p->cpu_ns[p->n] = (uint32_t)cpu_ns;
	p->cpu_tag[p->n] = NONE;
	p->wait_ns[p->n] = (uint32_t)wait_ns;
	p->run_ns[p->n] = (uint32_t)run_ns;
	p->lat_ns[p->n] = (uint32_t)lat_ns;
	p->object[p->n] = x->object;
	p->ref[p->n++] = x->ref;
	return 0;
}

/* A time beyond 32 bits, if it is. */
static int long_put(struct emitter *e, enum long_what what, int64_t *ns, int64_t *lat_ns, const struct point *x)
{
	struct replay *r = e->d->r;
	struct point p = { .object = (uint32_t)r->long_n, .ref = what == LONG_CPU ? 0 : x->ref };

	if (*ns <= INT32_MAX)
		return 0;
	if (VEC_RESERVE(r->longs, r->long_cap, r->long_n + 1) < 0)
		return -ENOMEM;
	r->longs[r->long_n++] = (struct long_time){ .ns = *ns, .lat_ns = *lat_ns, .tag = x->object, .what = (uint8_t)what };
	*ns = *lat_ns = 0;
	return point_put(e, POINT_LONG, 0, 0, 0, 0, &p);
}

/* How long the wait that follows lasts at most. */
static int limit_put(struct emitter *e, const struct point *x, uint32_t tag)
{
	struct replay *r = e->d->r;
	struct point p = { .object = (uint32_t)r->long_n };

	if (VEC_RESERVE(r->longs, r->long_cap, r->long_n + 1) < 0)
		return -ENOMEM;
	r->longs[r->long_n++] = (struct long_time){ .ns = x->wait_ns, .tag = tag, .what = LONG_LIMIT };
	return point_put(e, POINT_LIMIT, x->cpu_ns, 0, 0, 0, &p);
}

/* One thing that a strand does. */
static int point_add(struct emitter *e, const struct point *x)
{
	int64_t cpu_ns = x->cpu_ns, wait_ns = x->wait_ns, run_ns = x->run_ns, lat_ns = x->lat_ns, none = 0;
	bool late = run_ns > INT32_MAX;
	int err = long_put(e, LONG_CPU, &cpu_ns, &none, x);

	e->piece_ns += x->cpu_ns;
	if (err == 0 && wait_ns > INT32_MAX) {
		/* What was computed before it comes before it. */
		err = cpu_ns ? point_put(e, POINT_NONE, cpu_ns, 0, 0, 0, &(struct point){ 0 }) : 0;
		cpu_ns = 0;
	}
	if (err == 0)
		err = long_put(e, LONG_WAIT, &wait_ns, &none, x);
	if (err == 0)
		err = point_put(e, x->what, cpu_ns, wait_ns, late ? 0 : run_ns, late ? 0 : lat_ns, x);
	return err == 0 && late ? long_put(e, LONG_RUN, &run_ns, &lat_ns, x) : err;
}

/* A wait that was given up after p->wait_ns, of tag p->object; it would have ended when the token had come. */
static int either_add(struct emitter *e, const struct point *p, uint32_t token)
{
	struct point limit = *p, x = *p;
	int64_t none = 0;
	int err = long_put(e, LONG_CPU, &limit.cpu_ns, &none, p);

	e->piece_ns += p->cpu_ns;
	if (err == 0)
		err = limit_put(e, &limit, p->object);
	x.cpu_ns = x.wait_ns = 0;
	x.object = token;
	return err == 0 ? point_add(e, &x) : err;
}

/* Samples of the strand in the piece that ends now go to its tag. */
static int piece_samples(struct emitter *e, int64_t to_ns, size_t *ret_n)
{
	struct emit_samples *x = e->samples;
	size_t end = x->first[e->s + 1], from;

	while (e->sample_at < end && x->times[x->order[e->sample_at]].at_ns < e->piece_from_ns)
		e->sample_at++;
	from = e->sample_at;
	while (e->sample_at < end && x->times[x->order[e->sample_at]].at_ns < to_ns)
		e->sample_at++;
	*ret_n = e->sample_at - from;
	if (VEC_RESERVE(x->hits, x->hit_cap, x->hit_n + *ret_n) < 0)
		return -ENOMEM;
	for (size_t i = from; i < e->sample_at; i++)
		x->hits[x->hit_n++] = (struct emit_hit){ .sample = x->times[x->order[i]].sample };
	return 0;
}

/* An end of a piece of computing: all points since the last one have the same tag. */
static int piece_end(struct emitter *e, uint32_t after)
{
	struct replay *r = e->d->r;
	struct tag key = { .op_key = e->op_key, .strand_key = e->strand_key,
			   .lock = e->held_n ? e->held[e->held_n - 1] : NONE };
	uint32_t tag;
	size_t n;

	if (piece_samples(e, e->cursor_ns, &n) < 0)
		return -ENOMEM;
	/* Only samples are told apart by the ends. */
	if (e->samples->first[r->strand_n] && r->tag_n < TAGS_DETAILED_MAX) {
		key.before = e->before;
		key.after = after;
	}
	if (n >= OWN_SAMPLES)
		key.own = ++e->own_n;
	if (tags_intern(e->tags, &key, &tag) < 0)
		return -ENOMEM;
	r->tags[tag].ns += (uint64_t)e->piece_ns;
	r->tags[tag].count++;
	r->tags[tag].samples += n;
	for (size_t i = e->samples->hit_n - n; i < e->samples->hit_n; i++)
		e->samples->hits[i].tag = tag;
	for (size_t i = e->piece_first; i < r->points.n; i++)
		r->points.cpu_tag[i] = tag;
	e->piece_first = r->points.n;
	e->piece_ns = 0;
	return 0;
}

static void piece_begin(struct emitter *e, uint32_t before)
{
	e->before = before;
	e->piece_from_ns = e->cursor_ns;
}

static void cursor_advance(struct emitter *e, int64_t at_ns, int64_t *ret_cpu_ns)
{
	*ret_cpu_ns = at_ns > e->cursor_ns ? at_ns - e->cursor_ns : 0;
	if (at_ns > e->cursor_ns)
		e->cursor_ns = at_ns;
}

/* How much later than it was told to the clock woke it: that does not shrink with the time asked for. */
static int64_t timer_late_ns(const struct draft *d, const struct model_wait *w)
{
	int64_t late_ns, wake_ns = wait_wake_ns(w), length_ns = wake_ns - w->start_ns;

	if (!w->has_timeout || (w->ctx != WAKER_TIMER && w->outcome != WAIT_TIMEOUT))
		return 0;
	if (w->timeout_ns > d->m->epoch_unix_ns / 2 && d->m->epoch_unix_ns)
		late_ns = wake_ns - (w->timeout_ns - d->m->epoch_unix_ns);
	else if (w->timeout_ns > d->m->end_ns && d->has_timer_offset)
		late_ns = wake_ns - (w->timeout_ns - d->timer_offset_ns);
	else
		late_ns = length_ns - w->timeout_ns;
	return late_ns < 0 || late_ns > TIMER_LATE_NS || late_ns > length_ns ? 0 : late_ns;
}

static int delay_tag(struct emitter *e, const struct model_wait *w, int64_t ns, uint32_t *ret)
{
	struct tag key = { .op_key = e->op_key, .strand_key = e->strand_key, .row = w->row,
			   .lock = e->held_n ? e->held[e->held_n - 1] : NONE };

	if (w->ident_id < strtab_n(e->d->m->strings) && e->idents->ns[w->ident_id] * RESOURCE_PART >= e->idents->blocked_ns &&
	    e->d->r->tag_n < TAGS_DETAILED_MAX)
		key.ident_id = w->ident_id;
	if (tags_intern(e->tags, &key, ret) < 0)
		return -ENOMEM;
	e->d->r->tags[*ret].ns += (uint64_t)ns;
	e->d->r->tags[*ret].count++;
	return 0;
}

/* Between ops without threads, where nobody knows of anybody who does anything. */
static bool is_between_ops(const struct emitter *e)
{
	return e->d->r->strands[e->s].chain && !e->op_n;
}

/*
 * On to a time: what is computed until then. Where a thread was on no CPU, and in no wait that is recorded, is known only
 * if that was behind its exit; else any time that it computes has its share of it. That part is a delay, last.
 */
static int compute_to(struct emitter *e, int64_t at_ns, int64_t *ret_cpu_ns)
{
	int64_t exit_ns = e->d->r->strands[e->s].exit_ns, from_ns = e->cursor_ns, unplaced_ns;
	struct point p = { .what = POINT_DELAY };
	struct tag key = { .op_key = e->op_key, .strand_key = e->strand_key, .row = TAG_UNPLACED,
			   .lock = e->held_n ? e->held[e->held_n - 1] : NONE };
	int err;

	cursor_advance(e, at_ns, ret_cpu_ns);
	if (e->unplaced <= 0 && e->unplaced_exit <= 0 && !is_between_ops(e))
		return 0;
	exit_ns = exit_ns < from_ns ? from_ns : exit_ns > e->cursor_ns ? e->cursor_ns : exit_ns;
	unplaced_ns = llround((double)(exit_ns - from_ns) * e->unplaced + (double)(e->cursor_ns - exit_ns) * e->unplaced_exit);
	unplaced_ns = unplaced_ns < *ret_cpu_ns && !is_between_ops(e) ? unplaced_ns : *ret_cpu_ns;
	if (unplaced_ns <= 0)
		return 0;
	p.cpu_ns = *ret_cpu_ns - unplaced_ns;
	p.wait_ns = unplaced_ns;
	if (tags_intern(e->tags, &key, &p.object) < 0)
		return -ENOMEM;
	e->d->r->tags[p.object].ns += (uint64_t)unplaced_ns;
	e->d->r->tags[p.object].count++;
	e->d->r->facts.unplaced_ns += is_between_ops(e) ? 0 : (uint64_t)unplaced_ns;
	err = point_add(e, &p);
	*ret_cpu_ns = 0;
	return err;
}

/* How its account's lack of time on the CPU is spread. */
static void unplaced_share(struct emitter *e, const struct strand *x)
{
	int64_t exit_ns = x->end_ns - x->exit_ns, at_exit_ns = x->unplaced_ns < exit_ns ? x->unplaced_ns : exit_ns;
	int64_t rest_ns = x->unplaced_ns - at_exit_ns;
	uint64_t cpu_ns = e->d->m->threads[x->thread].oncpu_ns;

	e->unplaced_exit = at_exit_ns > 0 ? (double)at_exit_ns / (double)exit_ns : 0;
	e->unplaced = rest_ns > 0 && (double)rest_ns * UNPLACED_PART > (double)cpu_ns + (double)rest_ns ?
			      (double)rest_ns / ((double)rest_ns + (double)cpu_ns) : 0;
}

static int held_push(struct emitter *e, uint32_t lock)
{
	if (VEC_RESERVE(e->held, e->held_cap, e->held_n + 1) < 0)
		return -ENOMEM;
	e->held[e->held_n++] = lock;
	return 0;
}

static void held_remove(struct emitter *e, uint32_t lock)
{
	for (size_t i = e->held_n; i-- > 0;) {
		if (e->held[i] != lock)
			continue;
		memmove(&e->held[i], &e->held[i + 1], (e->held_n - i - 1) * sizeof(*e->held));
		e->held_n--;
		return;
	}
}

static int wait_fill(struct emitter *e, uint32_t wait, int64_t start_ns, struct point *p)
{
	struct draft *d = e->d;
	const struct model_wait *w = &d->m->waits[wait];
	int64_t wake_ns = wait_wake_ns(w), late_ns = 0;

	wake_ns = wake_ns < start_ns ? start_ns : wake_ns;
	p->ref = wait;
	p->run_ns = w->end_ns - wake_ns;
	if (d->use[wait] == USE_DELAY || d->use[wait] == USE_EITHER) {
		late_ns = timer_late_ns(d, w);
		p->what = d->use[wait] == USE_DELAY ? POINT_DELAY : POINT_EITHER;
		p->wait_ns = wake_ns - start_ns > late_ns ? wake_ns - start_ns - late_ns : 0;
		p->run_ns = w->end_ns - start_ns - p->wait_ns;
		if (delay_tag(e, w, p->wait_ns, &p->object) < 0)
			return -ENOMEM;
	} else {
		bool lock = d->use[wait] == USE_LOCK && d->r->locks[d->lock[wait]].simulated;

		p->what = lock ? POINT_ACQUIRE : POINT_WAIT;
		p->object = d->token[wait];
	}
	p->lat_ns = p->run_ns > d->own_runq_ns[wait] ? p->run_ns - d->own_runq_ns[wait] : 0;
	return 0;
}

/* A wait that began at start_ns, with those that are merged into it. */
static int wait_emit(struct emitter *e, uint32_t wait, int64_t start_ns)
{
	struct draft *d = e->d;
	const struct model_wait *w = &d->m->waits[wait];
	uint32_t lock = d->use[wait] == USE_LOCK ? d->lock[wait] : NONE;
	struct point p = { 0 };
	int err = compute_to(e, start_ns, &p.cpu_ns);

	if (err < 0)
		return err;
	if (d->use[wait] == USE_RUNQ) {
		p.what = POINT_RUNQ;
		p.ref = wait;
		p.run_ns = w->end_ns - e->cursor_ns;
		p.lat_ns = p.run_ns > d->own_runq_ns[wait] ? p.run_ns - d->own_runq_ns[wait] : 0;
		e->cursor_ns = w->end_ns;
		return point_add(e, &p);
	}
	err = wait_fill(e, wait, e->cursor_ns, &p);
	if (err == 0 && p.what == POINT_EITHER)
		err = either_add(e, &p, d->token[wait]);
	else if (err == 0)
		err = point_add(e, &p);
	if (err == 0)
		err = piece_end(e, END_WAIT | w->row);
	e->cursor_ns = w->end_ns > e->cursor_ns ? w->end_ns : e->cursor_ns;
	piece_begin(e, END_WAIT | w->row);
	if (err == 0 && lock != NONE && d->r->locks[lock].simulated)
		err = held_push(e, lock);
	return err;
}

/* What an end of computing looks like; only samples make a difference of it. */
static uint32_t item_end(const struct emitter *e, const struct item *x)
{
	if (!e->samples->first[e->d->r->strand_n])
		return 0;
	switch (x->what) {
	case POINT_OP_BEGIN:
	case POINT_OP_END:
		return END_OP | (e->d->m->ops[x->ref].class_id & 0xfffffff);
	case POINT_TAKE:
	case POINT_DROP:
		return END_LOCK | (x->object & 0xfffffff);
	default:
		return END_WAKE | (x->ref && !(x->ref & ITEM_GAP) ? e->d->m->waits[x->ref].row : 0);
	}
}

static int op_change(struct emitter *e, const struct item *x)
{
	uint32_t comm_id = e->d->m->threads[e->d->r->strands[e->s].thread].comm_id, key;

	if (x->what == POINT_OP_BEGIN) {
		if (tags_op_key(e->tags, x->op_kind, x->object ? x->object : comm_id, &key) < 0 ||
		    VEC_RESERVE(e->ops, e->op_cap, e->op_n + 1) < 0)
			return -ENOMEM;
		e->ops[e->op_n++] = (struct emit_op){ .op = x->ref, .op_key = key };
	} else {
		for (size_t i = e->op_n; i-- > 0;) {
			if (e->ops[i].op != x->ref)
				continue;
			memmove(&e->ops[i], &e->ops[i + 1], (e->op_n - i - 1) * sizeof(*e->ops));
			e->op_n--;
			break;
		}
	}
	e->op_key = e->op_n ? e->ops[e->op_n - 1].op_key : e->frame_key;
	return 0;
}

/* Of a wait from start_ns on what lies before to_ns, where its thread did something: as long as it was, and no computing. */
static int wait_part_emit(struct emitter *e, uint32_t wait, int64_t start_ns, int64_t to_ns)
{
	const struct model_wait *w = &e->d->m->waits[wait];
	bool ready = e->d->use[wait] == USE_RUNQ || e->d->use[wait] == USE_START;
	struct point p = { .what = ready ? POINT_RUNQ : POINT_DELAY, .ref = wait };
	int64_t ns;
	int err;

	err = compute_to(e, start_ns, &p.cpu_ns);
	if (err < 0)
		return err;
	ns = to_ns - e->cursor_ns;
	if (ns <= 0)
		return 0;
	if (ready)
		p.run_ns = ns;
	else
		err = delay_tag(e, w, p.wait_ns = ns, &p.object);
	if (err == 0)
		err = point_add(e, &p);
	if (err == 0)
		err = piece_end(e, END_WAIT | w->row);
	e->cursor_ns = to_ns;
	piece_begin(e, END_WAIT | w->row);
	return err;
}

/* That a lock was got or left is, and that somebody's end was needed who ended after what needed it. */
static bool is_guess(const struct emitter *e, const struct item *x, uint32_t wait)
{
	return x->what == POINT_TAKE || x->what == POINT_DROP ||
	       (x->what == POINT_SIGNAL && !x->ref && (e->d->use[wait] == USE_TOKEN || e->d->use[wait] == USE_LOCK));
}

/* wait: the one in which it may be, and which began at start_ns; 0: in none. What is a guess may as well be before. */
static int item_emit(struct emitter *e, const struct item *x, uint32_t wait, int64_t start_ns)
{
	struct point p = { .what = x->what, .object = x->object, .ref = x->ref };
	bool within = wait && x->at_ns > start_ns, guess = within && is_guess(e, x, wait);
	uint32_t end = item_end(e, x);
	int err = within && !guess ? wait_part_emit(e, wait, start_ns, x->at_ns) : 0;

	if (err == 0)
		err = compute_to(e, guess ? start_ns : x->at_ns, &p.cpu_ns);
	if (err < 0)
		return err;
	p.ref = x->what == POINT_WAIT ? 0 : x->ref;
	err = point_add(e, &p);
	/* Nothing was computed: what follows begins where that did. */
	if (err == 0 && (e->piece_ns || x->what == POINT_OP_BEGIN || x->what == POINT_OP_END || x->what == POINT_TAKE ||
			 x->what == POINT_DROP || x->what == POINT_RELEASE)) {
		err = piece_end(e, end);
		piece_begin(e, end);
	}
	if (err < 0)
		return err;
	if (x->what == POINT_WAIT && x->ref & ITEM_GAP && e->d->gaps[x->ref - ITEM_GAP].to_ns > e->cursor_ns) {
		e->cursor_ns = e->d->gaps[x->ref - ITEM_GAP].to_ns;
		piece_begin(e, end);
	}
	switch (x->what) {
	case POINT_OP_BEGIN:
	case POINT_OP_END:
		return op_change(e, x);
	case POINT_TAKE:
		return held_push(e, x->object);
	case POINT_DROP:
		held_remove(e, x->object);
		return 0;
	case POINT_RELEASE:
		held_remove(e, e->d->r->token_lock[x->object]);
		return 0;
	default:
		return 0;
	}
}

/*
 * An item within a wait: its thread did that in between, looking, before what it waited for came. A guess goes to the
 * nearer end. What ends at the moment of a wait that took no time has waited before.
 */
static bool is_before(const struct emitter *e, const struct item *x, uint32_t wait, int64_t start_ns)
{
	const struct model_wait *w = &e->d->m->waits[wait];

	if (start_ns == w->end_ns && x->at_ns == start_ns && x->order == ITEM_AT_END)
		return false;
	if (x->at_ns <= start_ns)
		return true;
	if (is_guess(e, x, wait))
		return x->at_ns < w->end_ns && x->at_ns - start_ns < w->end_ns - x->at_ns;
	return x->at_ns < wait_wake_ns(w);
}

/* With what is known of it. To be inlined as that is. */
static inline __attribute__((always_inline)) void waits_prefetch(const struct draft *d, size_t i, size_t n)
{
	uint32_t ahead = i + 8 < n ? d->waits[i + 8] : 0;

	model_wait_prefetch(d->m, d->waits, i, n);
	__builtin_prefetch(&d->use[ahead]);
	__builtin_prefetch(&d->token[ahead]);
	__builtin_prefetch(&d->lock[ahead]);
	__builtin_prefetch(&d->own_runq_ns[ahead]);
}

static int strand_follow(struct emitter *e)
{
	struct draft *d = e->d;
	size_t item = d->item_first[e->s], item_end_at = d->item_first[e->s + 1];
	int64_t merged_ns = -1;
	int err = 0;

	for (size_t i = d->wait_first[e->s]; i < d->wait_first[e->s + 1] && err == 0; i++) {
		uint32_t wait = d->waits[i];
		const struct model_wait *w = &d->m->waits[wait];
		int64_t start_ns = merged_ns >= 0 ? merged_ns : w->start_ns;

		waits_prefetch(d, i, d->wait_first[e->s + 1]);
		if (d->use[wait] == USE_SKIP || d->use[wait] == USE_OPEN)
			continue;
		while (item < item_end_at && is_before(e, &d->items[item], wait, start_ns) && err == 0)
			err = item_emit(e, &d->items[item++], wait, start_ns);
		if (d->use[wait] == USE_MERGED) {
			merged_ns = start_ns;
			continue;
		}
		merged_ns = -1;
		if (err == 0 && d->use[wait] == USE_START) {
			struct point p = { .what = POINT_RUNQ, .ref = wait };

			/* The strand begins with the wake, which comes a little after the fork. */
			p.run_ns = w->end_ns - wait_wake_ns(w);
			p.lat_ns = p.run_ns > d->own_runq_ns[wait] ? p.run_ns - d->own_runq_ns[wait] : 0;
			err = point_add(e, &p);
			e->cursor_ns = w->end_ns;
		} else if (err == 0) {
			err = wait_emit(e, wait, start_ns);
		}
	}
	while (item < item_end_at && err == 0)
		err = item_emit(e, &d->items[item++], 0, 0);
	return err;
}

/* What a strand's time belongs to outside of any op that happens on it. */
static int frame_key(struct emitter *e, const struct strand *x)
{
	const struct model_op *o = x->op && x->op < e->d->m->op_n ? &e->d->m->ops[x->op] : NULL;
	uint32_t comm_id = e->d->m->threads[x->thread].comm_id;
	int err = tags_op_key(e->tags, o ? o->kind : OP_INTERNAL, o && o->class_id ? o->class_id : comm_id, &e->frame_key);

	e->op_key = e->frame_key;
	return err;
}

/* A clock's delays belong to whoever sleeps by it. */
static int clock_follow(struct emitter *e, const struct strand *x)
{
	const struct draft *d = e->d;
	int err = 0;

	for (size_t i = x->first_tick; i < x->first_tick + x->tick_n && err == 0; i++) {
		const struct tick *t = &d->ticks[i];
		struct point delay = { .what = POINT_DELAY, .wait_ns = t->delay_ns, .ref = t->wait };
		struct point signal = { .what = POINT_SIGNAL, .object = t->token,
					.ref = t->ends_it ? t->wait : 0 };

		err = delay_tag(e, &d->m->waits[t->wait], t->delay_ns, &delay.object);
		if (err == 0)
			err = point_add(e, &delay);
		if (err == 0)
			err = point_add(e, &signal);
	}
	e->cursor_ns = x->end_ns;
	return err;
}

static int strand_emit(struct emitter *e, uint32_t s)
{
	struct replay *r = e->d->r;
	struct strand *x = &r->strands[s];
	struct point last = { .what = POINT_NONE };
	int err;

	e->s = s;
	e->cursor_ns = x->begin_ns;
	e->piece_first = x->first = r->points.n;
	e->piece_ns = 0;
	e->held_n = e->op_n = 0;
	e->sample_at = e->samples->first[s];
	piece_begin(e, END_EDGE);
	if (tags_strand_key(e->tags, x, &x->key) < 0 ||
	    frame_key(e, x) < 0)
		return -ENOMEM;
	e->strand_key = x->key;
	unplaced_share(e, x);
	err = x->clock ? clock_follow(e, x) : strand_follow(e);
	if (err == 0)
		err = compute_to(e, x->end_ns, &last.cpu_ns);
	if (err == 0)
		err = point_add(e, &last);
	if (err == 0)
		err = piece_end(e, END_EDGE);
	x->n = r->points.n - x->first;
	return err;
}

int emit_strands(struct draft *d, const struct emit_idents *idents, size_t from, size_t to, struct tags *tags,
		 struct emit_samples *samples, uint32_t *ret_own_n)
{
	_cleanup_(emitter_done) struct emitter e = { .d = d, .idents = idents, .tags = tags, .samples = samples };
	int err = 0;

	for (size_t s = from; s < to && err == 0; s++)
		err = strand_emit(&e, (uint32_t)s);
	if (err == 0)
		*ret_own_n = e.own_n;
	return err;
}
