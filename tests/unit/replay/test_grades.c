/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* How far an answer is to be believed: one recording, of which nothing is wrong, then one thing at a time. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "hand.h"

/* Two threads; main joins one after the other. What 'a' and 'b' take is all there is. */
static void sound(struct rig *x)
{
	struct world w = { .cpu_n = 4, .sample_ns = 100 * US };

	world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
	world_add(&w, 0, STEP_SPAWN, 2, 0, 0);
	world_add(&w, 1, STEP_COMPUTE, 0, 30 * MS, 'a');
	world_add(&w, 1, STEP_STRANGER, 0, 10 * MS, 'n');
	world_add(&w, 2, STEP_SLEEP, 0, 20 * MS, 'b');
	world_add(&w, 0, STEP_JOIN, 1, 0, 0);
	world_add(&w, 0, STEP_JOIN, 2, 0, 0);
	world_add(&w, 0, STEP_SLEEP, 0, 10 * MS, 'c');
	rig_start(x, &w);
}

/* Compiles what is now in the model. */
static void again(struct rig *x, const struct replay_options *o)
{
	replay_free(x->r);
	cr_assert(replay_new(x->m, o, &x->r) == 0);
}

static void expect_grade(const struct rig *x, char function, char grade, uint32_t why)
{
	struct replay_outcome o = rig_ask(x, function, 0.5);

	cr_expect(o.grade == grade && o.why == why, "%c * 0.5: grade %c (%x), not %c (%x)", function, o.grade, o.why, grade, why);
	for (unsigned bit = 0; bit < 32; bit++)
		cr_expect(!(o.why >> bit & 1) || *replay_why_text((enum replay_grade_why)(1u << bit)));
}

Test(grades, nothing_is_wrong)
{
	struct rig x;

	sound(&x);
	expect_grade(&x, 'a', 'A', 0);
	expect_grade(&x, 'b', 'A', 0);
	expect_grade(&x, 'c', 'A', 0);
	rig_stop(&x);
}

/* Whatever kind of event it was: a part of the graph is missing, and where is not known. */
Test(grades, events_lost)
{
	struct rig x;
	uint64_t *losses[7];

	sound(&x);
	losses[0] = &x.m->integrity.dropped_events;
	losses[1] = &x.m->integrity.lost_ring_full;
	losses[2] = &x.m->integrity.lost_unprocessed;
	losses[3] = &x.m->integrity.lost_map_full;
	losses[4] = &x.m->integrity.lost_clock_back;
	losses[5] = &x.m->integrity.lost_lifecycle;
	losses[6] = &x.m->integrity.lost_go_events;
	for (size_t i = 0; i < 7; i++) {
		*losses[i] = 1;
		again(&x, NULL);
		expect_grade(&x, 'b', 'C', REPLAY_WHY_LOST);
		*losses[i] = 0;
	}
	/* A stack that could not be read costs a name, nothing of the graph. */
	x.m->integrity.failed_user_stacks = 1;
	again(&x, NULL);
	expect_grade(&x, 'b', 'A', 0);
	rig_stop(&x);
}

/* A goroutine's network may be another goroutine; a thread's has been looked at by the kernel. */
Test(grades, answers_from_nobody_knows_whom)
{
	struct rig x;

	sound(&x);
	for (size_t i = 1; i < x.m->wait_n; i++) {
		if (x.m->waits[i].ctx == WAKER_NET)
			x.m->rows[x.m->waits[i].row].parked = true;
	}
	again(&x, NULL);
	expect_grade(&x, 'a', 'B', REPLAY_WHY_ANSWERS);
	rig_stop(&x);
}

Test(grades, a_damaged_file)
{
	struct rig x;

	sound(&x);
	again(&x, &(struct replay_options){ .damaged = true });
	expect_grade(&x, 'c', 'C', REPLAY_WHY_DAMAGED);
	again(&x, &(struct replay_options){ .damaged = false });
	expect_grade(&x, 'c', 'A', 0);
	rig_stop(&x);
}

static struct model_wait *wait_of(const struct rig *x, enum wait_reason reason)
{
	for (size_t i = 1; i < x->m->wait_n; i++) {
		if (x->m->rows[x->m->waits[i].row].reason == reason)
			return &x->m->waits[i];
	}
	cr_assert_fail("no such wait");
	return NULL;
}

