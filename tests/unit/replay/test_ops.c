/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Dumps without threads, as the engine writes them: ops, waits for ops, waits for named resources. Expectations are by hand. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "hand.h"

static struct model *m;

static void start(void)
{
	m = hand_model();
}

static void stop(void)
{
	m = model_free(m);
}

TestSuite(ops, .init = start, .fini = stop);

static uint32_t str(const char *s)
{
	return hand_string(m, s);
}

static uint32_t op(enum op_kind kind, const char *class, uint32_t parent, double from_ms, double to_ms)
{
	return hand_op(m, kind, class, parent, from_ms, to_ms);
}

static uint32_t wait_for(uint32_t row, uint32_t waiter, uint32_t target, const char *ident, double from_ms, double to_ms)
{
	return hand_wait(m, row, waiter, target, ident, from_ms, to_ms);
}

/* Makespan in ms of a class's time x factor, by E1; by E2 it must be the same. */
static double ask(const char *expr)
{
	struct replay_scenario s = { 0 };
	struct replay_outcome o;
	struct replay_facts f;
	char *error = NULL;
	struct replay *r;

	cr_assert(replay_new(m, NULL, &r) == 0);
	replay_facts(r, &f);
	cr_assert(f.e1_ns == f.makespan_ns && f.e2_ns == f.makespan_ns, "%ld %ld %ld", (long)f.makespan_ns, (long)f.e1_ns,
		  (long)f.e2_ns);
	cr_assert(f.missing & REPLAY_NO_THREADS && f.missing & REPLAY_NO_RUNNABLE);
	cr_assert(replay_parse(r, expr, &s, &error) == 0, "%s: %s", expr, error);
	cr_assert(replay_evaluate(r, &s, 1, REPLAY_E1 | REPLAY_E2, &o) == 0);
	cr_expect(o.e1_ns == o.e2_ns, "%s: E1 %ld, E2 %ld", expr, (long)o.e1_ns, (long)o.e2_ns);
	cr_expect(o.grade == 'C');
	replay_scenario_done(&s);
	replay_free(r);
	return (double)o.e1_ns / MS;
}

/* A call waits for its execution, another joins it; a phase of the execution is what takes the time. */
Test(ops, joined_executions)
{
	uint32_t a = op(OP_CALL, "build", 0, 0, 100), x = op(OP_CALL_EXEC, "build", a, 10, 90);
	uint32_t b = op(OP_CALL, "test", 0, 20, 120);

	op(OP_EXEC_PHASE, "setup", x, 20, 50);
	wait_for(1, a, x, NULL, 10, 90);
	wait_for(1, b, x, NULL, 30, 90);
	cr_expect(ask("exec_phase:setup * 0.5") == 105);
	cr_expect(ask("exec_phase:setup * 0") == 90);
	/* Then it is over at 10, before the other call asks for it at 30. */
	cr_expect(ask("call_exec:build * 0, exec_phase:setup * 0") == 60);
	cr_expect(ask("call:build * 0") == 110);
	cr_expect(ask("call:test * 0") == 100);
}

/* Children that overlap run beside each other; one that nobody waits for doesn't hold up anybody. */
Test(ops, children_beside_each_other)
{
	uint32_t root = op(OP_CALL, "root", 0, 0, 100), one = op(OP_CALL, "one", root, 10, 60);

	op(OP_CALL, "two", root, 30, 90);
	op(OP_CALL, "three", one, 20, 50);
	wait_for(1, root, 3, NULL, 60, 90);
	cr_expect(ask("two * 0.5") == 70);
	cr_expect(ask("three * 0.5") == 100);
	cr_expect(ask("root * 0") == 60);
}

/* Beside each other, and the parent has no wait: it waits for all of them. */
Test(ops, forks)
{
	uint32_t root = op(OP_CALL, "root", 0, 0, 100);

	op(OP_CALL, "one", root, 10, 60);
	op(OP_CALL, "two", root, 20, 90);
	cr_expect(ask("two * 0.5") == 70, "then one is the last");
	cr_expect(ask("one * 0.5") == 100);
	cr_expect(ask("one * 0, two * 0") == 30);
	cr_expect(ask("root * 0") == 70);
}

