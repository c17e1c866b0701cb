/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Whether there is a wait at all may show late: with the first interval in
 * which the strand really blocked, or with a value of the exit. Until then
 * intervals are kept as they came, and if there is none they are waits of
 * their own, as without the choke point.
 *
 * An interval is counted in a row of the choke point, not in one of its own
 * call: what it waited for is what the profile says. The row's reason shows at
 * the exit too, so rows are counted then.
 */
#include "assemble/held.h"

#include <errno.h>
#include <stdlib.h>

#include "assemble/goroutines.h"
#include "assemble/keys.h"
#include "assemble/ops.h"
#include "assemble/rows.h"
#include "assemble/threads.h"
#include "assemble/waits.h"
#include "util/vec.h"

/* Kept for the case that there is no wait; more than that are folded into one. */
#define KEPT_MAX 64

struct held {
	struct stretch *kept;
	size_t kept_n, kept_cap;
	struct stretch *folded; /* sums, one a row */
	uint32_t *counts;	/* their intervals */
	size_t folded_n, folded_cap, count_cap;
	struct pending_wait sum;
	struct place place;
	uint64_t first_ns;	/* it blocked first, 0: not yet */
	uint64_t over_ns;	/* of one that is over before its exit, 0: not yet */
	uint32_t target;	/* who had its key at the entry, and was open; 0: none */
	uint32_t ustack;	/* of the entry */
	bool certain;
};

void assemble_held_free(struct held *x)
{
	if (!x)
		return;
	free(x->kept);
	free(x->folded);
	free(x->counts);
	free(x);
}

void assemble_held_mark(const struct assemble *a, const struct held *x)
{
	if (!x)
		return;
	a->op_marks[x->target] = a->op_marks[x->place.op] = 1;
	a->thread_marks[x->sum.waker] = 1;
	for (size_t i = 0; i < x->kept_n; i++)
		a->thread_marks[x->kept[i].waker] = 1;
	for (size_t i = 0; i < x->folded_n; i++)
		a->thread_marks[x->folded[i].waker] = 1;
}

static void held_freep(struct held **x)
{
	assemble_held_free(*x);
}

static bool is_lock(const struct call *c)
{
	return c->point->p.role == ASSEMBLE_ROLE_LOCK;
}

static bool must_block(const struct call *c)
{
	return is_lock(c) || c->point->p.contended;
}

/* A fault or a stop inside is no waiting for what the function waits for. */
static bool is_blocking(const struct stretch *x)
{
	return x->blocked && !x->stopped && (x->syscall >= 0 || x->key.go_reason);
}

/* The op that has the key of the target, of those that there are now. */
static int target_find(struct assemble *a, const struct strand *s, const struct call *c, const struct hit_values *v,
		       uint32_t *ret)
{
	*ret = 0;
	if (!c->point->p.target.piece_n)
		return 0;
	if (assemble_text_make(a, &c->point->p.target, v) < 0)
		return -ENOMEM;
	*ret = assemble_key_find(a, s->process);
	return 0;
}

int assemble_held_begin(struct assemble *a, const struct hit *h, struct call *c, const struct place *place)
{
	struct hit_values v = { .entry = &h->values };
	struct held *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	c->held = x;
	x->place = *place;
	x->certain = !must_block(c) && !c->point->late_only;
	x->sum.timeout_ns = -1;
	x->sum.syscall = -1;
	if (assemble_stack_index(a, STACK_USER, h->e->ustack_id, &x->ustack) < 0 ||
	    target_find(a, h->strand, c, &v, &x->target) < 0)
		return -ENOMEM;
	/* A key that is used again still names the one before, until the new one begins. */
	if (x->target && !a->m->ops[x->target].open)
		x->target = 0;
	return 0;
}

