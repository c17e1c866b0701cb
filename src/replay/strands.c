/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Which CPUs a thread may use is not recorded, only how many, and on which it
 * ran. As many as it may use were seen: then it is those. Else nothing is
 * assumed, and it may use all.
 *
 * Whose end is the end: of a program that was started and ended within the
 * recording, its first thread's. Of anything else, the last of all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/draft.h"
#include "util/cleanup.h"
#include "util/vec.h"

static bool mask_is_empty(const struct cpu_group *g)
{
	for (size_t i = 0; i < CPU_NUMBERS / 64; i++) {
		if (g->mask[i])
			return false;
	}
	return true;
}

static uint32_t mask_count(const struct cpu_group *g)
{
	uint32_t n = 0;

	for (size_t i = 0; i < CPU_NUMBERS / 64; i++)
		n += (uint32_t)__builtin_popcountll(g->mask[i]);
	return n;
}

static int group_of_mask(struct replay *r, const struct cpu_group *g, uint32_t *ret)
{
	for (size_t i = 0; i < r->group_n; i++) {
		if (r->groups[i].any == g->any && memcmp(r->groups[i].mask, g->mask, sizeof(g->mask)) == 0) {
			*ret = (uint32_t)i;
			return 0;
		}
	}
	if (VEC_RESERVE(r->groups, r->group_cap, r->group_n + 1) < 0)
		return -ENOMEM;
	r->groups[r->group_n] = *g;
	*ret = (uint32_t)r->group_n++;
	return 0;
}

/* Threads that may not use all CPUs: numbered from 1 in slots. */
static size_t bound_threads(const struct draft *d, uint32_t *slots)
{
	const struct model *m = d->m;
	size_t n = 0;

	for (size_t i = 1; i < m->thread_n; i++) {
		uint32_t allowed = m->threads[i].cpu_allowed_n;

		if (allowed && m->cpu_n && allowed < m->cpu_n)
			slots[i] = (uint32_t)++n;
	}
	return n;
}

static void cpu_see(struct cpu_group *g, uint32_t cpu_and_1)
{
	if (cpu_and_1 && cpu_and_1 <= CPU_NUMBERS)
		g->mask[(cpu_and_1 - 1) / 64] |= UINT64_C(1) << (cpu_and_1 - 1) % 64;
}

