/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The rules of wcprof's own analyzer: dumps worked out by hand, in ms; a twin
 * that follows the rules as they read; and the programs of which it is known
 * what that analyzer said, made again as the dumps that they wrote.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "hand.h"
#include "util/crew.h"
#include "wcprof_twin.h"

static struct model *m;

static void start(void)
{
	m = hand_model();
}

static void stop(void)
{
	m = model_free(m);
}

TestSuite(wcprof, .init = start, .fini = stop);

static uint32_t op(const char *class, uint32_t parent, double from_ms, double to_ms)
{
	return hand_op(m, OP_CALL, class, parent, from_ms, to_ms);
}

/* Makespan in ms by those rules; expr NULL: unchanged. */
static double ask(const char *expr)
{
	struct replay_scenario s = { 0 };
	struct replay_outcome o;
	char *error = NULL;
	struct replay *r;

	cr_assert(replay_new(m, NULL, &r) == 0);
	cr_assert(replay_wcprof_ns(r, &o.wcprof_ns) == 0);
	if (expr) {
		cr_assert(replay_parse(r, expr, &s, &error) == 0, "%s: %s", expr, error);
		cr_assert(replay_evaluate(r, &s, 1, REPLAY_WCPROF, &o) == 0);
	}
	replay_scenario_done(&s);
	replay_free(r);
	return o.wcprof_ns < 0 ? -1 : (double)o.wcprof_ns / MS;
}

static bool is_near(double a, double b)
{
	return fabs(a - b) < 0.001;
}

/* The parent is through with its wait before it begins what begins in it: 2 + 96, then 94, then 2. */
Test(wcprof, a_child_that_begins_in_a_wait)
{
	uint32_t root = op("root", 0, 0, 100);

	op("child", root, 4, 98);
	hand_wait(m, HAND_LOCK, root, 0, "cache", 2, 98);
	cr_expect(is_near(ask(NULL), 194), "%g", ask(NULL));
	cr_expect(is_near(ask("child * 0.5"), 147));
}

/* 92% off: the same without own time behind it. */
Test(wcprof, a_drift_of_92_percent)
{
	uint32_t root = op("root", 0, 0, 100);

	op("child", root, 8, 100);
	hand_wait(m, HAND_LOCK, root, 0, "cache", 4, 100);
	cr_expect(is_near(ask(NULL), 192), "%g", ask(NULL));
}

/* Given up at 60, and as if it had never been: own 10, own 30 up to the child's begin. The child ends too late to count. */
Test(wcprof, a_wait_given_up)
{
	uint32_t root = op("root", 0, 0, 100), child = op("child", root, 90, 200);

	hand_wait(m, HAND_JOIN, root, child, NULL, 10, 60);
	cr_expect(is_near(ask(NULL), 40), "%g", ask(NULL));
}

/* Nobody waits for the child, and yet what begins behind its end does. While it goes on the parent has no own time. */
Test(wcprof, a_child_beside_its_parent)
{
	uint32_t root = op("root", 0, 0, 100);

	op("child", root, 10, 50);
	cr_expect(is_near(ask(NULL), 100));
	cr_expect(is_near(ask("child * 2"), 140));
	cr_expect(is_near(ask("child * 0.5"), 80));
	cr_expect(is_near(ask("root * 0"), 40));
}

/* Two clients at a time: less in one moves the other, and saves what it can't. */
Test(wcprof, roots_that_overlap)
{
	op("one", 0, 0, 100);
	op("two", 0, 50, 150);
	cr_expect(is_near(ask(NULL), 150));
	cr_expect(is_near(ask("one * 0.5"), 100), "%g", ask("one * 0.5"));
}

/* Seconds, own and waited for, before the begin of a root and after it: none of them fits 32 bits of ns. */
Test(wcprof, times_that_are_long)
{
	uint32_t one = op("one", 0, 0, 20000), child = op("child", one, 5000, 15000);

	op("two", 0, 12000, 30000);
	hand_wait(m, HAND_LOCK, child, 0, "cache", 6000, 11000);
	cr_expect(is_near(ask(NULL), 30000), "%g", ask(NULL));
	cr_expect(is_near(ask("child * 0.5"), 27500), "%g", ask("child * 0.5"));
	cr_expect(is_near(ask("one * 0.5"), 25000), "%g", ask("one * 0.5"));
	cr_expect(is_near(ask("two * 0"), 20000), "%g", ask("two * 0"));
}

