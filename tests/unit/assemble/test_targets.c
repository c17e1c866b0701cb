/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Which op a wait waited for: never a wrong one. */
#include <criterion/criterion.h>
#include <linux/futex.h>

#include "rig.h"

static struct rig rig;

static void start(void)
{
	rig_start(&rig, 0);
	rig_seed(&rig, 100, 100, "sh");
	rig_seed(&rig, 100, 101, "sh");
}

static void stop(void)
{
	rig_stop(&rig);
}

TestSuite(targets, .init = start, .fini = stop);

#define BY_TASK(tid_, tgid_)                                                                  \
	.flags = WCBPF_IV_WAKER_KNOWN, .waker_ctx = WCBPF_WAKER_TASK, .waker_tid = (tid_), .waker_tgid = (tgid_)
#define BY_TASK_AND_SIGNAL(tid_, tgid_)                                                       \
	.flags = WCBPF_IV_WAKER_KNOWN | WCBPF_IV_SIGNAL, .waker_ctx = WCBPF_WAKER_TASK,       \
	.waker_tid = (tid_), .waker_tgid = (tgid_)
#define ANY_CHILD .args = { UINT64_MAX }

/* Without the clock's own words: "150:1000001000005" is pid 150, forked at 1 ms. */
static const char *ident(uint32_t wait)
{
	return rig_str(&rig, rig.m->waits[wait].ident_id);
}

Test(targets, wait4_for_a_child_that_exits)
{
	rig_fork(&rig, MS(1), 100, 100, 150, 150);
	rig_exit(&rig, MS(40), 150, 150, 0, true);
	RIG_INTERVAL(&rig, MS(2), US(40300), US(41000), .seq = 1, .syscall = __NR_wait4, ANY_CHILD,
		     BY_TASK_AND_SIGNAL(150, 150));
	rig_finish(&rig, MS(100));
	rig_expect_kind(&rig, 1, REASON_EXEC, "child");
	cr_expect_eq(rig.m->waits[1].target, rig_op_of_process(&rig, 150));
	cr_expect_str_eq(ident(1), "150:1000001000005");
	cr_expect_eq(rig.m->waits[1].outcome, WAIT_WOKEN, "SIGCHLD is no interruption");
	cr_expect_eq(rig.m->ops[rig.m->waits[1].target].end_ns, 40000000);
}

Test(targets, exit_event_after_the_wait)
{
	rig_fork(&rig, MS(1), 100, 100, 150, 150);
	RIG_INTERVAL(&rig, MS(2), US(40000), US(40010), .seq = 1, .syscall = __NR_wait4, ANY_CHILD, BY_TASK(150, 150));
	rig_exit(&rig, US(40020), 150, 150, 0, true);
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->waits[1].target, rig_op_of_process(&rig, 150));
	cr_expect_eq(rig.m->ops[rig.m->waits[1].target].end_ns, 40010000, "ends with the wait that it released");
}

/* An op that ends with the wait it released takes what lies below it along. */
Test(targets, nothing_outlasts_the_child_that_was_waited_for)
{
	uint32_t child, phase = 0;

	rig_fork(&rig, MS(1), 100, 100, 150, 150);
	rig_exec(&rig, MS(2), 150, 150, "true", "true", 5);
	rig_fork(&rig, MS(3), 150, 150, 151, 150);
	RIG_INTERVAL(&rig, MS(2), US(40000), US(40010), .seq = 1, .syscall = __NR_wait4, ANY_CHILD, BY_TASK(150, 150));
	rig_exit(&rig, US(40020), 151, 150, 0, false);
	rig_exit(&rig, US(40030), 150, 150, 0, true);
	rig_finish(&rig, MS(100));
	child = rig_op_of_process(&rig, 150);
	for (uint32_t i = 1; i < rig.m->op_n; i++)
		phase = rig.m->ops[i].kind == OP_EXEC_PHASE ? i : phase;
	cr_expect_eq(rig.m->waits[1].target, child);
	cr_expect_eq(rig.m->ops[child].end_ns, 40010000);
	cr_assert(phase && rig.m->ops[phase].parent == child);
	cr_expect_eq(rig.m->ops[phase].end_ns, 40010000);
	cr_expect_eq(rig.m->ops[rig_op_of_thread(&rig, 150)].end_ns, 40010000);
	cr_expect_eq(rig.m->ops[rig_op_of_thread(&rig, 151)].end_ns, 40010000);
}

