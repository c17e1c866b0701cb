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

int lanes_init(struct lanes *l, const struct model *m)
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
		if (m->waits[i].thread + 1 < m->thread_n)
			next[m->waits[i].thread + 1]++;
	}
	for (size_t i = 1; i < m->thread_n; i++)
		next[i] += next[i - 1];
	for (size_t i = 1; i < m->wait_n; i++)
		waits[next[m->waits[i].thread]++] = (uint32_t)i;
	for (size_t i = 0; i < m->thread_n; i++) {
		if (!in_order(m, waits + first[i], first[i + 1] - first[i]))
			qsort_r(waits + first[i], first[i + 1] - first[i], sizeof(*waits), start_compare,
				(void *)(uintptr_t)m);
	}
	*l = (struct lanes){ .waits = waits, .first = first };
	return 0;
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
