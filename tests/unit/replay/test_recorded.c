/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Replay in recorded order, against longest paths found by force. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "brute.h"
#include "rig.h"

/* A wait of a for the end of some thread, given up before or not. A microsecond more than others: nothing else happens just then. */
static void timed_join_add(struct world *w, unsigned *seed, uint32_t a, uint32_t of)
{
	world_add(w, a, STEP_TIMED_JOIN, of, rig_pick(seed, 100, 2000) * US + 1, (uint8_t)('a' + rig_pick(seed, 0, 3)));
}

/*
 * Threads that sleep, compute, signal events and wait for them, some only for so long for others' ends; later ones wait
 * for what earlier ones signal or the other way round. Two more only sleep and compute, and are waited for so.
 */
static struct world random_world(unsigned seed, uint32_t cpu_n)
{
	struct world w = { .cpu_n = cpu_n };
	uint32_t threads = (uint32_t)rig_pick(&seed, 2, 5), event = 0, all = threads + 2;

	for (uint32_t t = 1; t <= all; t++)
		world_add(&w, 0, STEP_SPAWN, t, 0, 0);
	for (uint32_t t = threads + 1; t <= all; t++) {
		for (int i = 0; i < 4; i++)
			world_add(&w, t, i ? STEP_SLEEP : STEP_COMPUTE, 0, rig_pick(&seed, 10 * US, 5 * MS),
				  (uint8_t)('a' + rig_pick(&seed, 0, 3)));
	}
	for (int i = 0; i < 30; i++) {
		uint32_t a = (uint32_t)rig_pick(&seed, 1, threads), b = (uint32_t)rig_pick(&seed, 1, threads);

		world_add(&w, a, rig_pick(&seed, 0, 2) ? STEP_SLEEP : STEP_COMPUTE, 0, rig_pick(&seed, 10 * US, 3 * MS),
			  (uint8_t)('a' + rig_pick(&seed, 0, 3)));
		if (!rig_pick(&seed, 0, 3))
			timed_join_add(&w, &seed, a, threads + (uint32_t)rig_pick(&seed, 1, 2));
		if (a == b)
			continue;
		if (!rig_pick(&seed, 0, 3))
			timed_join_add(&w, &seed, a, b);
		/* In one order for all threads: nobody waits for what comes behind himself. */
		world_add(&w, a, STEP_SIGNAL, event, 0, 0);
		world_add(&w, b, STEP_WAIT, event++, 0, 0);
	}
	for (uint32_t t = 1; t <= all; t++)
		world_add(&w, 0, STEP_JOIN, t, 0, 0);
	return w;
}

static uint32_t stack_of_function(const struct model *m, const char *name)
{
	uint32_t id = strtab_find(m->strings, name);

	for (uint32_t i = 1; id && i < m->stack_n; i++) {
		if (m->stacks[i].frame_n && m->stacks[i].frames[0].name_id == id)
			return i;
	}
	return 0;
}

Test(recorded, unchanged_it_is_the_recording)
{
	for (unsigned seed = 1; seed <= 60; seed++) {
		struct world w = random_world(seed, seed % 3);
		struct replay_facts f;
		struct rig x;

		rig_start(&x, &w);
		replay_facts(x.r, &f);
		cr_expect(f.makespan_ns == x.makespan_ns && f.e1_ns == x.makespan_ns, "seed %u: %ld, E1 %ld, not %ld", seed,
			  (long)f.makespan_ns, (long)f.e1_ns, (long)x.makespan_ns);
		rig_stop(&x);
	}
}

/*
 * Where two that were given up would each end by the other, no order holds both: then one keeps its limit, and what comes
 * of that lies between the shortest and what all limits make.
 */
static unsigned check_end(const struct rig *x, unsigned seed, uint32_t t, char f, double factor, int64_t ns, unsigned *early)
{
	char name[2] = { f, 0 };
	uint32_t stack = stack_of_function(x->m, name);
	int64_t truth = (int64_t)brute_end(x->m, t, stack, factor);
	int64_t limits = (int64_t)brute_end_of_limits(x->m, t, stack, factor);

	*early += truth < limits;
	if (llabs(ns - truth) <= 100)
		return 0;
	cr_expect(ns > truth && ns <= limits + 100, "seed %u, %s x %g, thread %u: %ld, not %ld (%ld)", seed, name, factor, t,
		  (long)ns, (long)truth, (long)limits);
	return 1;
}

