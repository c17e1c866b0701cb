/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include <string.h>

#include "export/scene.h"
#include "fixture.h"

static struct scene make(const struct model *m, bool all_waits)
{
	struct export_job job = { .m = m };
	struct scene s;

	cr_assert_eq(scene_make(&job, all_waits, &s), 0);
	return s;
}

/* The actor on which an op is. */
static const struct scene_actor *actor_of(const struct scene *s, uint32_t op)
{
	cr_assert(s->actor_of_op[op]);
	return &s->actors[s->actor_of_op[op] - 1];
}

Test(scene, empty)
{
	struct model *m = fixture_model(0);
	struct scene s = make(m, true);

	cr_assert_eq(s.group_n + s.actor_n + s.item_n + s.wait_n, 0);
	scene_done(&s);
	model_free(m);
}

/* Two threads bore one number after the other: an op belongs to the one that lived when it began. */
Test(scene, numbers_are_reused)
{
	struct model *m = fixture_model(1000);
	uint32_t first = fixture_thread(m, 7, 8, "old", 0, 400), second = fixture_thread(m, 7, 8, "new", 500, 1000);
	uint32_t a = fixture_op(m, OP_CALL, "a", 7, 8, 100, 200), b = fixture_op(m, OP_CALL, "b", 7, 8, 600, 700);
	struct scene s = make(m, false);

	cr_assert_eq(actor_of(&s, a)->thread, first);
	cr_assert_eq(actor_of(&s, b)->thread, second);
	scene_done(&s);
	model_free(m);
}

/* Processes by their begin; in each its own ops, its main thread, the others. */
Test(scene, order)
{
	struct model *m = fixture_model(1000);
	uint32_t late = fixture_process(m, 50, "late", 300, 1000), early = fixture_process(m, 90, "early", 0, 1000);
	uint32_t helper = fixture_thread(m, 90, 95, "helper", 0, 1000), leader = fixture_thread(m, 90, 90, "main", 10, 1000);
	uint32_t other = fixture_thread(m, 50, 50, "late", 300, 1000);
	struct scene s;

	m->threads[helper].process = m->threads[leader].process = early;
	m->threads[other].process = late;
	s = make(m, false);
	cr_assert_eq(s.group_n, 2);
	cr_assert_eq(s.groups[0].pid, 90);
	cr_assert_eq(s.groups[0].actor_n, 3);
	cr_assert_eq(s.actors[0].thread, 0);
	cr_assert_eq(s.actors[1].thread, leader);
	cr_assert_eq(s.actors[2].thread, helper);
	cr_assert_eq(s.groups[1].pid, 50);
	cr_assert_eq(s.actors[4].thread, other);
	cr_assert_eq(strcmp(scene_group_name(&s, m, 0), "early"), 0);
	scene_done(&s);
	model_free(m);
}

/* Ops of clients without a process are one group a client; waits of no thread go with their op. */
Test(scene, clients)
{
	struct model *m = fixture_model(1000);
	uint32_t a = fixture_op(m, OP_CALL, "a", 0, 0, 0, 500), b = fixture_op(m, OP_CALL, "b", 0, 0, 0, 500);
	uint32_t wait = fixture_wait(m, 0, 100, 200, 200);
	const struct scene_actor *actor;
	struct scene s;

	m->ops[a].client_id = fixture_string(m, "one");
	m->ops[b].client_id = fixture_string(m, "two");
	m->waits[wait].op = b;
	s = make(m, false);
	cr_assert_eq(s.group_n, 2);
	cr_assert_neq(actor_of(&s, a)->group, actor_of(&s, b)->group);
	actor = actor_of(&s, b);
	cr_assert_eq(actor->item_n, 2);
	cr_assert_eq(s.items[actor->item_first + 1].wait, wait);
	cr_assert_eq(s.items[actor->item_first + 1].at.depth, 1);
	cr_assert_eq(strcmp(scene_group_name(&s, m, actor->group), "two"), 0);
	scene_done(&s);
	model_free(m);
}

/* The op that stands for a thread is no item; a wait is an item of its thread only if asked for. */
Test(scene, waits)
{
	struct model *m = fixture_model(1000);
	uint32_t t = fixture_thread(m, 1, 1, "t", 0, 1000), own = fixture_op(m, OP_INTERNAL, "t", 1, 1, 0, 1000);
	uint32_t later = fixture_wait(m, t, 500, 600, 700), sooner = fixture_wait(m, t, 100, 200, 300);

	m->threads[t].op = own;
	for (int all = 0; all < 2; all++) {
		struct scene s = make(m, all);

		cr_assert_eq(s.actors[0].item_n, all ? 2 : 0);
		cr_assert_eq(s.actors[0].wait_n, 2);
		cr_assert_eq(s.waits[0], sooner);
		cr_assert_eq(s.waits[1], later);
		cr_assert_eq(s.actor_of_op[own], 1);
		scene_done(&s);
	}
	model_free(m);
}

