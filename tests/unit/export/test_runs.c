/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include <stdlib.h>

#include "export/runs.h"
#include "fixture.h"

static struct runs make(const struct model *m)
{
	struct export_job job = { .m = m };
	struct scene s;
	struct runs r;

	cr_assert_eq(scene_make(&job, false, &s), 0);
	cr_assert_eq(runs_make(m, &s, &r), 0);
	scene_done(&s);
	for (size_t i = 1; i < r.n; i++)
		if (r.v[i].cpu == r.v[i - 1].cpu)
			cr_assert_geq(r.v[i].on_ns, r.v[i - 1].off_ns);
	return r;
}

static void cpus(struct model *m, uint32_t wait, int from, int to)
{
	m->waits[wait].cpu_from = (uint16_t)(from + 1);
	m->waits[wait].cpu_to = (uint16_t)(to + 1);
}

static const struct run *find(const struct runs *r, uint32_t thread, int64_t on_ns)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].thread == thread && r->v[i].on_ns == on_ns)
			return &r->v[i];
	cr_assert_fail("thread %u has no run from %ld", thread, (long)on_ns);
	abort();
}

Test(runs, between_waits)
{
	struct model *m = fixture_model(1000);
	uint32_t t = fixture_thread(m, 1, 1, "t", 100, 1000), w = fixture_wait(m, t, 200, 250, 300);
	struct runs r;

	m->cpu_n = 4;
	cpus(m, w, 2, 3);
	r = make(m);
	cr_assert_eq(r.n, 2);
	cr_assert_eq(r.virtual_n, 0);
	cr_assert_eq(r.cpu_n, 4);
	cr_assert_eq(find(&r, t, 100)->cpu, 2);
	cr_assert_eq(find(&r, t, 100)->off_ns, 200);
	cr_assert_eq(find(&r, t, 100)->wait, w);
	cr_assert_eq(find(&r, t, 300)->cpu, 3);
	cr_assert_eq(find(&r, t, 300)->off_ns, 1000);
	cr_assert_eq(find(&r, t, 300)->wait, 0);
	runs_done(&r);
	model_free(m);
}

/* It ran within the wait: that is a run too. */
Test(runs, woken_in_vain)
{
	struct model *m = fixture_model(1000);
	uint32_t t = fixture_thread(m, 1, 1, "t", 0, 1000), w = fixture_wait(m, t, 200, 250, 300);
	struct runs r;

	m->waits[w].runnable_ns = 20;
	r = make(m);
	cr_assert_eq(find(&r, t, 270)->off_ns, 1000);
	runs_done(&r);
	model_free(m);
}

/* Two threads can't have been on one CPU: the one that came later is somewhere that isn't known. */
Test(runs, collision)
{
	struct model *m = fixture_model(1000);
	uint32_t a = fixture_thread(m, 1, 1, "a", 0, 1000), b = fixture_thread(m, 1, 2, "b", 50, 1000);
	uint32_t wa = fixture_wait(m, a, 500, 600, 1000), wb = fixture_wait(m, b, 100, 150, 1000);
	struct runs r;

	m->cpu_n = 2;
	cpus(m, wa, 0, 0);
	cpus(m, wb, 0, 0);
	r = make(m);
	cr_assert_eq(find(&r, a, 0)->cpu, 0);
	cr_assert_eq(find(&r, b, 50)->cpu, 2);
	cr_assert_eq(r.virtual_n, 1);
	runs_done(&r);
	model_free(m);
}

/* Where nothing tells of CPUs, threads that run at one time are side by side. */
Test(runs, no_cpus)
{
	struct model *m = fixture_model(100);
	struct runs r;

	for (uint32_t i = 0; i < 3; i++)
		fixture_thread(m, 1, i + 1, "t", 0, 100);
	fixture_thread(m, 1, 9, "later", 100, 200);
	r = make(m);
	cr_assert_eq(r.n, 4);
	cr_assert_eq(r.cpu_n, 0);
	cr_assert_eq(r.virtual_n, 4);
	cr_assert_eq(r.v[3].cpu, 2);
	cr_assert_eq(find(&r, 4, 100)->cpu, 0);
	runs_done(&r);
	model_free(m);
}

/* A thread that was off the CPU when it began leaves it in that moment. */
Test(runs, off_from_the_beginning)
{
	struct model *m = fixture_model(1000);
	uint32_t t = fixture_thread(m, 1, 1, "t", 100, 1000), w = fixture_wait(m, t, 100, 900, 900);
	struct runs r = make(m);

	cr_assert_eq(r.n, 2);
	cr_assert_eq(find(&r, t, 100)->off_ns, 100);
	cr_assert_eq(find(&r, t, 100)->wait, w);
	runs_done(&r);
	model_free(m);
}

/* Waits of a damaged dump that overlap: times stay in order. */
Test(runs, overlapping_waits)
{
	struct model *m = fixture_model(1000);
	uint32_t t = fixture_thread(m, 1, 1, "t", 0, 1000);
	struct runs r;

	fixture_wait(m, t, 100, 400, 500);
	fixture_wait(m, t, 200, 250, 300);
	fixture_wait(m, t, 450, 700, 800);
	r = make(m);
	cr_assert_eq(r.n, 2);
	cr_assert_eq(find(&r, t, 800)->off_ns, 1000);
	runs_done(&r);
	model_free(m);
}