static int fold(struct held *x, const struct stretch *s)
{
	size_t i;

	for (i = 0; i < x->folded_n; i++) {
		if (memcmp(&x->folded[i].key, &s->key, sizeof(s->key)) == 0)
			break;
	}
	if (i == x->folded_n) {
		if (VEC_RESERVE(x->folded, x->folded_cap, i + 1) < 0 || VEC_RESERVE(x->counts, x->count_cap, i + 1) < 0)
			return -ENOMEM;
		x->folded[i] = *s;
		x->folded[i].blocked_ns = x->folded[i].runnable_ns = 0;
		x->counts[i] = 0;
		x->folded_n++;
	}
	x->folded[i].blocked_ns += s->blocked_ns;
	x->folded[i].runnable_ns += s->runnable_ns;
	x->counts[i]++;
	/* The row's number is not known yet: the place among the folded ones stands for it. */
	assemble_pending_add(&x->sum, s, (uint32_t)i + 1);
	return 0;
}

static int kept_fold(struct held *x)
{
	for (size_t i = 0; i < x->kept_n; i++) {
		if (fold(x, &x->kept[i]) < 0)
			return -ENOMEM;
	}
	x->kept_n = 0;
	return 0;
}

static int keep(struct held *x, const struct stretch *s)
{
	if (VEC_RESERVE(x->kept, x->kept_cap, x->kept_n + 1) < 0)
		return -ENOMEM;
	x->kept[x->kept_n++] = *s;
	return x->kept_n < KEPT_MAX ? 0 : kept_fold(x);
}

/* Choke points may wait within each other: the outer ones' waits last all the same. */
static void outer_note(struct strand *s, const struct call *inner, const struct stretch *x)
{
	for (struct call *c = (struct call *)inner; c-- > s->calls;) {
		if (c->kind == CALL_OP || c->kind == CALL_DROPPED)
			return;
		/* One that is over once it has blocked waits for nothing else. */
		if (c->kind != CALL_WAIT || c->point->p.once)
			continue;
		c->held->sum.blocked_ns += x->blocked_ns;
		c->held->sum.runnable_ns += x->runnable_ns;
		if (is_blocking(x) && !c->held->first_ns)
			c->held->first_ns = x->start_ns;
	}
}

/* Is the stretch part of what the function does behind its wait? */
static bool is_behind(const struct assemble *a, const struct call *c, const struct stretch *x)
{
	const struct held *held = c->held;
	const struct model_op *target = &a->m->ops[held->target];

	if (!c->point->p.once)
		return false;
	/* Who finds it over needs not wait. */
	return held->over_ns || (held->target && !held->first_ns && !target->open &&
				 assemble_relative(a, x->start_ns) > target->end_ns);
}

int assemble_held_take(const struct assemble *a, struct strand *s, struct call *c, const struct stretch *x,
		       bool *ret_taken)
{
	struct held *held = c->held;

	/* What comes before its first blocking is no part of a lock's wait. */
	if (is_behind(a, c, x) || (is_lock(c) && !held->first_ns && !is_blocking(x))) {
		*ret_taken = false;
		return 0;
	}
	if (is_blocking(x) && !held->first_ns)
		held->first_ns = x->start_ns;
	if (is_blocking(x) && c->point->p.once)
		held->over_ns = x->end_ns;
	held->certain |= held->first_ns && !c->point->late_only;
	outer_note(s, c, x);
	*ret_taken = true;
	if (!held->certain)
		return keep(held, x);
	return kept_fold(held) < 0 ? -ENOMEM : fold(held, x);
}

/* ---- its end ---- */

static bool is_within(const struct model *m, uint32_t op, uint32_t outer)
{
	while (op && op != outer)
		op = m->ops[op].parent;
	return op == outer;
}

/* An execution that hangs below another's op, or that another goroutine has begun. What nothing tells is no joining. */
static bool is_joined(const struct assemble *a, const struct strand *s, const struct held *x, uint32_t target)
{
	uint32_t parent = a->m->ops[target].parent, entry = a->ops[target].thread;
	uint64_t spawner = a->m->threads[entry].parent_goid, goid = a->m->threads[s->thread].goid;

	if (a->ops[parent].thread)
		return !is_within(a->m, parent, x->place.op) && !(goid && spawner == goid);
	return spawner && goid && spawner != goid && a->m->threads[entry].goid != goid;
}