/* One after the other: the time between them stays. */
Test(wcprof, roots_that_follow_each_other)
{
	op("one", 0, 0, 100);
	op("two", 0, 130, 200);
	cr_expect(is_near(ask("one * 0.5"), 150));
	cr_expect(is_near(ask("two * 0"), 130));
}

/* An op is joined if it ended 1 ms after the wait at the latest. A name of a process is as good as an op. */
Test(wcprof, joins)
{
	uint32_t root = op("root", 0, 0, 100), job = op("job", root, 10, 50.9), i;
	uint32_t exec = hand_op(m, OP_EXEC, "gcc", 0, 55, 80);

	m->ops[exec].ident_id = m->ops[exec].client_id = hand_string(m, "77:1");
	cr_assert(model_link_add(m, &i) == 0);
	m->links[i] = (struct model_link){ .kind = LINK_NESTED_CLIENT, .from = root, .ident_id = hand_string(m, "77:1") };
	hand_wait(m, HAND_JOIN, root, job, NULL, 20, 50);
	hand_wait(m, HAND_EXEC, root, 0, "77:1", 60, 80);
	/* Own 0-10; job until 50.9; own 50.9-55; gcc 25; own 80-100. */
	cr_expect(is_near(ask(NULL), 100), "%g", ask(NULL));
	cr_expect(is_near(ask("job * 0.5"), 100 - 20.45));
	cr_expect(is_near(ask("exec:gcc * 0"), 75));
}

/* Each waits for the other: one of them takes as long as it did. */
Test(wcprof, a_circle)
{
	uint32_t root = op("root", 0, 0, 100), a = op("a", root, 10, 90), b = op("b", root, 10, 90);

	hand_wait(m, HAND_JOIN, a, b, NULL, 20, 90);
	hand_wait(m, HAND_JOIN, b, a, NULL, 20, 90);
	cr_expect(is_near(ask(NULL), 100));
	cr_expect(is_near(ask("b * 0"), 100));
}

/* It knows no CPUs. */
Test(wcprof, what_it_has_no_words_for)
{
	op("root", 0, 0, 100);
	cr_expect(ask("cpus = 4") == -1);
	cr_expect(ask("no runqueue") == -1);
}

/* Ops without threads, at random. */
static void random_ops(unsigned *seed)
{
	static const char *const classes[] = { "a", "b", "c", "d" };
	uint32_t n = (uint32_t)rig_pick(seed, 2, 25);

	for (uint32_t i = 1; i <= n; i++) {
		int64_t from = rig_pick(seed, 0, 100), to = from + rig_pick(seed, 0, 120 - from);
		uint32_t parent = i > 1 && rig_pick(seed, 0, 4) ? (uint32_t)rig_pick(seed, 1, i - 1) : 0;

		op(classes[rig_pick(seed, 0, 3)], parent, (double)from, (double)to);
	}
	for (int64_t i = rig_pick(seed, 0, 30); i > 0; i--) {
		int64_t from = rig_pick(seed, 0, 100), to = from + rig_pick(seed, 0, 120 - from);
		uint32_t target = rig_pick(seed, 0, 2) ? (uint32_t)rig_pick(seed, 1, n) : 0;

		hand_wait(m, target ? HAND_JOIN : HAND_LOCK, (uint32_t)rig_pick(seed, 1, n), target, NULL, (double)from, (double)to);
	}
}

Test(wcprof, as_the_rules_read)
{
	unsigned circles = 0, apart = 0;

	for (unsigned seed = 1; seed <= 400; seed++) {
		unsigned pick = seed;

		m = model_free(m);
		m = hand_model();
		random_ops(&pick);
		cr_expect(is_near(ask(NULL), wcprof_twin(m, 0, 1) / MS), "seed %u: %g, twin %g", seed, ask(NULL),
			  wcprof_twin(m, 0, 1) / MS);
		apart += fabs(ask(NULL) - 100) > 30;
		for (double factor = 0; factor < 3; factor += 1.4) {
			char expr[32];

			snprintf(expr, sizeof(expr), "call:a cpu * %g", factor);
			if (!strtab_find(m->strings, "a"))
				continue;
			circles++;
			cr_expect(is_near(ask(expr), wcprof_twin(m, hand_string(m, "a"), factor) / MS), "seed %u x %g: %g, twin %g",
				  seed, factor, ask(expr), wcprof_twin(m, hand_string(m, "a"), factor) / MS);
		}
	}
	cr_expect(circles > 500 && apart > 50);
}