/* A child waits for a CPU once more between its wake of the parent and its exit event. */
Test(targets, the_child_keeps_its_own_waits)
{
	uint32_t child;

	rig_fork(&rig, MS(1), 100, 100, 150, 150);
	RIG_INTERVAL(&rig, US(40012), US(40012), US(40018), .seq = 1, .tid = 150, .tgid = 150, .state = 0, .syscall = -1,
		     .flags = WCBPF_IV_PREEMPTED);
	RIG_INTERVAL(&rig, MS(2), US(40000), US(40010), .seq = 1, .syscall = __NR_wait4, ANY_CHILD, BY_TASK(150, 150));
	rig_exit(&rig, US(40030), 150, 150, 0, true);
	rig_finish(&rig, MS(100));
	child = rig_op_of_process(&rig, 150);
	cr_expect_eq(rig.m->ops[child].end_ns, 40018000, "as long as its wait needs");
	cr_expect_eq(rig.m->ops[rig_op_of_thread(&rig, 150)].end_ns, 40018000);
	for (uint32_t i = 1; i <= 2; i++) {
		if (rig.m->threads[rig.m->waits[i].thread].tid == 100)
			cr_expect_eq(rig.m->waits[i].target, child);
	}
}

Test(targets, child_that_stopped_is_alive)
{
	rig_fork(&rig, MS(1), 100, 100, 150, 150);
	/* waitpid(WUNTRACED), woken by the stop; the child goes on, and exits in the recording or not */
	RIG_INTERVAL(&rig, MS(2), MS(10), MS(11), .seq = 1, .syscall = __NR_wait4, ANY_CHILD, BY_TASK(150, 150));
	rig_fork(&rig, MS(12), 100, 100, 151, 151);
	RIG_INTERVAL(&rig, MS(13), MS(20), MS(21), .seq = 2, .syscall = __NR_wait4, .args = { 151 }, BY_TASK(151, 151));
	rig_exit(&rig, MS(50), 151, 151, 0, true);
	rig_finish(&rig, MS(100));
	for (uint32_t i = 1; i <= 2; i++) {
		cr_expect_eq(rig.m->waits[i].target, 0);
		cr_expect_eq(rig.m->threads[rig.m->waits[i].waker].tid, 149 + i, "the waker is known all the same");
	}
	cr_expect_str_eq(ident(1), "child:150:1000001000005", "no ident that readers resolve to an op");
	cr_expect_str_eq(ident(2), "child:151:1000012000005");
}

Test(targets, exit_long_before_the_wake)
{
	/* From 6.16 on the exit event comes first; then a large address space is taken down, then the parent woken. */
	rig_fork(&rig, MS(1), 100, 100, 150, 150);
	rig_exit(&rig, MS(40), 150, 150, 0, true);
	RIG_INTERVAL(&rig, MS(2), MS(55), US(55100), .seq = 1, .syscall = __NR_wait4, ANY_CHILD, BY_TASK(150, 150));
	rig_finish(&rig, MS(100));
	cr_assert_neq(rig.m->waits[1].target, 0);
	cr_expect_eq(rig.m->ops[rig.m->waits[1].target].pid, 150);
	cr_expect_eq(rig.m->ops[rig.m->waits[1].target].end_ns, 40000000);
	cr_expect_str_eq(ident(1), "150:1000001000005");
}

Test(targets, exit_too_long_after_the_wake)
{
	rig_fork(&rig, MS(1), 100, 100, 150, 150);
	RIG_INTERVAL(&rig, MS(2), US(38999), MS(40), .seq = 1, .syscall = __NR_wait4, ANY_CHILD, BY_TASK(150, 150));
	rig_exit(&rig, MS(40), 150, 150, 0, true);
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->waits[1].target, 0);
}

Test(targets, someone_else_than_a_child_woke_it)
{
	/* A signal from a process that is no child and exits at once. */
	rig_seed(&rig, 300, 300, "login");
	rig_fork(&rig, MS(1), 300, 300, 301, 301);
	rig_fork(&rig, MS(2), 100, 100, 150, 150);
	RIG_INTERVAL(&rig, MS(3), MS(10), MS(11), .seq = 1, .syscall = __NR_wait4, .args = { 150 },
		     BY_TASK_AND_SIGNAL(301, 301));
	RIG_INTERVAL(&rig, MS(3), MS(10), MS(11), .seq = 1, .tid = 101, .syscall = __NR_wait4, ANY_CHILD,
		     BY_TASK_AND_SIGNAL(301, 301));
	rig_exit(&rig, US(10100), 301, 301, 0, true);
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->waits[1].target, 0);
	cr_expect_eq(rig.m->waits[1].outcome, WAIT_INTERRUPTED);
	for (uint32_t i = 1; i <= 2; i++) {
		bool asked = rig.m->threads[rig.m->waits[i].thread].tid == 100;

		cr_expect_eq(rig.m->waits[i].target, 0);
		cr_expect_str_eq(ident(i), asked ? "child:150:1000002000005" : "", "the one it waited for");
	}
}

