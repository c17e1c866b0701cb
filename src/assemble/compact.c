/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Two sorts of op go at the end. One whose point's `only` said no at its exit
 * was never there: what is under it is its parent's. One that --only asked for
 * and that turned out not to match takes with it what is under it, but for what
 * matches by itself.
 *
 * A parent begins before its children, so it has the smaller id, and one pass
 * in their order tells all. (Phases of an execution are made last.)
 *
 * Where dumps were made meanwhile, ids are known outside: ops stay where they
 * are then, and those that go are as good as flushed.
 */
#include "assemble/compact.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"

struct compaction {
	struct assemble *a;
	uint32_t *to;	/* by op: its new index, or that of who has what was under it; 0: nobody */
	bool *outside;	/* by op: with what is under it */
	uint32_t *order; /* ops by their ids; the first is none */
};

static void compaction_done(struct compaction *c)
{
	free(c->to);
	free(c->outside);
	free(c->order);
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

static int id_compare(const void *x, const void *y, void *arg)
{
	const struct model *m = arg;
	uint64_t a = m->ops[*(const uint32_t *)x].id, b = m->ops[*(const uint32_t *)y].id;

	return a < b ? -1 : a > b;
}

static void ops_order(struct compaction *c)
{
	struct model *m = c->a->m;

	for (uint32_t i = 0; i < m->op_n; i++)
		c->order[i] = i;
	if (c->a->o.live)
		qsort_r(c->order + 1, m->op_n - 1, sizeof(*c->order), id_compare, m);
}

/* Where an op is that stays. */
static uint32_t op_place(struct compaction *c, uint32_t op, uint32_t *kept)
{
	struct model *m = c->a->m;

	if (c->a->o.live)
		return op;
	m->ops[*kept] = m->ops[op];
	m->ops[*kept].id = *kept;
	return (*kept)++;
}

static void ops_move(struct compaction *c)
{
	struct model *m = c->a->m;
	uint32_t kept = 1;

	for (size_t n = 1; n < m->op_n; n++) {
		uint32_t i = c->order[n], parent = m->ops[i].id ? m->ops[i].parent : 0;

		if (m->ops[parent].id >= m->ops[i].id)
			parent = 0;
		c->outside[i] = is_outside(c, i);
		if (c->outside[i] || c->a->ops[i].flags & OP_REMOVED) {
			c->to[i] = c->outside[i] ? 0 : c->to[parent];
			m->flushed_op_n += c->a->o.live && !m->ops[i].flushed;
			m->ops[i].flushed |= c->a->o.live;
			continue;
		}
		c->to[i] = op_place(c, i, &kept);
		/* One that matches is not under what doesn't. */
		m->ops[c->to[i]].parent = c->outside[parent] ? 0 : c->to[parent];
	}
	if (!c->a->o.live)
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
	c.order = calloc(a->m->op_n, sizeof(*c.order));
	if (!c.to || !c.outside || !c.order)
		return -ENOMEM;
	ops_order(&c);
	/* Waits first: whether a waker's op is its thread's own is asked by the old numbers. */
	ops_move(&c);
	waits_move(&c);
	rest_move(&c);
	return 0;
}
