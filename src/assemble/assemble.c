/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The door: checks each event's size, hands it to the file that knows its
 * kind, and puts the model in order at the end. Whatever is decided with
 * knowledge of the whole (kinds, names, targets) is decided in
 * assemble_finish(), so that it does not depend on the order of events.
 */
#include "assemble/assemble.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "assemble/classify.h"
#include "assemble/compact.h"
#include "assemble/goroutines.h"
#include "assemble/hosts.h"
#include "assemble/lifecycle.h"
#include "assemble/links.h"
#include "assemble/ops.h"
#include "assemble/resource.h"
#include "assemble/samples.h"
#include "assemble/scope.h"
#include "assemble/spans.h"
#include "assemble/state.h"
#include "assemble/targets.h"
#include "assemble/threads.h"
#include "assemble/wakers.h"
#include "assemble/waits.h"
#include "util/vec.h"

DEFINE_CLEANUP(struct assemble *, assemble_free)

/* Entry 0 of each vector stands for none, as in the model. */
static int blanks_make(struct assemble *a)
{
	if (VEC_RESERVE(a->threads, a->thread_cap, 1) < 0 || VEC_RESERVE(a->processes, a->process_cap, 1) < 0 ||
	    VEC_RESERVE(a->rows, a->row_cap, 1) < 0 || VEC_RESERVE(a->resources, a->resource_cap, 1) < 0 ||
	    VEC_RESERVE(a->idents, a->ident_cap, 1) < 0 || VEC_RESERVE(a->sample_next, a->sample_cap, 1) < 0 ||
	    VEC_RESERVE(a->ops, a->op_cap, 1) < 0 || VEC_RESERVE(a->functions, a->function_cap, 1) < 0)
		return -ENOMEM;
	a->threads[0] = (struct thread_state){ 0 };
	a->processes[0] = (struct process_state){ 0 };
	a->rows[0] = (struct row_state){ 0 };
	a->ops[0] = (struct op_state){ 0 };
	a->functions[a->function_n++] = (struct function){ 0 };
	a->sample_next[0] = 0;
	a->resources[a->resource_n++] = (struct resource){ 0 };
	a->idents[a->ident_n++] = (struct ident){ 0 };
	return 0;
}

int assemble_new(struct model *m, const struct assemble_options *o, struct assemble **ret)
{
	_cleanup_(assemble_freep) struct assemble *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->m = m;
	a->o = *o;
	if (map_new(&a->tids) < 0 || map_new(&a->pids) < 0 || map_new(&a->kstacks) < 0 || map_new(&a->ustacks) < 0 ||
	    map_new(&a->resource_ids) < 0 || map_new(&a->row_hashes) < 0 || map_new(&a->ident_hashes) < 0 ||
	    map_new(&a->sample_hashes) < 0 || map_new(&a->keys) < 0 || map_new(&a->begun) < 0 ||
	    map_new(&a->host_ops) < 0 || strtab_new(&a->go_reasons) < 0 || blanks_make(a) < 0)
		return -ENOMEM;
	r = o->only ? assemble_scope_new(o->only, &a->scope) : 0;
	if (r < 0)
		return r;
	m->event_cap = o->event_cap;
	m->epoch_unix_ns = o->epoch_unix_ns;
	*ret = TAKE_PTR(a);
	return 0;
}

static void strands_free(struct assemble *a)
{
	for (size_t i = 0; i < a->m->thread_n; i++) {
		struct strand *s = a->threads[i].strand;

		free(a->threads[i].pending);
		/* A goroutine has its own within itself. */
		if (!s || s->goroutine)
			continue;
		assemble_strand_done(s);
		free(s);
	}
}

struct assemble *assemble_free(struct assemble *a)
{
	if (!a)
		return NULL;
	map_free(a->tids);
	map_free(a->pids);
	map_free(a->kstacks);
	map_free(a->ustacks);
	map_free(a->resource_ids);
	map_free(a->row_hashes);
	map_free(a->ident_hashes);
	map_free(a->sample_hashes);
	map_free(a->keys);
	map_free(a->begun);
	if (a->threads)
		strands_free(a);
	if (a->processes)
		assemble_go_free(a);
	assemble_hosts_free(a);
	assemble_spans_free(a);
	assemble_points_free(a);
	assemble_scope_free(a->scope);
	free(a->ops);
	free(a->text.text);
	free(a->late_keys);
	free(a->threads);
	free(a->processes);
	free(a->rows);
	free(a->resources);
	free(a->idents);
	free(a->sample_next);
	free(a->offs);
	free(a);
	return NULL;
}