Test(targets, another_child_than_the_one_asked_for)
{
	rig_fork(&rig, MS(1), 100, 100, 150, 150);
	rig_fork(&rig, MS(2), 100, 100, 151, 151);
	/* `kill` is the shell's child too: its signal interrupts the wait for 150, and it exits */
	RIG_INTERVAL(&rig, MS(3), MS(10), MS(11), .seq = 1, .syscall = __NR_waitid, .args = { 1, 150 },
		     BY_TASK_AND_SIGNAL(151, 151));
	rig_exit(&rig, US(10100), 151, 151, 0, true);
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->waits[1].target, 0);
	cr_expect_str_eq(ident(1), "child:150:1000001000005");
}

Test(targets, open_wait_for_a_running_child)
{
	rig_fork(&rig, MS(1), 100, 100, 150, 150);
	RIG_INTERVAL(&rig, MS(3), 0, MS(100), .seq = 1, .syscall = __NR_wait4, .args = { 150 },
		     .flags = WCBPF_IV_OPEN_AT_END);
	RIG_INTERVAL(&rig, MS(3), 0, MS(100), .seq = 1, .syscall = __NR_wait4, ANY_CHILD, .tid = 101,
		     .flags = WCBPF_IV_OPEN_AT_END);
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->waits[1].target, 0);
	cr_expect_str_eq(ident(1), "150:1000001000005", "both last to the end");
	cr_expect_str_eq(ident(2), "");
}

Test(targets, reused_pid_is_not_the_target)
{
	rig_fork(&rig, MS(1), 100, 100, 150, 150);
	rig_exit(&rig, MS(10), 150, 150, 0, true);
	/* reaped, and the number is given away before the waiter's interval comes */
	rig_fork(&rig, US(10500), 101, 100, 150, 150);
	RIG_INTERVAL(&rig, MS(2), US(10050), US(10600), .seq = 1, .syscall = __NR_wait4, ANY_CHILD, BY_TASK(150, 150));
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->waits[1].target, rig.m->processes[2].op, "the first 150");
	cr_expect_eq(rig.m->ops[rig.m->waits[1].target].end_ns, 10000000);
}

#define JOIN(tid_) .args = { 0x7000, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, (tid_) }

Test(targets, join)
{
	rig_fork(&rig, MS(1), 100, 100, 110, 100);
	rig_fork(&rig, MS(1), 100, 100, 111, 100);
	/* the wake comes before the exit event or after it */
	RIG_INTERVAL(&rig, MS(2), US(10000), US(10010), .seq = 1, JOIN(110), BY_TASK(110, 100));
	rig_exit(&rig, US(10040), 110, 100, 0, false);
	rig_exit(&rig, US(20000), 111, 100, 0, false);
	RIG_INTERVAL(&rig, MS(12), US(20040), US(21000), .seq = 2, JOIN(111), BY_TASK(111, 100));
	rig_finish(&rig, MS(100));
	rig_expect_kind(&rig, 1, REASON_SYNC, "join");
	cr_expect_eq(rig.m->waits[1].target, rig_op_of_thread(&rig, 110));
	cr_expect_eq(rig.m->ops[rig.m->waits[1].target].end_ns, 10010000);
	cr_expect_eq(rig.m->waits[2].target, rig_op_of_thread(&rig, 111));
	cr_expect_eq(rig.m->ops[rig.m->waits[2].target].end_ns, 20000000);
	cr_expect_str_eq(ident(1), "tid:110");
}

Test(targets, join_of_a_thread_that_needed_a_cpu_to_die)
{
	rig_fork(&rig, MS(1), 100, 100, 110, 100);
	rig_fork(&rig, MS(1), 100, 100, 111, 100);
	/* preempted between clearing its tid and its exit event; 111 slept there, so it lived on */
	RIG_INTERVAL(&rig, MS(2), MS(10), US(10010), .seq = 1, JOIN(110), BY_TASK(110, 100));
	RIG_INTERVAL(&rig, US(10005), US(10005), MS(18), .seq = 1, .tid = 110, .flags = WCBPF_IV_PREEMPTED);
	rig_exit(&rig, US(18001), 110, 100, 0, false);
	RIG_INTERVAL(&rig, MS(20), MS(30), US(30010), .seq = 2, JOIN(111), BY_TASK(111, 100));
	RIG_INTERVAL(&rig, US(30005), US(37000), MS(38), .seq = 1, .tid = 111, .syscall = __NR_read);
	rig_exit(&rig, US(38001), 111, 100, 0, false);
	rig_finish(&rig, MS(100));
	for (uint32_t i = 1; i < rig.m->wait_n; i++) {
		const struct model_wait *w = &rig.m->waits[i];

		if (rig.m->threads[w->thread].tid == 100)
			cr_expect_eq(w->target, w->start_ns < 10000000 ? rig_op_of_thread(&rig, 110) : 0);
		if (rig.m->threads[w->thread].tid != 110)
			continue;
		cr_expect(w->end_ns == 10010000 && w->runnable_ns == 5000, "cut with its op");
		cr_expect_eq(rig.m->rows[w->row].runnable_ns, 7995000, "the totals have it all");
	}
	cr_expect_eq(rig.m->ops[rig_op_of_thread(&rig, 110)].end_ns, 10010000);
}

