/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "export/lives.h"

#include <errno.h>

void lives_done(struct lives *l)
{
	model_lifetimes_done(&l->threads);
	model_lifetimes_done(&l->goroutines);
	model_lifetimes_done(&l->processes);
}

int lives_make(const struct model *m, struct lives *ret)
{
	struct lives l = { 0 };

	if (model_lifetimes_of_threads(m, &l.threads) < 0 || model_lifetimes_of_goroutines(m, &l.goroutines) < 0 ||
	    model_lifetimes_of_processes(m, &l.processes) < 0) {
		lives_done(&l);
		return -ENOMEM;
	}
	*ret = l;
	return 0;
}

uint32_t lives_thread(const struct lives *l, uint32_t pid, uint32_t tid, int64_t ns)
{
	return model_lifetimes_find(&l->threads, pid, tid, ns);
}

uint32_t lives_goroutine(const struct lives *l, uint32_t pid, uint64_t goid, int64_t ns)
{
	return model_lifetimes_find(&l->goroutines, pid, goid, ns);
}

uint32_t lives_process(const struct lives *l, uint32_t pid, int64_t ns)
{
	return model_lifetimes_find(&l->processes, pid, 0, ns);
}

uint32_t lives_thread_of_wait(const struct lives *l, const struct model *m, uint32_t wait)
{
	const struct model_wait *w = &m->waits[wait];
	const struct model_thread *t = &m->threads[w->thread];
	uint32_t tid;

	if (!w->thread || !t->goid)
		return w->thread;
	if (m->rows[w->row].parked)
		return 0;
	tid = model_wait_words(m, w).tid;
	return lives_thread(l, t->pid, tid ? tid : t->tid, w->start_ns);
}

bool lives_op_is_process(const struct model *m, uint32_t op)
{
	const struct model_op *o = &m->ops[op];

	if (o->kind == OP_EXEC_PHASE)
		o = &m->ops[o->parent];
	return model_op_is_process(o);
}
