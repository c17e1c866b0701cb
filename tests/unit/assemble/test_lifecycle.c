/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Processes, threads, their ops and links; reuse of numbers; exec and exit. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "rig.h"

static struct rig rig;

static void start(void)
{
	rig_start(&rig, 0);
}

static void stop(void)
{
	rig_stop(&rig);
}

TestSuite(lifecycle, .init = start, .fini = stop);

static const struct model_op *op(uint32_t index)
{
	cr_assert(index && index < rig.m->op_n);
	return &rig.m->ops[index];
}

Test(lifecycle, a_child_from_fork_to_exit)
{
	static const char argv[] = "ls\0-l\0/tmp";
	const struct model_op *child, *thread, *phase;
	const struct model_link *link;
	uint32_t process;

	rig_seed(&rig, 100, 100, "sh");
	rig_fork(&rig, MS(10), 100, 100, 150, 150);
	rig_exec(&rig, MS(12), 150, 150, "ls", argv, sizeof(argv));
	rig_exit(&rig, MS(50), 150, 150, 2 << 8, true);
	rig_finish(&rig, MS(100));

	child = op(rig_op_of_process(&rig, 150));
	cr_expect_eq(child->kind, OP_EXEC);
	cr_expect_eq(child->start_ns, 10000000);
	cr_expect_eq(child->end_ns, 50000000);
	cr_expect_eq(child->parent, 0);
	cr_expect_eq(child->clipped, 0);
	cr_expect_not(child->open);
	cr_expect_eq(child->outcome, OUTCOME_ERROR);
	cr_expect(child->has_exit_status && child->exit_status == 2 << 8);
	cr_expect_str_eq(rig_str(&rig, child->class_id), "ls");
	cr_expect_str_eq(rig_str(&rig, child->meta_id), "[\"ls\",\"-l\",\"/tmp\"]");
	cr_expect_str_eq(rig_str(&rig, child->ident_id), "150:1000010000005", "pid:starttime");
	cr_expect_eq(child->client_id, child->ident_id);

	process = rig.m->process_n - 1;
	phase = op(rig.m->processes[process].phase);
	cr_expect_eq(phase->kind, OP_EXEC_PHASE);
	cr_expect_eq(phase->parent, rig.m->processes[process].op);
	cr_expect_eq(phase->start_ns, 12000000);
	cr_expect_eq(phase->end_ns, 50000000);
	cr_expect_eq(phase->meta_id, child->meta_id);

	thread = op(rig_op_of_thread(&rig, 150));
	cr_expect_eq(thread->kind, OP_INTERNAL);
	cr_expect_eq(thread->parent, rig.m->processes[process].op);
	cr_expect_str_eq(rig_str(&rig, thread->ident_id), "tid:150");
	cr_expect_str_eq(rig_str(&rig, thread->class_id), "ls");
	cr_expect_eq(thread->end_ns, 50000000);

	cr_assert_eq(rig.m->link_n, 2);
	link = &rig.m->links[1];
	cr_expect_eq(link->kind, LINK_NESTED_CLIENT);
	cr_expect_eq(link->from, rig_op_of_thread(&rig, 100), "the forking thread");
	cr_expect_eq(link->to, rig_op_of_process(&rig, 150));
	cr_expect_eq(link->ident_id, child->client_id);

	cr_expect(op(rig_op_of_process(&rig, 100))->open);
	cr_expect_eq(op(rig_op_of_process(&rig, 100))->clipped, CLIPPED_BEFORE | CLIPPED_AFTER);
	cr_expect_str_eq(rig_str(&rig, op(rig_op_of_process(&rig, 100))->ident_id), "100:1000000000");
}

Test(lifecycle, threads_that_have_not_ended)
{
	rig_seed(&rig, 100, 100, "sh");
	rig_seed(&rig, 100, 101, "sh");
	rig_fork(&rig, MS(10), 100, 100, 102, 100);
	rig_fork(&rig, MS(11), 100, 100, 150, 150);
	cr_expect_eq(assemble_threads_alive(rig.a), 4);
	rig_exit(&rig, MS(50), 102, 100, 0, false);
	cr_expect_eq(assemble_threads_alive(rig.a), 3);
	rig_exit(&rig, MS(60), 150, 150, 0, true);
	cr_expect_eq(assemble_threads_alive(rig.a), 2);
	rig_finish(&rig, MS(100));
}

