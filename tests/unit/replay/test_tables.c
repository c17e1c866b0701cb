/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Blame, locks, run queues, the list of savings, and what people type. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

/* Three threads take a lock in turn; who waits for it is known to the nanosecond. */
static struct world turns_world(void)
{
	struct world w = { 0 };

	for (uint32_t t = 1; t <= 3; t++)
		world_add(&w, 0, STEP_SPAWN, t, 0, 0);
	for (uint32_t t = 1; t <= 3; t++) {
		world_add(&w, t, STEP_SLEEP, 0, t * MS, 'o');
		for (int i = 0; i < 5; i++) {
			world_add(&w, t, STEP_LOCK, 7, 0, 0);
			world_add(&w, t, STEP_SLEEP, 0, 10 * MS, 'i');
			world_add(&w, t, STEP_UNLOCK, 7, 0, 0);
			world_add(&w, t, STEP_SLEEP, 0, 4 * MS, 'o');
		}
	}
	for (uint32_t t = 1; t <= 3; t++)
		world_add(&w, 0, STEP_JOIN, t, 0, 0);
	return w;
}

Test(tables, blame_is_split_over_holders)
{
	struct world w = turns_world();
	struct replay_blame *v;
	struct rig x;
	uint64_t sum_ns = 0, all_ns = 0, waits = 0, count = 0;
	size_t n;

	rig_start(&x, &w);
	cr_assert(replay_blames(x.r, &v, &n) == 0);
	for (size_t i = 0; i < n; i++) {
		sum_ns += v[i].ns;
		count += v[i].count;
	}
	for (size_t i = 1; i < x.m->wait_n; i++) {
		all_ns += (uint64_t)x.m->waits[i].blocked_ns;
		waits += x.m->waits[i].blocked_ns > 0;
	}
	cr_expect(sum_ns == all_ns && count == waits, "%lu of %lu ns, %lu of %lu waits", sum_ns, all_ns, count, waits);
	/* A wait in the middle: 17 ms for the one who has it and for the one before me in the queue. */
	for (uint32_t i = 1; i < x.m->wait_n; i++) {
		const struct model_wait *wait = &x.m->waits[i];
		struct replay_piece *pieces;
		size_t k;

		if (x.m->rows[wait->row].reason != REASON_LOCK || wait->blocked_ns < 11 * MS || wait->blocked_ns > 19 * MS)
			continue;
		cr_assert(replay_wait_blame(x.r, i, &pieces, &k) == 0);
		cr_expect(k == 2, "%zu pieces", k);
		for (size_t p = 0; p < k; p++)
			cr_expect(pieces[p].culprit == REPLAY_BY_THREAD && pieces[p].by != wait->thread && pieces[p].by > 1);
		cr_expect(pieces[0].start_ns == wait->start_ns && pieces[k - 1].end_ns == wait->wake_ns);
		cr_expect(k < 2 || (pieces[1].by == wait->waker && pieces[1].end_ns - pieces[1].start_ns == 10 * MS));
		free(pieces);
	}
	free(v);
	rig_stop(&x);
}

Test(tables, blame_of_some_waits)
{
	struct world w = turns_world();
	struct replay_blame *v;
	struct rig x;
	bool *waits;
	size_t n;

	rig_start(&x, &w);
	waits = calloc(x.m->wait_n, sizeof(*waits));
	cr_assert(waits && replay_blames_of(x.r, waits, &v, &n) == 0 && n == 0);
	free(v);
	for (uint32_t i = 1; i < x.m->wait_n; i++) {
		uint64_t sum_ns = 0;

		waits[i - 1] = false;
		waits[i] = true;
		cr_assert(replay_blames_of(x.r, waits, &v, &n) == 0);
		for (size_t k = 0; k < n; k++) {
			cr_expect(v[k].waiter == x.m->waits[i].thread);
			sum_ns += v[k].ns;
		}
		cr_expect(sum_ns == (uint64_t)x.m->waits[i].blocked_ns);
		free(v);
	}
	free(waits);
	rig_stop(&x);
}

Test(tables, devices_are_to_blame)
{
	struct world w = { 0 };
	struct replay_blame *v;
	struct rig x;
	size_t n;

	world_add(&w, 0, STEP_SLEEP, 0, 3 * MS, 'a');
	world_add(&w, 0, STEP_STRANGER, 0, 5 * MS, 'b');
	rig_start(&x, &w);
	cr_assert(replay_blames(x.r, &v, &n) == 0 && n == 2);
	cr_expect(v[0].culprit == REPLAY_BY_NET && v[0].ns == 5 * MS && v[0].count == 1);
	cr_expect(v[1].culprit == REPLAY_BY_TIMER && v[1].ns == 3 * MS && v[1].longest_ns == 3 * MS);
	cr_expect_str_eq(replay_culprit_name(v[0].culprit), "net");
	free(v);
	rig_stop(&x);
}

