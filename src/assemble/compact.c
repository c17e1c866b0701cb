/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Two sorts of op go at the end. One whose point's `only` said no at its exit
 * was never there: what is under it is its parent's. One that --only asked for
 * and that turned out not to match takes with it what is under it, but for what
 * matches by itself.
 *
 * A parent begins before its children, so it has the smaller index, and one
 * pass tells all. (Phases of an execution are made last.)
 */
#include "assemble/compact.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"

struct compaction {
	struct assemble *a;
	uint32_t *to;	/* by op: its new index, or that of who has what was under it; 0: nobody */
	bool *outside;	/* by op: with what is under it */
};

static void compaction_done(struct compaction *c)
{
	free(c->to);
	free(c->outside);
}

static bool is_needed(const struct assemble *a)
{
	for (size_t i = 1; i < a->m->op_n; i++) {
		if (a->ops[i].flags & (OP_REMOVED | OP_UNDECIDED))
			return true;
	}
	return false;
}

/* Ops of processes and threads stay; a goroutine's hangs below what began it. */
static bool is_outside(const struct compaction *c, uint32_t op)
{
	const struct assemble *a = c->a;
	uint32_t parent = a->m->ops[op].parent;

	if (!a->scope || a->ops[op].flags & OP_MATCHES)
		return false;
	if (!a->ops[op].thread)
		return a->ops[parent].thread && c->outside[parent];
	return !a->ops[parent].thread || c->outside[parent];
}

static void ops_move(struct compaction *c)
{
	struct model *m = c->a->m;
	uint32_t kept = 1;

	for (uint32_t i = 1; i < m->op_n; i++) {
		uint32_t parent = m->ops[i].parent < i ? m->ops[i].parent : 0;

		c->outside[i] = is_outside(c, i);
		if (c->outside[i] || c->a->ops[i].flags & OP_REMOVED) {
			c->to[i] = c->outside[i] ? 0 : c->to[parent];
			continue;
		}
		m->ops[kept] = m->ops[i];
		m->ops[kept].id = kept;
		/* One that matches is not under what doesn't. */
		m->ops[kept].parent = c->outside[parent] ? 0 : c->to[parent];
		c->to[i] = kept++;
	}
	m->op_n = kept;
}

/* An interval of a wait that goes is no more counted. */
static void row_subtract(struct assemble *a, const struct model_wait *w)
{
	struct model_row *row = &a->m->rows[w->row];
	uint64_t blocked_ns = (uint64_t)w->blocked_ns, runnable_ns = (uint64_t)w->runnable_ns;

	row->blocked_ns -= blocked_ns < row->blocked_ns ? blocked_ns : row->blocked_ns;
	row->runnable_ns -= runnable_ns < row->runnable_ns ? runnable_ns : row->runnable_ns;
	if (!row->count)
		return;
	row->count--;
	if (row->parked)
		return;
	/* Of a goroutine's on its thread only rows by thread know which that was. */
	if (row->thread || !a->m->threads[w->thread].goid)
		a->m->threads[row->thread ? row->thread : w->thread].left_out_ns += blocked_ns + runnable_ns;
	a->m->integrity.recorded--;
	a->m->integrity.out_of_scope++;
}

static void waits_move(struct compaction *c)
{
	struct model *m = c->a->m;
	size_t kept = 1;

	for (size_t i = 1; i < m->wait_n; i++) {
		struct model_wait w = m->waits[i];
		uint32_t waker_op = w.waker ? model_wait_waker_op(m, &w) : 0;
		bool own = w.waker && waker_op == m->threads[w.waker].op;

		if (c->outside[w.op]) {
			row_subtract(c->a, &w);
			continue;
		}
		w.op = c->to[w.op];
		w.target = c->outside[w.target] ? 0 : c->to[w.target];
		/* The waker's own one is not kept by its number. */
		if (w.waker && !own)
			model_wait_waker_op_set(m, &w, c->to[waker_op]);
		m->waits[kept++] = w;
	}
	m->wait_n = kept;
}

static void rest_move(struct compaction *c)
{
	struct model *m = c->a->m;
	size_t kept = 1;

	for (size_t i = 1; i < m->link_n; i++) {
		struct model_link l = m->links[i];

		bool named = !l.to; /* a client, by its ident */

		l.from = c->to[l.from];
		l.to = c->to[l.to];
		if (l.from && (l.to || named))
			m->links[kept++] = l;
	}
	m->link_n = kept;
	kept = 1;
	for (size_t i = 1; i < m->span_n; i++) {
		struct model_span s = m->spans[i];
		bool gone = c->outside[s.op] || c->a->ops[s.op].flags & OP_REMOVED;

		s.op = c->to[s.op];
		if (!gone)
			m->spans[kept++] = s;
	}
	m->span_n = kept;
	for (size_t i = 1; i < m->thread_n; i++)
		m->threads[i].op = c->to[m->threads[i].op];
	for (size_t i = 1; i < m->process_n; i++) {
		m->processes[i].op = c->to[m->processes[i].op];
		m->processes[i].phase = c->to[m->processes[i].phase];
	}
}

int assemble_compact(struct assemble *a)
{
	_cleanup_(compaction_done) struct compaction c = { .a = a };

	if (!is_needed(a))
		return 0;
	c.to = calloc(a->m->op_n, sizeof(*c.to));
	c.outside = calloc(a->m->op_n, sizeof(*c.outside));
	if (!c.to || !c.outside)
		return -ENOMEM;
	/* Waits first: whether a waker's op is its thread's own is asked by the old numbers. */
	ops_move(&c);
	waits_move(&c);
	rest_move(&c);
	return 0;
}