Test(lifecycle, threads_without_times_are_known)
{
	rig_seed(&rig, 100, 100, "sh");
	rig_fork(&rig, MS(10), 100, 100, 102, 100);
	rig_fork(&rig, MS(11), 100, 100, 150, 150);
	rig_exit(&rig, MS(60), 150, 150, 0, true);
	rig_totals(&rig, &(struct wcbpf_thread_totals){ .tid = 150, .tgid = 150, .begin_ns = MS(11), .end_ns = MS(60),
							.oncpu_ns = 49000000 });
	RIG_INTERVAL(&rig, MS(20), MS(21), MS(22), .tid = 300, .tgid = 300); /* of whom no begin was seen */
	cr_expect_eq(assemble_threads_untold(rig.a), 2);
	rig_totals(&rig, &(struct wcbpf_thread_totals){ .tid = 100, .tgid = 100, .begin_ns = MS(0), .end_ns = MS(99), .seeded = 1,
							.oncpu_ns = 99000000, .open = 1 });
	cr_expect_eq(assemble_threads_untold(rig.a), 1);
	rig_finish(&rig, MS(100));
	cr_expect_eq(assemble_threads_untold(rig.a), 1);
}

/* The exec was being told when the thread was preempted: its interval came first. */
Test(lifecycle, an_interval_before_its_program_is_told)
{
	RIG_INTERVAL(&rig, MS(21), MS(22), MS(23), .tid = 150, .tgid = 150);
	cr_assert_eq(assemble_seed(rig.a, &(struct assemble_seed){ .pid = 150, .tid = 150, .start_time_ns = 1000,
								   .now_ns = MS(20), .comm = "app" }), 0);
	rig_exec(&rig, MS(20), 150, 150, "app", "app", 4);
	rig_exit(&rig, MS(60), 150, 150, 0, true);
	rig_totals(&rig, &(struct wcbpf_thread_totals){ .tid = 150, .tgid = 150, .begin_ns = MS(20), .end_ns = MS(60),
							.oncpu_ns = 38000000, .blocked_ns = 1000000,
							.runnable_ns = 1000000, .interval_n = 1 });
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->process_n, 2);
	cr_expect_eq(rig.m->thread_n, 2);
	cr_expect_eq(assemble_threads_untold(rig.a), 0);
	cr_expect(rig.m->threads[1].has_totals && rig.m->threads[1].begin_ns == 20000000 && !rig.m->threads[1].clipped);
	cr_expect_eq(op(rig.m->processes[1].op)->start_ns, 20000000);
	cr_expect_eq(op(rig.m->processes[1].op)->clipped, 0);
	cr_expect_eq(rig.m->processes[1].start_time_ns, 1000);
}

Test(lifecycle, exit_outcomes)
{
	static const struct {
		int code;
		enum op_outcome outcome;
	} cases[] = {
		{ 0, OUTCOME_OK }, { 1 << 8, OUTCOME_ERROR }, { 9, OUTCOME_CANCELED }, { 11 | 0x80, OUTCOME_CANCELED },
	};

	rig_seed(&rig, 100, 100, "sh");
	for (uint32_t i = 0; i < 4; i++) {
		rig_fork(&rig, MS(1), 100, 100, 200 + i, 200 + i);
		rig_exit(&rig, MS(2), 200 + i, 200 + i, cases[i].code, true);
	}
	rig_finish(&rig, MS(10));
	for (uint32_t i = 0; i < 4; i++)
		cr_expect_eq(op(rig_op_of_process(&rig, 200 + i))->outcome, cases[i].outcome, "code %d", cases[i].code);
}

Test(lifecycle, each_exec_is_a_phase)
{
	size_t phases = 0;

	rig_seed(&rig, 100, 100, "sh");
	rig_fork(&rig, MS(1), 100, 100, 200, 200);
	rig_exec(&rig, MS(2), 200, 200, "env", "env", 4);
	rig_exec(&rig, MS(3), 200, 0, "python3", "python3", 8);
	rig_exit(&rig, MS(9), 200, 200, 0, true);
	rig_finish(&rig, MS(10));
	for (size_t i = 1; i < rig.m->op_n; i++) {
		const struct model_op *o = &rig.m->ops[i];

		if (o->kind != OP_EXEC_PHASE)
			continue;
		phases++;
		cr_expect_str_eq(rig_str(&rig, o->class_id), phases == 1 ? "env" : "python3");
		cr_expect_eq(o->start_ns, phases == 1 ? 2000000 : 3000000);
		cr_expect_eq(o->end_ns, phases == 1 ? 3000000 : 9000000);
	}
	cr_expect_eq(phases, 2);
	cr_expect_str_eq(rig_str(&rig, op(rig_op_of_process(&rig, 200))->class_id), "python3", "its last program");
}