Test(tables, locks)
{
	struct world w = turns_world();
	struct replay_lock *v;
	struct rig x;
	size_t n;

	rig_start(&x, &w);
	cr_assert(replay_locks(x.r, &v, &n) == 0);
	cr_assert(n == 1, "%zu", n); /* joins are no such thing */
	for (size_t i = 0; i < n; i++) {
		uint64_t hold_n = 0, hold_ns = 0;

		if (v[i].reason != REASON_LOCK)
			continue;
		cr_expect_str_eq(strtab_str(x.m->strings, v[i].ident_id), "object:7");
		cr_expect(v[i].holds_known && v[i].hold_n == 15, "%lu holds", v[i].hold_n);
		cr_expect(v[i].hold_ns >= 149 * MS && v[i].hold_ns <= 151 * MS, "%lu", v[i].hold_ns);
		cr_expect(v[i].hold_max_ns == 10 * MS && v[i].depth_max == 2 && v[i].barged_n == 0);
		cr_expect(v[i].handoff_n == v[i].wait_n);
		cr_expect(v[i].holder_n == 3);
		for (size_t k = 0; k < v[i].holder_n; k++) {
			hold_n += v[i].holders[k].count;
			hold_ns += v[i].holders[k].ns;
			cr_expect(v[i].holders[k].count == 5 && v[i].holders[k].ustack);
		}
		cr_expect(hold_n == v[i].hold_n && hold_ns == v[i].hold_ns);
		cr_expect(v[i].path_ns > 130 * MS && v[i].path_ns <= (uint64_t)x.makespan_ns);
	}
	replay_locks_free(v, n);
	rig_stop(&x);
}

/* Who had the CPU: two that compute on one. */
/* Who is woken in vain is ready for a while: of half of their length waits are blocked, and so much is to be blamed. */
Test(tables, holders_are_blamed_for_blocked_time)
{
	struct world w = turns_world();
	uint64_t blamed_ns = 0, blocked_ns = 0;
	struct replay_lock *v;
	struct rig x;
	size_t n;

	rig_start(&x, &w);
	for (size_t i = 1; i < x.m->wait_n; i++) {
		if (x.m->rows[x.m->waits[i].row].reason != REASON_LOCK)
			continue;
		x.m->waits[i].blocked_ns /= 2;
		blocked_ns += (uint64_t)x.m->waits[i].blocked_ns;
	}
	cr_assert(replay_locks(x.r, &v, &n) == 0 && n == 1);
	for (size_t k = 0; k < v[0].holder_n; k++)
		blamed_ns += v[0].holders[k].blamed_ns;
	cr_expect(v[0].wait_ns == blocked_ns && blocked_ns > 50 * MS);
	cr_expect(blamed_ns + v[0].wait_n >= blocked_ns && blamed_ns <= blocked_ns + v[0].wait_n, "%lu of %lu",
		  blamed_ns, blocked_ns);
	replay_locks_free(v, n);
	rig_stop(&x);
}

Test(tables, runqueues)
{
	struct world w = { .cpu_n = 1, .slice_ns = MS };
	uint64_t sum_ns = 0, all_ns = 0;
	struct replay_runqueue *v;
	struct rig x;
	size_t n;

	world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
	world_add(&w, 0, STEP_COMPUTE, 0, 20 * MS, 'a');
	world_add(&w, 1, STEP_COMPUTE, 0, 20 * MS, 'b');
	world_add(&w, 0, STEP_JOIN, 1, 0, 0);
	rig_start(&x, &w);
	cr_assert(replay_runqueues(x.r, &v, &n) == 0);
	for (size_t i = 0; i < n; i++) {
		sum_ns += v[i].ns;
		cr_expect(v[i].by && v[i].by != v[i].waiter, "waiter %u, by %u: %lu ns", v[i].waiter, v[i].by, v[i].ns);
	}
	for (size_t i = 1; i < x.m->wait_n; i++)
		all_ns += (uint64_t)x.m->waits[i].runnable_ns;
	cr_expect(sum_ns == all_ns && all_ns > 30 * MS, "%lu of %lu", sum_ns, all_ns);
	free(v);
	rig_stop(&x);
}

