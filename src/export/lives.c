/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "export/lives.h"

#include <errno.h>
#include <stdlib.h>

/* A number's bearers, each from its begin on. */
struct lives_entry {
	uint64_t number;
	uint32_t pid, index;
	int64_t begin_ns;
};

void lives_done(struct lives *l)
{
	free(l->threads.v);
	free(l->goroutines.v);
	free(l->processes.v);
	*l = (struct lives){ 0 };
}

static int entry_compare(const void *a, const void *b)
{
	const struct lives_entry *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static void list_add(struct lives_list *l, uint32_t pid, uint64_t number, uint32_t index, int64_t begin_ns)
{
	l->v[l->n++] = (struct lives_entry){ .number = number, .pid = pid, .index = index, .begin_ns = begin_ns };
}

int lives_make(const struct model *m, struct lives *ret)
{
	struct lives l = {
		.threads = { calloc(m->thread_n, sizeof(struct lives_entry)), 0 },
		.goroutines = { calloc(m->goroutine_n + 1, sizeof(struct lives_entry)), 0 },
		.processes = { calloc(m->process_n, sizeof(struct lives_entry)), 0 },
	};

	if (!l.threads.v || !l.goroutines.v || !l.processes.v) {
		lives_done(&l);
		return -ENOMEM;
	}
	for (uint32_t i = 1; i < m->thread_n; i++) {
		const struct model_thread *t = &m->threads[i];

		if (t->goid && l.goroutines.n < m->goroutine_n)
			list_add(&l.goroutines, t->pid, t->goid, i, t->begin_ns);
		else if (!t->goid)
			list_add(&l.threads, t->pid, t->tid, i, t->begin_ns);
	}
	for (uint32_t i = 1; i < m->process_n; i++)
		list_add(&l.processes, m->processes[i].pid, 0, i, m->ops[m->processes[i].op].start_ns);
	qsort(l.threads.v, l.threads.n, sizeof(*l.threads.v), entry_compare);
	qsort(l.goroutines.v, l.goroutines.n, sizeof(*l.goroutines.v), entry_compare);
	qsort(l.processes.v, l.processes.n, sizeof(*l.processes.v), entry_compare);
	*ret = l;
	return 0;
}

static uint32_t list_find(const struct lives_list *l, uint32_t pid, uint64_t number, int64_t ns)
{
	const struct lives_entry key = { .pid = pid, .number = number, .begin_ns = ns, .index = UINT32_MAX };
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (entry_compare(&l->v[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low && l->v[low - 1].pid == pid && l->v[low - 1].number == number)
		return l->v[low - 1].index;
	return low < l->n && l->v[low].pid == pid && l->v[low].number == number ? l->v[low].index : 0;
}

uint32_t lives_thread(const struct lives *l, uint32_t pid, uint32_t tid, int64_t ns)
{
	return list_find(&l->threads, pid, tid, ns);
}

uint32_t lives_goroutine(const struct lives *l, uint32_t pid, uint64_t goid, int64_t ns)
{
	return list_find(&l->goroutines, pid, goid, ns);
}

uint32_t lives_process(const struct lives *l, uint32_t pid, int64_t ns)
{
	return list_find(&l->processes, pid, 0, ns);
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