int assemble_stack_index(struct assemble *a, enum stack_side side, uint64_t id, uint32_t *ret)
{
	struct map *map = side == STACK_KERNEL ? a->kstacks : a->ustacks;
	uint64_t index = 0;
	uint32_t stack;

	if (id && !map_get(map, id, &index)) {
		if (model_stack_add(a->m, side, &stack) < 0 || map_put(map, id, stack) < 0)
			return -ENOMEM;
		index = stack;
	}
	*ret = (uint32_t)index;
	return 0;
}

static int stack_event(struct assemble *a, const struct wcbpf_stack *e)
{
	uint32_t stack;

	if (e->frame_n > WCBPF_STACK_DEPTH_MAX || e->copy_len > WCBPF_STACK_COPY_MAX ||
	    e->head.size < offsetof(struct wcbpf_stack, copy) + e->copy_len || e->side > WCBPF_STACK_KERNEL_RUNNING)
		return -EBADMSG;
	return assemble_stack_index(a, e->side == WCBPF_STACK_USER ? STACK_USER : STACK_KERNEL, e->id, &stack);
}

static int exec_event(struct assemble *a, const struct wcbpf_exec *e)
{
	if (e->argv_len > WCBPF_ARGV_MAX || e->head.size < offsetof(struct wcbpf_exec, argv) + e->argv_len)
		return -EBADMSG;
	return assemble_exec(a, e);
}

static size_t size_min(uint16_t kind)
{
	static const size_t sizes[] = {
		[WCBPF_EV_INTERVAL] = sizeof(struct wcbpf_interval),
		[WCBPF_EV_STACK] = offsetof(struct wcbpf_stack, copy),
		[WCBPF_EV_RESOURCE] = sizeof(struct wcbpf_resource),
		[WCBPF_EV_FORK] = sizeof(struct wcbpf_fork),
		[WCBPF_EV_EXEC] = offsetof(struct wcbpf_exec, argv),
		[WCBPF_EV_EXIT] = sizeof(struct wcbpf_exit),
		[WCBPF_EV_THREAD] = sizeof(struct wcbpf_thread_totals),
		[WCBPF_EV_FUTEX_RESULT] = sizeof(struct wcbpf_futex_result),
		[WCBPF_EV_SAMPLE] = sizeof(struct wcbpf_sample),
		[WCBPF_EV_OP] = offsetof(struct wcbpf_op, data),
		[WCBPF_EV_GO_BIRTH] = sizeof(struct wcbpf_go_birth),
		[WCBPF_EV_GO_INTERVAL] = sizeof(struct wcbpf_go_interval),
		[WCBPF_EV_GO_DEATH] = sizeof(struct wcbpf_go_death),
	};

	return kind < sizeof(sizes) / sizeof(sizes[0]) && sizes[kind] ? sizes[kind] : SIZE_MAX;
}

static int event_dispatch(struct assemble *a, const struct wcbpf_head *e)
{
	if (e->size < size_min(e->kind))
		return -EBADMSG;
	switch (e->kind) {
	case WCBPF_EV_INTERVAL:
		return assemble_interval(a, (const struct wcbpf_interval *)e);
	case WCBPF_EV_STACK:
		return stack_event(a, (const struct wcbpf_stack *)e);
	case WCBPF_EV_RESOURCE:
		return assemble_resource_event(a, (const struct wcbpf_resource *)e);
	case WCBPF_EV_FORK:
		return assemble_fork(a, (const struct wcbpf_fork *)e);
	case WCBPF_EV_EXEC:
		return exec_event(a, (const struct wcbpf_exec *)e);
	case WCBPF_EV_EXIT:
		return assemble_exit(a, (const struct wcbpf_exit *)e);
	case WCBPF_EV_THREAD:
		return assemble_totals(a, (const struct wcbpf_thread_totals *)e);
	case WCBPF_EV_SAMPLE:
		return assemble_sample(a, (const struct wcbpf_sample *)e);
	case WCBPF_EV_OP:
		return assemble_op(a, (const struct wcbpf_op *)e);
	case WCBPF_EV_GO_BIRTH:
		return assemble_go_birth(a, (const struct wcbpf_go_birth *)e);
	case WCBPF_EV_GO_INTERVAL:
		return assemble_go_interval(a, (const struct wcbpf_go_interval *)e);
	case WCBPF_EV_GO_DEATH:
		return assemble_go_death(a, (const struct wcbpf_go_death *)e);
	default:
		return assemble_futex_result(a, (const struct wcbpf_futex_result *)e);
	}
}