Test(lifecycle, no_args)
{
	rig_stop(&rig);
	rig_start_with(&rig, &(struct assemble_options){ .begin_ns = RIG_BEGIN_NS, .keep_args = false });
	assemble_seed(rig.a, &(struct assemble_seed){ .pid = 100, .tid = 100, .now_ns = MS(1), .comm = "sh",
						      .argv = "sh\0secret1", .argv_len = 11 });
	rig_fork(&rig, MS(1), 100, 100, 200, 200);
	rig_exec(&rig, MS(2), 200, 200, "env", "env\0secret2", 12);
	rig_finish(&rig, MS(10));
	for (size_t i = 0; i < strtab_n(rig.m->strings); i++)
		cr_expect_null(strstr(rig_str(&rig, (uint32_t)i), "secret"));
	for (size_t i = 1; i < rig.m->op_n; i++)
		cr_expect_eq(rig.m->ops[i].meta_id, 0);
}

Test(lifecycle, argv_is_strict_utf8_and_says_that_it_was_cut)
{
	struct wcbpf_exec e = {
		.head = { .kind = WCBPF_EV_EXEC, .size = offsetof(struct wcbpf_exec, argv) + 9, .time_ns = MS(1) },
		.tid = 200, .tgid = 200, .argv_len = 9, .argv_total = 1009, .comm = "x", .argv = "a\0\xff\"\n\0\0bc",
	};

	cr_expect_eq(assemble_event(rig.a, &e.head), 0);
	rig_finish(&rig, MS(10));
	cr_expect_str_eq(rig_str(&rig, op(rig_op_of_process(&rig, 200))->meta_id),
			 "[\"a\",\"\xef\xbf\xbd\\\"\\n\",\"\",\"bc\",\"... (1000 more bytes)\"]");
}

Test(lifecycle, seed_before_and_about_to_run)
{
	const struct model_op *o;

	assemble_seed(rig.a, &(struct assemble_seed){ .pid = 7, .tid = 7, .now_ns = MS(5), .comm = "child",
						      .start_time_ns = 42, .argv = "x\0y", .argv_len = 4 });
	rig_seed(&rig, 100, 100, "old");
	rig_seed(&rig, 100, 101, "worker");
	/* known ones: nothing changes */
	rig_seed(&rig, 100, 100, "renamed");
	rig_seed(&rig, 100, 101, "renamed");
	rig_finish(&rig, MS(10));
	cr_expect_eq(rig.m->thread_n, 4);
	cr_expect_eq(rig.m->process_n, 3);
	o = op(rig_op_of_process(&rig, 7));
	cr_expect_eq(o->start_ns, 5000000);
	cr_expect_eq(o->clipped, CLIPPED_AFTER);
	cr_expect_str_eq(rig_str(&rig, o->ident_id), "7:42");
	cr_expect_str_eq(rig_str(&rig, o->meta_id), "[\"x\",\"y\"]");
	cr_expect_str_eq(rig_str(&rig, op(rig_op_of_process(&rig, 100))->class_id), "old");
	cr_expect_str_eq(rig_str(&rig, op(rig_op_of_thread(&rig, 101))->class_id), "worker");
	cr_expect_eq(op(rig_op_of_thread(&rig, 101))->parent, rig_op_of_process(&rig, 100));
	cr_expect_eq(assemble_seed(rig.a, &(struct assemble_seed){ .pid = 0, .tid = 0 }), -EINVAL);
}

Test(lifecycle, process_seen_by_its_threads_has_its_leaders_name)
{
	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1, .tid = 102, .comm = "worker");
	RIG_INTERVAL(&rig, MS(2), MS(3), MS(4), .seq = 1, .tid = 100, .comm = "server");
	rig_finish(&rig, MS(10));
	cr_expect_str_eq(rig_str(&rig, op(rig_op_of_process(&rig, 100))->class_id), "server");
	cr_expect_eq(op(rig_op_of_thread(&rig, 102))->clipped, CLIPPED_BEFORE | CLIPPED_AFTER);
}

