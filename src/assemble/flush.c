/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * While recording goes on a dump is written by a forked copy of the process, in
 * its own time. What it holds is then taken out of the model here. In between
 * more has come: waits and links behind those that were there, and ops that
 * ended since (their `late`).
 *
 * Nothing moves that is referred to by index. Ops that were dumped stay, as no
 * events, while anything refers to them; the entries of the others, and of
 * goroutines that have ended, are the next ones'. So memory and cap hold what
 * happens between two flushes, however long the recording.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "assemble/goroutines.h"
#include "assemble/held.h"
#include "assemble/hosts.h"
#include "assemble/links.h"
#include "assemble/spans.h"
#include "assemble/state.h"
#include "assemble/threads.h"
#include "assemble/waits.h"
#include "util/vec.h"

/* A goroutine that has ended just now may still be named as who woke another. */
#define ENDED_NS 1000000000ull
/* Whose ancestors are asked for: so far up. A chain of goroutines that each began the next has no end. */
#define ANCESTORS_MAX 64

int assemble_switch(struct assemble *a, bool on, uint64_t time_ns)
{
	bool is_on = !a->off_n || a->offs[a->off_n - 1].on_ns != UINT64_MAX;

	if (on == is_on)
		return 0;
	if (on) {
		a->offs[a->off_n - 1].on_ns = time_ns;
		return 0;
	}
	if (VEC_RESERVE(a->offs, a->off_cap, a->off_n + 1) < 0)
		return -ENOMEM;
	a->offs[a->off_n++] = (struct off_time){ .off_ns = time_ns, .on_ns = UINT64_MAX };
	return 0;
}

uint64_t assemble_samples_off(const struct assemble *a)
{
	return a->off_sample_n;
}

int assemble_settle(struct assemble *a)
{
	for (uint32_t i = 1; i < a->m->thread_n; i++) {
		if (assemble_wait_flush(a, i) < 0)
			return -ENOMEM;
	}
	if (assemble_links_settle(a) < 0)
		return -ENOMEM;
	a->marked = true;
	a->mark_wait_n = a->m->wait_n;
	a->mark_link_n = a->m->link_n;
	return 0;
}

static void late_clear(struct assemble *a)
{
	for (size_t i = 1; i < a->m->op_n; i++)
		a->m->ops[i].late = false;
	a->marked = false;
}

void assemble_flush_drop(struct assemble *a)
{
	late_clear(a);
}

/* ---- what goes ---- */

static void waits_flush(struct assemble *a)
{
	struct model *m = a->m;
	uint32_t gone = (uint32_t)a->mark_wait_n - 1;

	memmove(m->waits + 1, m->waits + a->mark_wait_n, (m->wait_n - a->mark_wait_n) * sizeof(*m->waits));
	m->wait_n -= gone;
	for (size_t i = 1; i < m->thread_n; i++)
		a->threads[i].wait = a->threads[i].wait > gone ? a->threads[i].wait - gone : 0;
}

static void ops_flush(struct assemble *a)
{
	struct model *m = a->m;

	for (size_t i = 1; i < m->op_n; i++) {
		struct model_op *op = &m->ops[i];

		if (op->flushed || op->open || op->late)
			continue;
		op->flushed = true;
		m->flushed_op_n++;
	}
}

/* ---- what is referred to ---- */

static void strand_mark(struct assemble *a, const struct strand *s)
{
	a->op_marks[s->spawn_op] = 1;
	for (size_t i = 0; i < s->call_n; i++) {
		a->op_marks[s->calls[i].op] = 1;
		assemble_held_mark(a, s->calls[i].held);
	}
}

static int strand_visit(struct assemble *a, struct strand *s, uint64_t ns)
{
	(void)ns;
	strand_mark(a, s);
	return 0;
}

static void entries_mark(struct assemble *a)
{
	struct model *m = a->m;

	for (size_t i = 1; i < m->thread_n; i++) {
		const struct thread_state *s = &a->threads[i];

		/* What it is free for is no op. */
		if (m->threads[i].flushed)
			continue;
		/* A goroutine's own keeps it only as long as it lives. */
		if (!m->threads[i].goid || !s->death_ns)
			a->op_marks[m->threads[i].op] = 1;
		if (s->strand)
			strand_mark(a, s->strand);
		if (s->pending) {
			a->op_marks[s->pending->op] = 1;
			a->thread_marks[s->pending->waker] = 1;
		}
	}
	for (uint32_t i = 1; i < m->process_n; i++) {
		a->op_marks[m->processes[i].op] = a->op_marks[m->processes[i].phase] = 1;
		assemble_go_each(a, i, strand_visit, 0);
	}
}