/* Threads below one op, each n times: waits for the lock, has it for `in`, is elsewhere for `out`. First come, first served. */
static void locked(uint32_t threads, int n, double in_ms, double out_ms)
{
	double at[8] = { 0 }, free_ms = 0, end_ms = 0;
	uint32_t root = op("main", 0, 0, 1), thread[8];
	int left[8];

	for (uint32_t t = 0; t < threads; t++) {
		thread[t] = op("thread", root, 0, 1);
		left[t] = n;
	}
	for (;;) {
		uint32_t next = threads;

		for (uint32_t t = 0; t < threads; t++) {
			if (left[t] && (next == threads || at[t] < at[next]))
				next = t;
		}
		if (next == threads)
			break;
		if (free_ms > at[next])
			hand_wait(m, HAND_LOCK, thread[next], 0, "lock", at[next], free_ms);
		at[next] = fmax(at[next], free_ms);
		op("critical", thread[next], at[next], at[next] + in_ms);
		free_ms = at[next] + in_ms;
		op("outside", thread[next], free_ms, free_ms + out_ms);
		at[next] = free_ms + out_ms;
		left[next]--;
		m->ops[thread[next]].end_ns = llround(at[next] * MS);
		end_ms = fmax(end_ms, at[next]);
	}
	m->ops[root].end_ns = llround(end_ms * MS);
}

/* Sleeps of 2 ms took somewhat longer on the machine where these were measured; what was said there is known to 6 ms. */
static void expect_said(const char *expr, double base_ms, double said_ms)
{
	cr_expect(fabs(ask(NULL) - base_ms) <= 6, "base %.1f ms, not %g", ask(NULL), base_ms);
	cr_expect(fabs(ask(expr) - said_ms) <= 6, "%s: %.1f ms, not %g", expr, ask(expr), said_ms);
}

Test(wcprof, said_of_a_saturated_lock)
{
	locked(4, 50, 2.08, 2.08);
	expect_said("critical * 0.5", 419, 368);
	expect_said("outside * 0.5", 419, 364);
}

Test(wcprof, said_of_a_lock_seldom_held)
{
	locked(4, 50, 1.08, 4.14);
	expect_said("outside * 0.5", 264, 160);
}

Test(wcprof, said_of_a_lock_mostly_held)
{
	locked(4, 50, 2.09, 1.08);
	expect_said("critical * 0.5", 421, 369);
}

/* Items through three stages, queues of three between them: who takes waits for who makes, who puts for a free place. */
Test(wcprof, said_of_a_pipeline)
{
	enum { ITEMS = 50, ROOM = 3 };
	static const double ms[3] = { 2.08, 3.1, 1.08 };
	static const char *const names[3] = { "one", "two", "three" };
	double made[3][ITEMS], put[3][ITEMS], taken[4][ITEMS] = { 0 };
	uint32_t root = op("main", 0, 0, 159), thread[3], ops[3][ITEMS];

	for (int s = 0; s < 3; s++)
		thread[s] = op("thread", root, 0, 1);
	for (int i = 0; i < ITEMS; i++) {
		for (int s = 0; s < 3; s++) {
			double at = i ? put[s][i - 1] : 0, there = s ? put[s - 1][i] : 0;

			if (there > at)
				hand_wait(m, HAND_JOIN, thread[s], ops[s - 1][i], NULL, at, there);
			taken[s][i] = fmax(at, there);
			made[s][i] = taken[s][i] + ms[s];
			ops[s][i] = op(names[s], thread[s], taken[s][i], made[s][i]);
			put[s][i] = made[s][i];
			/* The place that it needs is free when the next stage has taken the one ROOM before. */
			if (s < 2 && i >= ROOM && taken[s + 1][i - ROOM] > made[s][i]) {
				put[s][i] = taken[s + 1][i - ROOM];
				hand_wait(m, HAND_LOCK, thread[s], 0, "room", made[s][i], put[s][i]);
			}
			m->ops[thread[s]].end_ns = llround(put[s][i] * MS);
		}
	}
	m->ops[root].end_ns = llround(put[2][ITEMS - 1] * MS);
	expect_said("two * 0.5", 158, 148);
}

/* Four that want two CPUs all the time: each takes twice as long as it computes, and the others are not its concern. */
Test(wcprof, said_of_threads_that_share_cpus)
{
	uint32_t root = op("main", 0, 0, 200);

	for (int i = 0; i < 4; i++)
		op(i < 2 ? "A" : "B", root, 0, 200);
	expect_said("A * 0.5", 200, 200);
}