Test(recorded, longest_paths)
{
	static const double factors[] = { 0, 0.3, 0.5, 0.9, 2 };
	unsigned compared = 0, differ = 0, early = 0;

	for (unsigned seed = 1; seed <= 400; seed++) {
		struct world w = random_world(seed, seed % 3);
		struct rig x;

		rig_start(&x, &w);
		for (uint32_t t = 2; t < x.m->thread_n; t++)
			cr_assert((int64_t)brute_end(x.m, t, 0, 1) == x.m->threads[t].end_ns, "seed %u: the paths are not the recording's", seed);
		for (char f = 'a'; f <= 'd'; f++) {
			char name[2] = { f, 0 };
			size_t class;

			for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++) {
				struct replay_change c = { .what = REPLAY_DELAY, .factor = factors[i] };
				struct replay_scenario s = { .changes = &c, .n = 1 };
				struct replay_span *spans;

				if (!replay_class_find(x.r, REPLAY_CLASS_FUNCTION, name, &class))
					continue;
				c.class = (uint32_t)class;
				cr_assert(replay_op_times(x.r, &s, REPLAY_E1, &spans) == 0);
				/* Not of the first: it joins threads that had ended, and the engines take that to be needed. */
				for (uint32_t t = 2; t < x.m->thread_n; t++, compared++)
					differ += check_end(&x, seed, t, f, factors[i], spans[t + 1].end_ns, &early);
				free(spans);
			}
		}
		rig_stop(&x);
	}
	cr_expect(compared > 10000 && early > 300, "only %u compared, %u with an early end", compared, early);
	cr_expect(differ * 1000 < compared, "%u of %u differ", differ, compared);
}

Test(recorded, path_is_the_makespan)
{
	for (unsigned seed = 1; seed <= 40; seed++) {
		struct world w = random_world(seed, seed % 3);
		struct replay_stretch *v;
		int64_t at = 0;
		struct rig x;
		size_t n;

		rig_start(&x, &w);
		cr_assert(replay_path(x.r, &v, &n) == 0);
		for (size_t i = 0; i < n; i++) {
			cr_expect(v[i].start_ns == at && v[i].end_ns > at && v[i].state != REPLAY_GAP, "seed %u", seed);
			cr_expect(v[i].thread && v[i].thread < x.m->thread_n);
			at = v[i].end_ns;
		}
		cr_expect(at == x.makespan_ns, "seed %u: the path ends at %ld, not %ld", seed, (long)at, (long)x.makespan_ns);
		free(v);
		rig_stop(&x);
	}
}

/* A clock of another CPU that is behind, so that effects seem to come before their causes. */
static void clock_shift(struct model *m, uint32_t thread, int64_t ns)
{
	for (size_t i = 1; i < m->wait_n; i++) {
		struct model_wait *w = &m->waits[i];

		if (w->thread != thread)
			continue;
		w->start_ns += ns;
		w->end_ns += ns;
		w->wake_ns += w->wake_ns >= 0 ? ns : 0;
	}
	m->threads[thread].begin_ns += ns;
}

