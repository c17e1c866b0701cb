/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* A dump has the waits of a thread in order, mostly: they are counted out by thread, and sorted where they aren't. */
#include "analyze/lanes.h"

#include <errno.h>
#include <stdlib.h>

static int start_compare(const void *a, const void *b, void *arg)
{
	const struct model *m = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct model_wait *x = &m->waits[i], *y = &m->waits[k];

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return i < k ? -1 : i > k;
}

static bool in_order(const struct model *m, const uint32_t *waits, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (m->waits[waits[i - 1]].start_ns > m->waits[waits[i]].start_ns)
			return false;
	}
	return true;
}

/* Threads by their numbers, which may be used again later. */
struct life {
	uint32_t pid, tid, thread;
	int64_t begin_ns;
};

static int life_compare(const void *a, const void *b)
{
	const struct life *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return 0;
}

/* The last of these numbers that had begun then; 0: none. */
static uint32_t life_find(const struct life *lives, size_t n, const struct life *key)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (life_compare(&lives[middle], key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low && lives[low - 1].pid == key->pid && lives[low - 1].tid == key->tid ? lives[low - 1].thread : 0;
}

/* By wait. 0, -ENOMEM. */
static int carriers_make(const struct model *m, uint32_t **ret)
{
	struct life *lives = calloc(m->thread_n, sizeof(*lives));
	uint32_t *carriers = calloc(m->wait_n, sizeof(*carriers));
	size_t n = 0;

	if (!lives || !carriers) {
		free(lives);
		free(carriers);
		return -ENOMEM;
	}
	for (uint32_t i = 1; i < m->thread_n; i++) {
		const struct model_thread *t = &m->threads[i];

		if (!t->goid)
			lives[n++] = (struct life){ t->pid, t->tid, i, t->begin_ns };
	}
	if (n)
		qsort(lives, n, sizeof(*lives), life_compare);
	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];
		const struct model_thread *t = &m->threads[w->thread];
		struct life key = { .pid = t->pid, .tid = t->tid, .begin_ns = w->start_ns };
		uint32_t tid = model_wait_words(m, w).tid;

		key.tid = tid ? tid : key.tid;
		carriers[i] = !t->goid ? w->thread : m->rows[w->row].parked ? 0 : life_find(lives, n, &key);
	}
	free(lives);
	*ret = carriers;
	return 0;
}

static uint32_t owner_of(const struct model *m, const uint32_t *carriers, size_t wait)
{
	return carriers ? carriers[wait] : m->waits[wait].thread;
}

/* carriers: by wait; NULL: who waited. */
static int lanes_fill(struct lanes *l, const struct model *m, const uint32_t *carriers)
{
	size_t *first = calloc(m->thread_n + 2, sizeof(*first)), *next;
	uint32_t *waits = calloc(m->wait_n, sizeof(*waits));

	if (!first || !waits) {
		free(first);
		free(waits);
		return -ENOMEM;
	}
	/* Shifted by two: filling moves each beginning to the one before it. */
	next = first + 1;
	for (size_t i = 1; i < m->wait_n; i++) {
		if (owner_of(m, carriers, i) + 1 < m->thread_n)
			next[owner_of(m, carriers, i) + 1]++;
	}
	for (size_t i = 1; i < m->thread_n; i++)
		next[i] += next[i - 1];
	for (size_t i = 1; i < m->wait_n; i++)
		waits[next[owner_of(m, carriers, i)]++] = (uint32_t)i;
	for (size_t i = 0; i < m->thread_n; i++) {
		if (!in_order(m, waits + first[i], first[i + 1] - first[i]))
			qsort_r(waits + first[i], first[i + 1] - first[i], sizeof(*waits), start_compare,
				(void *)(uintptr_t)m);
	}
	*l = (struct lanes){ .waits = waits, .first = first };
	return 0;
}

int lanes_init(struct lanes *l, const struct model *m)
{
	uint32_t *carriers = NULL;
	int e;

	if (m->goroutine_n && carriers_make(m, &carriers) < 0)
		return -ENOMEM;
	e = lanes_fill(l, m, carriers);
	free(carriers);
	return e;
}

int lanes_init_waiters(struct lanes *l, const struct model *m)
{
	return lanes_fill(l, m, NULL);
}

void lanes_done(struct lanes *l)
{
	free(l->waits);
	free(l->first);
	*l = (struct lanes){ 0 };
}

size_t lanes_find(const struct lanes *l, const struct model *m, uint32_t thread, int64_t ns)
{
	size_t low = l->first[thread], high = l->first[thread + 1];

	/* Waits of one thread follow each other, so their ends are in order too. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->waits[l->waits[middle]].end_ns > ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}