static enum wait_reason reason_by_target(const struct assemble *a, const struct strand *s, const struct held *x,
					 uint32_t target)
{
	switch (target ? a->m->ops[target].kind : OP_KIND_MAX) {
	case OP_CALL_EXEC:
		return is_joined(a, s, x, target) ? REASON_SINGLEFLIGHT : REASON_CALL_EXEC;
	case OP_LAZY:
		return REASON_LAZY;
	case OP_SERVICE_START:
		return REASON_SERVICE;
	case OP_EXEC:
		return REASON_EXEC;
	default:
		return REASON_OTHER;
	}
}

static enum wait_reason reason_of(const struct assemble *a, const struct strand *s, const struct call *c,
				  const struct hit_values *v, uint32_t target)
{
	uint8_t word;

	if (assemble_choice_find(&c->point->p.reason, v, &word))
		return word;
	return is_lock(c) ? REASON_LOCK : reason_by_target(a, s, c->held, target);
}

/*
 * Whom it waited for: whoever had the key as it began; else, if that one began
 * later, who has it now. An op that was over before the wait began is an old
 * holder's of a key that is used again.
 */
static int target_resolve(struct assemble *a, struct strand *s, const struct call *c, const struct hit_values *v,
			  uint32_t *ret, uint32_t *ret_key_id)
{
	int64_t begin_ns = assemble_relative(a, c->begin_ns);
	uint32_t now;

	*ret = c->held->target;
	*ret_key_id = 0;
	if (*ret)
		return 0;
	if (target_find(a, s, c, v, &now) < 0)
		return -ENOMEM;
	if (now && (a->m->ops[now].open || a->m->ops[now].end_ns >= begin_ns)) {
		*ret = now;
		return 0;
	}
	return assemble_text_intern(a, &c->point->p.target, v, ret_key_id);
}

/* All that it consists of into rows of its own; *ret: that of its longest interval. */
static int rows_count(struct assemble *a, const struct held *x, const struct call *c, enum wait_reason reason,
		      uint32_t *ret)
{
	uint32_t row, longest = 0;

	for (size_t i = 0; i < x->folded_n; i++) {
		struct stretch s = x->folded[i];

		s.key.point = c->point->number;
		s.key.reason = (uint32_t)reason;
		if (assemble_stretch_count(a, &s, &row) < 0)
			return -ENOMEM;
		/* It counted one. */
		a->m->rows[row].count += x->counts[i] - 1;
		if (i + 1 == x->sum.row)
			longest = row;
	}
	*ret = longest;
	return 0;
}

/* A row for a wait that never left the CPU. */
static int row_without(struct assemble *a, const struct strand *s, const struct held *x, const struct call *c,
		       enum wait_reason reason, uint32_t thread, uint32_t *ret)
{
	struct row_key key = {
		.ustack = x->ustack, .state = TASK_INTERRUPTIBLE, .syscall = -1,
		.thread = a->o.rows_by_thread ? thread : 0,
		.point = c->point->number, .reason = (uint32_t)reason,
	};

	if (s->goroutine)
		key.function = assemble_goroutine_function(s->goroutine);
	else
		key.comm_id = a->m->threads[thread].comm_id;
	return assemble_row_index(a, &key, 0, ret);
}

static void times_set(const struct assemble *a, struct held *x, const struct call *c, const struct call_end *end)
{
	struct pending_wait *w = &x->sum;
	bool over = c->point->p.once && (x->over_ns || end->how != END_OPEN);
	uint64_t length_ns;

	w->start_ns = assemble_clip(a, is_lock(c) && x->first_ns ? x->first_ns : c->begin_ns);
	w->end_ns = assemble_clip(a, !over ? end->time_ns : x->over_ns ?: c->begin_ns);
	w->end_ns = w->end_ns > w->start_ns ? w->end_ns : w->start_ns;
	length_ns = w->end_ns - w->start_ns;
	w->blocked_ns = w->blocked_ns < length_ns ? w->blocked_ns : length_ns;
	w->runnable_ns = w->runnable_ns < length_ns - w->blocked_ns ? w->runnable_ns : length_ns - w->blocked_ns;
	if (w->wake_ns && (w->wake_ns < w->start_ns || w->wake_ns > w->end_ns))
		w->wake_ns = 0;
	w->clipped |= end->how == END_OPEN && !over ? CLIPPED_AFTER : 0;
	if (end->how == END_OPEN && !over)
		w->outcome = WAIT_OUTCOME_NONE;
}