/* Whatever the replay makes of a recording, the path lies where that was, and is as long. */
Test(recorded, path_of_clocks_that_disagree)
{
	unsigned drifted = 0;

	for (unsigned seed = 1; seed <= 200; seed++) {
		struct world w = random_world(seed, seed % 3);
		struct replay_stretch *v;
		struct replay_facts f;
		struct rig x;
		int64_t at;
		size_t n;

		rig_start(&x, &w);
		for (uint32_t t = 2; t < x.m->thread_n; t++)
			clock_shift(x.m, t, -(int64_t)t * 20 * US);
		replay_free(x.r);
		cr_assert(replay_new(x.m, NULL, &x.r) == 0);
		replay_facts(x.r, &f);
		drifted += f.e1_ns != f.makespan_ns;
		cr_assert(replay_path(x.r, &v, &n) == 0);
		at = f.begin_ns;
		for (size_t i = 0; i < n; i++) {
			const struct model_wait *wait = &x.m->waits[v[i].wait];

			cr_expect(v[i].start_ns == at && v[i].end_ns > at, "seed %u", seed);
			at = v[i].end_ns;
			if (v[i].wait && v[i].state != REPLAY_ONCPU)
				cr_expect(v[i].end_ns <= wait->end_ns && v[i].end_ns > wait->start_ns,
					  "seed %u: it waits when the thread did not", seed);
		}
		cr_expect(at == f.end_ns, "seed %u: the path ends at %ld, not %ld", seed, (long)at, (long)f.end_ns);
		free(v);
		rig_stop(&x);
	}
	cr_expect(drifted > 10, "the replay drifts in %u only", drifted);
}

/* A thread is there a little before it can run. */
Test(recorded, a_start_that_takes_a_while)
{
	struct replay_facts f;
	struct world w = { 0 };
	struct rig x;

	world_add(&w, 0, STEP_SLEEP, 0, 4 * MS, 'a');
	world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
	world_add(&w, 1, STEP_SLEEP, 0, 6 * MS, 'b');
	world_add(&w, 0, STEP_JOIN, 1, 0, 0);
	rig_start(&x, &w);
	for (size_t i = 1; i < x.m->wait_n; i++) {
		if (x.m->waits[i].thread == 2 && x.m->rows[x.m->waits[i].row].reason == REASON_CPU)
			x.m->waits[i].start_ns -= 30 * US;
	}
	x.m->threads[2].begin_ns -= 30 * US;
	replay_free(x.r);
	cr_assert(replay_new(x.m, NULL, &x.r) == 0);
	replay_facts(x.r, &f);
	cr_expect(f.e1_ns == x.makespan_ns && f.e2_ns == x.makespan_ns, "%ld and %ld, not %ld", (long)f.e1_ns, (long)f.e2_ns,
		  (long)x.makespan_ns);
	rig_stop(&x);
}

/* Of a sleep the wake itself can be missing; who else than its clock should have ended it? Of another wait that is open. */
Test(recorded, ends_that_nobody_saw)
{
	struct world w = { 0 };
	struct replay_facts f;
	struct rig x;

	world_add(&w, 0, STEP_SLEEP, 0, 5 * MS, 'a');
	world_add(&w, 0, STEP_STRANGER, 0, 3 * MS, 'b');
	rig_start(&x, &w);
	for (int with_stranger = 0; with_stranger < 2; with_stranger++) {
		for (size_t i = 1; i < x.m->wait_n; i++) {
			struct model_wait *wait = &x.m->waits[i];
			bool sleeps = x.m->rows[wait->row].reason == REASON_SLEEP;

			if (x.m->rows[wait->row].reason == REASON_CPU || (!sleeps && !with_stranger))
				continue;
			wait->ctx = WAKER_UNKNOWN;
			wait->outcome = WAIT_WOKEN;
			wait->wake_ns = -1;
			wait->outside_waker = 0;
		}
		replay_free(x.r);
		cr_assert(replay_new(x.m, NULL, &x.r) == 0);
		replay_facts(x.r, &f);
		cr_expect(f.unknown_waker_n == (uint64_t)with_stranger, "%lu", (unsigned long)f.unknown_waker_n);
		cr_expect(!!(f.missing & REPLAY_WAKERS_UNKNOWN) == with_stranger);
	}
	rig_stop(&x);
}

