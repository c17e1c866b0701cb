/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * One thread of a Go program, 0 .. 100 ns, and two goroutines. The thread runs
 * goroutine 5 from 0 to 40, which is in fsync 10 .. 30 and then parked in a
 * channel 40 .. 90; is without a goroutine 40 .. 60; and runs goroutine 6 from
 * 60 on, which is preempted 70 .. 75. Goroutine 6 is parked before, and sends
 * at 80 what 5 waits for, which is ready 80 .. 90, and runs then.
 */
#include <criterion/criterion.h>

#include "rig.h"

struct go {
	struct model *m;
	uint32_t thread, five, six;
	uint32_t five_op;
};

static uint32_t thread_make(struct go *g, uint64_t goid, const char *name)
{
	struct model *m = g->m;
	uint32_t thread, op;

	cr_assert((goid ? model_goroutine_add(m, goid, &thread) : model_thread_add(m, &thread)) == 0);
	cr_assert(model_op_add(m, &op) == 0);
	m->ops[op] = (struct model_op){ .id = op,
					.kind = OP_INTERNAL,
					.class_id = rig_string(m, name),
					.pid = 1,
					.tid = 1,
					.goid = goid,
					.end_ns = 100 };
	m->threads[thread].pid = 1;
	m->threads[thread].tid = goid ? 9 : 1; /* of a goroutine the last that ran it, no matter which */
	m->threads[thread].comm_id = rig_string(m, name);
	m->threads[thread].op = op;
	m->threads[thread].end_ns = 100;
	return thread;
}

/* tid: of the thread that ran the goroutine. */
static uint32_t wait_make(struct go *g, uint32_t thread, enum wait_reason reason, const char *kind, bool parked,
			  int64_t from, int64_t ready, int64_t to)
{
	struct model *m = g->m;
	struct model_wait_words words = { .tid = m->threads[thread].goid ? 1 : 0 };
	uint32_t row, wait;

	cr_assert(model_row_add(m, &row) == 0 && model_wait_add(m, &wait) == 0);
	m->rows[row] = (struct model_row){
		.reason = reason, .kind_id = rig_string(m, kind), .parked = parked, .syscall = -1
	};
	m->waits[wait] = (struct model_wait){ .op = m->threads[thread].op,
					      .thread = thread,
					      .row = row & 0xffffff,
					      .start_ns = from,
					      .end_ns = to,
					      .blocked_ns = ready - from,
					      .runnable_ns = to - ready,
					      .wake_ns = ready };
	cr_assert(model_wait_words_set(m, &m->waits[wait], &words) == 0);
	return wait;
}

static void go_make(struct go *g)
{
	uint32_t wait, span;

	*g = (struct go){ 0 };
	cr_assert(model_new(&g->m) == 0);
	g->thread = thread_make(g, 0, "prog");
	g->five = thread_make(g, 5, "main.five");
	g->six = thread_make(g, 6, "main.six");
	g->five_op = g->m->threads[g->five].op;
	g->m->end_ns = 100;
	wait_make(g, g->five, REASON_IO, "fsync", false, 10, 30, 30);
	wait_make(g, g->thread, REASON_SYNC, "go_scheduler", false, 40, 58, 60);
	wait_make(g, g->six, REASON_SYNC, "chan_receive", true, 0, 50, 60);
	wait_make(g, g->six, REASON_CPU, "", false, 70, 70, 75);
	wait = wait_make(g, g->five, REASON_SYNC, "chan_receive", true, 40, 80, 90);
	g->m->waits[wait].waker = g->six;
	model_wait_waker_op_set(g->m, &g->m->waits[wait], g->five_op);
	cr_assert(model_span_add(g->m, &span) == 0);
	g->m->spans[span].op = g->five_op;
	g->m->threads[g->thread].has_totals = true;
	g->m->threads[g->thread].blocked_ns = 20 + 18;
	g->m->threads[g->thread].runnable_ns = 2 + 5;
	g->m->threads[g->thread].oncpu_ns = 100 - 38 - 7;
}

