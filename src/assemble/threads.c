/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * tids and pids are reused, so each number leads to a chain of holders, newest
 * first, and every question comes with a time. A dead holder keeps its number
 * until a fork hands it to another: a thread wakes its parent, and may block,
 * after its exit event.
 *
 * Forks can be lost. An event of a number whose holder is dead, or belongs to
 * another process, makes a new holder that "was there before".
 */
#include "assemble/threads.h"

#include <string.h>

#include "assemble/goroutines.h"
#include "assemble/ops.h"
#include "assemble/strand.h"
#include "util/vec.h"

int assemble_op_begin(struct assemble *a, enum op_kind kind, uint64_t begin_ns, uint32_t *ret)
{
	uint32_t op = 0;
	int r = model_op_add(a->m, &op);

	if (r == -ENOSPC) {
		*ret = 0;
		return 0;
	}
	if (r < 0)
		return r;
	if (VEC_RESERVE(a->ops, a->op_cap, op + 1) < 0)
		return -ENOMEM;
	a->ops[op] = (struct op_state){ 0 };
	a->m->ops[op] = (struct model_op){
		.id = ++a->op_id,
		.kind = (uint8_t)kind,
		.work = WORK_USER,
		.start_ns = assemble_relative(a, begin_ns),
		.end_ns = assemble_relative(a, begin_ns),
		.open = true,
	};
	*ret = op;
	return 0;
}

void assemble_op_end(struct assemble *a, uint32_t op, uint64_t time_ns)
{
	struct model_op *o = &a->m->ops[op];
	int64_t end_ns = assemble_relative(a, time_ns);

	if (!op || !o->open)
		return;
	o->open = false;
	o->late = a->marked;
	o->end_ns = end_ns > o->start_ns ? end_ns : o->start_ns;
}

uint32_t assemble_thread_at(const struct assemble *a, uint32_t tid, uint64_t time_ns)
{
	uint64_t newest = 0;
	uint32_t t;

	map_get(a->tids, tid, &newest);
	for (t = (uint32_t)newest; t && a->threads[t].begin_ns > time_ns; t = a->threads[t].prev)
		;
	return t;
}

uint32_t assemble_thread_living(const struct assemble *a, uint32_t tid, uint64_t begin_ns, uint64_t end_ns)
{
	uint32_t t = assemble_thread_at(a, tid, end_ns);
	const struct thread_state *s = &a->threads[t];

	/* Another took the number when this life had ended: at once, if by exec. The oldest may be known too late. */
	while (t && s->prev && (s->begin_ns > begin_ns + ASSEMBLE_SLACK_NS ||
				(s->begin_ns == end_ns && begin_ns < end_ns))) {
		t = s->prev;
		s = &a->threads[t];
	}
	return t;
}

bool assemble_outlives_process(const struct assemble *a, uint32_t tid, uint32_t pid, uint64_t time_ns)
{
	uint32_t thread = assemble_thread_at(a, tid, time_ns);

	return thread && a->m->threads[thread].pid == pid && !a->threads[thread].exit_seen &&
	       a->processes[a->m->threads[thread].process].exit_seen;
}

uint32_t assemble_process_at(const struct assemble *a, uint32_t pid, uint64_t time_ns)
{
	uint64_t newest = 0;
	uint32_t p;

	map_get(a->pids, pid, &newest);
	for (p = (uint32_t)newest; p && a->processes[p].begin_ns > time_ns; p = a->processes[p].prev)
		;
	return p;
}

uint32_t assemble_process_started(const struct assemble *a, uint32_t pid, uint64_t start_time_ns)
{
	uint64_t newest = 0;
	uint32_t p;

	map_get(a->pids, pid, &newest);
	for (p = (uint32_t)newest; p && a->m->processes[p].start_time_ns != start_time_ns; p = a->processes[p].prev)
		;
	return p;
}

uint32_t assemble_thread_in(const struct assemble *a, uint32_t tid, uint32_t process, uint64_t time_ns)
{
	uint32_t t = assemble_thread_at(a, tid, time_ns);

	return t && a->m->threads[t].process == process ? t : 0;
}

int assemble_thread_name(struct assemble *a, uint32_t thread, const char *comm)
{
	struct thread_state *s = &a->threads[thread];
	char name[WCBPF_COMM_LEN] = { 0 };
	uint32_t comm_id;
	int r;

	if (!comm || !comm[0])
		return 0;
	/* Zeroed behind the NUL, so that names compare as wholes. */
	memcpy(name, comm, strnlen(comm, sizeof(name)));
	if (a->m->threads[thread].comm_id && memcmp(name, s->comm, sizeof(name)) == 0)
		return 0;
	r = strtab_intern_n(a->m->strings, name, strnlen(name, sizeof(name)), &comm_id);
	if (r < 0)
		return r;
	memcpy(s->comm, name, sizeof(name));
	a->m->threads[thread].comm_id = comm_id;
	return 0;
}

