/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The simulation's predictions, against worlds in which the knob was really turned. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

static double error_of(int64_t said, int64_t true_ns)
{
	return 100.0 * (double)llabs(said - true_ns) / (double)true_ns;
}

/* What it says against what is; in percent of what is. */
static void expect_right(const struct rig *x, char function, double factor, double percent, const char *what, unsigned seed)
{
	struct replay_outcome o = rig_ask(x, function, factor);
	int64_t said = x->makespan_ns - o.best_ns, true_ns = rig_truth(x, function, factor);

	cr_expect(error_of(said, true_ns) <= percent, "%s %u, %c x %g: %.2f ms, truth %.2f ms (of %.2f; E1 %.2f, E2 %.2f)", what,
		  seed, function, factor, (double)said / MS, (double)true_ns / MS, (double)x->makespan_ns / MS,
		  (double)o.e1_ns / MS, (double)o.e2_ns / MS);
}

static void joins_add(struct world *w, uint32_t threads)
{
	for (uint32_t t = 1; t <= threads; t++)
		world_add(w, 0, STEP_JOIN, t, 0, 0);
}

static struct world mutex_world(unsigned seed, uint32_t threads, int64_t in_ns, int64_t out_ns)
{
	struct world w = { 0 };

	for (uint32_t t = 1; t <= threads; t++)
		world_add(&w, 0, STEP_SPAWN, t, 0, 0);
	for (uint32_t t = 1; t <= threads; t++) {
		for (int i = 0; i < 50; i++) {
			world_add(&w, t, STEP_LOCK, 1, 0, 0);
			world_add(&w, t, STEP_COMPUTE, 0, rig_pick(&seed, 1 * US, 5 * US), 'c');
			world_add(&w, t, STEP_SLEEP, 0, in_ns + rig_pick(&seed, 0, in_ns / 20), 'i');
			world_add(&w, t, STEP_COMPUTE, 0, rig_pick(&seed, 1 * US, 5 * US), 'c');
			world_add(&w, t, STEP_UNLOCK, 1, 0, 0);
			world_add(&w, t, STEP_COMPUTE, 0, rig_pick(&seed, 1 * US, 5 * US), 'c');
			world_add(&w, t, STEP_SLEEP, 0, out_ns + rig_pick(&seed, 0, out_ns / 20), 'o');
		}
	}
	joins_add(&w, threads);
	return w;
}