/*
 * A function that waits only for what another is at just then, and may block for a lock before or behind: without such
 * an op, or if it is the strand's own work, that was no wait for one.
 */
static bool is_idle(const struct assemble *a, const struct strand *s, const struct call *c, uint32_t target)
{
	return c->point->p.once && c->point->p.contended && c->point->p.target.piece_n &&
	       (!target || a->ops[target].thread == s->thread);
}

/* The call whose wait it is has joined another's execution. */
static void joined_set(struct strand *s)
{
	for (size_t i = s->call_n; i; i--) {
		struct call *c = &s->calls[i - 1];

		if (c->kind != CALL_OP && c->kind != CALL_DROPPED)
			continue;
		c->joined = c->joined || c->point->p.kind == OP_CALL;
		return;
	}
}

/* No wait of the choke point's: each is what it is by itself. More than were kept have lost their limits. */
static int replay(struct assemble *a, struct strand *s, const struct call *c)
{
	const struct held *x = c->held;
	struct pending_wait sum = x->sum;
	uint32_t row = 0, longest = 0, wait;

	for (size_t i = 0; i < x->folded_n; i++) {
		if (assemble_stretch_count(a, &x->folded[i], &row) < 0)
			return -ENOMEM;
		a->m->rows[row].count += x->counts[i] - 1;
		longest = i + 1 == sum.row ? row : longest;
	}
	if (longest) {
		sum.start_ns = x->folded[0].start_ns;
		sum.row = longest;
		sum.op = x->place.dropped || !s->thread ? 0 : x->place.op;
		if (assemble_wait_emit(a, s->thread, &sum, &wait) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < x->kept_n; i++) {
		if (assemble_stretch_put(a, s, s->thread, &x->kept[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int wait_make(struct assemble *a, struct strand *s, const struct call *c, const struct call_end *end)
{
	struct hit_values v = { .entry = c->entry, .exit = end->exit };
	struct held *x = c->held;
	enum wait_reason reason;
	uint32_t target, ident_id, row, wait, thread;

	if (target_resolve(a, s, c, &v, &target, &ident_id) < 0)
		return -ENOMEM;
	if (is_idle(a, s, c, target))
		return replay(a, s, c);
	if (kept_fold(x) < 0 || assemble_strand_thread(a, s, c->begin_ns, &thread) < 0)
		return -ENOMEM;
	reason = reason_of(a, s, c, &v, target);
	if (rows_count(a, x, c, reason, &row) < 0 ||
	    (!row && row_without(a, s, x, c, reason, thread, &row) < 0) ||
	    (!target && c->point->p.resource.piece_n && assemble_text_intern(a, &c->point->p.resource, &v, &ident_id) < 0))
		return -ENOMEM;
	if (reason == REASON_SINGLEFLIGHT)
		joined_set(s);
	times_set(a, x, c, end);
	x->sum.row = row;
	/* What has spawned the strand may have ended before. */
	if (x->place.op && !a->m->ops[x->place.op].open)
		x->place.op = assemble_strand_own_op(a, s);
	x->sum.op = x->place.dropped || !thread ? 0 : x->place.op;
	if (assemble_wait_emit(a, thread, &x->sum, &wait) < 0)
		return -ENOMEM;
	if (!wait)
		return 0;
	/* Here a string already: targets.c knows these by their rows. */
	a->m->waits[wait].ident_id = ident_id;
	a->m->waits[wait].target = target;
	return 0;
}

int assemble_held_close(struct assemble *a, struct strand *s, struct call *c, const struct call_end *end)
{
	_cleanup_(held_freep) struct held *x = c->held;
	struct hit_values v = { .entry = c->entry, .exit = end->exit };
	uint8_t word = 1;
	bool wanted = true;

	/* Without its exit what `only` asks for is not known. */
	if (c->point->late_only)
		wanted = end->how == END_EXIT && assemble_choice_find(&c->point->p.only, &v, &word) && word;
	if (!wanted || (must_block(c) && !x->first_ns))
		return replay(a, s, c);
	return wait_make(a, s, c, end);
}