/* Queries of a client that asks one when it has the last one's answer; what it does between them stays as long as it was. */
Test(ops, one_after_the_other)
{
	op(OP_CALL, "first", 0, 0, 40);
	op(OP_CALL, "second", 0, 50, 80);
	op(OP_CALL, "part", 2, 60, 70);
	op(OP_CALL, "third", 0, 90, 100);
	cr_expect(ask("first * 0.5") == 80);
	cr_expect(ask("part * 0") == 90);
	cr_expect(ask("first * 0, second * 0, part * 0, third * 0") == 20);
}

/* Another client's comes when it came while the first goes on; nobody knows what it follows. */
Test(ops, beside_another_client)
{
	m->ops[op(OP_CALL, "a1", 0, 0, 40)].client_id = str("a");
	m->ops[op(OP_CALL, "b1", 0, 30, 60)].client_id = str("b");
	m->ops[op(OP_CALL, "a2", 0, 50, 80)].client_id = str("a");
	m->ops[op(OP_CALL, "b2", 0, 55, 100)].client_id = str("b");
	cr_expect(ask("a1 * 0.5") == 100, "b2 began beside b1: it began when it did");
	cr_expect(ask("b2 * 0") == 80);
	cr_expect(ask("b2 * 0, a1 * 0.5") == 60, "a2 follows a1, and then ends with b1");
}

/* Nobody was there when another client came: it may as well have followed. The path goes through what it followed. */
Test(ops, after_another_client)
{
	struct replay_stretch *path;
	struct replay *r;
	size_t n;

	m->ops[op(OP_CALL, "a1", 0, 0, 40)].client_id = str("a");
	m->ops[op(OP_CALL, "b1", 0, 50, 100)].client_id = str("b");
	cr_expect(ask("a1 * 0.5") == 80);
	cr_assert(replay_new(m, NULL, &r) == 0 && replay_path(r, &path, &n) == 0);
	cr_assert(n == 3);
	cr_expect(path[0].op == 1 && path[0].state == REPLAY_ONCPU && path[0].end_ns == 40 * MS);
	cr_expect(path[1].op == 0 && path[1].state == REPLAY_GAP && path[1].class == UINT32_MAX);
	cr_expect(path[2].op == 2 && path[2].start_ns == 50 * MS && path[2].end_ns == 100 * MS);
	free(path);
	replay_free(r);
}

/* Each may end so much later; the innermost as well as what it is in, however deep. */
Test(ops, slacks_of_many_within_each_other, .timeout = 15)
{
	enum { DEEP = 100000 };
	int64_t *slacks;
	struct replay *r;

	for (uint32_t i = 0; i < DEEP; i++)
		op(OP_CALL, "deep", i, i * 1e-3, 1000 - i * 1e-3);
	m->ops[op(OP_CALL, "longer", 0, 0.5, 1200)].client_id = str("b");
	m->ops[op(OP_CALL, "end", DEEP + 1, 1100, 1200)].client_id = str("b");
	cr_assert(replay_new(m, NULL, &r) == 0 && replay_op_slacks(r, &slacks) == 0);
	cr_expect(slacks[1] == 200 * MS && slacks[DEEP / 2] == 200 * MS && slacks[DEEP] == 200 * MS, "%ld %ld %ld",
		  (long)slacks[1], (long)slacks[DEEP / 2], (long)slacks[DEEP]);
	cr_expect(slacks[DEEP + 1] == 0 && slacks[DEEP + 2] == 0);
	free(slacks);
	replay_free(r);
}