Test(simulated, mutexes)
{
	static const struct {
		uint32_t threads;
		int64_t in_us, out_us;
	} cases[] = { { 4, 2000, 2000 }, { 4, 1000, 4000 }, { 4, 2000, 1000 }, { 2, 2000, 6000 }, { 6, 1000, 9000 }, { 3, 500, 400 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world w = mutex_world((unsigned)i + 1, cases[i].threads, cases[i].in_us * US, cases[i].out_us * US);
		struct replay_facts f;
		struct rig x;

		rig_start(&x, &w);
		replay_facts(x.r, &f);
		cr_expect(f.e1_ns == x.makespan_ns);
		cr_expect(error_of(f.e2_ns, x.makespan_ns) <= 1, "case %zu: E2 makes %ld of %ld", i, (long)f.e2_ns,
			  (long)x.makespan_ns);
		for (double factor = 0.9; factor > 0.2; factor -= 0.2) {
			expect_right(&x, 'i', factor, 3, "mutex", (unsigned)i);
			/* Two that never met in the recording: that they would then can't be known. */
			if (i != 3 || factor > 0.4)
				expect_right(&x, 'o', factor, 3, "mutex", (unsigned)i);
		}
		rig_stop(&x);
	}
}

/* Held while computing: no wait tells what is inside, only samples and the ends of waits. */
Test(simulated, mutexes_held_computing)
{
	for (unsigned seed = 1; seed <= 3; seed++) {
		struct world w = { .sample_ns = 101 * US };
		unsigned pick = seed;
		struct rig x;

		world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
		world_add(&w, 0, STEP_SPAWN, 2, 0, 0);
		for (uint32_t t = 1; t <= 2; t++) {
			for (int i = 0; i < 60; i++) {
				world_add(&w, t, STEP_LOCK, 1, 0, 0);
				world_add(&w, t, STEP_COMPUTE, 0, rig_pick(&pick, 1900 * US, 2100 * US), 'i');
				world_add(&w, t, STEP_UNLOCK, 1, 0, 0);
				world_add(&w, t, STEP_COMPUTE, 0, rig_pick(&pick, 900 * US, 1100 * US), 'o');
			}
		}
		joins_add(&w, 2);
		rig_start(&x, &w);
		expect_right(&x, 'i', 0.5, 5, "held computing", seed);
		expect_right(&x, 'o', 0.5, 2, "held computing", seed);
		rig_stop(&x);
	}
}

/* Nobody saw when it was taken, only that another then waited for it: it was held at least since. */
Test(simulated, a_lock_held_longer_than_is_usual)
{
	struct world w = { 0 };
	struct replay_lock *locks;
	struct replay_facts f;
	uint64_t held_ns = 0;
	struct rig x;
	size_t n;

	world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
	world_add(&w, 0, STEP_SPAWN, 2, 0, 0);
	for (uint32_t t = 1; t <= 2; t++) {
		for (int i = 0; i < 8; i++) {
			world_add(&w, t, STEP_LOCK, 1, 0, 0);
			world_add(&w, t, STEP_SLEEP, 0, 2 * MS, 'i');
			world_add(&w, t, STEP_UNLOCK, 1, 0, 0);
			world_add(&w, t, STEP_SLEEP, 0, 1 * MS, 'o');
		}
		world_add(&w, t, STEP_SLEEP, 0, t * 4 * MS, 'p');
	}
	world_add(&w, 1, STEP_LOCK, 1, 0, 0);
	world_add(&w, 1, STEP_SLEEP, 0, 40 * MS, 'l');
	world_add(&w, 1, STEP_UNLOCK, 1, 0, 0);
	world_add(&w, 2, STEP_LOCK, 1, 0, 0);
	world_add(&w, 2, STEP_SLEEP, 0, 2 * MS, 'i');
	world_add(&w, 2, STEP_UNLOCK, 1, 0, 0);
	joins_add(&w, 2);
	rig_start(&x, &w);
	replay_facts(x.r, &f);
	cr_expect(error_of(f.e2_ns, x.makespan_ns) <= 0.1, "E2 makes %ld of %ld", (long)f.e2_ns, (long)x.makespan_ns);
	expect_right(&x, 'l', 0.5, 1, "held long", 0);
	expect_right(&x, 'l', 0.1, 1, "held long", 0);
	cr_assert(replay_locks(x.r, &locks, &n) == 0);
	for (size_t i = 0; i < n; i++)
		held_ns += locks[i].hold_max_ns;
	cr_expect(n == 1 && held_ns >= 30 * MS && held_ns <= 41 * MS, "%lu", (unsigned long)held_ns);
	replay_locks_free(locks, n);
	rig_stop(&x);
}

static void section_add(struct world *w, uint32_t t, enum step_what what, int64_t ns, uint8_t function)
{
	world_add(w, t, STEP_LOCK, 1, 0, 0);
	world_add(w, t, what, 0, ns, function);
	world_add(w, t, STEP_UNLOCK, 1, 0, 0);
}

static uint64_t holds_seen(const struct rig *x)
{
	struct replay_lock *locks;
	uint64_t seen = 0;
	size_t n;

	cr_assert(replay_locks(x->r, &locks, &n) == 0);
	for (size_t i = 0; i < n; i++) {
		cr_expect(locks[i].holds_known);
		seen += locks[i].hold_n;
	}
	replay_locks_free(locks, n);
	return seen;
}

struct errors {
	double base, in, out; /* sums, in percent */
	unsigned n;
};

/*
 * Who comes back when the lock is left takes it before who was woken for it has looked, for as long as that takes. That
 * one had it at no time, and in the changed world, where they come at other times, most get it in turn.
 */
static void barging_try(enum step_what what, unsigned seed, struct errors *e)
{
	enum { THREADS = 4, ROUNDS = 26 };
	struct world w = { .wake_ns = 30 * US, .look_ns = 25 * US, .cpu_n = 8, .slice_ns = 4 * MS,
			   .sample_ns = what == STEP_COMPUTE ? 101 * US : 0 };
	struct replay_outcome in, out;
	struct replay_facts f;
	unsigned pick = seed;
	uint64_t seen;
	struct rig x;

	for (uint32_t t = 1; t <= THREADS; t++)
		world_add(&w, 0, STEP_SPAWN, t, 0, 0);
	for (uint32_t t = 1; t <= THREADS; t++) {
		for (int i = 0; i < ROUNDS; i++) {
			section_add(&w, t, what, 2 * MS + rig_pick(&pick, 0, 60 * US), 'i');
			world_add(&w, t, what, 0, 2 * MS + rig_pick(&pick, 0, 250 * US), 'o');
		}
	}
	joins_add(&w, THREADS);
	rig_start(&x, &w);
	replay_facts(x.r, &f);
	seen = holds_seen(&x);
	cr_expect(f.spurious_n >= 10, "seed %u is about nothing: %lu came too late", seed, (unsigned long)f.spurious_n);
	/* Of computing nothing is seen when nobody else comes. */
	cr_expect(seen <= THREADS * ROUNDS + 4 && seen >= THREADS * ROUNDS - (what == STEP_COMPUTE ? 12 : 0),
		  "seed %u: %lu holds", seed, (unsigned long)seen);
	in = rig_ask(&x, 'i', 0.5);
	out = rig_ask(&x, 'o', 0.5);
	e->base += error_of(f.e2_ns, x.makespan_ns);
	e->in += error_of(x.makespan_ns - in.best_ns, rig_truth(&x, 'i', 0.5));
	e->out += error_of(x.makespan_ns - out.best_ns, rig_truth(&x, 'o', 0.5));
	e->n++;
	rig_stop(&x);
}

static void expect_barging_right(enum step_what what, double base, double in, double out)
{
	struct errors e = { 0 };

	for (unsigned seed = 1; seed <= 30; seed++)
		barging_try(what, seed, &e);
	cr_expect(e.base / e.n <= base, "unchanged: %.2f%% off", e.base / e.n);
	cr_expect(e.in / e.n <= in, "less within: %.2f%% off", e.in / e.n);
	cr_expect(e.out / e.n <= out, "less outside: %.2f%% off", e.out / e.n);
}

Test(simulated, who_comes_before_who_was_woken)
{
	expect_barging_right(STEP_SLEEP, 0.2, 2, 0.2);
	expect_barging_right(STEP_COMPUTE, 2.5, 3, 2);
}

/* As short as a look in vain, but it had the lock: the other ran and took it then. */
Test(simulated, a_lock_held_for_as_long_as_a_look)
{
	enum { ROUNDS = 30 };
	struct world w = { 0 };
	struct replay_facts f;
	uint64_t seen;
	struct rig x;

	world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
	world_add(&w, 0, STEP_SPAWN, 2, 0, 0);
	for (int i = 0; i < ROUNDS; i++) {
		section_add(&w, 1, STEP_SLEEP, 2 * MS, 'i');
		world_add(&w, 1, STEP_COMPUTE, 0, i % 3 ? 45 * US : 20 * US, 'c');
		section_add(&w, 2, STEP_COMPUTE, 40 * US, 's');
		world_add(&w, 2, STEP_COMPUTE, 0, 10 * US, 'o');
	}
	joins_add(&w, 2);
	rig_start(&x, &w);
	replay_facts(x.r, &f);
	seen = holds_seen(&x);
	cr_expect(!f.spurious_n && seen >= 2 * ROUNDS - 2 && seen <= 2 * ROUNDS, "%lu holds, %lu looked in vain",
		  (unsigned long)seen, (unsigned long)f.spurious_n);
	cr_expect(error_of(f.e2_ns, x.makespan_ns) <= 1, "E2 makes %ld of %ld", (long)f.e2_ns, (long)x.makespan_ns);
	expect_right(&x, 'i', 0.5, 3, "short hold", 0);
	rig_stop(&x);
}

/* Twice what is usual inside is one hold still, where all the while another stood in the queue and was not woken. */
Test(simulated, a_lock_held_for_twice_what_is_usual)
{
	double sum = 0, most = 0;

	for (unsigned seed = 1; seed <= 40; seed++) {
		struct world w = { 0 };
		struct replay_facts f;
		unsigned pick = seed;
		struct rig x;

		for (uint32_t t = 1; t <= 3; t++)
			world_add(&w, 0, STEP_SPAWN, t, 0, 0);
		for (uint32_t t = 1; t <= 3; t++) {
			for (int i = 0; i < 20; i++) {
				bool twice = rig_pick(&pick, 0, 4) == 0;

				world_add(&w, t, STEP_LOCK, 1, 0, 0);
				for (int k = 0; k <= twice; k++)
					world_add(&w, t, STEP_SLEEP, 0, rig_pick(&pick, 1800 * US, 2200 * US), 'i');
				world_add(&w, t, STEP_UNLOCK, 1, 0, 0);
				world_add(&w, t, STEP_SLEEP, 0, rig_pick(&pick, 1 * MS, 5 * MS), 'o');
			}
		}
		joins_add(&w, 3);
		rig_start(&x, &w);
		replay_facts(x.r, &f);
		sum += error_of(f.e2_ns, x.makespan_ns);
		most = error_of(f.e2_ns, x.makespan_ns) > most ? error_of(f.e2_ns, x.makespan_ns) : most;
		rig_stop(&x);
	}
	cr_expect(most <= 0.1, "the unchanged world is %.2f%% off, %.2f%% at most", sum / 40, most);
}

/*
 * Who waits for a condition has given the lock away, though nobody saw it: between its getting the lock and the first
 * time that it is seen to give it to somebody there are two holds, and another's in the middle.
 */
Test(simulated, a_lock_left_for_a_condition)
{
	struct world w = { 0 };
	struct replay_facts f;
	struct rig x;

	world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
	world_add(&w, 0, STEP_SPAWN, 2, 0, 0);
	for (int i = 0; i < 8; i++) {
		for (uint32_t t = 1; t <= 2; t++) {
			section_add(&w, t, STEP_SLEEP, 2 * MS, 'i');
			world_add(&w, t, STEP_SLEEP, 0, 1 * MS, 'o');
		}
	}
	for (uint32_t t = 1; t <= 2; t++)
		world_add(&w, t, STEP_BARRIER, 1, 2, 0);
	world_add(&w, 1, STEP_SLEEP, 0, 1 * MS, 'p');
	section_add(&w, 1, STEP_COMPUTE, 2 * MS, 'c');
	world_add(&w, 1, STEP_WAIT, 0, 0, 0);
	section_add(&w, 1, STEP_COMPUTE, 3 * MS, 'c');
	section_add(&w, 2, STEP_SLEEP, 2 * MS, 'i');
	world_add(&w, 2, STEP_SLEEP, 0, 6 * MS, 'q');
	section_add(&w, 2, STEP_SLEEP, 2 * MS, 'i');
	world_add(&w, 2, STEP_SIGNAL, 0, 0, 0);
	world_add(&w, 2, STEP_SLEEP, 0, 1 * MS, 'q');
	section_add(&w, 2, STEP_SLEEP, 2 * MS, 'i');
	joins_add(&w, 2);
	rig_start(&x, &w);
	for (size_t i = 1; i < x.m->row_n; i++) {
		if (strcmp(strtab_str(x.m->strings, x.m->rows[i].kind_id), "semaphore") == 0)
			cr_assert(strtab_intern(x.m->strings, "condvar", &x.m->rows[i].kind_id) == 0);
	}
	replay_free(x.r);
	cr_assert(replay_new(x.m, NULL, &x.r) == 0);
	replay_facts(x.r, &f);
	cr_expect(!f.forced_n && error_of(f.e2_ns, x.makespan_ns) <= 1, "E2 makes %ld of %ld, %lu forced", (long)f.e2_ns,
		  (long)x.makespan_ns, (unsigned long)f.forced_n);
	expect_right(&x, 'q', 0.5, 2, "condition", 0);
	rig_stop(&x);
}

Test(simulated, shared_cpus)
{
	for (uint32_t cpu_n = 1; cpu_n <= 3; cpu_n++) {
		for (unsigned seed = 1; seed <= 4; seed++) {
			struct world w = { .cpu_n = cpu_n, .slice_ns = 300 * US, .sample_ns = 997 * US };
			unsigned pick = seed;
			struct replay_facts f;
			struct rig x;

			for (uint32_t t = 1; t <= 4; t++)
				world_add(&w, 0, STEP_SPAWN, t, 0, 0);
			for (uint32_t t = 1; t <= 4; t++) {
				world_add(&w, t, STEP_COMPUTE, 0, rig_pick(&pick, 20 * MS, 60 * MS), t % 2 ? 'a' : 'b');
				world_add(&w, t, STEP_SLEEP, 0, rig_pick(&pick, 1 * MS, 9 * MS), 's');
				world_add(&w, t, STEP_COMPUTE, 0, rig_pick(&pick, 20 * MS, 60 * MS), t % 2 ? 'a' : 'b');
			}
			joins_add(&w, 4);
			rig_start(&x, &w);
			replay_facts(x.r, &f);
			cr_expect(f.cpu_n == cpu_n && f.e1_ns == x.makespan_ns);
			cr_expect(error_of(f.e2_ns, x.makespan_ns) <= 3, "%u CPUs, seed %u: E2 makes %ld of %ld", cpu_n, seed,
				  (long)f.e2_ns, (long)x.makespan_ns);
			expect_right(&x, 'a', 0.5, 4, "CPUs", cpu_n * 10 + seed);
			expect_right(&x, 'b', 0.2, 5, "CPUs", cpu_n * 10 + seed);
			rig_stop(&x);
		}
	}
}

static void burners_add(struct world *w, uint32_t threads)
{
	for (uint32_t t = 1; t <= threads; t++)
		world_add(w, 0, STEP_SPAWN, t, 0, 0);
	for (uint32_t t = 1; t <= threads; t++)
		world_add(w, t, STEP_COMPUTE, 0, 30 * MS + t * MS, (uint8_t)('a' + t));
}

/* Where nothing is known of CPUs they are unlimited, and what was waited for them stays: it is not lost between the two. */
Test(simulated, cpus_that_are_not_told)
{
	struct world w = { .cpu_n = 2, .slice_ns = 500 * US };
	struct replay_facts f;
	struct rig x;

	burners_add(&w, 4);
	joins_add(&w, 4);
	rig_start(&x, &w);
	x.m->cpu_n = 0;
	for (size_t i = 1; i < x.m->wait_n; i++)
		x.m->waits[i].cpu_from = x.m->waits[i].cpu_to = 0;
	replay_free(x.r);
	cr_assert(replay_new(x.m, NULL, &x.r) == 0);
	replay_facts(x.r, &f);
	cr_expect(f.missing & REPLAY_NO_CPUS && f.cpu_n == 0);
	cr_expect(error_of(f.e2_ns, x.makespan_ns) <= 0.1, "E2 makes %ld of %ld", (long)f.e2_ns, (long)x.makespan_ns);
	rig_stop(&x);
}

/* A stranger has one of two CPUs, so two threads take turns on what is left: that is not the target's own queue. */
Test(simulated, a_stranger_on_the_cpus)
{
	struct world w = { .cpu_n = 2, .slice_ns = 300 * US };
	struct replay_facts f;
	struct rig x;

	burners_add(&w, 2);
	world_add(&w, 0, STEP_SPAWN, 3, 0, 0);
	world_add(&w, 3, STEP_COMPUTE, 0, 60 * MS, 's');
	joins_add(&w, 2);
	rig_start(&x, &w);
	for (size_t i = 1; i < x.m->wait_n; i++) {
		if (x.m->waits[i].thread == 4)
			x.m->waits[i] = (struct model_wait){ .wake_ns = -1 };
	}
	x.m->threads[4].end_ns = x.m->threads[4].begin_ns;
	replay_free(x.r);
	cr_assert(replay_new(x.m, NULL, &x.r) == 0);
	replay_facts(x.r, &f);
	cr_expect(x.makespan_ns > 40 * MS, "he does not matter: %ld", (long)x.makespan_ns);
	cr_expect(error_of(f.e2_ns, x.makespan_ns) <= 1, "E2 makes %ld of %ld", (long)f.e2_ns, (long)x.makespan_ns);
	rig_stop(&x);
}

Test(simulated, more_cpus)
{
	struct world w = { .cpu_n = 1, .slice_ns = 500 * US }, more;
	struct replay_change c = { .what = REPLAY_CPUS, .factor = 2 };
	struct replay_scenario s = { .changes = &c, .n = 1 };
	struct replay_outcome o;
	int64_t true_ns;
	struct rig x;

	for (uint32_t t = 1; t <= 3; t++)
		world_add(&w, 0, STEP_SPAWN, t, 0, 0);
	for (uint32_t t = 1; t <= 3; t++)
		world_add(&w, t, STEP_COMPUTE, 0, 30 * MS + t * MS, 'a');
	joins_add(&w, 3);
	rig_start(&x, &w);
	cr_assert(replay_evaluate(x.r, &s, 1, REPLAY_E1 | REPLAY_E2, &o) == 0);
	more = world_scaled(&x.w, 'a', 1);
	more.cpu_n = 2;
	true_ns = world_run(&more, NULL);
	cr_expect(error_of(x.makespan_ns - o.best_ns, true_ns) <= 3, "%.2f ms, truth %.2f ms",
		  (double)(x.makespan_ns - o.best_ns) / MS, (double)true_ns / MS);
	world_done(&more);
	rig_stop(&x);
}

/* The slow one's gain ends where another becomes the slow one; no edge of the recording says so. */
Test(simulated, barriers)
{
	for (unsigned seed = 1; seed <= 5; seed++) {
		struct world w = { 0 };
		unsigned pick = seed;
		struct rig x;

		for (uint32_t t = 1; t <= 3; t++)
			world_add(&w, 0, STEP_SPAWN, t, 0, 0);
		for (uint32_t t = 1; t <= 3; t++) {
			for (int i = 0; i < 20; i++) {
				world_add(&w, t, STEP_SLEEP, 0, (11 - 2 * t) * MS + rig_pick(&pick, 0, 3 * MS), (uint8_t)('a' + t));
				world_add(&w, t, STEP_BARRIER, 1, 3, 0);
			}
		}
		joins_add(&w, 3);
		rig_start(&x, &w);
		for (double factor = 0.1; factor < 1; factor += 0.2) {
			for (char f = 'b'; f <= 'd'; f++)
				expect_right(&x, f, factor, 0.5, "barrier", seed);
		}
		rig_stop(&x);
	}
}

/* A thread that ended before it was joined holds up nobody, until the one that was slower is faster than it. */
Test(simulated, joins_without_a_wait)
{
	struct world w = { 0 };
	struct rig x;

	for (uint32_t t = 1; t <= 3; t++)
		world_add(&w, 0, STEP_SPAWN, t, 0, 0);
	world_add(&w, 1, STEP_SLEEP, 0, 10 * MS, 'a');
	world_add(&w, 2, STEP_SLEEP, 0, 8 * MS, 'b');
	world_add(&w, 3, STEP_SLEEP, 0, 6 * MS, 'c');
	joins_add(&w, 3);
	rig_start(&x, &w);
	expect_right(&x, 'a', 0.5, 0.1, "joins", 0);
	expect_right(&x, 'a', 0.9, 0.1, "joins", 0);
	expect_right(&x, 'b', 0.5, 0.1, "joins", 0);
	rig_stop(&x);
}

/* Threads that are started one after the other and that nobody waits for: none of them may hold up the end. */
Test(simulated, fire_and_forget)
{
	struct world w = { 0 };
	struct replay_outcome o;
	struct rig x;

	for (uint32_t t = 1; t <= 10; t++) {
		world_add(&w, 0, STEP_SPAWN, t, 0, 0);
		world_add(&w, t, STEP_SLEEP, 0, 15 * MS, 'f');
		world_add(&w, 0, STEP_SLEEP, 0, 20 * MS, 'm');
	}
	rig_start(&x, &w);
	expect_right(&x, 'm', 0.5, 0.1, "fire and forget", 0);
	expect_right(&x, 'm', 0.2, 0.1, "fire and forget", 0);
	o = rig_ask(&x, 'f', 0.5);
	cr_expect(o.best_ns == 0 && o.low_ns == 0 && o.high_ns == 0);
	rig_stop(&x);
}

/* The same with joins, of which most find their thread gone: one wait for one of them tells that all are waited for. */
Test(simulated, started_one_by_one_and_joined)
{
	struct world w = { 0 };
	struct rig x;

	for (uint32_t t = 1; t <= 10; t++) {
		world_add(&w, 0, STEP_SPAWN, t, 0, 0);
		world_add(&w, t, STEP_SLEEP, 0, t == 10 ? 30 * MS : 15 * MS, t == 10 ? 'l' : 'f');
		world_add(&w, 0, STEP_SLEEP, 0, 20 * MS, 'm');
	}
	joins_add(&w, 10);
	rig_start(&x, &w);
	expect_right(&x, 'm', 0.5, 0.1, "one by one", 0);
	expect_right(&x, 'l', 0.1, 0.1, "one by one", 0);
	rig_stop(&x);
}

/* What takes long and holds up nobody: nothing is to be gained, and nothing is said to be. */
Test(simulated, negative_controls)
{
	struct world w = { .cpu_n = 4, .sample_ns = 1 * MS };
	struct replay_outcome o;
	struct rig x;

	for (uint32_t t = 1; t <= 2; t++)
		world_add(&w, 0, STEP_SPAWN, t, 0, 0);
	world_add(&w, 1, STEP_COMPUTE, 0, 40 * MS, 'h');
	world_add(&w, 2, STEP_SLEEP, 0, 30 * MS, 'f');
	for (int i = 0; i < 10; i++)
		world_add(&w, 0, STEP_SLEEP, 0, 5 * MS, 'm');
	joins_add(&w, 2);
	rig_start(&x, &w);
	o = rig_ask(&x, 'h', 0);
	cr_expect(o.best_ns == 0 && o.low_ns == 0 && o.high_ns == 0);
	o = rig_ask(&x, 'f', 0);
	cr_expect(o.best_ns == 0 && o.low_ns == 0 && o.high_ns == 0);
	expect_right(&x, 'm', 0.9, 0.1, "control", 0);
	expect_right(&x, 'm', 0.5, 0.1, "control", 0);
	rig_stop(&x);
}

/* Sleeps until a time: less work before them makes them longer, until they are the only thing that takes time. */
Test(simulated, rhythms)
{
	struct world w = { 0 };
	unsigned pick = 5;
	struct rig x;

	world_add(&w, 0, STEP_SLEEP, 0, 3 * MS, 'b');
	for (int i = 0; i < 20; i++) {
		world_add(&w, 0, STEP_SLEEP, 0, rig_pick(&pick, 2 * MS, 6 * MS), 'a');
		world_add(&w, 0, STEP_UNTIL, 0, 10 * MS, 't');
	}
	world_add(&w, 0, STEP_SLEEP, 0, 6 * MS, 'e');
	rig_start(&x, &w);
	expect_right(&x, 'a', 0.5, 2, "rhythm", 0);
	expect_right(&x, 'a', 0, 2, "rhythm", 0);
	expect_right(&x, 'a', 1.5, 2, "rhythm", 0);
	expect_right(&x, 'e', 0.5, 2, "rhythm", 0);
	rig_stop(&x);
}

/* Sleeps for a time are told to the kernel as points in time, too; those are shorter when the work before them is. */
Test(simulated, sleeps_that_only_look_like_a_rhythm)
{
	struct world w = { 0 };
	unsigned pick = 5;
	struct rig x;

	for (int i = 0; i < 20; i++) {
		world_add(&w, 0, STEP_COMPUTE, 0, rig_pick(&pick, 100 * US, 120 * US), 'a');
		world_add(&w, 0, STEP_SLEEP, 0, 10 * MS, 't');
	}
	rig_start(&x, &w);
	for (size_t i = 1; i < x.m->wait_n; i++) {
		if (x.m->waits[i].has_timeout)
			x.m->waits[i].timeout_ns = 5000000000000ll + x.m->waits[i].wake_ns;
	}
	replay_free(x.r);
	cr_assert(replay_new(x.m, NULL, &x.r) == 0);
	expect_right(&x, 't', 0.5, 0.1, "no rhythm", 0);
	rig_stop(&x);
}

/* One wake that took long is one accident: it must not repeat itself whenever its thread is woken for that lock again. */
Test(simulated, a_slow_wake)
{
	struct world w = { .sample_ns = 101 * US, .slow_wake = 10, .slow_ns = 700 * US };
	struct rig x;

	world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
	world_add(&w, 0, STEP_SPAWN, 2, 0, 0);
	for (uint32_t t = 1; t <= 2; t++) {
		for (int i = 0; i < 50; i++) {
			world_add(&w, t, STEP_LOCK, 1, 0, 0);
			world_add(&w, t, STEP_COMPUTE, 0, 2 * MS + t * 10 * US, 'i');
			world_add(&w, t, STEP_UNLOCK, 1, 0, 0);
			world_add(&w, t, STEP_COMPUTE, 0, 1 * MS, 'o');
		}
	}
	joins_add(&w, 2);
	rig_start(&x, &w);
	expect_right(&x, 'o', 0.5, 2, "slow wake", 0);
	expect_right(&x, 'o', 0.3, 2, "slow wake", 0);
	rig_stop(&x);
}

/* A wait with a limit is over at the limit, or when who it waits for has ended if that is earlier. */
Test(simulated, waits_given_up)
{
	for (unsigned seed = 1; seed <= 5; seed++) {
		struct world w = { 0 };
		unsigned pick = seed;
		struct rig x;

		world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
		world_add(&w, 0, STEP_SPAWN, 2, 0, 0);
		world_add(&w, 1, STEP_SLEEP, 0, 60 * MS + rig_pick(&pick, 0, 9 * MS), 'a');
		world_add(&w, 2, STEP_SLEEP, 0, 30 * MS + rig_pick(&pick, 0, 9 * MS), 'b');
		world_add(&w, 2, STEP_TIMED_JOIN, 1, 10 * MS, 'l');
		world_add(&w, 2, STEP_SLEEP, 0, 5 * MS, 'b');
		world_add(&w, 0, STEP_TIMED_JOIN, 1, 20 * MS, 'k');
		world_add(&w, 0, STEP_SLEEP, 0, 9 * MS, 'm');
		world_add(&w, 0, STEP_JOIN, 2, 0, 0);
		world_add(&w, 0, STEP_SLEEP, 0, 40 * MS, 'm');
		world_add(&w, 0, STEP_JOIN, 1, 0, 0);
		rig_start(&x, &w);
		for (double factor = 0; factor < 1.6; factor += 0.1) {
			expect_right(&x, 'a', factor, 0.1, "given up", seed);
			expect_right(&x, 'b', factor, 0.1, "given up", seed);
			expect_right(&x, 'm', factor, 0.1, "given up", seed);
			expect_right(&x, 'l', factor, 0.1, "limit", seed);
			expect_right(&x, 'k', factor, 0.1, "limit", seed);
		}
		cr_expect(rig_ask(&x, 'a', 0).e1_ns == rig_truth(&x, 'a', 0) && rig_ask(&x, 'a', 0.4).e1_ns == rig_truth(&x, 'a', 0.4));
		rig_stop(&x);
	}
}

/* Who gave up was needed by who it waited for: no circle, it had a limit. */
Test(simulated, a_wait_given_up_that_was_needed)
{
	struct world w = { 0 };
	struct rig x;

	world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
	world_add(&w, 1, STEP_SLEEP, 0, 5 * MS, 'a');
	world_add(&w, 1, STEP_WAIT, 0, 0, 0);
	world_add(&w, 1, STEP_SLEEP, 0, 10 * MS, 'a');
	world_add(&w, 0, STEP_TIMED_JOIN, 1, 20 * MS, 'k');
	world_add(&w, 0, STEP_SIGNAL, 0, 0, 0);
	world_add(&w, 0, STEP_JOIN, 1, 0, 0);
	rig_start(&x, &w);
	expect_right(&x, 'a', 0.5, 0.1, "circle", 0);
	expect_right(&x, 'k', 0.5, 0.1, "circle", 0);
	rig_stop(&x);
}