/* A goroutine's system call is its thread's wait too; where it was parked, the thread ran others. */
Test(scene, goroutines)
{
	struct model *m = fixture_model(1000);
	uint32_t t = fixture_thread(m, 1, 5, "m", 0, 1000), other = fixture_thread(m, 1, 6, "m", 0, 1000), g;
	uint32_t call, parked, syscall, elsewhere;
	struct scene s;

	cr_assert_eq(model_goroutine_add(m, 12, &g), 0);
	m->threads[g] = (struct model_thread){ .goid = 12, .pid = 1, .tid = 5, .comm_id = fixture_string(m, "main.serve"),
					       .begin_ns = 10, .end_ns = 900 };
	call = fixture_op(m, OP_CALL, "request", 1, 6, 100, 800);
	m->ops[call].goid = 12;
	parked = fixture_wait(m, g, 100, 200, 300);
	m->rows[m->waits[parked].row].parked = true;
	syscall = fixture_wait(m, g, 400, 500, 500);
	elsewhere = fixture_wait(m, g, 600, 700, 700);
	cr_assert_eq(model_wait_words_set(m, &m->waits[elsewhere], &(struct model_wait_words){ .tid = 6 }), 0);
	s = make(m, true);
	cr_assert_eq(s.actor_n, 3);
	cr_assert_eq(s.actors[0].thread, t);
	cr_assert_eq(s.actors[1].thread, other);
	cr_assert_eq(s.actors[2].thread, g);
	cr_assert_eq(actor_of(&s, call)->thread, g);
	cr_assert_eq(s.actors[2].wait_n, 3);
	cr_assert_eq(s.actors[2].item_n, 4);
	cr_assert_eq(s.actors[0].wait_n, 1);
	cr_assert_eq(s.waits[s.actors[0].wait_first], syscall);
	cr_assert_eq(s.actors[1].wait_n, 1);
	cr_assert_eq(s.waits[s.actors[1].wait_first], elsewhere);
	cr_assert_eq(s.actors[0].item_n + s.actors[1].item_n, 0);
	scene_done(&s);
	model_free(m);
}

/* An execution that an engine hosts has the engine's pid and its own session for client. */
Test(scene, hosted_executions)
{
	struct model *m = fixture_model(1000);
	uint32_t p = fixture_process(m, 1, "engine", 0, 1000), t = fixture_thread(m, 1, 1, "engine", 0, 1000);
	uint32_t hosted = fixture_op(m, OP_EXEC, "runc", 1, 1, 100, 200);
	uint32_t phase = fixture_op(m, OP_EXEC_PHASE, "start", 1, 1, 100, 150);
	uint32_t own = fixture_op(m, OP_EXEC_PHASE, "engine", 1, 1, 0, 1000);
	struct scene s;

	m->threads[t].process = p;
	m->ops[hosted].ident_id = fixture_string(m, "container 5");
	m->ops[hosted].client_id = fixture_string(m, "session 2");
	m->ops[phase].parent = hosted;
	m->ops[own].parent = m->processes[p].op;
	s = make(m, false);
	cr_assert_eq(s.group_n, 1);
	cr_assert_eq(actor_of(&s, hosted)->thread, t);
	cr_assert_eq(actor_of(&s, phase)->thread, t);
	cr_assert_eq(actor_of(&s, own)->thread, 0);
	scene_done(&s);
	model_free(m);
}

Test(scene, parts_of_a_wait)
{
	struct model *m = fixture_model(1000);
	uint32_t w = fixture_wait(m, 0, 100, 150, 200);

	cr_assert_eq(scene_wait_ready_ns(m, w), 150);
	cr_assert_eq(scene_wait_run_ns(m, w), 200);
	m->waits[w].runnable_ns = 20; /* 30 ns of it it ran */
	cr_assert_eq(scene_wait_run_ns(m, w), 170);
	m->waits[w].blocked_ns = INT64_MAX; /* a dump that contradicts itself */
	cr_assert_eq(scene_wait_ready_ns(m, w), 200);
	m->waits[w].blocked_ns = -5;
	cr_assert_eq(scene_wait_ready_ns(m, w), 100);
	model_free(m);
}

Test(scene, filtered)
{
	struct model *m = fixture_model(1000);
	uint32_t a = fixture_thread(m, 1, 1, "a", 0, 1000), b = fixture_thread(m, 2, 2, "b", 0, 1000);
	bool threads[3] = { false, false, true };
	struct export_job job = { .m = m, .threads = threads };
	struct scene s;

	fixture_wait(m, a, 1, 2, 3);
	fixture_wait(m, b, 1, 2, 3);
	fixture_op(m, OP_CALL, "x", 1, 1, 5, 6);
	cr_assert_eq(scene_make(&job, true, &s), 0);
	cr_assert_eq(s.actor_n, 1);
	cr_assert_eq(s.actors[0].thread, b);
	cr_assert_eq(s.item_n, 1);
	cr_assert_eq(s.wait_n, 1);
	scene_done(&s);
	model_free(m);
}
