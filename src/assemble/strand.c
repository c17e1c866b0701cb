/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What is left without an exit (an exception, longjmp, panic, a thread that
 * ends) leaves no event. It shows later: a frame that begins no further in than
 * one that is open, or an exit of a frame outside of it, says that that one is
 * gone. So every hit with a frame puts the stack in order first.
 *
 * A strand may have several stacks: signal stacks, coroutines. Frames far from
 * each other are on different ones, and say nothing of each other.
 */
#include "assemble/strand.h"

#include <errno.h>
#include <stdlib.h>

#include "assemble/goroutines.h"
#include "assemble/held.h"
#include "assemble/ops.h"
#include "util/vec.h"

/* Within one stack of a thread; a goroutine's may be 1 GB (runtime.maxstacksize) and is its only one. */
#define STACK_BYTES_MAX (8ull << 20)
#define GO_STACK_BYTES_MAX (1ull << 30)

int assemble_strand_of_thread(struct assemble *a, uint32_t thread, struct strand **ret)
{
	struct strand *s = a->threads[thread].strand;

	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return -ENOMEM;
		s->thread = thread;
		s->process = a->m->threads[thread].process;
		a->threads[thread].strand = s;
	}
	*ret = s;
	return 0;
}

struct strand *assemble_strand_working(const struct assemble *a, uint32_t thread)
{
	struct goroutine *g = assemble_goroutine_on(a, thread);

	return g ? assemble_goroutine_strand(g) : a->threads[thread].strand;
}

void assemble_strand_done(struct strand *s)
{
	while (s->call_n)
		assemble_strand_pop(s, &s->calls[s->call_n - 1]);
	free(s->calls);
	s->calls = NULL;
	s->call_cap = 0;
}

static bool is_elsewhere(const struct strand *s, const struct call *c, uint64_t depth)
{
	uint64_t apart = c->depth > depth ? c->depth - depth : depth - c->depth;

	return apart > (s->goroutine ? GO_STACK_BYTES_MAX : STACK_BYTES_MAX);
}

uint64_t assemble_strand_depth(const struct strand *s, const struct wcbpf_op *e)
{
	return s->goroutine ? e->stack_hi - e->cfa : ~e->cfa;
}

static bool is_placed(const struct call *c)
{
	return c->kind == CALL_OP || c->kind == CALL_DROPPED;
}

static struct place place_of(const struct call *c)
{
	return (struct place){ .op = c->op, .dropped = c->kind == CALL_DROPPED, .in_scope = c->in_scope };
}

/* The innermost op: of the same stack, if there is one on it. depth 0: of any. */
static const struct call *innermost(const struct strand *s, uint64_t depth)
{
	const struct call *any = NULL;

	for (size_t i = s ? s->call_n : 0; i; i--) {
		const struct call *c = &s->calls[i - 1];

		if (!is_placed(c))
			continue;
		if (!depth || !is_elsewhere(s, c, depth))
			return c;
		any = any ?: c;
	}
	return any;
}

/* C code that a goroutine calls runs on its thread's stack. */
static struct place place_below(const struct assemble *a, const struct strand *s)
{
	struct goroutine *g = s->goroutine ? NULL : assemble_goroutine_on(a, s->thread);
	const struct call *c = g ? innermost(assemble_goroutine_strand(g), 0) : NULL;

	if (c)
		return place_of(c);
	if (g)
		s = assemble_goroutine_strand(g);
	if (s->spawn_op)
		return (struct place){ .op = s->spawn_op, .in_scope = s->spawn_in_scope };
	return (struct place){ .op = assemble_strand_own_op(a, s),
			       .in_scope = s->spawn_in_scope || a->processes[s->process].in_scope };
}

struct place assemble_strand_place(const struct assemble *a, const struct strand *s, uint64_t depth)
{
	const struct call *c = innermost(s, depth);

	return c ? place_of(c) : place_below(a, s);
}

/* A wait is nobody's but the strand's own: who spawned it may be gone. */
struct place assemble_strand_waits(const struct assemble *a, const struct strand *s)
{
	const struct call *c = innermost(s, 0);

