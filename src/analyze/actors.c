/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A matrix of thousands of threads tells nobody anything. What people name is
 * the pool and the program, so that is what is kept apart.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/analyze.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

struct names {
	struct analyze_actors a;
	size_t cap;
	struct map *known; /* by program and name: place in list */
};

static void names_done(struct names *x)
{
	analyze_actors_done(&x->a);
	map_free(x->known);
}

static int actor_get(struct names *x, const struct analyze_actor *actor, uint32_t *ret)
{
	uint64_t key = (uint64_t)actor->outside << 63 | (uint64_t)actor->program_id << 31 | actor->name_id, at;

	if (!map_get(x->known, key, &at)) {
		at = x->a.n;
		if (VEC_RESERVE(x->a.list, x->cap, at + 1) < 0 || map_put(x->known, key, at) < 0)
			return -ENOMEM;
		x->a.list[x->a.n++] = *actor;
	}
	x->a.list[at].thread_n++;
	*ret = (uint32_t)at;
	return 0;
}

int analyze_actors(const struct model *m, struct analyze_actors *ret)
{
	_cleanup_(names_done) struct names x = { 0 };
	struct analyze_actor unknown = { 0 };
	uint32_t none;

	x.a.of_thread = calloc(m->thread_n, sizeof(*x.a.of_thread));
	x.a.of_outside = calloc(m->waker_n, sizeof(*x.a.of_outside));
	if (!x.a.of_thread || !x.a.of_outside || map_new(&x.known) < 0 || actor_get(&x, &unknown, &none) < 0)
		return -ENOMEM;
	x.a.list[0].thread_n = 0;
	for (size_t i = 1; i < m->thread_n; i++) {
		const struct model_thread *t = &m->threads[i];
		struct analyze_actor actor = { .name_id = t->comm_id, .program_id = m->processes[t->process].comm_id };

		if (actor_get(&x, &actor, &x.a.of_thread[i]) < 0)
			return -ENOMEM;
	}
	for (size_t i = 1; i < m->waker_n; i++) {
		struct analyze_actor actor = { .name_id = m->wakers[i].comm_id, .outside = true };

		if (actor_get(&x, &actor, &x.a.of_outside[i]) < 0)
			return -ENOMEM;
	}
	*ret = x.a;
	x.a = (struct analyze_actors){ 0 };
	return 0;
}

void analyze_actors_done(struct analyze_actors *a)
{
	free(a->list);
	free(a->of_thread);
	free(a->of_outside);
	*a = (struct analyze_actors){ 0 };
}