/* Puts a new holder into its number's chain. One that is older than all the others goes to the chain's end. */
static int thread_chain(struct assemble *a, uint32_t tid, uint32_t thread, uint64_t begin_ns)
{
	uint64_t newest = 0;
	uint32_t t;

	map_get(a->tids, tid, &newest);
	if (newest && a->threads[newest].begin_ns > begin_ns) {
		t = (uint32_t)newest;
		while (a->threads[t].prev && a->threads[a->threads[t].prev].begin_ns > begin_ns)
			t = a->threads[t].prev;
		a->threads[thread].prev = a->threads[t].prev;
		a->threads[t].prev = thread;
		assemble_thread_end(a, thread, a->threads[t].begin_ns);
		return 0;
	}
	if (map_put(a->tids, tid, thread) < 0)
		return -ENOMEM;
	if (newest)
		assemble_thread_end(a, (uint32_t)newest, begin_ns);
	a->threads[thread].prev = (uint32_t)newest;
	return 0;
}

int assemble_thread_make(struct assemble *a, const struct assemble_birth *birth, uint32_t *ret)
{
	struct model *m = a->m;
	uint32_t thread, op;

	if (VEC_RESERVE(a->threads, a->thread_cap, m->thread_n + 1) < 0 || model_thread_add(m, &thread) < 0)
		return -ENOMEM;
	a->threads[thread] = (struct thread_state){
		.begin_ns = birth->begin_ns,
		.origin = (uint8_t)birth->origin,
		.sibling = a->processes[birth->process].thread,
	};
	m->threads[thread].tid = birth->number;
	m->threads[thread].pid = m->processes[birth->process].pid;
	m->threads[thread].process = birth->process;
	m->threads[thread].begin_ns = m->threads[thread].end_ns = assemble_relative(a, birth->begin_ns);
	m->threads[thread].clipped = birth->before ? CLIPPED_BEFORE : 0;
	if (assemble_op_begin(a, OP_INTERNAL, birth->begin_ns, &op) < 0)
		return -ENOMEM;
	m->threads[thread].op = op;
	if (op) {
		m->ops[op].parent = m->processes[birth->process].op;
		m->ops[op].pid = m->threads[thread].pid;
		m->ops[op].tid = birth->number;
		m->ops[op].clipped = m->threads[thread].clipped;
	}
	if (thread_chain(a, birth->number, thread, birth->begin_ns) < 0 ||
	    assemble_thread_name(a, thread, birth->comm) < 0)
		return -ENOMEM;
	a->processes[birth->process].thread = thread;
	*ret = thread;
	return 0;
}

static int process_chain(struct assemble *a, uint32_t pid, uint32_t process, uint64_t begin_ns)
{
	uint64_t newest = 0;
	uint32_t p;

	map_get(a->pids, pid, &newest);
	if (newest && a->processes[newest].begin_ns > begin_ns) {
		p = (uint32_t)newest;
		while (a->processes[p].prev && a->processes[a->processes[p].prev].begin_ns > begin_ns)
			p = a->processes[p].prev;
		a->processes[process].prev = a->processes[p].prev;
		a->processes[p].prev = process;
		assemble_process_end(a, process, a->processes[p].begin_ns);
		return 0;
	}
	if (map_put(a->pids, pid, process) < 0)
		return -ENOMEM;
	if (newest)
		assemble_process_end(a, (uint32_t)newest, begin_ns);
	a->processes[process].prev = (uint32_t)newest;
	return 0;
}

int assemble_process_make(struct assemble *a, const struct assemble_birth *birth, uint32_t *ret)
{
	struct model *m = a->m;
	uint32_t process, op, comm_id;

	if (strtab_intern(m->strings, birth->comm, &comm_id) < 0 ||
	    VEC_RESERVE(a->processes, a->process_cap, m->process_n + 1) < 0 || model_process_add(m, &process) < 0)
		return -ENOMEM;
	a->processes[process] = (struct process_state){
		.begin_ns = birth->begin_ns,
		.parent = birth->process,
		.origin = (uint8_t)birth->origin,
	};
	m->processes[process].pid = birth->number;
	m->processes[process].start_time_ns = birth->start_time_ns;
	m->processes[process].comm_id = comm_id;
	if (assemble_op_begin(a, OP_EXEC, birth->begin_ns, &op) < 0)
		return -ENOMEM;
	m->processes[process].op = op;
	if (op) {
		m->ops[op].class_id = comm_id;
		m->ops[op].pid = m->ops[op].tid = birth->number;
		m->ops[op].clipped = birth->before ? CLIPPED_BEFORE : 0;
	}
	if (process_chain(a, birth->number, process, birth->begin_ns) < 0)
		return -ENOMEM;
	*ret = process;
	return 0;
}

