/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A process or thread may be known before its fork event comes: from a seed,
 * when it was born while /proc was read, or from an event that overtook the
 * fork's by microseconds. Then the fork only completes what is known. A fork
 * of a number whose holder is known otherwise ends that holder: its exit was
 * lost.
 *
 * exec by a thread other than the leader gives it the leader's tid. Two threads
 * end then, the leader and the one under its old number, and a third begins: so
 * no two have one tid at one time, and no wait changes its thread.
 */
#include "assemble/lifecycle.h"

#include <errno.h>
#include <string.h>

#include "assemble/argv.h"
#include "assemble/goroutines.h"
#include "assemble/hosts.h"
#include "assemble/links.h"
#include "assemble/ops.h"
#include "assemble/strand.h"
#include "assemble/threads.h"
#include "assemble/waits.h"

/* A thread that dies this shortly before its process was taken down with it. */
#define GROUP_EXIT_NS_MAX 10000000ull
/* /proc gives start times in ticks of 10 ms. */
#define START_TICK_NS 10000000ull

static void comm_copy(char ret[WCBPF_COMM_LEN + 1], const char *comm)
{
	memcpy(ret, comm, WCBPF_COMM_LEN);
	ret[WCBPF_COMM_LEN] = 0;
}

static int process_name(struct assemble *a, uint32_t process, const char *comm)
{
	struct model_process *p = &a->m->processes[process];
	int r = strtab_intern(a->m->strings, comm, &p->comm_id);

	if (r < 0)
		return r;
	a->processes[process].named = true;
	if (p->op)
		a->m->ops[p->op].class_id = p->comm_id;
	return 0;
}

static int process_argv(struct assemble *a, uint32_t process, const char *argv, size_t n, size_t total,
			uint32_t *ret_meta_id)
{
	uint32_t op = a->m->processes[process].op, meta_id = 0;
	int r = 0;

	if (a->o.keep_args)
		r = assemble_argv_intern(a->m->strings, argv, n, total, &meta_id);
	if (r < 0)
		return r;
	if (op)
		a->m->ops[op].meta_id = meta_id;
	*ret_meta_id = meta_id;
	return 0;
}

/* A process or thread known before the event of its begin: that was not clipped after all. */
static void op_began(struct assemble *a, uint32_t op, uint64_t time_ns)
{
	struct model_op *o = &a->m->ops[op];

	if (!op)
		return;
	o->start_ns = assemble_relative(a, time_ns);
	o->clipped &= (uint8_t)~CLIPPED_BEFORE;
	if (o->end_ns < o->start_ns)
		o->end_ns = o->start_ns;
}

/* Likewise. */
static void thread_began(struct assemble *a, uint32_t thread, uint64_t time_ns)
{
	struct model_thread *t = &a->m->threads[thread];

	a->threads[thread].origin = ORIGIN_FORKED;
	a->threads[thread].begin_ns = time_ns;
	t->clipped &= (uint8_t)~CLIPPED_BEFORE;
	if (!t->has_totals)
		t->begin_ns = assemble_relative(a, time_ns);
	op_began(a, t->op, time_ns);
}

/* A program that begins, its exec told late: what it did meanwhile was told before. */
static void seed_seen(struct assemble *a, const struct assemble_seed *seed)
{
	uint32_t thread = assemble_thread_at(a, seed->tid, UINT64_MAX), process = a->m->threads[thread].process;
	const struct thread_state *s = &a->threads[thread];

	if (!thread || s->death_ns || s->origin != ORIGIN_SEEN || s->begin_ns < seed->now_ns ||
	    a->m->threads[thread].pid != seed->pid || a->processes[process].origin != ORIGIN_SEEN)
		return;
	thread_began(a, thread, seed->now_ns);
	a->processes[process].begin_ns = seed->now_ns;
	a->processes[process].origin = ORIGIN_SEEDED;
	op_began(a, a->m->processes[process].op, seed->now_ns);
}

