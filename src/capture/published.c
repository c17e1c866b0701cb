/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A list of times a process, since a stack is asked about a little after it was
 * taken, when newer tables may be in force. Only the newest times are kept: who
 * asks later than that gets "not known", which makes a stack a guess, never a
 * wrong one complete.
 */
#include "capture/published.h"

#include <errno.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

#define TIMES_MAX 128

struct state {
	uint64_t time_ns, mapped_ns;
};

struct times {
	struct state *v; /* by time_ns */
	size_t n, cap;
};

struct published {
	struct map *by_pid; /* -> struct times */
};

DEFINE_CLEANUP(struct published *, published_free)

int published_new(struct published **ret)
{
	_cleanup_(published_freep) struct published *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	err = map_new(&p->by_pid);
	if (err)
		return err;
	*ret = TAKE_PTR(p);
	return 0;
}

static void times_free(struct times *t)
{
	if (t)
		free(t->v);
	free(t);
}

struct published *published_free(struct published *p)
{
	uint64_t pid, t;

	if (!p)
		return NULL;
	for (size_t at = 0; p->by_pid && map_next(p->by_pid, &at, &pid, &t);)
		times_free((struct times *)(uintptr_t)t);
	map_free(p->by_pid);
	free(p);
	return NULL;
}

static int times_get(struct published *p, uint32_t pid, struct times **ret)
{
	_cleanup_(freep) struct times *fresh = NULL;
	struct times *t = map_get_ptr(p->by_pid, pid);
	int err;

	if (!t) {
		t = fresh = calloc(1, sizeof(*fresh));
		if (!fresh)
			return -ENOMEM;
		err = map_put_ptr(p->by_pid, pid, fresh);
		if (err)
			return err;
		TAKE_PTR(fresh);
	}
	*ret = t;
	return 0;
}

int published_add(struct published *p, uint32_t pid, uint64_t time_ns, uint64_t mapped_ns)
{
	struct times *t;
	int err = times_get(p, pid, &t);

	if (err)
		return err;
	if (t->n == TIMES_MAX) {
		t->n = TIMES_MAX / 2;
		memmove(t->v, t->v + TIMES_MAX / 2, t->n * sizeof(*t->v));
	}
	if (VEC_RESERVE(t->v, t->cap, t->n + 1) < 0)
		return -ENOMEM;
	t->v[t->n++] = (struct state){ time_ns, mapped_ns };
	return 0;
}

int published_fork(struct published *p, uint32_t pid, uint64_t time_ns, uint64_t mapped_ns)
{
	times_free(map_remove_ptr(p->by_pid, pid));
	return mapped_ns == UINT64_MAX ? 0 : published_add(p, pid, time_ns, mapped_ns);
}

uint64_t published_until(const struct published *p, uint32_t pid, uint64_t time_ns)
{
	const struct times *t = map_get_ptr(p->by_pid, pid);

	if (!t)
		return UINT64_MAX;
	for (size_t i = t->n; i > 0; i--)
		if (t->v[i - 1].time_ns <= time_ns)
			return t->v[i - 1].mapped_ns;
	return 0;
}