static const struct replay_saving *find(const struct rig *x, const struct replay_saving *v, size_t n, const char *name,
					enum replay_class_kind kind, enum replay_change_what what)
{
	for (size_t i = 0; i < n; i++) {
		const struct replay_class *c = replay_class(x->r, v[i].class);

		if (c->kind == kind && v[i].what == what && strcmp(strtab_str(x->m->strings, c->name_id), name) == 0)
			return &v[i];
	}
	return NULL;
}

Test(tables, savings)
{
	struct replay_savings_options o = { .e2_top = 20 };
	struct world w = { 0 };
	const struct replay_saving *s;
	struct replay_saving *v;
	struct rig x;
	size_t n;

	world_add(&w, 0, STEP_SPAWN, 1, 0, 0);
	world_add(&w, 0, STEP_SLEEP, 0, 10 * MS, 'a');
	world_add(&w, 1, STEP_SLEEP, 0, 7 * MS, 'b');
	world_add(&w, 0, STEP_JOIN, 1, 0, 0);
	world_add(&w, 0, STEP_SLEEP, 0, 2 * MS, 'c');
	rig_start(&x, &w);
	cr_assert(replay_savings(x.r, &o, &v, &n) == 0);
	for (size_t i = 1; i < n; i++)
		cr_expect(v[i - 1].at[1].best_ns >= v[i].at[1].best_ns);
	s = find(&x, v, n, "a", REPLAY_CLASS_FUNCTION, REPLAY_TIME);
	cr_assert(s && s->simulated);
	/* Nothing was seen of the join: all of it is gained, or what is left until the other thread ends. */
	cr_expect(s->at[0].high_ns == 10 * MS && s->at[0].best_ns == 5 * MS, "%ld %ld", (long)s->at[0].high_ns, (long)s->at[0].best_ns);
	cr_expect(s->at[2].best_ns == 1 * MS && s->at[2].low_ns == s->at[2].high_ns);
	s = find(&x, v, n, "c", REPLAY_CLASS_FUNCTION, REPLAY_TIME);
	cr_assert(s);
	cr_expect(s->at[1].best_ns == 1 * MS && s->at[1].grade == 'A' && s->shift == 0);
	cr_expect(!find(&x, v, n, "b", REPLAY_CLASS_FUNCTION, REPLAY_TIME), "off the path");
	free(v);
	rig_stop(&x);
}

/* The path leaves a class where another becomes as long: at the factor where that is so. */
Test(tables, where_the_path_shifts)
{
	struct world w = { 0 };
	const struct replay_saving *s;
	struct replay_saving *v;
	struct rig x;
	size_t n;

	for (uint32_t t = 1; t <= 2; t++)
		world_add(&w, 0, STEP_SPAWN, t, 0, 0);
	world_add(&w, 1, STEP_SLEEP, 0, 10 * MS, 'a');
	world_add(&w, 2, STEP_SLEEP, 0, 7 * MS, 'b');
	world_add(&w, 0, STEP_JOIN, 2, 0, 0);
	world_add(&w, 0, STEP_JOIN, 1, 0, 0);
	rig_start(&x, &w);
	cr_assert(replay_savings(x.r, NULL, &v, &n) == 0);
	s = find(&x, v, n, "a", REPLAY_CLASS_FUNCTION, REPLAY_TIME);
	cr_assert(s);
	cr_expect(s->shift > 0.69 && s->shift < 0.71, "%g", s->shift);
	free(v);
	rig_stop(&x);
}

Test(tables, a_lock_removed)
{
	struct replay_savings_options o = { .e2_top = 20 };
	struct world w = turns_world();
	const struct replay_saving *s;
	struct replay_saving *v;
	struct rig x;
	size_t n;

	rig_start(&x, &w);
	cr_assert(replay_savings(x.r, &o, &v, &n) == 0);
	s = find(&x, v, n, "object:7", REPLAY_CLASS_LOCK, REPLAY_NO_LOCK);
	cr_assert(s);
	/* Each thread by itself then: 3 + 5 x (10 + 4) ms for the last. */
	cr_expect(x.makespan_ns - s->at[0].best_ns == 73 * MS, "%ld", (long)(x.makespan_ns - s->at[0].best_ns));
	s = find(&x, v, n, "object:7", REPLAY_CLASS_LOCK, REPLAY_TIME);
	cr_assert(s && s->at[1].best_ns > 50 * MS);
	free(v);
	rig_stop(&x);
}