Test(lifecycle, fork_event_after_the_first_interval)
{
	rig_seed(&rig, 100, 100, "app");
	RIG_INTERVAL(&rig, US(1005), US(1005), US(1010), .seq = 1, .tid = 101, .flags = WCBPF_IV_NEW_THREAD);
	rig_fork(&rig, US(1000), 100, 100, 101, 100);
	RIG_INTERVAL(&rig, US(2005), US(2005), US(2010), .seq = 1, .tid = 300, .tgid = 300,
		     .flags = WCBPF_IV_NEW_THREAD);
	rig_fork(&rig, US(2000), 100, 100, 300, 300);
	rig_finish(&rig, MS(10));
	cr_expect_eq(rig.m->thread_n, 4, "nobody doubled");
	cr_expect_eq(rig.m->process_n, 3);
	cr_expect_eq(op(rig_op_of_thread(&rig, 101))->start_ns, 1000000);
	cr_expect_eq(op(rig_op_of_thread(&rig, 101))->clipped, CLIPPED_AFTER);
	cr_expect_eq(op(rig_op_of_process(&rig, 300))->start_ns, 2000000);
	cr_expect_eq(op(rig_op_of_process(&rig, 300))->clipped, CLIPPED_AFTER);
	cr_expect_eq(rig.m->link_n, 2);
}

Test(lifecycle, fork_while_seeding)
{
	/* Read from /proc, its start rounded down to a tick; the fork's event is still in the ring. */
	rig_seed(&rig, 100, 100, "app");
	assemble_seed(rig.a, &(struct assemble_seed){ .pid = 300, .tid = 300, .now_ns = MS(4), .comm = "app",
						      .before = true, .start_time_ns = MS(2) / 10000000 * 10000000 });
	rig_fork(&rig, MS(2), 100, 100, 300, 300);
	rig_finish(&rig, MS(10));
	cr_expect_eq(rig.m->process_n, 3);
	cr_expect_eq(rig.m->thread_n, 3);
	cr_expect_eq(op(rig_op_of_process(&rig, 300))->start_ns, 2000000);
	cr_expect_eq(op(rig_op_of_process(&rig, 300))->clipped, CLIPPED_AFTER);
}

Test(lifecycle, pid_reuse)
{
	const struct model_op *first, *second;

	rig_seed(&rig, 100, 100, "sh");
	rig_fork(&rig, MS(10), 100, 100, 150, 150);
	RIG_INTERVAL(&rig, MS(11), MS(12), MS(13), .seq = 1, .tid = 150, .tgid = 150);
	rig_exit(&rig, MS(20), 150, 150, 0, true);
	rig_fork(&rig, MS(30), 100, 100, 150, 150);
	RIG_INTERVAL(&rig, MS(31), MS(32), MS(33), .seq = 1, .tid = 150, .tgid = 150);
	/* late, of the first holder */
	RIG_INTERVAL(&rig, MS(14), MS(15), MS(16), .seq = 2, .tid = 150, .tgid = 150);
	rig_exit(&rig, MS(40), 150, 150, 1 << 8, true);
	rig_finish(&rig, MS(100));
	cr_assert_eq(rig.m->process_n, 4);
	first = op(rig.m->processes[2].op);
	second = op(rig.m->processes[3].op);
	cr_expect_eq(first->end_ns, 20000000);
	cr_expect_eq(first->outcome, OUTCOME_OK);
	cr_expect_eq(second->start_ns, 30000000);
	cr_expect_eq(second->end_ns, 40000000);
	cr_expect_eq(second->outcome, OUTCOME_ERROR);
	cr_expect_neq(first->ident_id, second->ident_id);
	for (size_t i = 1; i < rig.m->wait_n; i++) {
		const struct model_wait *w = &rig.m->waits[i];

		cr_expect_eq(rig.m->threads[w->thread].process, w->start_ns < 20000000 ? 2 : 3, "wait %zu", i);
		cr_expect(w->start_ns >= op(w->op)->start_ns && w->end_ns <= op(w->op)->end_ns, "wait %zu", i);
	}
	cr_expect_eq(rig.m->wait_n, 4);
}

