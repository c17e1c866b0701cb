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
	cr_assert(analyze_states(g.m, NULL, &s) == 0);
	cr_assert(!s.of_ops && s.total_ns == 100 && s.gap_ns == 0);
	cr_assert(s.ns[WHERE_RUNNING] == 55 && s.ns[WHERE_RUNNABLE] == 7 && s.ns[WHERE_DISK] == 20);
	cr_assert(s.ns[WHERE_IDLE] == 18 && s.ns[WHERE_WORK] == 0 && s.ns[WHERE_UNKNOWN] == 0);
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
		else /* the 20 + 5 of the two are not its own, nor was it running then */
			cr_assert(ns[WHERE_IDLE] == 18 && ns[WHERE_RUNNABLE] == 2 && ns[WHERE_UNKNOWN] == 25 &&
				  ns[WHERE_RUNNING] == 55);
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
	cr_assert(analyze_window(g.m, 20, 85) == 0 && analyze_states(g.m, NULL, &s) == 0);
	cr_assert(s.total_ns == 65 && s.gap_ns == 0 && s.ns[WHERE_DISK] == 10 && s.ns[WHERE_IDLE] == 18);
	cr_assert(s.ns[WHERE_RUNNABLE] == 7 && s.ns[WHERE_RUNNING] == 30);
	cr_assert(g.m->goroutine_n == 2 && g.m->span_n == 2 && g.m->ops[g.m->spans[1].op].goid == 5);
	for (size_t i = 1; i < g.m->wait_n; i++) {
		if (g.m->waits[i].waker)
			cr_assert(g.m->ops[model_wait_waker_op(g.m, &g.m->waits[i])].goid == 5);
	}
	model_free(g.m);
}
