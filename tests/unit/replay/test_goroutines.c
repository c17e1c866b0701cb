/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The same world, once of threads and once of goroutines on threads: what would be if is the same. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "rig.h"

enum { THREAD_TID = 500 };

/* Nobody wakes another in the very moment in which it comes or goes, so that the thread tells who it was. */
static struct world shared_world(void)
{
	struct world w = { .cpu_n = 2, .slice_ns = 1000 * MS };
	uint32_t event = 0;
	unsigned seed = 4;

	for (uint32_t t = 1; t <= 4; t++) {
		world_add(&w, 0, STEP_COMPUTE, 0, 10 * US, 0);
		world_add(&w, 0, STEP_SPAWN, t, 0, 0);
	}
	world_add(&w, 0, STEP_COMPUTE, 0, 10 * US, 0);
	for (int i = 0; i < 40; i++) {
		uint32_t a = (uint32_t)rig_pick(&seed, 1, 4), b = 1 + a % 4;

		world_add(&w, a, i % 3 ? STEP_COMPUTE : STEP_SLEEP, 0, rig_pick(&seed, 200 * US, 3 * MS), (uint8_t)('a' + i % 2));
		world_add(&w, a, STEP_COMPUTE, 0, 10 * US, 0);
		world_add(&w, a, STEP_SIGNAL, event, 0, 0);
		world_add(&w, a, STEP_COMPUTE, 0, 10 * US, 0);
		world_add(&w, b, STEP_WAIT, event++, 0, 0);
	}
	for (uint32_t t = 1; t <= 4; t++)
		world_add(&w, 0, STEP_JOIN, t, 0, 0);
	return w;
}

/* On which CPU the goroutine ran at a moment: that of the wait before. */
static uint32_t cpu_at(const struct model *m, uint32_t thread, int64_t ns)
{
	uint32_t cpu = 1;
	int64_t last = -1;

	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		if (w->thread == thread && w->end_ns <= ns && w->end_ns >= last && w->cpu_to) {
			cpu = w->cpu_to;
			last = w->end_ns;
		}
	}
	return cpu;
}

/* One of the runtime's, that waits until the program ends. */
static void idle_add(struct model *m)
{
	uint32_t idle, wait, row;

	cr_assert(model_thread_add(m, &idle) == 0 && model_row_add(m, &row) == 0 && model_wait_add(m, &wait) == 0);
	m->threads[idle] = (struct model_thread){ .pid = m->threads[1].pid, .tid = THREAD_TID + 1, .goid = 99, .parent_goid = 1,
						  .process = 1, .op = m->threads[1].op, .end_ns = m->threads[1].end_ns };
	m->rows[row] = (struct model_row){ .reason = REASON_SYNC, .syscall = -1 };
	m->waits[wait] = (struct model_wait){ .thread = idle, .op = m->threads[1].op, .row = row, .start_ns = 5, .wake_ns = -1,
					      .end_ns = m->threads[1].end_ns, .outcome = WAIT_KILLED,
					      .blocked_ns = m->threads[1].end_ns - 5 };
}

/* Threads become goroutines, and there is a thread for each CPU, bound to it. Who woke is told by thread if by_thread. */
static void goroutines_make(struct model *m, bool by_thread)
{
	uint32_t thread_n = (uint32_t)m->thread_n, threads[3] = { 0 };

	for (uint32_t cpu = 1; cpu <= 2; cpu++) {
		cr_assert(model_thread_add(m, &threads[cpu]) == 0);
		m->threads[threads[cpu]] = (struct model_thread){ .pid = m->threads[1].pid, .tid = THREAD_TID + cpu, .process = 1,
								  .end_ns = m->end_ns, .has_totals = true };
	}
	for (size_t i = 1; i < m->wait_n; i++) {
		struct model_wait *w = &m->waits[i];
		struct model_wait_words words = model_wait_words(m, w);

		words.tid = w->cpu_to ? THREAD_TID + (uint32_t)w->cpu_to : 0;
		cr_assert(model_wait_words_set(m, w, &words) == 0);
		if (by_thread && w->waker)
			w->waker = threads[cpu_at(m, w->waker, w->wake_ns)];
	}
	for (uint32_t t = 1; t < thread_n; t++) {
		m->threads[t].goid = t;
		m->threads[t].tid = THREAD_TID + 1;
	}
	idle_add(m);
	/* As of a command that was held until it had its probes. */
	m->ops[m->processes[1].op].clipped = CLIPPED_BEFORE;
}

Test(goroutines, as_threads)
{
	static const double factors[] = { 0, 0.5, 0.9 };

	for (int by_thread = 0; by_thread < 2; by_thread++) {
		struct world w = shared_world();
		struct replay_outcome before[6], after[6];
		struct replay_facts f;
		struct rig x;

		rig_start(&x, &w);
		for (int i = 0; i < 6; i++)
			before[i] = rig_ask(&x, (char)('a' + i % 2), factors[i / 2]);
		replay_free(x.r);
		goroutines_make(x.m, by_thread);
		cr_assert(replay_new(x.m, NULL, &x.r) == 0);
		replay_facts(x.r, &f);
		cr_expect(f.strand_n == 6 && f.makespan_ns == x.makespan_ns && f.e1_ns == x.makespan_ns, "%u strands, %ld, E1 %ld",
			  f.strand_n, (long)f.makespan_ns, (long)f.e1_ns);
		for (int i = 0; i < 6; i++) {
			after[i] = rig_ask(&x, (char)('a' + i % 2), factors[i / 2]);
			cr_expect(after[i].e1_ns == before[i].e1_ns && after[i].e2_ns == before[i].e2_ns,
				  "by thread %d, %d: E1 %ld, was %ld, E2 %ld, was %ld", by_thread, i, (long)after[i].e1_ns,
				  (long)before[i].e1_ns, (long)after[i].e2_ns, (long)before[i].e2_ns);
		}
		rig_stop(&x);
	}
}