Test(lifecycle, reuse_with_the_exit_or_the_fork_lost)
{
	rig_seed(&rig, 100, 100, "sh");
	rig_fork(&rig, MS(10), 100, 100, 150, 150);
	/* its exit was lost */
	rig_fork(&rig, MS(30), 100, 100, 150, 150);
	rig_exit(&rig, MS(40), 150, 150, 0, true);
	/* the fork was lost */
	RIG_INTERVAL(&rig, MS(50), MS(51), MS(52), .seq = 1, .tid = 150, .tgid = 150);
	/* the same number as a thread of another process: exit and fork lost */
	RIG_INTERVAL(&rig, MS(60), MS(61), MS(62), .seq = 1, .tid = 150, .tgid = 100);
	rig_finish(&rig, MS(100));
	cr_assert_eq(rig.m->process_n, 5);
	cr_expect_eq(op(rig.m->processes[2].op)->end_ns, 30000000);
	cr_expect_eq(op(rig.m->processes[2].op)->outcome, OUTCOME_NONE);
	cr_expect_eq(op(rig.m->processes[3].op)->end_ns, 40000000);
	cr_expect_eq(op(rig.m->processes[4].op)->start_ns, 50000000);
	cr_expect_eq(rig.m->threads[rig.m->waits[2].thread].process, 1);
	cr_expect_eq(op(rig.m->waits[2].op)->start_ns, 60000000);
	cr_expect_eq(op(rig.m->waits[1].op)->end_ns, 60000000);
}

/* What the kernel side sends at such an exec, with the events of threads in one of several orders. */
static void exec_by_other(bool totals_first)
{
	const struct wcbpf_thread_totals leader = { .tid = 100, .tgid = 100, .begin_ns = MS(0), .end_ns = MS(10),
						    .blocked_ns = 10000000, .seeded = 1, .comm = "app" };
	const struct wcbpf_thread_totals caller = { .tid = 101, .tgid = 100, .begin_ns = MS(0), .end_ns = MS(10),
						    .oncpu_ns = 10000000, .seeded = 1, .comm = "app" };

	if (totals_first) {
		rig_totals(&rig, &leader);
		rig_totals(&rig, &caller);
	}
	rig_exec(&rig, MS(10), 100, 101, "sleep", "sleep\0" "9", 8);
	if (!totals_first) {
		rig_totals(&rig, &caller);
		rig_totals(&rig, &leader);
	}
}

static uint32_t thread_of(uint32_t tid, int64_t begin_ns)
{
	for (uint32_t i = 1; i < rig.m->thread_n; i++) {
		if (rig.m->threads[i].tid == tid && rig.m->threads[i].begin_ns == begin_ns)
			return i;
	}
	cr_assert(false, "no thread %u that began at %lld", tid, (long long)begin_ns);
	return 0;
}