/* A delay may be longer by its slack and not by more: checked by really making it longer. */
Test(recorded, slack_of_a_thread)
{
	struct world w = { 0 }, longer;
	int64_t *slacks;
	struct rig x;

	world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
	world_add(&w, 0, STEP_SPAWN, 2, 0, 0);
	world_add(&w, 1, STEP_SLEEP, 0, 5 * MS, 'a');
	world_add(&w, 2, STEP_SLEEP, 0, 8 * MS, 'b');
	world_add(&w, 0, STEP_JOIN, 1, 0, 0);
	world_add(&w, 0, STEP_JOIN, 2, 0, 0);
	world_add(&w, 0, STEP_SLEEP, 0, 1 * MS, 'c');
	rig_start(&x, &w);
	cr_assert(replay_op_slacks(x.r, &slacks) == 0);
	cr_expect(slacks[3] == 3 * MS, "of the thread that may be late: %ld", (long)slacks[3]);
	cr_expect(slacks[4] == 0 && slacks[2] == 0 && slacks[1] == 0);
	longer = world_scaled(&x.w, 'a', 8.0 / 5);
	cr_expect(world_run(&longer, NULL) == x.makespan_ns);
	world_done(&longer);
	longer = world_scaled(&x.w, 'a', 8.1 / 5);
	cr_expect(world_run(&longer, NULL) > x.makespan_ns);
	world_done(&longer);
	free(slacks);
	rig_stop(&x);
}

/* What happens to ops when a delay before them is shorter. */
Test(recorded, times_of_threads)
{
	struct replay_change c = { .what = REPLAY_DELAY, .factor = 0.5 };
	struct replay_scenario s = { .changes = &c, .n = 1 };
	struct world w = { 0 };
	struct replay_span *t;
	struct rig x;
	size_t class;

	world_add(&w, 0, STEP_SLEEP, 0, 4 * MS, 'a');
	world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
	world_add(&w, 1, STEP_SLEEP, 0, 6 * MS, 'b');
	world_add(&w, 0, STEP_JOIN, 1, 0, 0);
	rig_start(&x, &w);
	cr_assert(replay_class_find(x.r, REPLAY_CLASS_FUNCTION, "a", &class));
	c.class = (uint32_t)class;
	for (int engine = REPLAY_E1; engine <= REPLAY_E2; engine++) {
		cr_assert(replay_op_times(x.r, &s, engine, &t) == 0);
		cr_expect(t[2].start_ns == 0 && t[2].end_ns == 8 * MS, "%ld", (long)t[2].end_ns);
		cr_expect(t[3].start_ns == 2 * MS && t[3].end_ns == 8 * MS, "%ld %ld", (long)t[3].start_ns, (long)t[3].end_ns);
		cr_expect(t[1].start_ns == 0 && t[1].end_ns == 8 * MS);
		free(t);
	}
	cr_expect(replay_op_times(x.r, &s, REPLAY_WCPROF, &t) == -EINVAL);
	rig_stop(&x);
}

/* A thread that ran at once leaves no wait that tells who started it: then its process's first did. */
Test(recorded, a_start_that_was_not_seen)
{
	struct replay_change c = { .what = REPLAY_DELAY, .factor = 0.5 };
	struct replay_scenario s = { .changes = &c, .n = 1 };
	struct replay_outcome o;
	struct world w = { 0 };
	struct rig x;
	size_t class;

	world_add(&w, 0, STEP_SLEEP, 0, 4 * MS, 'a');
	world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
	world_add(&w, 1, STEP_SLEEP, 0, 6 * MS, 'b');
	world_add(&w, 0, STEP_JOIN, 1, 0, 0);
	rig_start(&x, &w);
	for (size_t i = 1; i < x.m->wait_n; i++) {
		if (x.m->rows[x.m->waits[i].row].reason == REASON_CPU)
			x.m->waits[i] = (struct model_wait){ .wake_ns = -1 };
	}
	replay_free(x.r);
	cr_assert(replay_new(x.m, NULL, &x.r) == 0);
	cr_assert(replay_class_find(x.r, REPLAY_CLASS_FUNCTION, "a", &class));
	c.class = (uint32_t)class;
	cr_assert(replay_evaluate(x.r, &s, 1, REPLAY_E1 | REPLAY_E2, &o) == 0);
	cr_expect(o.e1_ns == 8 * MS && o.e2_ns == 8 * MS, "%ld %ld", (long)o.e1_ns, (long)o.e2_ns);
	rig_stop(&x);
}