static uint64_t *damage_counter(struct model_integrity *i, uint16_t kind)
{
	switch (kind) {
	case WCBPF_EV_SAMPLE:
		return &i->lost_samples;
	case WCBPF_EV_OP:
		return &i->lost_ops;
	case WCBPF_EV_GO_BIRTH:
	case WCBPF_EV_GO_INTERVAL:
	case WCBPF_EV_GO_DEATH:
		return &i->lost_go_events;
	default:
		return &i->lost_unprocessed;
	}
}

int assemble_event(struct assemble *a, const struct wcbpf_head *e)
{
	int r = event_dispatch(a, e);

	if (r == 0 && a->no_memory) {
		a->no_memory = false;
		r = -ENOMEM;
	}
	if (r == -EBADMSG)
		(*damage_counter(&a->m->integrity, e->kind))++;
	return r;
}

/* "pid:starttime", the name of a process for ever; where the start is unknown, when it was first seen stands for it. */
static int processes_finish(struct assemble *a)
{
	struct model *m = a->m;
	char key[48];

	for (uint32_t i = 1; i < m->process_n; i++) {
		struct model_process *p = &m->processes[i];
		uint64_t start_ns = p->start_time_ns ?: a->processes[i].begin_ns;
		struct model_op *op = &m->ops[p->op];

		snprintf(key, sizeof(key), "%u:%" PRIu64, p->pid, start_ns);
		if (strtab_intern(m->strings, key, &p->key_id) < 0)
			return -ENOMEM;
		/* Known by its threads alone: the leader's name is the process's. */
		for (uint32_t t = a->processes[i].thread; t && !a->processes[i].named; t = a->threads[t].sibling) {
			if (!m->threads[t].goid && (m->threads[t].tid == p->pid || !p->comm_id))
				p->comm_id = m->threads[t].comm_id;
		}
		if (!p->op)
			continue;
		op->class_id = p->comm_id;
		op->ident_id = op->client_id = p->key_id;
	}
	/* What leads to no op is named already. */
	for (uint32_t i = 1; i < m->link_n; i++) {
		if (m->links[i].to)
			m->links[i].ident_id = m->processes[m->links[i].ident_id].key_id;
	}
	return 0;
}

static int threads_finish(struct assemble *a, int64_t end_ns)
{
	struct model *m = a->m;
	char ident[32];

	for (uint32_t i = 1; i < m->thread_n; i++) {
		struct model_thread *t = &m->threads[i];

		if (t->flushed)
			continue;
		if (assemble_wait_flush(a, i) < 0)
			return -ENOMEM;
		if (!a->threads[i].death_ns) {
			t->clipped |= CLIPPED_AFTER;
			t->end_ns = t->has_totals ? t->end_ns : end_ns;
		}
		t->begin_ns = t->begin_ns < end_ns ? t->begin_ns : end_ns;
		t->end_ns = t->end_ns < end_ns ? t->end_ns : end_ns;
		t->end_ns = t->end_ns > t->begin_ns ? t->end_ns : t->begin_ns;
		if (!t->op)
			continue;
		if (t->goid)
			snprintf(ident, sizeof(ident), "goid:%" PRIu64, t->goid);
		else
			snprintf(ident, sizeof(ident), "tid:%u", t->tid);
		if (strtab_intern(m->strings, ident, &m->ops[t->op].ident_id) < 0)
			return -ENOMEM;
		m->ops[t->op].class_id = t->comm_id;
	}
	return 0;
}

static void ops_finish(struct model *m, int64_t end_ns)
{
	for (size_t i = 1; i < m->op_n; i++) {
		struct model_op *op = &m->ops[i];

		if (op->flushed)
			continue;
		if (op->open)
			op->clipped |= CLIPPED_AFTER;
		if (op->open || op->end_ns > end_ns)
			op->end_ns = end_ns;
		if (op->start_ns > op->end_ns)
			op->start_ns = op->end_ns;
	}
	for (size_t i = 1; i < m->link_n; i++) {
		struct model_link *link = &m->links[i];

		link->start_ns = link->start_ns < end_ns ? link->start_ns : end_ns;
		link->end_ns = link->end_ns < end_ns ? link->end_ns : end_ns;
	}
}