/* A name that several have is that of the op rather than of what was waited for, and of ops of the one with most time. */
Test(ops, names_that_several_have)
{
	uint32_t call = op(OP_CALL, "build", 0, 0, 100), x = op(OP_CALL_EXEC, "build", call, 10, 90);

	wait_for(1, call, x, NULL, 10, 90);
	wait_for(2, x, 0, "build", 20, 30);
	cr_expect(ask("build * 0") == 20, "the execution, 70 with 10 for the lock; not the call, 20, nor the lock alone");
	cr_expect(ask("call:build * 0") == 80);
	cr_expect(ask("resource:build * 0") == 90);
}

/* What has most of the path then is told to who asks; E1's answer can be had first, and is not worked out again. */
Test(ops, questions_in_turn)
{
	uint32_t root = op(OP_CALL, "root", 0, 0, 100);
	struct replay_outcome once, turns, alone;
	struct replay_scenario s = { 0 };
	char *error = NULL;
	struct replay *r;

	op(OP_CALL, "one", root, 10, 60);
	op(OP_CALL, "two", root, 20, 90);
	cr_assert(replay_new(m, NULL, &r) == 0);
	cr_assert(replay_parse(r, "two * 0.5", &s, &error) == 0, "%s", error);
	cr_assert(replay_evaluate(r, &s, 1, REPLAY_E1 | REPLAY_E2 | REPLAY_NEXT, &once) == 0);
	cr_assert(once.next < replay_class_n(r));
	cr_expect_str_eq(strtab_str(m->strings, replay_class(r, once.next)->name_id), "one");
	cr_assert(replay_evaluate(r, &s, 1, REPLAY_E1, &turns) == 0);
	cr_expect(turns.next == UINT32_MAX && turns.e2_ns == -1);
	cr_assert(replay_evaluate(r, &s, 1, REPLAY_E1_KNOWN | REPLAY_E2, &turns) == 0);
	cr_expect(turns.e1_ns == once.e1_ns && turns.e2_ns == once.e2_ns && turns.best_ns == once.best_ns &&
		  turns.low_ns == once.low_ns && turns.high_ns == once.high_ns && turns.why == once.why);
	cr_assert(replay_evaluate(r, &s, 1, REPLAY_E2, &alone) == 0);
	cr_expect(alone.e1_ns == -1 && alone.e2_ns == once.e2_ns);
	replay_scenario_done(&s);
	replay_free(r);
}

/* A wait for a named resource keeps its length; one that was given up too, unless its op ends in time for it. */
Test(ops, waits_without_an_end_that_is_known)
{
	uint32_t root = op(OP_CALL, "root", 0, 0, 100), slow = op(OP_CALL_EXEC, "slow", root, 5, 95);

	wait_for(2, root, 0, "cache", 20, 40);
	wait_for(1, root, slow, NULL, 50, 60);
	cr_expect(ask("root cpu * 0.5") == 65);
	cr_expect(ask("root * 0.5") == 50, "what it waited for by a name is its delay");
	cr_expect(ask("slow * 0.9") == 100, "it would end at 86 and is given up at 60");
	cr_expect(ask("slow * 0.5625") == 95.625, "it would end at 55.625, before it is given up");
	cr_expect(ask("slow * 0.5") == 90);
	cr_expect(ask("resource:cache * 0, slow * 0") == 70);
}

/* A process is found by its name, and hangs below what started it. */
Test(ops, processes)
{
	uint32_t root = op(OP_CALL, "run", 0, 0, 100), exec = op(OP_EXEC, "gcc", 0, 20, 80), i;

	m->ops[exec].ident_id = m->ops[exec].client_id = str("77:1234");
	cr_assert(model_link_add(m, &i) == 0);
	m->links[i] = (struct model_link){ .from = root, .to = exec, .ident_id = str("77:1234"), .kind = LINK_NESTED_CLIENT,
					   .start_ns = 20 * MS, .end_ns = 20 * MS };
	wait_for(3, root, 0, "77:1234", 20, 80);
	cr_expect(ask("exec:gcc * 0.5") == 70);
	cr_expect(ask("call:run * 0.5") == 80);
}