void assemble_thread_extend(struct assemble *a, uint32_t thread, uint64_t begin_ns)
{
	struct thread_state *s = &a->threads[thread];
	struct model_thread *t = &a->m->threads[thread];
	struct process_state *p = &a->processes[t->process];
	int64_t begin = assemble_relative(a, begin_ns);
	uint32_t process_op = a->m->processes[t->process].op;

	if (begin_ns >= s->begin_ns)
		return;
	s->begin_ns = begin_ns;
	if (!t->has_totals)
		t->begin_ns = begin;
	if (t->op)
		a->m->ops[t->op].start_ns = begin;
	if (begin_ns >= p->begin_ns)
		return;
	p->begin_ns = begin_ns;
	if (process_op)
		a->m->ops[process_op].start_ns = begin;
}

int assemble_process_for(struct assemble *a, uint32_t pid, const struct assemble_span *span, uint32_t *ret)
{
	uint32_t p = assemble_process_at(a, pid, span->to_ns);

	if (p && (!a->processes[p].death_ns || span->dying || span->from_ns <= a->processes[p].death_ns)) {
		*ret = p;
		return 0;
	}
	return assemble_process_make(a, &(struct assemble_birth){ .number = pid, .begin_ns = span->from_ns,
								  .comm = span->comm, .before = true }, ret);
}

/* The oldest known holder of a number, for an event from before it was known: a seed may come later than events. */
static uint32_t thread_oldest(const struct assemble *a, uint32_t tid)
{
	uint64_t newest = 0;
	uint32_t t;

	map_get(a->tids, tid, &newest);
	for (t = (uint32_t)newest; t && a->threads[t].prev;)
		t = a->threads[t].prev;
	return t;
}

int assemble_thread_for(struct assemble *a, uint32_t tid, uint32_t tgid, const struct assemble_span *span,
			uint32_t *ret)
{
	uint32_t t = assemble_thread_at(a, tid, span->to_ns), process;

	if (!t) {
		t = thread_oldest(a, tid);
		/* A begin that was seen is exact, but for the clock's differences between CPUs. */
		if (t && a->threads[t].origin == ORIGIN_FORKED &&
		    a->threads[t].begin_ns - span->to_ns > ASSEMBLE_SLACK_NS)
			t = 0;
	}
	if (t && a->m->threads[t].pid == tgid &&
	    (!a->threads[t].death_ns || span->dying || span->from_ns <= a->threads[t].death_ns)) {
		if (a->threads[t].origin != ORIGIN_FORKED)
			assemble_thread_extend(a, t, span->from_ns);
		*ret = t;
		return 0;
	}
	if (assemble_process_for(a, tgid, span, &process) < 0)
		return -ENOMEM;
	return assemble_thread_make(a, &(struct assemble_birth){ .number = tid, .process = process,
								 .begin_ns = span->from_ns, .comm = span->comm,
								 .before = true }, ret);
}

size_t assemble_threads_alive(const struct assemble *a)
{
	size_t n = 0;

	for (size_t i = 1; i < a->m->thread_n; i++)
		n += !a->m->threads[i].goid && !a->m->threads[i].flushed && !a->threads[i].death_ns;
	return n;
}

size_t assemble_threads_untold(const struct assemble *a)
{
	size_t n = 0;

	for (size_t i = 1; i < a->m->thread_n; i++) {
		const struct model_thread *t = &a->m->threads[i];

		n += !t->goid && !t->flushed && !t->has_totals && a->threads[i].origin != ORIGIN_SEEN;
	}
	return n;
}

void assemble_thread_end(struct assemble *a, uint32_t thread, uint64_t time_ns)
{
	struct thread_state *s = &a->threads[thread];
	struct model_thread *t = &a->m->threads[thread];

	if (s->death_ns)
		return;
	/* It may make waits and entries: only then are s and t sure. */
	a->no_memory |= assemble_strand_end(a, s->strand, time_ns) < 0;
	s = &a->threads[thread];
	t = &a->m->threads[thread];
	s->death_ns = time_ns > s->begin_ns ? time_ns : s->begin_ns;
	if (!t->has_totals)
		t->end_ns = assemble_relative(a, s->death_ns);
	assemble_op_end(a, t->op, s->death_ns);
}

void assemble_process_end(struct assemble *a, uint32_t process, uint64_t time_ns)
{
	struct process_state *s = &a->processes[process];

	if (s->death_ns)
		return;
	a->no_memory |= assemble_go_end(a, process, time_ns) < 0;
	assemble_begun_end(a, process, time_ns);
	s->death_ns = time_ns > s->begin_ns ? time_ns : s->begin_ns;
	for (uint32_t t = s->thread; t; t = a->threads[t].sibling)
		assemble_thread_end(a, t, s->death_ns);
	assemble_op_end(a, a->m->processes[process].phase, s->death_ns);
	assemble_op_end(a, a->m->processes[process].op, s->death_ns);
}