static void op_hold(struct model *m, uint32_t op, int64_t start_ns, int64_t end_ns)
{
	struct model_op *o = &m->ops[op];

	if (!op)
		return;
	o->start_ns = o->start_ns < start_ns ? o->start_ns : start_ns;
	o->end_ns = o->end_ns > end_ns ? o->end_ns : end_ns;
}

/* Clocks of two CPUs, or an event that was lost, may put a wait outside of its thread's life, not of its op. */
static void waits_hold(struct assemble *a, int64_t end_ns)
{
	for (uint32_t i = 1; i < a->m->thread_n; i++) {
		const struct model_thread *t = &a->m->threads[i];
		int64_t first_ns = assemble_relative(a, a->threads[i].first_wait_ns);
		int64_t last_ns = assemble_relative(a, a->threads[i].last_wait_ns);

		if (t->flushed || !t->op || !a->threads[i].last_wait_ns)
			continue;
		first_ns = first_ns < end_ns ? first_ns : end_ns;
		last_ns = last_ns < end_ns ? last_ns : end_ns;
		op_hold(a->m, t->op, first_ns, last_ns);
		op_hold(a->m, a->m->processes[t->process].op, first_ns, last_ns);
	}
}

/*
 * A phase or thread lies within its process, whose end may have been moved to that of the wait it released. What an
 * op of a choke point has begun may outlast it.
 */
static void children_clamp(const struct assemble *a)
{
	struct model *m = a->m;

	for (size_t i = 1; i < m->op_n; i++) {
		struct model_op *op = &m->ops[i];
		const struct model_op *parent = &m->ops[op->parent];

		if (!op->parent || a->ops[i].thread || a->ops[op->parent].thread)
			continue;
		op->start_ns = op->start_ns > parent->start_ns ? op->start_ns : parent->start_ns;
		op->start_ns = op->start_ns < parent->end_ns ? op->start_ns : parent->end_ns;
		op->end_ns = op->end_ns < parent->end_ns ? op->end_ns : parent->end_ns;
		op->end_ns = op->end_ns > op->start_ns ? op->end_ns : op->start_ns;
		if (!parent->open && op->open) {
			op->open = false;
			op->clipped &= (uint8_t)~CLIPPED_AFTER;
		}
	}
}

/* What is cut off was runnable last, blocked before. */
static void wait_cut(struct model_wait *w, int64_t end_ns, int64_t *ret_blocked_ns, int64_t *ret_runnable_ns)
{
	int64_t cut_ns = w->end_ns - end_ns, cut_runnable_ns, cut_blocked_ns, start_cut_ns;

	*ret_blocked_ns = *ret_runnable_ns = 0;
	if (cut_ns <= 0)
		return;
	start_cut_ns = w->start_ns > end_ns ? w->start_ns - end_ns : 0;
	cut_ns -= start_cut_ns;
	cut_runnable_ns = w->runnable_ns < cut_ns ? w->runnable_ns : cut_ns;
	if (start_cut_ns)
		cut_runnable_ns = w->runnable_ns;
	cut_blocked_ns = cut_ns - cut_runnable_ns < w->blocked_ns ? cut_ns - cut_runnable_ns : w->blocked_ns;
	w->start_ns -= start_cut_ns;
	w->end_ns = end_ns;
	w->runnable_ns -= cut_runnable_ns;
	w->blocked_ns -= cut_blocked_ns;
	w->wake_ns = w->wake_ns > end_ns ? end_ns : w->wake_ns;
	*ret_blocked_ns = cut_blocked_ns;
	*ret_runnable_ns = cut_runnable_ns;
}

/* An interval that ended after the recording did. */
static void wait_clip(struct model *m, struct model_wait *w, int64_t end_ns)
{
	struct model_row *row = &m->rows[w->row];
	int64_t blocked_ns, runnable_ns;

	wait_cut(w, end_ns, &blocked_ns, &runnable_ns);
	row->blocked_ns -= row->blocked_ns < (uint64_t)blocked_ns ? row->blocked_ns : (uint64_t)blocked_ns;
	row->runnable_ns -= row->runnable_ns < (uint64_t)runnable_ns ? row->runnable_ns : (uint64_t)runnable_ns;
}

