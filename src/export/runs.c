/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A thread runs between its waits, and in those in which it was woken in vain.
 * On which CPU is known where it left one and where it came back to one. What the recording has no room for on that CPU
 * (another thread was there: a wait below --min, a migration between waits), or
 * knows no CPU of, goes to a number behind the host's CPUs: threads' times stay
 * true, and no time is shown on a CPU that it was not on.
 */
#include "export/runs.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"
#include "util/vec.h"

#define CPU_UNKNOWN UINT32_MAX

/*
 * One without length is none, except at the beginning: that a thread was off the CPU then can only be said by its
 * leaving one.
 */
static int run_add(struct runs *r, size_t *cap, const struct run *run, bool first)
{
	if (run->off_ns < run->on_ns || (run->off_ns == run->on_ns && !first))
		return 0;
	if (VEC_RESERVE(r->v, *cap, r->n + 1) < 0)
		return -ENOMEM;
	r->v[r->n++] = *run;
	return 0;
}

/* Where it came back to, else where it left next. */
static uint32_t cpu_between(const struct model *m, uint32_t before, uint32_t after)
{
	if (before && m->waits[before].cpu_to)
		return m->waits[before].cpu_to - 1u;
	if (after && m->waits[after].cpu_from)
		return m->waits[after].cpu_from - 1u;
	return CPU_UNKNOWN;
}

static int thread_runs(const struct model *m, const struct scene *s, const struct scene_actor *a, struct runs *r,
		       size_t *cap)
{
	const struct model_thread *t = &m->threads[a->thread];
	int64_t on_ns = t->begin_ns;
	uint32_t before = 0;

	for (size_t i = 0; i < a->wait_n; i++) {
		uint32_t wait = s->waits[a->wait_first + i];
		const struct model_wait *w = &m->waits[wait];
		const struct run run = { .on_ns = on_ns, .off_ns = w->start_ns, .thread = a->thread, .wait = wait,
					 .cpu = cpu_between(m, before, wait) };

		/* A wait without length is no switch. */
		if (w->end_ns == w->start_ns)
			continue;
		if (run_add(r, cap, &run, i == 0) < 0)
			return -ENOMEM;
		if (w->end_ns > on_ns) {
			on_ns = scene_wait_run_ns(m, wait);
			before = wait;
		}
	}
	/* An open wait reaches the end of the life, so nothing follows it. */
	return run_add(r, cap, &(struct run){ .on_ns = on_ns, .off_ns = t->end_ns, .thread = a->thread,
					      .cpu = cpu_between(m, before, 0),
					      .to_the_end = (t->clipped & CLIPPED_AFTER) != 0 }, false);
}

static int by_time(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->on_ns != y->on_ns)
		return x->on_ns < y->on_ns ? -1 : 1;
	if (x->off_ns != y->off_ns)
		return x->off_ns > y->off_ns ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int by_cpu(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return by_time(a, b);
}

static uint32_t cpus_of(const struct model *m, const struct runs *r)
{
	uint32_t n = m->cpu_n;

	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].cpu != CPU_UNKNOWN && r->v[i].cpu >= n)
			n = r->v[i].cpu + 1;
	return n;
}

/* Those without a place, side by side. Runs are in time order. */
static int virtual_place(struct runs *r)
{
	_cleanup_(freep) struct lanes_item *items = calloc(r->n + 1, sizeof(*items));
	size_t n = 0;
	uint32_t lane_n;

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].cpu == CPU_UNKNOWN)
			items[n++] = (struct lanes_item){ .start_ns = r->v[i].on_ns, .end_ns = r->v[i].off_ns };
	if (lanes_pack(items, n, false, &lane_n) < 0)
		return -ENOMEM;
	r->virtual_n = n;
	n = 0;
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].cpu == CPU_UNKNOWN)
			r->v[i].cpu = r->cpu_n + items[n++].lane;
	return 0;
}

static int place(const struct model *m, struct runs *r)
{
	_cleanup_(freep) int64_t *busy_until_ns = NULL;

	r->cpu_n = cpus_of(m, r);
	busy_until_ns = calloc((size_t)r->cpu_n + 1, sizeof(*busy_until_ns));
	if (!busy_until_ns)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++) {
		struct run *run = &r->v[i];

		if (run->cpu == CPU_UNKNOWN)
			continue;
		if (busy_until_ns[run->cpu] > run->on_ns)
			run->cpu = CPU_UNKNOWN;
		else
			busy_until_ns[run->cpu] = run->off_ns;
	}
	return virtual_place(r);
}

int runs_make(const struct model *m, const struct scene *s, struct runs *ret)
{
	_cleanup_(runs_done) struct runs r = { 0 };
	size_t cap = 0;

	/* A goroutine is on a thread. */
	for (size_t i = 0; i < s->actor_n; i++)
		if (s->actors[i].thread && !m->threads[s->actors[i].thread].goid && thread_runs(m, s, &s->actors[i], &r, &cap) < 0)
			return -ENOMEM;
	if (r.n)
		qsort(r.v, r.n, sizeof(*r.v), by_time);
	if (place(m, &r) < 0)
		return -ENOMEM;
	if (r.n)
		qsort(r.v, r.n, sizeof(*r.v), by_cpu);
	*ret = r;
	r = (struct runs){ 0 };
	return 0;
}

void runs_done(struct runs *r)
{
	free(r->v);
}