/* Who ended a wait that the path goes through is not known. If it is of another thread that matters to nobody. */
Test(grades, wakers_unknown)
{
	struct rig x;

	sound(&x);
	wait_of(&x, REASON_IO)->ctx = WAKER_UNKNOWN;
	again(&x, NULL);
	expect_grade(&x, 'c', 'C', REPLAY_WHY_WAKERS);
	wait_of(&x, REASON_IO)->ctx = WAKER_NET;
	for (size_t i = 1; i < x.m->wait_n; i++) {
		struct model_wait *w = &x.m->waits[i];

		if (w->thread != 3 || x.m->rows[w->row].reason != REASON_SLEEP)
			continue;
		w->ctx = WAKER_UNKNOWN;
		w->outcome = WAIT_WOKEN;
	}
	again(&x, NULL);
	expect_grade(&x, 'c', 'A', 0);
	rig_stop(&x);
}

/* A lock that was waited for once: when it was held otherwise left no trace. */
Test(grades, acquires_unseen)
{
	struct world w = { .cpu_n = 4 };
	struct rig x;

	world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
	world_add(&w, 1, STEP_LOCK, 1, 0, 0);
	world_add(&w, 1, STEP_SLEEP, 0, 20 * MS, 'a');
	world_add(&w, 1, STEP_UNLOCK, 1, 0, 0);
	world_add(&w, 0, STEP_SLEEP, 0, 10 * MS, 'b');
	world_add(&w, 0, STEP_LOCK, 1, 0, 0);
	world_add(&w, 0, STEP_UNLOCK, 1, 0, 0);
	world_add(&w, 0, STEP_SLEEP, 0, 10 * MS, 'c');
	rig_start(&x, &w);
	expect_grade(&x, 'c', 'B', REPLAY_WHY_UNSEEN);
	cr_expect(rig_ask(&x, 'c', 2).grade == 'A', "more time brings nobody together");
	/* Of waits for it that come to less than a hundredth nothing is said. */
	wait_of(&x, REASON_LOCK)->start_ns = wait_of(&x, REASON_LOCK)->end_ns - 100 * US;
	wait_of(&x, REASON_LOCK)->blocked_ns = 100 * US;
	again(&x, NULL);
	expect_grade(&x, 'c', 'A', 0);
	rig_stop(&x);
}

/*
 * Main gets the lock by waiting for it, leaves it, does something else, and has it again when the other comes for it: both
 * ends of one hold, it seems, in which it did all that.
 */
Test(grades, several_holds_that_look_like_one)
{
	struct world w = { .cpu_n = 4 };
	struct replay_outcome o;
	struct rig x;

	world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
	world_add(&w, 1, STEP_LOCK, 1, 0, 0);
	world_add(&w, 1, STEP_SLEEP, 0, 5 * MS, 'a');
	world_add(&w, 1, STEP_UNLOCK, 1, 0, 0);
	world_add(&w, 1, STEP_SLEEP, 0, 34 * MS, 'b');
	world_add(&w, 1, STEP_LOCK, 1, 0, 0);
	world_add(&w, 1, STEP_UNLOCK, 1, 0, 0);
	world_add(&w, 0, STEP_SLEEP, 0, 2 * MS, 0);
	world_add(&w, 0, STEP_LOCK, 1, 0, 0);
	world_add(&w, 0, STEP_SLEEP, 0, 1 * MS, 'c');
	world_add(&w, 0, STEP_UNLOCK, 1, 0, 0);
	world_add(&w, 0, STEP_SLEEP, 0, 30 * MS, 'd');
	world_add(&w, 0, STEP_LOCK, 1, 0, 0);
	world_add(&w, 0, STEP_SLEEP, 0, 4 * MS, 'e');
	world_add(&w, 0, STEP_UNLOCK, 1, 0, 0);
	world_add(&w, 0, STEP_JOIN, 1, 0, 0);
	world_add(&w, 0, STEP_SLEEP, 0, 10 * MS, 0);
	rig_start(&x, &w);
	o = rig_ask(&x, 'd', 0.5);
	cr_expect(o.grade == 'B' && o.why & REPLAY_WHY_UNSEEN, "grade %c (%x)", o.grade, o.why);
	rig_stop(&x);
}