/* Clocks of two CPUs may put a wait's begin before that of its op: what is cut off was blocked first. */
static void wait_begin_cut(struct model_wait *w, int64_t start_ns)
{
	int64_t cut_ns = start_ns - w->start_ns, length_ns;

	if (cut_ns <= 0)
		return;
	w->start_ns = start_ns;
	w->end_ns = w->end_ns > start_ns ? w->end_ns : start_ns;
	w->wake_ns = w->wake_ns >= 0 && w->wake_ns < start_ns ? start_ns : w->wake_ns;
	length_ns = w->end_ns - start_ns;
	w->blocked_ns = w->blocked_ns > cut_ns ? w->blocked_ns - cut_ns : 0;
	w->blocked_ns = w->blocked_ns < length_ns ? w->blocked_ns : length_ns;
	w->runnable_ns = w->runnable_ns < length_ns - w->blocked_ns ? w->runnable_ns : length_ns - w->blocked_ns;
}

/* What a thread waited for after the join that its end released is in the totals alone. */
static void waits_clamp(struct model *m)
{
	int64_t blocked_ns, runnable_ns;

	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_op *op = &m->ops[m->waits[i].op];

		wait_cut(&m->waits[i], op->end_ns, &blocked_ns, &runnable_ns);
		wait_begin_cut(&m->waits[i], op->start_ns);
	}
}

static int rows_finish(struct assemble *a)
{
	struct model *m = a->m;

	for (uint32_t i = 1; i < m->row_n; i++) {
		const struct model_row *row = &m->rows[i];
		bool known = (!row->kstack || m->stacks[row->kstack].resolved) &&
			     (!row->ustack || m->stacks[row->ustack].resolved);

		if (assemble_row_classify(a, i) < 0)
			return -ENOMEM;
		if (known)
			continue;
		m->integrity.lost_stack_bodies += row->count;
		m->integrity.repeated_stack_losses += a->rows[i].failed_n;
	}
	for (size_t i = 1; i < m->wait_n; i++)
		m->integrity.lost_waker_stacks += m->waits[i].waker_stack && !m->stacks[m->waits[i].waker_stack].resolved;
	return 0;
}

/* Of goroutines that were flushed entries are left without one: nothing refers to them. */
static void threads_compact(struct assemble *a)
{
	struct model *m = a->m;
	uint32_t *to = m->free_thread ? calloc(m->thread_n, sizeof(*to)) : NULL, kept = 1;

	/* Without memory for it they stay. */
	if (!to)
		return;
	for (uint32_t i = 1; i < m->thread_n; i++) {
		if (m->threads[i].flushed)
			continue;
		m->threads[kept] = m->threads[i];
		a->threads[kept] = a->threads[i];
		to[i] = kept++;
	}
	for (size_t i = 1; i < m->wait_n; i++) {
		m->waits[i].thread = to[m->waits[i].thread];
		m->waits[i].waker = to[m->waits[i].waker];
	}
	for (size_t i = 1; i < m->row_n; i++)
		m->rows[i].thread = to[m->rows[i].thread];
	for (size_t i = 1; i < m->sample_n; i++)
		m->samples[i].thread = to[m->samples[i].thread];
	m->thread_n = kept;
	m->free_thread = 0;
	free(to);
}

static int finish(struct assemble *a, uint64_t end_ns, bool over)
{
	int64_t end = assemble_relative(a, end_ns);

	a->m->end_ns = end;
	if ((over ? assemble_ops_finish(a, end_ns) : assemble_ops_show(a, end_ns)) < 0 || assemble_go_finish(a) < 0 ||
	    threads_finish(a, end) < 0 || assemble_links_finish(a) < 0 || processes_finish(a) < 0 || rows_finish(a) < 0)
		return -ENOMEM;
	assemble_samples_finish(a);
	ops_finish(a->m, end);
	/* These have the times of the ops that they are of. */
	if (assemble_hosts_finish(a, over) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < a->m->wait_n; i++)
		wait_clip(a->m, &a->m->waits[i], end);
	waits_hold(a, end);
	if (assemble_targets(a) < 0)
		return -ENOMEM;
	children_clamp(a);
	waits_clamp(a->m);
	if (assemble_wakers_finish(a) < 0 || assemble_spans_finish(a, end_ns, over) < 0 || assemble_compact(a) < 0)
		return -ENOMEM;
	threads_compact(a);
	return 0;
}

int assemble_snapshot(struct assemble *a, uint64_t now_ns)
{
	return finish(a, now_ns, false);
}

int assemble_finish(struct assemble *a, uint64_t end_ns)
{
	return finish(a, end_ns, true);
}
