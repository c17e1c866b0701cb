/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What a number meant at some time is asked where a dump is read, and where one
 * is shown: sorted lists, since most are asked for as often as there are waits.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/model.h"

/* A number's bearers, each from its begin on. */
struct model_lifetime {
	uint64_t number;
	uint32_t pid, index;
	int64_t begin_ns;
};

void model_lifetimes_done(struct model_lifetimes *l)
{
	free(l->items);
	*l = (struct model_lifetimes){ 0 };
}

static int lifetime_compare(const void *a, const void *b)
{
	const struct model_lifetime *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int threads_list(const struct model *m, bool goroutines, struct model_lifetimes *ret)
{
	struct model_lifetimes l = { 0 };

	for (size_t i = 1; i < m->thread_n; i++)
		l.n += !m->threads[i].goid != goroutines;
	l.items = calloc(l.n + 1, sizeof(*l.items));
	if (!l.items)
		return -ENOMEM;
	l.n = 0;
	for (size_t i = 1; i < m->thread_n; i++) {
		const struct model_thread *t = &m->threads[i];

		if (!t->goid == goroutines)
			continue;
		l.items[l.n++] = (struct model_lifetime){ .number = goroutines ? t->goid : t->tid, .pid = t->pid,
							  .index = (uint32_t)i, .begin_ns = t->begin_ns };
	}
	qsort(l.items, l.n, sizeof(*l.items), lifetime_compare);
	*ret = l;
	return 0;
}

int model_lifetimes_of_threads(const struct model *m, struct model_lifetimes *ret)
{
	return threads_list(m, false, ret);
}

int model_lifetimes_of_goroutines(const struct model *m, struct model_lifetimes *ret)
{
	return threads_list(m, true, ret);
}

int model_lifetimes_of_processes(const struct model *m, struct model_lifetimes *ret)
{
	struct model_lifetimes l = { .items = calloc(m->process_n, sizeof(*l.items)) };

	if (!l.items)
		return -ENOMEM;
	for (size_t i = 1; i < m->process_n; i++)
		l.items[l.n++] = (struct model_lifetime){ .pid = m->processes[i].pid, .index = (uint32_t)i,
							  .begin_ns = m->ops[m->processes[i].op].start_ns };
	qsort(l.items, l.n, sizeof(*l.items), lifetime_compare);
	*ret = l;
	return 0;
}

uint32_t model_lifetimes_find(const struct model_lifetimes *l, uint32_t pid, uint64_t number, int64_t ns)
{
	const struct model_lifetime key = { .pid = pid, .number = number, .begin_ns = ns, .index = UINT32_MAX };
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lifetime_compare(&l->items[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low && l->items[low - 1].pid == pid && l->items[low - 1].number == number)
		return l->items[low - 1].index;
	return low < l->n && l->items[low].pid == pid && l->items[low].number == number ? l->items[low].index : 0;
}