/* Two that are woken by main and compute: as workers, by signals; or to go on together, at a barrier. */
static uint32_t why_of_cpus(bool meeting, uint64_t compute_ns)
{
	struct world w = { .cpu_n = 1, .sample_ns = 100 * US };
	struct replay_scenario s = { 0 };
	struct replay_outcome o;
	char *error = NULL;
	struct rig x;

	for (uint32_t t = 1; t <= 2; t++)
		world_add(&w, 0, STEP_SPAWN, t, 0, 0);
	for (uint32_t t = 1; t <= 2; t++) {
		if (meeting)
			world_add(&w, t, STEP_BARRIER, 7, 3, 0);
		else
			world_add(&w, t, STEP_WAIT, t, 0, 0);
		world_add(&w, t, STEP_COMPUTE, 0, compute_ns, 'a');
	}
	world_add(&w, 0, STEP_SLEEP, 0, 10 * MS, 0);
	if (meeting)
		world_add(&w, 0, STEP_BARRIER, 7, 3, 0);
	for (uint32_t t = 1; t <= 2 && !meeting; t++)
		world_add(&w, 0, STEP_SIGNAL, t, 0, 0);
	world_add(&w, 0, STEP_SLEEP, 0, 30 * MS, 0);
	for (uint32_t t = 1; t <= 2; t++)
		world_add(&w, 0, STEP_JOIN, t, 0, 0);
	rig_start(&x, &w);
	cr_assert(replay_parse(x.r, "cpus = 2", &s, &error) == 0);
	cr_assert(replay_evaluate(x.r, &s, 1, REPLAY_E1 | REPLAY_E2, &o) == 0);
	replay_scenario_done(&s);
	cr_expect(!(rig_ask(&x, 'a', 0.5).why & REPLAY_WHY_ALIKE), "only other CPUs make them free at other times");
	rig_stop(&x);
	return o.why & REPLAY_WHY_ALIKE;
}

Test(grades, workers_may_share_work_otherwise)
{
	cr_expect(why_of_cpus(false, 20 * MS));
	cr_expect(!why_of_cpus(true, 20 * MS), "each has its own part");
	cr_expect(!why_of_cpus(false, 1 * MS), "their work is next to nothing");
}

/* Two threads that ran at a time, and then a sleep. Told that there was one CPU the simulation doesn't find it again. */
static void expect_drift(uint64_t sleep_ns, char grade)
{
	struct world w = { .cpu_n = 2 };
	struct rig x;

	world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
	world_add(&w, 1, STEP_COMPUTE, 0, 20 * MS, 0);
	world_add(&w, 0, STEP_COMPUTE, 0, 20 * MS, 0);
	world_add(&w, 0, STEP_JOIN, 1, 0, 0);
	world_add(&w, 0, STEP_SLEEP, 0, sleep_ns, 'c');
	rig_start(&x, &w);
	expect_grade(&x, 'c', 'A', 0);
	again(&x, &(struct replay_options){ .cpu_n = 1 });
	expect_grade(&x, 'c', grade, REPLAY_WHY_BASELINE_2 | (rig_ask(&x, 'c', 0.5).why & REPLAY_WHY_APART));
	rig_stop(&x);
}

Test(grades, the_simulation_drifts)
{
	expect_drift(380 * MS, 'B');	/* by a twentieth of the whole */
	expect_drift(20 * MS, 'C');	/* by a half */
}

/* The target ended 0.9 ms behind the wait that it ended: of 50 ms more than 1%. */
Test(grades, the_recorded_order_drifts)
{
	struct model *m = hand_model();
	uint32_t root = hand_op(m, OP_CALL, "root", 0, 0, 50), job = hand_op(m, OP_CALL, "job", root, 0, 40.9);
	struct replay_scenario s = { 0 };
	struct replay_outcome o;
	char *error = NULL;
	struct replay *r;

	hand_wait(m, HAND_JOIN, root, job, NULL, 0, 40);
	cr_assert(replay_new(m, NULL, &r) == 0 && replay_parse(r, "job * 0.5", &s, &error) == 0);
	cr_assert(replay_evaluate(r, &s, 1, REPLAY_E1 | REPLAY_E2, &o) == 0);
	cr_expect(o.why & REPLAY_WHY_BASELINE_1 && o.why & REPLAY_WHY_BASELINE_2 && o.grade == 'C');
	replay_free(r);
	m->ops[job].end_ns = 40 * MS;
	cr_assert(replay_new(m, NULL, &r) == 0);
	cr_assert(replay_evaluate(r, &s, 1, REPLAY_E1 | REPLAY_E2, &o) == 0);
	cr_expect(!(o.why & (REPLAY_WHY_BASELINE_1 | REPLAY_WHY_BASELINE_2)));
	/* Ops alone tell of no threads, CPUs, wakers. */
	cr_expect(o.why == REPLAY_WHY_MISSING && o.grade == 'C');
	replay_scenario_done(&s);
	replay_free(r);
	model_free(m);
}