int assemble_seed(struct assemble *a, const struct assemble_seed *seed)
{
	uint32_t process, thread, meta_id;
	struct assemble_birth birth = {
		.begin_ns = seed->now_ns,
		.start_time_ns = seed->start_time_ns,
		.comm = seed->comm,
		.origin = ORIGIN_SEEDED,
		.before = seed->before || seed->now_ns < a->o.begin_ns,
	};
	bool leader = seed->pid == seed->tid;
	int r;

	if (!seed->pid || !seed->tid)
		return -EINVAL;
	if (!birth.before)
		seed_seen(a, seed);
	process = assemble_process_at(a, seed->pid, seed->now_ns);
	if (!process || a->processes[process].death_ns) {
		birth.number = seed->pid;
		r = assemble_process_make(a, &birth, &process);
		if (r < 0)
			return r;
	}
	if (!a->m->processes[process].start_time_ns)
		a->m->processes[process].start_time_ns = seed->start_time_ns;
	if (leader && !a->processes[process].named && seed->comm && process_name(a, process, seed->comm) < 0)
		return -ENOMEM;
	if (a->m->processes[process].op && !a->m->ops[a->m->processes[process].op].meta_id &&
	    process_argv(a, process, seed->argv, seed->argv_len, seed->argv_len, &meta_id) < 0)
		return -ENOMEM;
	if (assemble_link_seed(a, process, seed) < 0)
		return -ENOMEM;
	thread = assemble_thread_in(a, seed->tid, process, seed->now_ns);
	if (thread && !a->threads[thread].death_ns)
		return 0;
	birth.number = seed->tid;
	birth.process = process;
	return assemble_thread_make(a, &birth, &thread);
}

/* Known already, and not some earlier holder of its number: it began when the fork says. */
static bool thread_is_forked(const struct assemble *a, uint32_t thread, const struct wcbpf_fork *e)
{
	const struct thread_state *s = &a->threads[thread];

	if (!thread || s->death_ns || s->origin == ORIGIN_FORKED || a->m->threads[thread].pid != e->tgid)
		return false;
	return s->begin_ns + ASSEMBLE_SLACK_NS >= e->head.time_ns || (s->origin == ORIGIN_SEEDED && !s->seen);
}

static bool process_is_forked(const struct assemble *a, uint32_t process, const struct wcbpf_fork *e)
{
	const struct process_state *s = &a->processes[process];
	uint64_t start_ns = a->m->processes[process].start_time_ns;

	if (!process || s->death_ns || s->origin == ORIGIN_FORKED)
		return false;
	/* One read from /proc is rounded down to a tick. */
	if (start_ns && e->start_ns)
		return e->start_ns >= start_ns && e->start_ns - start_ns < START_TICK_NS;
	return s->begin_ns + ASSEMBLE_SLACK_NS >= e->head.time_ns;
}

static int process_fork(struct assemble *a, const struct wcbpf_fork *e, uint32_t parent_thread, const char *comm,
			uint32_t *ret)
{
	uint32_t process = assemble_process_at(a, e->tgid, UINT64_MAX), parent = a->m->threads[parent_thread].process;
	uint32_t op;
	int r;

	if (process_is_forked(a, process, e)) {
		a->processes[process].begin_ns = e->head.time_ns;
		a->processes[process].parent = parent;
		op_began(a, a->m->processes[process].op, e->head.time_ns);
	} else {
		r = assemble_process_make(a, &(struct assemble_birth){ .number = e->tgid, .process = parent,
								       .begin_ns = e->head.time_ns, .comm = comm,
								       .origin = ORIGIN_FORKED }, &process);
		if (r < 0)
			return r;
	}
	a->processes[process].origin = ORIGIN_FORKED;
	a->processes[process].named = true;
	a->m->processes[process].start_time_ns = e->start_ns;
	/* Until it execs it runs its parent's program. */
	op = a->m->processes[process].op;
	if (op && !a->m->ops[op].meta_id)
		a->m->ops[op].meta_id = a->m->ops[a->m->processes[parent].op].meta_id;
	*ret = process;
	return assemble_link_fork(a, parent_thread, process, e->head.time_ns);
}

