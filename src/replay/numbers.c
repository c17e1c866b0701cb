/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "replay/numbers.h"

#include <errno.h>
#include <stdlib.h>

void numbers_done(struct numbers *n)
{
	map_free(n->threads);
	map_free(n->goroutines);
	free(n->next);
	*n = (struct numbers){ 0 };
}

static uint64_t thread_key(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

/* Two may have one key: chains are compared. */
static uint64_t goroutine_key(uint32_t pid, uint64_t goid)
{
	return (uint64_t)pid << 40 ^ goid;
}

int numbers_make(const struct model *m, struct numbers *ret)
{
	ret->next = calloc(m->thread_n, sizeof(*ret->next));
	if (!ret->next || map_new(&ret->threads) < 0 || map_new(&ret->goroutines) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->thread_n; i++) {
		const struct model_thread *t = &m->threads[i];
		struct map *map = t->goid ? ret->goroutines : ret->threads;
		uint64_t key = t->goid ? goroutine_key(t->pid, t->goid) : thread_key(t->pid, t->tid), first = 0;

		map_get(map, key, &first);
		ret->next[i] = (uint32_t)first;
		if (map_put(map, key, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

uint32_t numbers_thread(const struct model *m, const struct numbers *n, uint32_t pid, uint32_t tid, int64_t ns)
{
	uint64_t i = 0;

	map_get(n->threads, thread_key(pid, tid), &i);
	for (; i; i = n->next[i]) {
		if (m->threads[i].begin_ns <= ns && ns < m->threads[i].end_ns)
			return (uint32_t)i;
	}
	return 0;
}

uint32_t numbers_goroutine(const struct model *m, const struct numbers *n, uint32_t pid, uint64_t goid)
{
	uint64_t i = 0;

	map_get(n->goroutines, goroutine_key(pid, goid), &i);
	for (; i; i = n->next[i]) {
		if (m->threads[i].pid == pid && m->threads[i].goid == goid)
			return (uint32_t)i;
	}
	return 0;
}