/* The first program has a child, which somebody is known to have started. */
static void child_add(struct model *m)
{
	uint32_t op, process, thread, link;

	cr_assert(model_op_add(m, &op) == 0 && model_process_add(m, &process) == 0 && model_thread_add(m, &thread) == 0 &&
		  model_link_add(m, &link) == 0);
	m->ops[op] = (struct model_op){ .id = op, .kind = OP_EXEC, .pid = 200, .start_ns = MS, .end_ns = 2 * MS };
	m->processes[process] = (struct model_process){ .pid = 200, .op = op };
	m->threads[thread] = (struct model_thread){ .pid = 200, .tid = 200, .process = process, .op = op, .begin_ns = MS,
						    .end_ns = 2 * MS };
	m->links[link] = (struct model_link){ .kind = LINK_NESTED_CLIENT, .from = 1, .to = op, .start_ns = MS, .end_ns = MS };
}

/* It had begun before the recording, as all commands that are held; still it is the one whose end is the end. */
Test(goroutines, of_a_command_with_children)
{
	struct world w = shared_world();
	struct replay_outcome before, after;
	struct rig x;

	rig_start(&x, &w);
	before = rig_ask(&x, 'a', 0.5);
	replay_free(x.r);
	goroutines_make(x.m, false);
	child_add(x.m);
	cr_assert(replay_new(x.m, NULL, &x.r) == 0);
	after = rig_ask(&x, 'a', 0.5);
	cr_expect(before.e1_ns < x.makespan_ns && after.e1_ns == before.e1_ns, "%ld, was %ld", (long)after.e1_ns,
		  (long)before.e1_ns);
	rig_stop(&x);
}

/* The second thread comes from nowhere when its first wait, which lies before the third's, is over. */
static void start_unsee(struct model *m, uint32_t thread)
{
	int64_t from_ns = 0;

	for (size_t i = 1; i < m->wait_n; i++) {
		struct model_wait *w = &m->waits[i];

		if (w->thread != thread || from_ns)
			continue;
		if (m->rows[w->row].reason == REASON_SLEEP)
			from_ns = w->end_ns;
		*w = (struct model_wait){ .wake_ns = -1 };
	}
	m->threads[thread].begin_ns = m->ops[m->threads[thread].op].start_ns = from_ns;
}

/*
 * time.AfterFunc: no go statement began the goroutine. Who waits for it, and for nobody else, set the timer: before he
 * can be there earlier, it is not. So too the threads of who waits for them.
 */
Test(goroutines, begun_by_a_timer)
{
	for (int of_go = 0; of_go < 2; of_go++) {
		uint32_t waiter = of_go ? 2 : 0;
		struct world w = { .cpu_n = 2, .slice_ns = 1000 * MS };
		struct replay_stretch *v;
		struct replay_outcome o;
		struct rig x;
		int64_t waited_ns = 0;
		size_t n;

		if (waiter)
			world_add(&w, 0, STEP_SPAWN, waiter, 0, 0);
		world_add(&w, waiter, STEP_SLEEP, 0, 2 * MS, 'a');
		world_add(&w, waiter, STEP_COMPUTE, 0, 10 * US, 0);
		world_add(&w, waiter, STEP_SPAWN, 1, 0, 0);
		world_add(&w, waiter, STEP_WAIT, 0, 0, 0);
		world_add(&w, waiter, STEP_COMPUTE, 0, 1 * MS, 'b');
		world_add(&w, 1, STEP_SLEEP, 0, 3 * MS, 'c');
		world_add(&w, 1, STEP_COMPUTE, 0, 10 * US, 0);
		world_add(&w, 1, STEP_SIGNAL, 0, 0, 0);
		world_add(&w, 1, STEP_COMPUTE, 0, 10 * US, 0);
		if (waiter)
			world_add(&w, 0, STEP_JOIN, waiter, 0, 0);
		rig_start(&x, &w);
		replay_free(x.r);
		start_unsee(x.m, 2);
		if (of_go)
			goroutines_make(x.m, false);
		cr_assert(replay_new(x.m, NULL, &x.r) == 0);
		o = rig_ask(&x, 'a', 0.5);
		cr_expect(o.e1_ns == x.makespan_ns - MS && o.e2_ns == o.e1_ns, "go %d: %ld and %ld of %ld", of_go,
			  (long)o.e1_ns, (long)o.e2_ns, (long)x.makespan_ns);
		cr_assert(replay_path(x.r, &v, &n) == 0);
		for (size_t i = 0; i < n; i++) {
			cr_expect(v[i].state != REPLAY_GAP, "go %d: a gap of %ld", of_go, (long)(v[i].end_ns - v[i].start_ns));
			if (v[i].thread == waiter + 1 && v[i].wait && v[i].state == REPLAY_DELAYED)
				waited_ns += v[i].end_ns - v[i].start_ns;
		}
		cr_expect(waited_ns == 5 * MS, "go %d: %ld", of_go, (long)waited_ns);
		free(v);
		rig_stop(&x);
	}
}