static void check_exec_by_other(bool totals_first)
{
	uint32_t leader, caller, after;
	const struct model_wait *w;

	rig_seed(&rig, 100, 100, "app");
	rig_seed(&rig, 100, 101, "app");
	rig_seed(&rig, 100, 102, "app");
	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1, .tid = 101);
	RIG_INTERVAL(&rig, MS(4), MS(5), MS(6), .seq = 1, .tid = 100);
	/* 102's exit event was lost */
	exec_by_other(totals_first);
	RIG_INTERVAL(&rig, MS(20), MS(21), MS(22), .seq = 1, .tid = 100, .comm = "sleep");
	/* the caller's old number goes to somebody else */
	rig_seed(&rig, 700, 700, "other");
	rig_fork(&rig, MS(25), 700, 700, 101, 700);
	rig_exit(&rig, MS(30), 100, 100, 0, true);
	rig_totals(&rig, &(struct wcbpf_thread_totals){ .tid = 100, .tgid = 100, .begin_ns = MS(10), .end_ns = MS(30),
							.blocked_ns = 20000000, .comm = "sleep" });
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->process_n, 3, "exec keeps identity");
	cr_expect_eq(rig.m->thread_n, 7);
	leader = thread_of(100, 0);
	caller = thread_of(101, 0);
	after = thread_of(100, 10000000);
	for (size_t i = 1; i < rig.m->wait_n; i++) {
		w = &rig.m->waits[i];
		cr_expect_eq(w->thread, w->start_ns == 1000000 ? caller : w->start_ns == 4000000 ? leader : after);
		cr_expect_eq(w->op, rig.m->threads[w->thread].op);
	}
	cr_expect_eq(rig.m->wait_n, 4);
	cr_expect_eq(rig.m->threads[leader].blocked_ns, 10000000);
	cr_expect_eq(rig.m->threads[caller].oncpu_ns, 10000000);
	cr_expect_eq(rig.m->threads[after].blocked_ns, 20000000);
	cr_expect_eq(rig.m->threads[leader].end_ns, 10000000);
	cr_expect_eq(rig.m->threads[after].end_ns, 30000000);
	cr_expect_eq(op(rig.m->threads[leader].op)->end_ns, 10000000);
	cr_expect_eq(op(rig.m->threads[caller].op)->end_ns, 10000000);
	cr_expect_eq(op(rig.m->threads[caller].op)->outcome, OUTCOME_OK);
	cr_expect_eq(op(rig.m->threads[after].op)->start_ns, 10000000);
	cr_expect_eq(op(rig.m->threads[after].op)->end_ns, 30000000);
	cr_expect_eq(op(rig.m->threads[after].op)->clipped, 0);
	cr_expect_eq(op(rig.m->threads[after].op)->parent, rig_op_of_process(&rig, 100));
	cr_expect_str_eq(rig_str(&rig, op(rig.m->threads[after].op)->class_id), "sleep");
	cr_expect_str_eq(rig_str(&rig, op(rig.m->threads[leader].op)->class_id), "app");
	cr_expect_eq(op(rig_op_of_thread(&rig, 102))->end_ns, 10000000, "exec leaves no other thread");
	cr_expect_eq(op(rig_op_of_process(&rig, 100))->end_ns, 30000000);
}

Test(lifecycle, exec_by_another_thread_than_the_leader)
{
	check_exec_by_other(true);
}

Test(lifecycle, exec_by_another_thread_with_the_totals_late)
{
	check_exec_by_other(false);
}

/* The leader's exit was seen long before, the caller was never heard of, and an event overtakes the exec's. */
Test(lifecycle, exec_by_another_thread_out_of_order)
{
	uint32_t after;

	rig_seed(&rig, 100, 100, "app");
	rig_exit(&rig, MS(5), 100, 100, 0, false);
	RIG_INTERVAL(&rig, US(10020), US(10030), US(10040), .seq = 1, .tid = 100, .comm = "sleep");
	rig_exec(&rig, MS(10), 100, 101, "sleep", "sleep", 6);
	rig_exit(&rig, MS(30), 100, 100, 0, true);
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->thread_n, 3, "leader and the one after");
	after = thread_of(100, 10000000);
	cr_expect_eq(op(rig.m->threads[after].op)->start_ns, 10000000);
	cr_expect_eq(op(rig.m->threads[after].op)->clipped, 0);
	cr_expect_eq(rig.m->waits[1].thread, after);
	cr_expect_eq(op(rig.m->threads[thread_of(100, 0)].op)->end_ns, 5000000);
}

Test(lifecycle, threads_end_with_their_process)
{
	rig_seed(&rig, 100, 100, "app");
	rig_seed(&rig, 100, 101, "app");
	rig_seed(&rig, 100, 102, "app");
	rig_exit(&rig, MS(8), 100, 100, 0, true);
	/* its own event comes last */
	rig_exit(&rig, US(7990), 101, 100, 0, false);
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->thread_n, 4);
	cr_expect_eq(op(rig_op_of_thread(&rig, 101))->end_ns, 7990000);
	cr_expect_eq(op(rig_op_of_thread(&rig, 102))->end_ns, 8000000, "its event was lost");
	cr_expect_eq(op(rig_op_of_thread(&rig, 100))->end_ns, 8000000);
}