/* What a thread begins with is what its parent was at. A Go program's threads are nobody's work: its goroutines are. */
static int thread_spawned(struct assemble *a, uint32_t parent, uint32_t thread)
{
	struct place from = assemble_strand_spawns(a, a->threads[parent].strand);
	struct strand *s;

	if (a->processes[a->m->threads[parent].process].go || (!from.op && !from.in_scope))
		return 0;
	if (assemble_strand_of_thread(a, thread, &s) < 0)
		return -ENOMEM;
	s->spawn_op = from.op;
	s->spawn_in_scope = from.in_scope;
	return 0;
}

int assemble_fork(struct assemble *a, const struct wcbpf_fork *e)
{
	struct assemble_span span = { .from_ns = e->head.time_ns, .to_ns = e->head.time_ns };
	uint32_t parent_thread, process, thread;
	char comm[WCBPF_COMM_LEN + 1];
	struct goroutine *g;
	int r;

	if (!e->tid || !e->tgid || !e->parent_tid || !e->parent_tgid)
		return -EBADMSG;
	comm_copy(comm, e->comm);
	span.comm = comm; /* the child's is the parent's as yet */
	if (assemble_thread_for(a, e->parent_tid, e->parent_tgid, &span, &parent_thread) < 0)
		return -ENOMEM;
	/* What it runs may have changed since the last event of it. */
	if (e->goid && assemble_goroutine_at(a, parent_thread, e->goid, e->head.time_ns, &g) < 0)
		return -ENOMEM;
	process = a->m->threads[parent_thread].process;
	if (e->tgid != e->parent_tgid) {
		r = process_fork(a, e, parent_thread, comm, &process);
		if (r < 0)
			return r;
	}
	thread = assemble_thread_at(a, e->tid, UINT64_MAX);
	if (thread_is_forked(a, thread, e)) {
		thread_began(a, thread, e->head.time_ns);
	} else {
		r = assemble_thread_make(a, &(struct assemble_birth){ .number = e->tid, .process = process,
								      .begin_ns = e->head.time_ns, .comm = comm,
								      .origin = ORIGIN_FORKED }, &thread);
		if (r < 0)
			return r;
	}
	return e->tgid == e->parent_tgid ? thread_spawned(a, parent_thread, thread) : 0;
}

/* The program that runs from now on. */
static int phase_begin(struct assemble *a, uint32_t process, uint64_t time_ns, uint32_t meta_id)
{
	struct model_process *p = &a->m->processes[process];
	uint32_t phase;

	assemble_op_end(a, p->phase, time_ns);
	p->phase = 0;
	if (assemble_op_begin(a, OP_EXEC_PHASE, time_ns, &phase) < 0)
		return -ENOMEM;
	p->phase = phase;
	if (!phase)
		return 0;
	a->m->ops[phase].parent = p->op;
	a->m->ops[phase].class_id = p->comm_id;
	a->m->ops[phase].meta_id = meta_id;
	a->m->ops[phase].pid = a->m->ops[phase].tid = p->pid;
	return 0;
}