Test(goroutines, are_no_threads_time)
{
	struct analyze_states s;
	struct go g;

	go_make(&g);
	/* Who asks for the thread is told of it. */
	cr_assert(analyze_states(g.m, &(struct analyze_filter){ .comm = "prog" }, &s) == 0);
	cr_assert(!s.of_ops && s.total_ns == 100 && s.gap_ns == 0 && !s.goroutine_n && !s.carrier_n);
	cr_assert(s.ns[WHERE_RUNNING] == 55 && s.ns[WHERE_RUNNABLE] == 7 && s.ns[WHERE_DISK] == 20);
	cr_assert(s.ns[WHERE_IDLE] == 18 && s.ns[WHERE_WORK] == 0 && s.ns[WHERE_UNKNOWN] == 0);
	model_free(g.m);
}

/* 5 ran 30 ns and 6 35, on a thread that was on the CPU for 55: what is more than that is not known. */
Test(goroutines, are_what_threads_are_elsewhere)
{
	struct analyze_states s;
	struct go g;

	go_make(&g);
	cr_assert(analyze_states(g.m, NULL, &s) == 0);
	cr_assert(!s.of_ops && s.total_ns == 200 && s.gap_ns == 0);
	cr_assert(s.goroutine_n == 2 && s.thread_n == 0 && s.carrier_n == 1);
	cr_assert(s.ns[WHERE_RUNNING] == 55 && s.ns[WHERE_RUNNABLE] == 10 + 10 + 5 && s.ns[WHERE_DISK] == 20);
	cr_assert(s.ns[WHERE_IDLE] == 40 + 50 && s.ns[WHERE_WORK] == 0 && s.ns[WHERE_UNKNOWN] == 10);
	model_free(g.m);
}

/* Three handlers queue for a mutex: one has it, and waits for its next request later; main waits for their end. */
Test(goroutines, queue_for_a_mutex)
{
	struct go g = { 0 };
	struct analyze_states s;
	uint32_t of[4], wait;

	cr_assert(model_new(&g.m) == 0);
	g.m->end_ns = 100;
	g.thread = thread_make(&g, 0, "prog");
	for (unsigned i = 0; i < 4; i++)
		of[i] = thread_make(&g, i + 1, "main.handler");
	wait_make(&g, g.thread, REASON_SYNC, "go_scheduler", false, 0, 100, 100);
	wait_make(&g, of[0], REASON_SYNC, "waitgroup", true, 0, 100, 100);
	wait_make(&g, of[1], REASON_IO, "socket", true, 0, 100, 100);
	wait_make(&g, of[2], REASON_LOCK, "mutex", true, 0, 100, 100);
	wait_make(&g, of[3], REASON_LOCK, "mutex", true, 0, 80, 80);
	/* In an op it waits for what that needs. */
	wait = wait_make(&g, of[3], REASON_SYNC, "chan_receive", true, 80, 100, 100);
	cr_assert(model_op_add(g.m, &g.m->waits[wait].op) == 0);
	g.m->ops[g.m->waits[wait].op].kind = OP_CALL;
	cr_assert(analyze_states(g.m, NULL, &s) == 0 && s.total_ns == 400);
	cr_assert(s.ns[WHERE_LOCK] == 180 && s.ns[WHERE_WORK] == 20 && s.ns[WHERE_CHILD] == 100 &&
		  s.ns[WHERE_IDLE] == 100 && s.ns[WHERE_RUNNING] == 0);
	model_free(g.m);
}

Test(goroutines, have_ops_of_their_own)
{
	struct analyze_class *list;
	struct go g;
	size_t n;

	go_make(&g);
	cr_assert(analyze_classes(g.m, NULL, &list, &n) == 0 && n == 3);
	for (size_t i = 0; i < n; i++) {
		const char *name = strtab_str(g.m->strings, list[i].class_id);
		const uint64_t *ns = list[i].ns;

		if (strcmp(name, "main.five") == 0)
			cr_assert(ns[WHERE_DISK] == 20 && ns[WHERE_WORK] == 40 && ns[WHERE_RUNNABLE] == 10 &&
				  ns[WHERE_RUNNING] == 30);
		else if (strcmp(name, "main.six") == 0)
			cr_assert(ns[WHERE_WORK] == 50 && ns[WHERE_RUNNABLE] == 15 && ns[WHERE_RUNNING] == 35);
		else /* what it waited for with a goroutine on it, 20 + 5, is no op of its own, but no time on the CPU either */
			cr_assert(ns[WHERE_IDLE] == 18 && ns[WHERE_RUNNABLE] == 2 + 5 && ns[WHERE_DISK] == 20 &&
				  ns[WHERE_UNKNOWN] == 0 && ns[WHERE_RUNNING] == 55);
	}
	free(list);
	model_free(g.m);
}