Test(targets, join_that_timed_out_or_was_interrupted)
{
	rig_fork(&rig, MS(1), 100, 100, 110, 100);
	RIG_INTERVAL(&rig, MS(2), MS(10), MS(11), .seq = 1, JOIN(110), .timeout_ns = 8000000,
		     .flags = WCBPF_IV_WAKER_KNOWN, .waker_ctx = WCBPF_WAKER_TIMER);
	RIG_INTERVAL(&rig, MS(12), MS(20), MS(21), .seq = 2, JOIN(110), BY_TASK_AND_SIGNAL(101, 100));
	rig_exit(&rig, US(20100), 110, 100, 0, false);
	/* it times out just when the thread ends */
	rig_fork(&rig, MS(21), 100, 100, 111, 100);
	RIG_INTERVAL(&rig, MS(22), MS(30), MS(31), .seq = 3, JOIN(111), .timeout_ns = 8000000,
		     .flags = WCBPF_IV_WAKER_KNOWN, .waker_ctx = WCBPF_WAKER_TIMER);
	rig_exit(&rig, US(30100), 111, 100, 0, false);
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->waits[3].target, 0);
	cr_expect_eq(rig.m->waits[1].outcome, WAIT_TIMEOUT);
	cr_expect_eq(rig.m->waits[1].target, 0);
	cr_expect_eq(rig.m->waits[2].target, 0, "another thread's signal woke it");
	cr_expect_str_eq(ident(2), "tid:110");
}

Test(targets, join_by_name_alone)
{
	/* musl: no tid in the word */
	rig_stack(&rig, STACK_USER, 1,
		  "/lib/ld-musl-x86_64.so.1:__timedwait /lib/ld-musl-x86_64.so.1:pthread_join app:f");
	rig_fork(&rig, MS(1), 100, 100, 110, 100);
	RIG_INTERVAL(&rig, MS(2), US(10000), US(10010), .seq = 1, .args = { 1, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2 },
		     .ustack_id = 1, BY_TASK(110, 100));
	rig_exit(&rig, US(10040), 110, 100, 0, false);
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->waits[1].target, rig_op_of_thread(&rig, 110));
	cr_expect_str_eq(ident(1), "tid:110");
}

Test(targets, nothing_else_has_one)
{
	/* Woken by threads that exit right after: a mutex, a pipe, a condition variable. */
	rig_stack(&rig, STACK_USER, 1, "libc.so.6:pthread_mutex_lock app:f");
	rig_stack(&rig, STACK_USER, 2, "libc.so.6:pthread_cond_wait app:f");
	rig_fork(&rig, MS(1), 100, 100, 110, 100);
	RIG_INTERVAL(&rig, MS(2), MS(10), US(10001), .seq = 1, .ustack_id = 1, BY_TASK(110, 100));
	RIG_INTERVAL(&rig, MS(2), MS(10), US(10001), .seq = 1, .tid = 101, .ustack_id = 2, BY_TASK(110, 100));
	rig_seed(&rig, 100, 102, "sh");
	RIG_INTERVAL(&rig, MS(2), MS(10), US(10001), .seq = 1, .tid = 102, .syscall = __NR_read, BY_TASK(110, 100));
	rig_exit(&rig, US(10100), 110, 100, 0, false);
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->wait_n, 4);
	for (uint32_t i = 1; i < rig.m->wait_n; i++)
		cr_expect_eq(rig.m->waits[i].target, 0);
}

Test(targets, end_without_an_exit_event)
{
	/* 150 is known to be over only because its number was given away: no proof of what woke the waiter. */
	rig_fork(&rig, MS(1), 100, 100, 150, 150);
	RIG_INTERVAL(&rig, MS(2), MS(10), US(10050), .seq = 1, .syscall = __NR_wait4, ANY_CHILD, BY_TASK(150, 150));
	rig_fork(&rig, US(10500), 101, 100, 150, 150);
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->waits[1].target, 0);
}