/* Of the path by state; all of it. */
static int64_t path_ns(const struct rig *x, uint32_t thread, enum replay_state state)
{
	struct replay_stretch *v;
	int64_t ns = 0, all_ns = 0;
	size_t n;

	cr_assert(replay_path(x->r, &v, &n) == 0);
	for (size_t i = 0; i < n; i++) {
		ns += v[i].thread == thread && v[i].state == state ? v[i].end_ns - v[i].start_ns : 0;
		all_ns += v[i].end_ns - v[i].start_ns;
	}
	cr_expect(all_ns == x->makespan_ns);
	free(v);
	return ns;
}

/* A thread's account knows how long it ran: what else lies between its waits is in none that was recorded. */
Test(recorded, time_that_is_in_no_wait)
{
	struct replay_change c = { .what = REPLAY_CPU, .factor = 0 };
	struct replay_scenario s = { .changes = &c, .n = 1 };
	struct replay_outcome o;
	struct replay_facts f;
	struct world w = { 0 };
	struct rig x;
	size_t class;

	world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
	world_add(&w, 1, STEP_COMPUTE, 0, 2 * MS, 0);
	world_add(&w, 1, STEP_SLEEP, 0, 3 * MS, 'a');
	world_add(&w, 1, STEP_COMPUTE, 0, 3 * MS, 0);
	world_add(&w, 0, STEP_JOIN, 1, 0, 0);
	rig_start(&x, &w);
	cr_assert(x.m->threads[2].oncpu_ns == 5 * MS && x.m->threads[2].op == 3);
	x.m->threads[2].oncpu_ns -= MS;
	/* Behind its exit no waits are recorded; then without one. */
	for (int exits = 1; exits >= 0; exits--) {
		x.m->ops[3].end_ns = exits ? x.m->threads[2].end_ns - 2 * MS : x.m->threads[2].end_ns;
		replay_free(x.r);
		cr_assert(replay_new(x.m, NULL, &x.r) == 0);
		replay_facts(x.r, &f);
		cr_expect(f.e1_ns == x.makespan_ns && llabs((int64_t)f.unplaced_ns - MS) < 10, "%ld", (long)f.unplaced_ns);
		cr_expect(llabs(path_ns(&x, 2, REPLAY_ONCPU) - 4 * MS) < 10);
		cr_expect(llabs(path_ns(&x, 2, REPLAY_GAP) - MS) < 10);
		cr_assert(replay_class_find(x.r, REPLAY_CLASS_THREAD, "thread", &class));
		c.class = (uint32_t)class;
		cr_assert(replay_evaluate(x.r, &s, 1, REPLAY_E1 | REPLAY_E2, &o) == 0);
		cr_expect(llabs(o.e1_ns - 4 * MS) < 10 && llabs(o.e2_ns - 4 * MS) < 10, "%ld %ld", (long)o.e1_ns, (long)o.e2_ns);
	}
	rig_stop(&x);
}

/* Waits that were lost don't count as work: no thread is longer on the path's CPU than it ran. */
Test(recorded, waits_that_were_lost)
{
	unsigned lost = 0;

	for (unsigned seed = 1; seed <= 80; seed++) {
		struct world w = random_world(seed, 1 + seed % 2);
		struct replay_facts f;
		struct rig x;

		rig_start(&x, &w);
		for (size_t i = 1; i < x.m->wait_n; i++) {
			if (x.m->rows[x.m->waits[i].row].reason == REASON_CPU && !x.m->waits[i].waker && i % 3) {
				lost += x.m->waits[i].end_ns > x.m->waits[i].start_ns;
				x.m->waits[i] = (struct model_wait){ .wake_ns = -1 };
			}
		}
		replay_free(x.r);
		cr_assert(replay_new(x.m, NULL, &x.r) == 0);
		replay_facts(x.r, &f);
		cr_expect(f.e1_ns == x.makespan_ns);
		for (uint32_t t = 1; t < x.m->thread_n; t++) {
			int64_t ran_ns = (int64_t)x.m->threads[t].oncpu_ns;

			cr_expect(path_ns(&x, t, REPLAY_ONCPU) <= ran_ns + ran_ns / 1000 + 100, "seed %u, thread %u", seed, t);
		}
		rig_stop(&x);
	}
	cr_expect(lost > 100, "%u", lost);
}