/* What a class of functions is of an op's time; sleeps that are the thread's own shrink with it, waits for others don't. */
Test(wcprof, classes_that_it_does_not_have)
{
	struct world w = { .sample_ns = 100 * US };
	struct replay_outcome o;
	struct rig x;

	world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
	world_add(&w, 0, STEP_COMPUTE, 0, 40 * MS, 'c');
	world_add(&w, 0, STEP_SLEEP, 0, 30 * MS, 's');
	world_add(&w, 0, STEP_WAIT, 0, 0, 'w');
	world_add(&w, 0, STEP_COMPUTE, 0, 60 * MS, 'd');
	world_add(&w, 1, STEP_SLEEP, 0, 100 * MS, 'x');
	world_add(&w, 1, STEP_SIGNAL, 0, 0, 0);
	rig_start(&x, &w);
	o = rig_ask(&x, 'c', 0.5);
	cr_expect(llabs(o.wcprof_ns - (x.makespan_ns - 20 * MS)) < 2 * MS, "%ld of %ld", (long)o.wcprof_ns, (long)x.makespan_ns);
	o = rig_ask(&x, 's', 0.5);
	cr_expect(llabs(o.wcprof_ns - (x.makespan_ns - 15 * MS)) < 2 * MS, "%ld of %ld", (long)o.wcprof_ns, (long)x.makespan_ns);
	cr_expect(o.e1_ns == x.makespan_ns, "for it was waiting for the other");
	rig_stop(&x);
}

/* Number of savings by the removal of a lock. */
static size_t savings_check(const struct replay *r)
{
	struct replay_savings_options o = { .e2_top = 5, .wcprof = true };
	struct replay_saving *v;
	size_t n, removed = 0;

	cr_assert(replay_savings(r, &o, &v, &n) == 0 && n >= 2);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < REPLAY_FACTOR_N; k++) {
			struct replay_change c = { .what = v[i].what, .class = v[i].class, .factor = replay_factors[k] };
			struct replay_scenario s = { .changes = &c, .n = 1 };
			struct replay_outcome one;

			if (v[i].what == REPLAY_NO_LOCK && k)
				continue;
			cr_assert(replay_evaluate(r, &s, 1, REPLAY_WCPROF, &one) == 0);
			cr_expect(v[i].at[k].wcprof_ns == one.wcprof_ns && one.wcprof_ns >= 0);
		}
		removed += v[i].what == REPLAY_NO_LOCK;
	}
	free(v);
	return removed;
}

/* Whatever the class, its savings say what those rules make of it; a lock removed, too. */
Test(wcprof, all_savings_have_it)
{
	struct world w = { .sample_ns = 100 * US };
	struct replay *r;
	struct rig x;

	locked(4, 20, 2, 1);
	cr_assert(replay_new(m, NULL, &r) == 0);
	savings_check(r);
	replay_free(r);
	for (uint32_t t = 1; t <= 3; t++)
		world_add(&w, 0, STEP_SPAWN, t, 0, 0);
	for (uint32_t t = 1; t <= 3; t++) {
		for (int i = 0; i < 30; i++) {
			world_add(&w, t, STEP_LOCK, 1, 0, 0);
			world_add(&w, t, STEP_COMPUTE, 0, 2 * MS, 'i');
			world_add(&w, t, STEP_UNLOCK, 1, 0, 0);
			world_add(&w, t, STEP_SLEEP, 0, MS + t * 10 * US, 'o');
		}
	}
	for (uint32_t t = 1; t <= 3; t++)
		world_add(&w, 0, STEP_JOIN, t, 0, 0);
	rig_start(&x, &w);
	cr_expect(savings_check(x.r) == 1);
	rig_stop(&x);
}

struct asked {
	const struct replay *r;
	int64_t ns[8];
};

static int unchanged_ask(void *arg, size_t i)
{
	struct asked *x = arg;

	return replay_wcprof_ns(x->r, &x->ns[i]);
}

/* It is compiled when it is asked for first, by whoever that is; who does not ask has none of it. */
Test(wcprof, only_when_asked)
{
	struct replay_savings_options o = { .e2_top = 5 };
	struct asked x = { 0 };
	struct replay_saving *v;
	struct replay *r;
	size_t n;

	locked(4, 20, 2, 1);
	cr_assert(replay_new(m, NULL, &r) == 0);
	cr_assert(replay_savings(r, &o, &v, &n) == 0 && n >= 2);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < REPLAY_FACTOR_N; k++)
			cr_expect(v[i].at[k].wcprof_ns == -1);
	}
	free(v);
	x.r = r;
	cr_assert(crew_run(8, unchanged_ask, &x) == 0);
	for (size_t i = 0; i < 8; i++)
		cr_expect(is_near((double)x.ns[i] / MS, wcprof_twin(m, 0, 1) / MS));
	replay_free(r);
}