Test(lifecycle, fifty_threads_killed)
{
	rig_seed(&rig, 100, 100, "app");
	for (uint32_t i = 1; i <= 50; i++)
		rig_fork(&rig, US(i), 100, 100, 100 + i, 100);
	/* Half end by the exit itself; half run once more, with the signal pending, and may wait for a CPU then. */
	for (uint32_t i = 1; i <= 50; i++) {
		uint64_t wake = MS(1000), in = US(1000100 + i);

		RIG_INTERVAL(&rig, US(100 + i), i % 2 ? wake : 0, in, .seq = 1, .tid = 100 + i,
			     .flags = i % 2 ? WCBPF_IV_SIGNAL : WCBPF_IV_EXITED);
		if (i % 2)
			rig_result(&rig, in + 1, 100 + i, 100, 1, -512);
		for (uint32_t j = 0; i % 4 == 1 && j < 2; j++)
			RIG_INTERVAL(&rig, in + 2 + 100 * j, in + 2 + 100 * j, in + 50 + 100 * j, .seq = 2 + j,
				     .tid = 100 + i, .state = 0, .syscall = -1, .flags = WCBPF_IV_PREEMPTED);
		rig_exit(&rig, US(1001001 + i), 100 + i, 100, 9, false);
	}
	rig_exit(&rig, MS(1002), 100, 100, 9, true);
	rig_finish(&rig, MS(2000));
	for (uint32_t i = 1, killed = 0; i < rig.m->wait_n; i++) {
		const struct model_wait *w = &rig.m->waits[i];

		if (rig.m->rows[w->row].reason == REASON_CPU)
			continue;
		cr_expect_eq(w->outcome, WAIT_KILLED, "tid %u", rig.m->threads[w->thread].tid);
		cr_expect(w->end_ns - w->start_ns > 999000000 && w->end_ns - w->start_ns < 1001000000);
		killed++;
		if (i + 1 == rig.m->wait_n)
			cr_expect_eq(killed, 50);
	}
	cr_expect_eq(op(rig_op_of_process(&rig, 100))->outcome, OUTCOME_CANCELED);
}

Test(lifecycle, exit_group_cuts_waits_but_a_handled_signal_does_not)
{
	rig_seed(&rig, 100, 100, "app");
	rig_seed(&rig, 100, 101, "app");
	rig_seed(&rig, 100, 102, "app");
	rig_seed(&rig, 100, 103, "app");
	/* 101 handled a signal and ended by itself long before; 102 is taken down by exit(0) of the leader. */
	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1, .tid = 101, .flags = WCBPF_IV_SIGNAL);
	rig_exit(&rig, MS(4), 101, 100, 0, false);
	RIG_INTERVAL(&rig, MS(1), MS(500), US(500010), .seq = 1, .tid = 102, .flags = WCBPF_IV_SIGNAL | WCBPF_IV_KILLED);
	/* 103's signal came before that exit; its own event is the last. */
	RIG_INTERVAL(&rig, MS(1), MS(499), US(499010), .seq = 1, .tid = 103, .flags = WCBPF_IV_SIGNAL);
	rig_exit(&rig, US(500020), 102, 100, 0, false);
	rig_exit(&rig, US(500100), 100, 100, 0, true);
	rig_exit(&rig, US(500090), 103, 100, 0, false);
	rig_finish(&rig, MS(1000));
	for (uint32_t i = 1; i <= 3; i++) {
		uint32_t tid = rig.m->threads[rig.m->waits[i].thread].tid;

		cr_expect_eq(rig.m->waits[i].outcome, tid == 102 ? WAIT_KILLED : WAIT_INTERRUPTED, "tid %u", tid);
	}
}

/* The death that upgrades an interrupted wait is one by signal, whichever event tells it. */
Test(lifecycle, killed_only_by_a_signal)
{
	static const int codes[] = { 0, 3 << 8, 15, 11 | 0x80 };

	for (uint32_t i = 0; i < 4; i++) {
		uint32_t pid = 200 + 10 * i;

		rig_seed(&rig, pid, pid, "app");
		rig_seed(&rig, pid, pid + 1, "app");
		RIG_INTERVAL(&rig, MS(1), MS(5), US(5010), .seq = 1, .tid = pid + 1, .tgid = pid, .flags = WCBPF_IV_SIGNAL);
		rig_exit(&rig, MS(6), pid, pid, codes[i], true);
		/* of a thread that the kernel took down with the others: its own status says nothing */
		rig_exit(&rig, US(5990), pid + 1, pid, 0, false);
	}
	rig_finish(&rig, MS(100));
	for (uint32_t i = 0; i < 4; i++)
		cr_expect_eq(rig.m->waits[1 + i].outcome, i < 2 ? WAIT_INTERRUPTED : WAIT_KILLED, "code %d", codes[i]);
}