static int groups_make(struct draft *d)
{
	const struct model *m = d->m;
	struct replay *r = d->r;
	_cleanup_(freep) uint32_t *slots = calloc(m->thread_n, sizeof(*slots));
	_cleanup_(freep) struct cpu_group *seen = NULL;
	uint32_t any;
	size_t n;

	if (!slots || group_of_mask(r, &(struct cpu_group){ .any = true }, &any) < 0)
		return -ENOMEM;
	n = bound_threads(d, slots);
	seen = calloc(n + 1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	for (size_t i = 1; i < m->wait_n && n; i++) {
		const struct model_wait *w = &m->waits[i];

		if (w->thread >= m->thread_n || !slots[w->thread])
			continue;
		cpu_see(&seen[slots[w->thread]], w->cpu_from);
		cpu_see(&seen[slots[w->thread]], w->cpu_to);
	}
	for (size_t s = 0; s < r->strand_n; s++) {
		uint32_t thread = r->strands[s].thread, slot = slots[thread];

		r->strands[s].group = any;
		if (slot && !mask_is_empty(&seen[slot]) && mask_count(&seen[slot]) >= m->threads[thread].cpu_allowed_n &&
		    group_of_mask(r, &seen[slot], &r->strands[s].group) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* By op: a link says who started that process. malloc'd. */
static int started_find(const struct model *m, bool **ret)
{
	bool *started = calloc(m->op_n, sizeof(*started));

	if (!started)
		return -ENOMEM;
	for (size_t i = 1; i < m->link_n; i++) {
		const struct model_link *l = &m->links[i];

		if (l->kind == LINK_NESTED_CLIENT && l->to < m->op_n && l->from != l->to)
			started[l->to] = true;
	}
	*ret = started;
	return 0;
}

/* The only one that no other started: itself here since before, perhaps. 0: there are several. */
static uint32_t only_process(const struct model *m, const bool *started)
{
	uint32_t only = 0;

	for (size_t i = 1; i < m->process_n; i++) {
		uint32_t op = m->processes[i].op;

		if (!op || op >= m->op_n || m->ops[op].parent || started[op])
			continue;
		if (only)
			return 0;
		only = (uint32_t)i;
	}
	return only;
}

/* The first that began in the recording. 0: none, or somebody was there before and may well be what matters. */
static uint32_t first_process(const struct model *m)
{
	uint32_t root = 0;

	for (size_t i = 1; i < m->process_n; i++) {
		const struct model_op *o = &m->ops[m->processes[i].op < m->op_n ? m->processes[i].op : 0];

		if (!m->processes[i].op)
			continue;
		if (o->clipped & CLIPPED_BEFORE)
			return 0;
		if (!root || o->start_ns < m->ops[m->processes[root].op].start_ns)
			root = (uint32_t)i;
	}
	return root;
}

/* The process whose end ends the recording's story. 0: there is none, or it had not ended. */
static uint32_t root_process(const struct model *m, const bool *started)
{
	uint32_t only = only_process(m, started), root = only ? only : first_process(m);
	const struct model_op *o = &m->ops[m->processes[root].op < m->op_n ? m->processes[root].op : 0];

	return root && !o->open && !(o->clipped & CLIPPED_AFTER) ? root : 0;
}

static int sinks_choose(struct draft *d)
{
	_cleanup_(freep) bool *started = NULL;
	const struct model *m = d->m;
	struct replay *r = d->r;
	uint32_t root, leader = NONE;
	int64_t last_ns = -1;

	if (started_find(m, &started) < 0)
		return -ENOMEM;
	root = root_process(m, started);
	for (size_t s = 0; s < r->strand_n && root; s++) {
		const struct model_thread *t = &m->threads[r->strands[s].thread];
		/* main.main runs in goroutine 1. */
		bool first = t->goid ? t->goid == 1 : t->tid == t->pid;

		/* Two lives under one number: an execve by another thread. The last one ends it. */
		if (r->strands[s].process == root && first && t->end_ns >= last_ns) {
			leader = (uint32_t)s;
			last_ns = t->end_ns;
		}
	}
	for (size_t s = 0; s < r->strand_n; s++) {
		r->strands[s].sink = leader == NONE || leader == s;
		r->facts.missing |= leader == NONE && r->strands[s].open ? REPLAY_OPEN : 0;
	}
	return 0;
}

static uint32_t process_of(const struct model *m, const struct model_thread *t)
{
	return t->process < m->process_n ? t->process : 0;
}

int draft_strands(struct draft *d)
{
	const struct model *m = d->m;
	struct replay *r = d->r;

	r->strand_of_thread = malloc(m->thread_n * sizeof(*r->strand_of_thread));
	r->strands = calloc(m->thread_n, sizeof(*r->strands));
	if (!r->strand_of_thread || !r->strands)
		return -ENOMEM;
	r->strand_of_thread[0] = NONE;
	for (size_t i = 1; i < m->thread_n; i++) {
		const struct model_thread *t = &m->threads[i];
		int64_t end_ns = t->end_ns < m->end_ns ? t->end_ns : m->end_ns;

		r->strand_of_thread[i] = NONE;
		if (draft_is_go_thread(d, (uint32_t)i))
			continue;
		r->strand_of_thread[i] = (uint32_t)r->strand_n;
		r->strands[r->strand_n++] = (struct strand){
			.thread = (uint32_t)i,
			.op = t->op < m->op_n ? t->op : 0,
			.process = process_of(m, t),
			.begin_ns = t->begin_ns < 0 ? 0 : t->begin_ns < end_ns ? t->begin_ns : end_ns,
			.end_ns = end_ns < 0 ? 0 : end_ns,
			.token = NONE,
			.parent = NONE,
			.open = t->clipped & CLIPPED_AFTER,
		};
	}
	return groups_make(d) < 0 || sinks_choose(d) < 0 ? -ENOMEM : 0;
}