Test(goroutines, wait_for_a_cpu_only_on_a_thread)
{
	struct analyze_queues q;
	struct analyze_actors a;
	struct analyze_dead *dead;
	struct go g;
	size_t n;

	go_make(&g);
	cr_assert(analyze_actors(g.m, &a) == 0 && analyze_queues(g.m, NULL, &a, &q) == 0);
	cr_assert(q.all.wake_ns == 2 && q.all.preempt_ns == 5 && q.short_ns == 0, "%lu %lu %lu", q.all.wake_ns,
		  q.all.preempt_ns, q.short_ns);
	analyze_queues_done(&q);
	analyze_actors_done(&a);
	/* Nothing ran nor was ready 10 .. 30 and 40 .. 58, whatever waited in a channel. */
	cr_assert(analyze_dead_air(g.m, NULL, &dead, &n) == 0);
	cr_assert(dead[0].dead_ns == 38 && dead[0].ns[WHERE_DISK] == 20 && dead[0].ns[WHERE_IDLE] == 18);
	free(dead);
	model_free(g.m);
}

Test(goroutines, can_be_cut_to_a_time)
{
	struct analyze_states s;
	struct go g;

	go_make(&g);
	cr_assert(analyze_window(g.m, 20, 85) == 0);
	cr_assert(analyze_states(g.m, NULL, &s) == 0 && s.total_ns == 2 * 65 && s.gap_ns == 0);
	cr_assert(analyze_states(g.m, &(struct analyze_filter){ .comm = "prog" }, &s) == 0);
	cr_assert(s.total_ns == 65 && s.gap_ns == 0 && s.ns[WHERE_DISK] == 10 && s.ns[WHERE_IDLE] == 18);
	cr_assert(s.ns[WHERE_RUNNABLE] == 7 && s.ns[WHERE_RUNNING] == 30);
	cr_assert(g.m->goroutine_n == 2 && g.m->span_n == 2 && g.m->ops[g.m->spans[1].op].goid == 5);
	for (size_t i = 1; i < g.m->wait_n; i++) {
		if (g.m->waits[i].waker)
			cr_assert(g.m->ops[model_wait_waker_op(g.m, &g.m->waits[i])].goid == 5);
	}
	model_free(g.m);
}

static uint32_t stack_make(struct model *m, const char *inner, const char *outer)
{
	const char *names[] = { "runtime.futex", "runtime.futexsleep", inner, outer };
	struct model_frame frames[4] = { { 0 } };
	uint32_t stack;

	for (unsigned i = 0; i < 4; i++)
		frames[i].name_id = rig_string(m, names[i]);
	cr_assert(model_stack_add(m, STACK_USER, &stack) == 0 && model_stack_set(m, stack, "complete", frames, 4) == 0);
	return stack;
}

/* Without probes in the runtime a stack tells its scheduler's sleep from its locks and from the program's. */
Test(goroutines, are_not_needed_for_an_idle_scheduler)
{
	static const struct {
		const char *inner, *outer;
		enum wait_reason reason;
		bool idle;
	} rows[] = {
		{ "runtime.notesleep", "runtime.stopm", REASON_SYNC, true },
		{ "runtime.notesleep", "runtime.mPark", REASON_LOCK, true },
		{ "runtime.usleep", "runtime.sysmon", REASON_SLEEP, true },
		{ "runtime.lock2", "runtime.findRunnable", REASON_LOCK, false },
		{ "runtime.notetsleep", "runtime.stopTheWorldWithSema", REASON_LOCK, false },
		{ "syscall.Nanosleep", "main.main", REASON_SLEEP, false },
		{ "runtime.gcstopm", "runtime.stopm", REASON_CPU, false },
	};
	struct go g = { 0 };

	cr_assert(model_new(&g.m) == 0);
	g.m->end_ns = 100;
	g.thread = thread_make(&g, 0, "prog");
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t wait = wait_make(&g, g.thread, rows[i].reason, "futex", false, 10 * i, 10 * i + 10, 10 * i + 10);

		g.m->rows[g.m->waits[wait].row].ustack = stack_make(g.m, rows[i].inner, rows[i].outer);
		cr_assert(analyze_wait_is_idle(g.m, &g.m->waits[wait]) == rows[i].idle, "%s", rows[i].outer);
	}
	model_free(g.m);
}