/* The thread that has the process's number from an exec by another than its leader on. 0, -ENOMEM. */
static int leader_begin(struct assemble *a, uint32_t process, const struct wcbpf_exec *e, const char *comm,
			uint32_t *ret)
{
	uint64_t now_ns = e->head.time_ns;
	uint32_t thread = assemble_thread_at(a, e->tgid, UINT64_MAX);
	const struct thread_state *s = &a->threads[thread];
	uint32_t old = assemble_thread_in(a, e->old_tid, process, now_ns);

	if (old) {
		assemble_thread_end(a, old, now_ns);
		a->m->ops[a->m->threads[old].op].outcome = OUTCOME_OK;
	}
	/* An event of the new one's may have come first. */
	if (thread && !s->death_ns && s->origin == ORIGIN_SEEN && s->begin_ns >= now_ns &&
	    a->m->threads[thread].process == process) {
		thread_began(a, thread, now_ns);
		*ret = thread;
		return 0;
	}
	return assemble_thread_make(a, &(struct assemble_birth){ .number = e->tgid, .process = process,
								 .begin_ns = now_ns, .comm = comm,
								 .origin = ORIGIN_FORKED }, ret);
}

int assemble_exec(struct assemble *a, const struct wcbpf_exec *e)
{
	struct assemble_span span = { .from_ns = e->head.time_ns, .to_ns = e->head.time_ns };
	bool is_leader = !e->old_tid || e->old_tid == e->tid;
	uint32_t thread, process, meta_id;
	char comm[WCBPF_COMM_LEN + 1];
	int r;

	if (!e->tid || e->tid != e->tgid)
		return -EBADMSG;
	comm_copy(comm, e->comm);
	span.comm = comm;
	r = is_leader ? assemble_thread_for(a, e->tid, e->tgid, &span, &thread) :
			assemble_process_for(a, e->tgid, &span, &process);
	if (r == 0 && !is_leader)
		r = leader_begin(a, process, e, comm, &thread);
	if (r < 0)
		return r;
	process = a->m->threads[thread].process;
	/* exec leaves no other thread, whether its exit was seen or not, and nothing open on this one. */
	if (assemble_go_end(a, process, e->head.time_ns) < 0 ||
	    assemble_strand_end(a, a->threads[thread].strand, e->head.time_ns) < 0)
		return -ENOMEM;
	assemble_begun_end(a, process, e->head.time_ns);
	a->threads[thread].goid = 0;
	for (uint32_t t = a->processes[process].thread; t; t = a->threads[t].sibling) {
		if (t != thread)
			assemble_thread_end(a, t, e->head.time_ns);
	}
	if (assemble_thread_name(a, thread, e->comm) < 0 || process_name(a, process, comm) < 0)
		return -ENOMEM;
	r = process_argv(a, process, e->argv, e->argv_len, e->argv_total, &meta_id);
	if (r == 0)
		r = phase_begin(a, process, e->head.time_ns, meta_id);
	return r < 0 ? r : assemble_host_exec(a, process, e);
}

static void process_exit(struct assemble *a, uint32_t process, const struct wcbpf_exit *e)
{
	struct model_op *op = &a->m->ops[a->m->processes[process].op];
	struct process_state *s = &a->processes[process];
	uint32_t code = (uint32_t)e->exit_code;

	if (s->exit_seen)
		return;
	s->exit_seen = true;
	assemble_process_end(a, process, e->head.time_ns);
	if (e->exit_code == WCBPF_EXIT_UNKNOWN)
		return;
	s->killed = code & 0x7f;
	/* A process that ended by itself was not killed; threads that its exit took down are told by WCBPF_IV_KILLED. */
	for (uint32_t t = s->killed ? s->thread : 0; t; t = a->threads[t].sibling) {
		if (a->threads[t].death_ns + GROUP_EXIT_NS_MAX >= e->head.time_ns)
			assemble_wait_killed(a, t, a->threads[t].death_ns);
	}
	if (!a->m->processes[process].op)
		return;
	op->has_exit_status = true;
	op->exit_status = e->exit_code;
	op->outcome = code & 0x7f ? OUTCOME_CANCELED : code ? OUTCOME_ERROR : OUTCOME_OK;
}