	return c ? place_of(c) : (struct place){ .op = assemble_strand_own_op(a, s) };
}

/* What has no place has nothing below it, but what it spawns is re-parented. */
struct place assemble_strand_spawns(const struct assemble *a, const struct strand *s)
{
	struct place p = { 0 };

	if (!s)
		return p;
	for (size_t i = s->call_n; i; i--) {
		if (s->calls[i - 1].kind == CALL_OP)
			return place_of(&s->calls[i - 1]);
	}
	p.op = s->spawn_op;
	p.in_scope = s->spawn_in_scope || a->processes[s->process].in_scope;
	return p;
}

uint32_t assemble_strand_own_op(const struct assemble *a, const struct strand *s)
{
	return a->m->threads[s->thread].op ?: a->m->processes[s->process].op;
}

int assemble_strand_push(struct hit *h, enum call_kind kind, struct call **ret)
{
	struct strand *s = h->strand;
	struct values *entry = NULL;

	if (VEC_RESERVE(s->calls, s->call_cap, s->call_n + 1) < 0 ||
	    (h->point->keeps_entry && assemble_values_keep(&h->values, &entry) < 0))
		return -ENOMEM;
	s->calls[s->call_n] = (struct call){ .point = h->point, .entry = entry, .kind = (uint8_t)kind,
					     .depth = h->depth, .begin_ns = h->time_ns };
	*ret = &s->calls[s->call_n++];
	return 0;
}

struct call *assemble_strand_waiting(const struct strand *s)
{
	for (size_t i = s ? s->call_n : 0; i; i--) {
		struct call *c = &s->calls[i - 1];

		if (c->kind == CALL_WAIT)
			return c;
		if (is_placed(c))
			return NULL;
	}
	return NULL;
}

void assemble_strand_pop(struct strand *s, struct call *c)
{
	size_t i = (size_t)(c - s->calls);

	free(c->entry);
	assemble_held_free(c->held);
	s->call_n--;
	memmove(c, c + 1, (s->call_n - i) * sizeof(*c));
}

/* Closes what is above calls[from] on the stack that depth is of, calls[from] too. 0, -ENOMEM. */
static int unwind(struct assemble *a, struct strand *s, size_t from, uint64_t depth, uint64_t time_ns)
{
	struct call_end end = { .time_ns = time_ns, .how = END_UNWOUND };

	for (size_t i = s->call_n; i > from; i--) {
		struct call *c = &s->calls[i - 1];

		if (!is_elsewhere(s, c, depth) && assemble_call_close(a, s, c, &end) < 0)
			return -ENOMEM;
	}
	return 0;
}

int assemble_strand_enter(struct assemble *a, const struct hit *h, bool own_too)
{
	struct strand *s = h->strand;
	size_t from = s->call_n;

	for (size_t i = s->call_n; i; i--) {
		const struct call *c = &s->calls[i - 1];

		if (c->tied || is_elsewhere(s, c, h->depth))
			continue;
		if (c->depth < h->depth || (c->depth == h->depth && !own_too))
			break;
		from = i - 1;
	}
	return unwind(a, s, from, h->depth, h->time_ns);
}

int assemble_strand_leave(struct assemble *a, const struct hit *h, struct call **ret)
{
	struct strand *s = h->strand;
	size_t i;

	for (i = s->call_n; i; i--) {
		const struct call *c = &s->calls[i - 1];

		if (!c->tied && c->depth == h->depth && c->point->number == h->point->number)
			break;
	}
	*ret = NULL;
	if (!i)
		return 0;
	if (unwind(a, s, i, h->depth, h->time_ns) < 0)
		return -ENOMEM;
	*ret = &s->calls[i - 1];
	return 0;
}

int assemble_strand_end(struct assemble *a, struct strand *s, uint64_t time_ns)
{
	struct call_end end = { .time_ns = time_ns, .how = END_UNWOUND };

	while (s && s->call_n) {
		if (assemble_call_close(a, s, &s->calls[s->call_n - 1], &end) < 0)
			return -ENOMEM;
	}
	return 0;
}