/* Closer together they meet at the lock where they did not: the recorded order has no such wait, the simulation has. */
Test(grades, engines_apart)
{
	struct world w = { 0 };
	struct replay_outcome o;
	unsigned pick = 7;
	struct rig x;

	for (uint32_t t = 1; t <= 4; t++)
		world_add(&w, 0, STEP_SPAWN, t, 0, 0);
	for (uint32_t t = 1; t <= 4; t++) {
		for (int i = 0; i < 40; i++) {
			world_add(&w, t, STEP_LOCK, 1, 0, 0);
			world_add(&w, t, STEP_SLEEP, 0, 1 * MS, 'i');
			world_add(&w, t, STEP_UNLOCK, 1, 0, 0);
			world_add(&w, t, STEP_SLEEP, 0, rig_pick(&pick, 3 * MS, 6 * MS), 'o');
		}
	}
	for (uint32_t t = 1; t <= 4; t++)
		world_add(&w, 0, STEP_JOIN, t, 0, 0);
	rig_start(&x, &w);
	o = rig_ask(&x, 'o', 0.2);
	cr_expect(o.low_ns <= o.best_ns && o.best_ns <= o.high_ns);
	cr_expect(o.high_ns - o.low_ns > x.makespan_ns / 20 && o.why == REPLAY_WHY_APART && o.grade == 'B', "%ld of %ld, %c, %x",
		  (long)(o.high_ns - o.low_ns), (long)x.makespan_ns, o.grade, o.why);
	o = rig_ask(&x, 'o', 0.95);
	cr_expect(o.high_ns - o.low_ns < x.makespan_ns / 50 && !o.why && o.grade == 'A', "%ld, %c, %x",
		  (long)(o.high_ns - o.low_ns), o.grade, o.why);
	rig_stop(&x);
}

/* Without times samples tell how much, and not where. */
Test(grades, samples_without_times)
{
	struct rig x;

	sound(&x);
	x.m->sample_time_n = 0;
	again(&x, NULL);
	cr_expect(rig_ask(&x, 'a', 0.5).why & REPLAY_WHY_AVERAGE);
	cr_expect(!(rig_ask(&x, 'b', 0.5).why & REPLAY_WHY_AVERAGE), "it has delays only");
	rig_stop(&x);
}

/* Two samples say little of how long it took. */
Test(grades, few_samples)
{
	struct world w = { .cpu_n = 4, .sample_ns = 12 * MS };
	struct rig x;

	for (int i = 0; i < 2; i++) {
		world_add(&w, 0, STEP_COMPUTE, 0, 12 * MS, 'a');
		world_add(&w, 0, STEP_COMPUTE, 0, 12 * MS, 'b');
	}
	rig_start(&x, &w);
	cr_expect(rig_ask(&x, 'a', 0.5).why & REPLAY_WHY_SAMPLES);
	w = world_scaled(&x.w, 0, 1);
	rig_stop(&x);
	w.sample_ns = 20 * US;
	rig_start(&x, &w);
	cr_expect(!(rig_ask(&x, 'a', 0.5).why & REPLAY_WHY_SAMPLES), "of 2400 the share is known");
	rig_stop(&x);
}

/* That all of them agree says nothing where all is one. */
Test(grades, one_sample)
{
	struct world w = { .cpu_n = 4, .sample_ns = 12 * MS };
	struct rig x;

	world_add(&w, 0, STEP_COMPUTE, 0, 13 * MS, 'a');
	world_add(&w, 0, STEP_COMPUTE, 0, 9 * MS, 'b');
	rig_start(&x, &w);
	cr_expect(rig_ask(&x, 'a', 0.5).why & REPLAY_WHY_SAMPLES);
	rig_stop(&x);
}