static void expect_parsed(const struct rig *x, const char *expr, enum replay_change_what what, double factor, const char *name)
{
	struct replay_scenario s = { 0 };
	char *error = NULL;

	cr_assert(replay_parse(x->r, expr, &s, &error) == 0, "%s: %s", expr, error ? error : "");
	cr_expect(s.n == 1 && s.changes[0].what == what && s.changes[0].factor == factor, "%s: %u %g", expr, s.changes[0].what,
		  s.changes[0].factor);
	if (name)
		cr_expect_str_eq(strtab_str(x->m->strings, replay_class(x->r, s.changes[0].class)->name_id), name, "%s", expr);
	replay_scenario_done(&s);
}

static void expect_refused(const struct rig *x, const char *expr, int error, const char *part)
{
	struct replay_scenario s = { 0 };
	char *text = NULL;

	cr_expect(replay_parse(x->r, expr, &s, &text) == error, "%s", expr);
	cr_expect(text && strstr(text, part), "%s: %s", expr, text ? text : "nothing is said");
	free(text);
}

Test(tables, what_people_type)
{
	struct world w = turns_world();
	struct replay_scenario s;
	char *error = NULL;
	struct rig x;

	rig_start(&x, &w);
	expect_parsed(&x, "i * 0.5", REPLAY_TIME, 0.5, "i");
	expect_parsed(&x, " fn:i  x0.9 ", REPLAY_TIME, 0.9, "i");
	expect_parsed(&x, "fn: i delay x 25%", REPLAY_DELAY, 0.25, "i");
	expect_parsed(&x, "internal:thread cpu * 0", REPLAY_CPU, 0, "thread");
	expect_parsed(&x, "op:thread * 2", REPLAY_TIME, 2, "thread");
	expect_parsed(&x, "lock:object:7 removed", REPLAY_NO_LOCK, 0, "object:7");
	expect_parsed(&x, "object removed", REPLAY_NO_LOCK, 0, "object:7");
	expect_parsed(&x, "i * 1e-3", REPLAY_TIME, 0.001, "i");
	expect_parsed(&x, "i x .5", REPLAY_TIME, 0.5, "i");
	expect_parsed(&x, "i * 1E6", REPLAY_TIME, 1e6, "i");
	expect_parsed(&x, "cpus=4", REPLAY_CPUS, 4, NULL);
	expect_parsed(&x, "no runqueue", REPLAY_NO_RUNQUEUE, 0, NULL);
	expect_refused(&x, "i", -EINVAL, "no change");
	expect_refused(&x, "i * fast", -EINVAL, "no change");
	expect_refused(&x, "i * 1e308", -EINVAL, "\"i * 1e308\": the factor is too large, it may be from 0 to 1000000");
	expect_refused(&x, "i cpu x 1e400", -EINVAL, "too large");
	expect_refused(&x, "i * 1000000.5", -EINVAL, "too large");
	expect_refused(&x, "i * 0x10", -EINVAL, "no change");
	expect_refused(&x, "i * -1", -EINVAL, "no change");
	expect_refused(&x, "i * inf", -EINVAL, "no change");
	expect_refused(&x, "nobody * 0.5", -ENOENT, "nobody");
	expect_refused(&x, "cpus = 0", -EINVAL, "from 1");
	expect_refused(&x, "i removed", -ENOENT, "\"i\"");
	expect_refused(&x, "", -EINVAL, "no change");
	cr_assert(replay_parse(x.r, "i * 0.5, o * 0.1,cpus = 2", &s, &error) == 0);
	cr_expect(s.n == 3 && s.changes[1].factor == 0.1 && s.changes[2].what == REPLAY_CPUS);
	replay_scenario_done(&s);
	rig_stop(&x);
}

Test(tables, scenarios_that_are_none)
{
	struct replay_change c = { .what = REPLAY_TIME, .class = UINT32_MAX, .factor = 0.5 };
	struct replay_scenario s = { .changes = &c, .n = 1 };
	struct world w = turns_world();
	struct replay_outcome o;
	struct rig x;

	rig_start(&x, &w);
	cr_expect(replay_evaluate(x.r, &s, 1, REPLAY_E1, &o) == -EINVAL);
	c = (struct replay_change){ .what = REPLAY_TIME, .class = 0, .factor = -1 };
	cr_expect(replay_evaluate(x.r, &s, 1, REPLAY_E1, &o) == -EINVAL);
	c = (struct replay_change){ .what = REPLAY_NO_LOCK, .class = 0 };
	cr_expect(replay_evaluate(x.r, &s, 1, REPLAY_E1, &o) == -EINVAL, "no lock");
	c = (struct replay_change){ .what = 99 };
	cr_expect(replay_evaluate(x.r, &s, 1, REPLAY_E1, &o) == -EINVAL);
	rig_stop(&x);
}