int assemble_exit(struct assemble *a, const struct wcbpf_exit *e)
{
	struct assemble_span span = { .from_ns = e->head.time_ns, .to_ns = e->head.time_ns };
	uint32_t thread = assemble_thread_at(a, e->tid, e->head.time_ns), op;
	struct thread_state *s;

	if (!e->tid || !e->tgid)
		return -EBADMSG;
	/* Nobody dies twice: a second exit is that of a holder whose fork was lost. */
	span.dying = !(thread && a->threads[thread].exit_seen);
	if (assemble_thread_for(a, e->tid, e->tgid, &span, &thread) < 0)
		return -ENOMEM;
	s = &a->threads[thread];
	assemble_thread_end(a, thread, e->head.time_ns);
	/* Ended before only because its process or its number said so: the event knows better. */
	if (!s->exit_seen && e->head.time_ns < s->death_ns && e->head.time_ns >= s->begin_ns) {
		s->death_ns = e->head.time_ns;
		op = a->m->threads[thread].op;
		if (op)
			a->m->ops[op].end_ns = assemble_relative(a, s->death_ns);
	}
	s->exit_seen = true;
	if ((e->exit_code != WCBPF_EXIT_UNKNOWN && e->exit_code & 0x7f) || a->processes[a->m->threads[thread].process].killed)
		assemble_wait_killed(a, thread, s->death_ns);
	if (e->group_dead)
		process_exit(a, a->m->threads[thread].process, e);
	return 0;
}

static int totals_thread(struct assemble *a, const struct wcbpf_thread_totals *e, struct assemble_span *span,
			 uint32_t *ret)
{
	uint32_t thread = assemble_thread_living(a, e->tid, e->begin_ns, e->end_ns);
	bool has_totals = thread && a->m->threads[thread].has_totals;

	if (thread && !has_totals && a->m->threads[thread].pid == e->tgid) {
		if (a->threads[thread].origin != ORIGIN_FORKED)
			assemble_thread_extend(a, thread, e->begin_ns);
		*ret = thread;
		return 0;
	}
	/* Two lives under one tid, the fork between them lost. */
	span->dying = !has_totals;
	return assemble_thread_for(a, e->tid, e->tgid, span, ret);
}

int assemble_totals(struct assemble *a, const struct wcbpf_thread_totals *e)
{
	struct assemble_span span = { .from_ns = e->begin_ns, .to_ns = e->end_ns };
	char comm[WCBPF_COMM_LEN + 1];
	struct model_thread *t;
	uint32_t thread;

	if (!e->tid || !e->tgid || e->begin_ns > e->end_ns)
		return -EBADMSG;
	comm_copy(comm, e->comm);
	span.comm = comm;
	if (totals_thread(a, e, &span, &thread) < 0 || assemble_thread_name(a, thread, e->comm) < 0)
		return -ENOMEM;
	t = &a->m->threads[thread];
	if (!a->m->processes[t->process].start_time_ns)
		a->m->processes[t->process].start_time_ns = e->start_ns;
	/* Its fork was lost, but it was a fork within the recording. */
	if (!e->seeded && a->threads[thread].origin == ORIGIN_SEEN) {
		a->threads[thread].origin = ORIGIN_FORKED;
		t->clipped &= (uint8_t)~CLIPPED_BEFORE;
		op_began(a, t->op, e->begin_ns);
	}
	t->has_totals = true;
	t->begin_ns = assemble_relative(a, e->begin_ns);
	t->end_ns = assemble_relative(a, e->end_ns);
	t->oncpu_ns = e->oncpu_ns;
	t->runnable_ns = e->runnable_ns;
	t->blocked_ns = e->blocked_ns;
	t->lost_ns = e->lost_ns;
	t->interval_n = e->interval_n;
	t->lost_n = e->lost_n;
	t->below_min_n = e->below_min_n;
	t->voluntary_n = e->voluntary_n;
	t->involuntary_n = e->involuntary_n;
	t->cpu_allowed_n = e->cpu_allowed_n;
	if (!e->open)
		assemble_thread_end(a, thread, e->end_ns);
	return 0;
}