Test(lifecycle, waits_after_the_exit_event)
{
	rig_seed(&rig, 100, 100, "app");
	rig_exit(&rig, MS(10), 100, 100, 0, true);
	RIG_INTERVAL(&rig, MS(11), MS(12), MS(13), .seq = 1, .syscall = -1, .flags = WCBPF_IV_EXITING, .state = 2);
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->thread_n, 2, "no new thread for the dying");
	cr_expect_eq(op(rig_op_of_thread(&rig, 100))->end_ns, 10000000);
	cr_expect_eq(rig.m->wait_n, 1, "its op has ended: no wait of it");
	cr_assert_eq(rig.m->row_n, 2, "but its time is in the totals");
	cr_expect_eq(rig.m->rows[1].blocked_ns, 1000000);
	cr_expect_str_eq(strtab_str(rig.m->strings, rig.m->rows[1].kind_id), "exit");
}

Test(lifecycle, a_thread_outlives_its_process)
{
	/* before 6.16: 102 is off the process's count, then preempted; the leader's exit is the process's end; then 102's own */
	rig_seed(&rig, 100, 100, "app");
	rig_fork(&rig, MS(1), 100, 100, 102, 100);
	rig_exit(&rig, MS(10), 100, 100, 0, true);
	RIG_INTERVAL(&rig, MS(12), MS(12), MS(13), .seq = 1, .tid = 102, .flags = WCBPF_IV_PREEMPTED, .state = 0);
	rig_exit(&rig, MS(14), 102, 100, 0, false);
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->thread_n, 3, "no second thread of that number");
	cr_expect_eq(rig.m->wait_n, 1);
	cr_expect_eq(rig.m->integrity.recorded, 1);
	cr_expect_eq(op(rig_op_of_thread(&rig, 102))->end_ns, 10000000);
}

Test(lifecycle, end_noticed_from_outside)
{
	rig_seed(&rig, 100, 100, "app");
	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1, .flags = WCBPF_IV_SIGNAL);
	rig_exit(&rig, MS(10), 100, 100, WCBPF_EXIT_UNKNOWN, true);
	rig_finish(&rig, MS(100));
	cr_expect_eq(op(rig_op_of_process(&rig, 100))->end_ns, 10000000);
	cr_expect_not(op(rig_op_of_process(&rig, 100))->open);
	cr_expect_not(op(rig_op_of_process(&rig, 100))->has_exit_status);
	cr_expect_eq(op(rig_op_of_process(&rig, 100))->outcome, OUTCOME_NONE);
	cr_expect_eq(rig.m->waits[1].outcome, WAIT_INTERRUPTED, "not killed: nobody knows");
}

Test(lifecycle, totals)
{
	struct wcbpf_thread_totals e = {
		.tid = 100, .tgid = 100, .start_ns = 777, .begin_ns = MS(2), .end_ns = MS(12), .oncpu_ns = 1000000,
		.runnable_ns = 2000000, .blocked_ns = 6000000, .lost_ns = 1000000, .interval_n = 9, .lost_n = 2,
		.below_min_n = 3, .voluntary_n = 7, .involuntary_n = 2, .comm = "app",
	};
	const struct model_thread *t = &rig.m->threads[1];

	cr_expect_eq(rig_totals(&rig, &e), 0);
	/* a second life of the number, its fork lost */
	e.begin_ns = MS(20);
	e.end_ns = MS(30);
	e.open = 1;
	cr_expect_eq(rig_totals(&rig, &e), 0);
	rig_finish(&rig, MS(30));
	cr_assert_eq(rig.m->thread_n, 3);
	t = &rig.m->threads[1];
	cr_expect(t->has_totals);
	cr_expect_eq(t->begin_ns, 2000000);
	cr_expect_eq(t->end_ns, 12000000);
	cr_expect_eq(t->oncpu_ns + t->runnable_ns + t->blocked_ns + t->lost_ns, (uint64_t)(t->end_ns - t->begin_ns));
	cr_expect(t->interval_n == 9 && t->lost_n == 2 && t->below_min_n == 3);
	cr_expect(t->voluntary_n == 7 && t->involuntary_n == 2);
	cr_expect_eq(t->clipped, 0, "born and dead within the recording");
	cr_expect_eq(op(t->op)->end_ns, 12000000, "an end is noticed without its event");
	cr_expect_str_eq(rig_str(&rig, op(rig_op_of_process(&rig, 100))->ident_id), "100:777");
	cr_expect_eq(rig.m->threads[2].clipped, CLIPPED_AFTER);
}