static void events_mark(struct assemble *a)
{
	const struct model *m = a->m;

	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		a->op_marks[w->op] = a->op_marks[w->target] = 1;
		a->thread_marks[w->thread] = a->thread_marks[w->waker] = 1;
	}
	for (size_t i = 1; i < m->link_n; i++)
		a->op_marks[m->links[i].from] = a->op_marks[m->links[i].to] = 1;
	for (size_t i = 1; i < m->row_n; i++)
		a->thread_marks[m->rows[i].thread] = 1;
	for (size_t i = 1; i < m->sample_n; i++)
		a->thread_marks[m->samples[i].thread] = 1;
}

static void maps_mark(struct assemble *a)
{
	uint64_t key, value;

	for (size_t at = 0; map_next(a->keys, &at, &key, &value);)
		a->op_marks[(uint32_t)value] = 1;
	for (size_t at = 0; map_next(a->begun, &at, &key, &value);)
		a->op_marks[key] = 1;
}

/* An op that is not flushed, or is referred to, has those that it hangs below. */
static void ancestors_mark(struct assemble *a)
{
	struct model *m = a->m;

	for (uint32_t i = 1; i < m->op_n; i++) {
		uint32_t op = i;

		if (m->ops[i].flushed && a->op_marks[i] != 1)
			continue;
		/* The thread that it is of, to tell whose it was. */
		a->thread_marks[a->ops[i].thread] = 1;
		for (int n = 0; op && n < ANCESTORS_MAX; n++) {
			op = m->ops[op].parent;
			if (a->op_marks[op] == 1)
				break;
			/* 2: its own ancestors are counted from below. */
			a->op_marks[op] = a->op_marks[op] ?: 2;
		}
	}
}

/* ---- entries that nothing refers to ---- */

static void ops_release(struct assemble *a)
{
	struct model *m = a->m;

	for (uint32_t i = 1; i < m->op_n; i++) {
		struct model_op *op = &m->ops[i];

		if (!op->flushed || !op->id)
			continue;
		if (a->op_marks[i])
			op->parent = a->op_marks[op->parent] ? op->parent : 0;
		else
			model_op_release(m, i);
	}
}

static bool goroutine_is_over(const struct assemble *a, uint32_t thread, uint64_t now_ns)
{
	const struct model_thread *t = &a->m->threads[thread];
	const struct thread_state *s = &a->threads[thread];

	return t->goid && s->death_ns && !s->strand && s->death_ns + ENDED_NS < now_ns &&
	       (!t->op || (a->m->ops[t->op].flushed && !a->op_marks[t->op]));
}

/* Marks those that stay, whyever; what is left goes. */
static int goroutines_flush(struct assemble *a, uint64_t now_ns)
{
	struct model *m = a->m;

	for (uint32_t i = 1; i < m->thread_n; i++) {
		if (!m->threads[i].flushed && !goroutine_is_over(a, i, now_ns))
			a->thread_marks[i] = 1;
		if (a->thread_marks[i] && !m->threads[i].flushed)
			a->op_marks[m->threads[i].op] = 1;
	}
	if (assemble_go_forget(a) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->process_n; i++)
		a->processes[i].thread = 0;
	for (uint32_t i = 1; i < m->thread_n; i++) {
		struct process_state *p = &a->processes[m->threads[i].process];

		if (m->threads[i].flushed)
			continue;
		if (!a->thread_marks[i]) {
			model_goroutine_release(m, i);
			a->threads[i] = (struct thread_state){ 0 };
			continue;
		}
		a->threads[i].sibling = p->thread;
		p->thread = i;
	}
	return 0;
}

static int marks_make(struct assemble *a)
{
	a->op_marks = calloc(a->m->op_n, sizeof(*a->op_marks));
	a->thread_marks = calloc(a->m->thread_n, sizeof(*a->thread_marks));
	return a->op_marks && a->thread_marks ? 0 : -ENOMEM;
}

int assemble_flush(struct assemble *a, uint64_t now_ns)
{
	int r = marks_make(a);

	if (r == 0) {
		assemble_hosts_flush(a);
		assemble_spans_flush(a);
		waits_flush(a);
		assemble_links_flush(a, a->mark_link_n);
		ops_flush(a);
		entries_mark(a);
		events_mark(a);
		maps_mark(a);
		assemble_hosts_mark(a);
		assemble_spans_mark(a);
		ancestors_mark(a);
		r = goroutines_flush(a, now_ns);
	}
	if (r == 0)
		ops_release(a);
	late_clear(a);
	free(TAKE_PTR(a->op_marks));
	free(TAKE_PTR(a->thread_marks));
	return r;
}
