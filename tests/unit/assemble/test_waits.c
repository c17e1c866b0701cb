/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Intervals to waits: times, merging, clipping, wakers, outcomes. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/futex.h>

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

TestSuite(waits, .init = start, .fini = stop);

#define WAITS(n) cr_assert_eq(rig.m->wait_n, (n) + 1, "%zu waits", rig.m->wait_n - 1)

Test(waits, blocked_then_runnable)
{
	const struct model_wait *w;

	rig_seed(&rig, 100, 100, "app");
	RIG_INTERVAL(&rig, MS(10), MS(30), MS(35), .seq = 1);
	rig_finish(&rig, MS(100));
	WAITS(1);
	w = &rig.m->waits[1];
	cr_expect_eq(w->start_ns, 10000000);
	cr_expect_eq(w->end_ns, 35000000);
	cr_expect_eq(w->blocked_ns, 20000000);
	cr_expect_eq(w->runnable_ns, 5000000);
	cr_expect_eq(w->wake_ns, 30000000);
	cr_expect_eq(w->clipped, 0);
	cr_expect_eq(w->ctx, WAKER_UNKNOWN);
	cr_expect_eq(w->outcome, WAIT_WOKEN);
	cr_expect_eq(w->op, rig.m->threads[w->thread].op);
}

/* Of a wait of several intervals: where the first began and the last ended. */
Test(waits, cpus)
{
	rig_seed(&rig, 100, 100, "app");
	RIG_INTERVAL(&rig, US(1), US(2), US(3), .cpu_out = 0, .cpu_in = 1, .seq = 1);
	RIG_INTERVAL(&rig, US(4), US(5), US(6), .cpu_out = 1, .cpu_in = 7, .seq = 2, .flags = WCBPF_IV_SAME_CALL);
	RIG_INTERVAL(&rig, US(10), 0, US(20), .cpu_out = 3, .cpu_in = 0, .seq = 3, .flags = WCBPF_IV_OPEN_AT_END);
	rig_finish(&rig, US(20));
	cr_assert_eq(rig.m->wait_n, 3);
	cr_expect(rig.m->waits[1].cpu_from == 1 && rig.m->waits[1].cpu_to == 8);
	cr_expect(rig.m->waits[2].cpu_from == 4 && rig.m->waits[2].cpu_to == 0);
}

Test(waits, preemption_is_runnable_only)
{
	RIG_INTERVAL(&rig, MS(10), MS(10), MS(35), .seq = 1, .flags = WCBPF_IV_PREEMPTED, .state = 0, .syscall = -1);
	rig_finish(&rig, MS(100));
	WAITS(1);
	cr_expect_eq(rig.m->waits[1].blocked_ns, 0);
	cr_expect_eq(rig.m->waits[1].runnable_ns, 25000000);
	cr_expect_eq(rig.m->waits[1].wake_ns, -1);
	cr_expect_eq(rig.m->waits[1].outcome, WAIT_OUTCOME_NONE);
	cr_expect_eq(rig.m->waits[1].ctx, WAKER_NONE);
	rig_expect_kind(&rig, 1, REASON_CPU, "preempted");
}

Test(waits, new_thread_is_runnable_only)
{
	rig_seed(&rig, 100, 100, "app");
	rig_fork(&rig, MS(10), 100, 100, 101, 100);
	RIG_INTERVAL(&rig, MS(10), MS(10), MS(12), .seq = 1, .tid = 101, .syscall = -1,
		     .flags = WCBPF_IV_PREEMPTED | WCBPF_IV_NEW_THREAD | WCBPF_IV_WAKER_KNOWN,
		.waker_ctx = WCBPF_WAKER_TASK,
		     .waker_tid = 100, .waker_tgid = 100);
	rig_finish(&rig, MS(100));
	WAITS(1);
	cr_expect_eq(rig.m->waits[1].blocked_ns, 0);
	cr_expect_eq(rig.m->waits[1].runnable_ns, 2000000);
	cr_expect_eq(rig.m->threads[rig.m->waits[1].waker].tid, 100);
	cr_expect_eq(rig.m->waits[1].ctx, WAKER_TASK);
	cr_expect_eq(rig.m->waits[1].wake_ns, 10000000);
	rig_expect_kind(&rig, 1, REASON_CPU, "new_thread");
}

Test(waits, unseen_wake_is_all_blocked)
{
	RIG_INTERVAL(&rig, MS(10), 0, MS(35), .seq = 1, .flags = WCBPF_IV_WAKE_UNSEEN);
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->waits[1].blocked_ns, 25000000);
	cr_expect_eq(rig.m->waits[1].runnable_ns, 0);
	cr_expect_eq(rig.m->waits[1].wake_ns, -1);
	cr_expect_eq(rig.m->waits[1].ctx, WAKER_UNKNOWN);
}

Test(waits, early_wake_counts_from_the_switch_out)
{
	/* Raised by the kernel side, and the same if it weren't. */
	RIG_INTERVAL(&rig, MS(10), MS(10), MS(12), .seq = 1, .flags = WCBPF_IV_WAKE_EARLY);
	RIG_INTERVAL(&rig, MS(20), US(19990), MS(22), .seq = 2);
	rig_finish(&rig, MS(100));
	WAITS(2);
	for (int i = 1; i <= 2; i++) {
		cr_expect_eq(rig.m->waits[i].blocked_ns, 0);
		cr_expect_eq(rig.m->waits[i].runnable_ns, 2000000);
		cr_expect_eq(rig.m->waits[i].wake_ns, rig.m->waits[i].start_ns);
	}
}

Test(waits, one_call_is_one_wait)
{
	const struct model_wait *w;

	rig_stack(&rig, STACK_USER, 1, "short");
	rig_stack(&rig, STACK_USER, 2, "long");
	RIG_INTERVAL(&rig, MS(10), MS(12), MS(13), .seq = 1, .ustack_id = 1);
	RIG_INTERVAL(&rig, MS(14), MS(30), MS(32), .seq = 2, .ustack_id = 2, .flags = WCBPF_IV_SAME_CALL);
	RIG_INTERVAL(&rig, MS(35), MS(36), MS(37), .seq = 3, .ustack_id = 1,
		     .flags = WCBPF_IV_SAME_CALL | WCBPF_IV_WAKER_KNOWN, .waker_ctx = WCBPF_WAKER_NET);
	rig_finish(&rig, MS(100));
	WAITS(1);
	w = &rig.m->waits[1];
	cr_expect_eq(w->start_ns, 10000000);
	cr_expect_eq(w->end_ns, 37000000);
	cr_expect_eq(w->blocked_ns, 19000000);
	cr_expect_eq(w->runnable_ns, 4000000);
	cr_expect_eq(w->end_ns - w->start_ns - w->blocked_ns - w->runnable_ns, 4000000, "on CPU between");
	cr_expect_eq(w->wake_ns, 36000000, "of the last interval");
	cr_expect_eq(w->ctx, WAKER_NET);
	cr_expect_eq(rig.m->rows[w->row].ustack, 2, "of the longest");
	cr_expect_eq(rig.m->row_n, 3);
	cr_expect_eq(rig.m->rows[1].count, 2);
	cr_expect_eq(rig.m->rows[2].count, 1);
}

Test(waits, nothing_bridges_a_gap)
{
	RIG_INTERVAL(&rig, MS(10), MS(12), MS(13), .seq = 1);
	/* 2 was lost or short */
	RIG_INTERVAL(&rig, MS(20), MS(22), MS(23), .seq = 3, .flags = WCBPF_IV_SAME_CALL);
	/* another call */
	RIG_INTERVAL(&rig, MS(30), MS(32), MS(33), .seq = 4);
	/* the kernel side was wrong about the call */
	RIG_INTERVAL(&rig, MS(40), MS(42), MS(43), .seq = 5, .flags = WCBPF_IV_SAME_CALL, .syscall = __NR_read);
	rig_finish(&rig, MS(100));
	WAITS(4);
	for (int i = 1; i <= 4; i++)
		cr_expect_eq(rig.m->waits[i].end_ns - rig.m->waits[i].start_ns, 3000000);
}

Test(waits, preemption_within_a_call)
{
	const struct model_wait *w;

	RIG_INTERVAL(&rig, MS(10), MS(12), MS(13), .seq = 1,
		     .flags = WCBPF_IV_WAKER_KNOWN, .waker_ctx = WCBPF_WAKER_DISK);
	RIG_INTERVAL(&rig, MS(14), MS(14), MS(30), .seq = 2, .state = 0,
		     .flags = WCBPF_IV_SAME_CALL | WCBPF_IV_PREEMPTED);
	rig_finish(&rig, MS(100));
	WAITS(1);
	w = &rig.m->waits[1];
	cr_expect_eq(w->blocked_ns, 2000000);
	cr_expect_eq(w->runnable_ns, 17000000);
	cr_expect_eq(w->ctx, WAKER_DISK, "what ended the blocking stands");
	cr_expect_eq(w->outcome, WAIT_WOKEN);
	rig_expect_kind(&rig, 1, REASON_SYNC, "futex");
}

Test(waits, stop_inside_a_sleep_is_three_waits)
{
	RIG_INTERVAL(&rig, MS(0), MS(300), MS(300), .seq = 1, .syscall = __NR_clock_nanosleep,
		     .flags = WCBPF_IV_SIGNAL);
	RIG_INTERVAL(&rig, MS(301), MS(800), MS(800), .seq = 2, .syscall = __NR_clock_nanosleep,
		     .flags = WCBPF_IV_SAME_CALL, .state = 4);
	rig_stack(&rig, STACK_KERNEL, 7, "schedule do_nanosleep hrtimer_nanosleep");
	RIG_INTERVAL(&rig, MS(801), MS(3000), MS(3000), .seq = 3, .syscall = __NR_restart_syscall, .kstack_id = 7,
		     .flags = WCBPF_IV_SAME_CALL);
	rig_finish(&rig, MS(4000));
	WAITS(3);
	rig_expect_kind(&rig, 1, REASON_SLEEP, "sleep");
	rig_expect_kind(&rig, 2, REASON_STOPPED, "stopped");
	rig_expect_kind(&rig, 3, REASON_SLEEP, "sleep");
	cr_expect_eq(rig.m->waits[2].blocked_ns, 499000000);
	cr_expect_eq(rig.m->waits[1].outcome, WAIT_INTERRUPTED);
}

Test(waits, clipped_at_both_ends)
{
	const struct model_wait *w;

	RIG_INTERVAL(&rig, RIG_BEGIN_NS, 0, MS(3000), .seq = 1,
		     .flags = WCBPF_IV_BEGAN_BEFORE | WCBPF_IV_OPEN_AT_END);
	rig_finish(&rig, MS(3000));
	WAITS(1);
	w = &rig.m->waits[1];
	cr_expect_eq(w->start_ns, 0);
	cr_expect_eq(w->end_ns, 3000000000);
	cr_expect_eq(w->clipped, CLIPPED_BEFORE | CLIPPED_AFTER);
	cr_expect_eq(w->outcome, WAIT_OUTCOME_NONE);
	cr_expect_eq(w->ctx, WAKER_NONE);
	cr_expect_eq(rig.m->ops[w->op].clipped, CLIPPED_BEFORE | CLIPPED_AFTER);
	cr_expect(rig.m->ops[w->op].open);
}

Test(waits, never_outside_the_recording)
{
	/* An out time from before the begin, a wake before it, and an end after the recording's. */
	RIG_INTERVAL(&rig, MS(-30000), 0, MS(10), .seq = 1);
	RIG_INTERVAL(&rig, MS(-20), MS(-10), MS(20), .seq = 2);
	RIG_INTERVAL(&rig, MS(80), MS(95), MS(110), .seq = 3);
	RIG_INTERVAL(&rig, MS(120), MS(130), MS(140), .seq = 4);
	rig_finish(&rig, MS(100));
	WAITS(4);
	cr_expect_eq(rig.m->waits[1].blocked_ns, 10000000);
	cr_expect_eq(rig.m->waits[1].clipped, CLIPPED_BEFORE);
	cr_expect_eq(rig.m->waits[2].runnable_ns, 20000000);
	cr_expect_eq(rig.m->waits[2].blocked_ns, 0);
	cr_expect_eq(rig.m->waits[3].end_ns, 100000000);
	cr_expect_eq(rig.m->waits[3].blocked_ns, 15000000);
	cr_expect_eq(rig.m->waits[3].runnable_ns, 5000000);
	cr_expect_eq(rig.m->waits[4].blocked_ns + rig.m->waits[4].runnable_ns, 0);
	cr_expect_eq(rig.m->rows[1].blocked_ns + rig.m->rows[1].runnable_ns, 50000000, "rows are cut as well");
}

Test(waits, wake_before_the_recording)
{
	RIG_INTERVAL(&rig, RIG_BEGIN_NS, 0, MS(5), .seq = 1, .flags = WCBPF_IV_BEGAN_BEFORE | WCBPF_IV_WAKE_BEFORE);
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->waits[1].blocked_ns, 0);
	cr_expect_eq(rig.m->waits[1].runnable_ns, 5000000);
	cr_expect_eq(rig.m->waits[1].wake_ns, -1);
}

Test(waits, clock_gone_back_is_counted)
{
	cr_expect_eq(RIG_INTERVAL(&rig, MS(10), MS(10), US(9999), .seq = 1), 0);
	rig_finish(&rig, MS(100));
	WAITS(0);
	cr_expect_eq(rig.m->integrity.lost_clock_back, 1);
	cr_expect_eq(rig.m->integrity.recorded, 0);
}

Test(waits, wakers)
{
	static const struct {
		uint8_t wire;
		enum waker_ctx ctx;
	} contexts[] = {
		{ WCBPF_WAKER_UNKNOWN, WAKER_UNKNOWN }, { WCBPF_WAKER_TIMER, WAKER_TIMER },
		{ WCBPF_WAKER_DISK, WAKER_DISK },	{ WCBPF_WAKER_NET, WAKER_NET },
		{ WCBPF_WAKER_IRQ, WAKER_IRQ },		{ 77, WAKER_UNKNOWN },
	};
	uint32_t pid = 0, tid = 0, comm_id = 0;
	const struct model_wait *w;

	rig_seed(&rig, 200, 201, "other");
	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1, .flags = WCBPF_IV_WAKER_KNOWN, .waker_tid = 201,
		     .waker_tgid = 200, .waker_ctx = WCBPF_WAKER_TASK);
	RIG_INTERVAL(&rig, MS(4), MS(5), MS(6), .seq = 2, .flags = WCBPF_IV_WAKER_KNOWN, .waker_tid = 999,
		     .waker_tgid = 998, .waker_ctx = WCBPF_WAKER_TASK, .waker_comm = "stranger");
	for (size_t i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++)
		RIG_INTERVAL(&rig, MS(10 + 3 * (int)i), MS(11 + 3 * (int)i), MS(12 + 3 * (int)i),
			     .seq = 3 + (uint32_t)i, .flags = WCBPF_IV_WAKER_KNOWN, .waker_tid = 201, .waker_tgid = 200,
			     .waker_ctx = contexts[i].wire);
	rig_finish(&rig, MS(100));
	w = &rig.m->waits[1];
	cr_expect_eq(w->ctx, WAKER_TASK);
	cr_expect_eq(rig.m->threads[w->waker].tid, 201);
	cr_expect_eq(w->outside_waker, 0);
	cr_expect_eq(rig.m->waits[2].waker, 0, "not of the recording");
	cr_assert(model_wait_waker(rig.m, &rig.m->waits[2], &pid, &tid, &comm_id));
	cr_expect(pid == 998 && tid == 999);
	cr_expect_str_eq(rig_str(&rig, comm_id), "stranger");
	for (size_t i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++) {
		cr_expect_eq(rig.m->waits[3 + i].ctx, contexts[i].ctx);
		cr_expect_not(model_wait_waker(rig.m, &rig.m->waits[3 + i], &pid, &tid, &comm_id),
			      "whom the interrupt met is not the waker");
	}
}

/* The stack is that of who ended the wait: of its last blocking, and of tasks alone. */
Test(waits, stacks_of_wakers)
{
	rig_stack(&rig, STACK_USER, 1, "post main");
	rig_stack(&rig, STACK_USER, 2, "last main");
	RIG_INTERVAL(&rig, MS(10), MS(12), MS(13), .seq = 1, .flags = WCBPF_IV_WAKER_KNOWN, .waker_ctx = WCBPF_WAKER_TASK,
		     .waker_tid = 101, .waker_tgid = 100, .waker_ustack_id = 1);
	RIG_INTERVAL(&rig, MS(14), MS(15), MS(16), .seq = 2, .flags = WCBPF_IV_WAKER_KNOWN | WCBPF_IV_SAME_CALL,
		     .waker_ctx = WCBPF_WAKER_TASK, .waker_tid = 101, .waker_tgid = 100, .waker_ustack_id = 2);
	RIG_INTERVAL(&rig, MS(17), 0, MS(18), .seq = 3, .flags = WCBPF_IV_PREEMPTED | WCBPF_IV_SAME_CALL);
	RIG_INTERVAL(&rig, MS(20), MS(22), MS(23), .seq = 4, .flags = WCBPF_IV_WAKER_KNOWN,
		     .waker_ctx = WCBPF_WAKER_TIMER, .waker_ustack_id = 1);
	RIG_INTERVAL(&rig, MS(30), MS(32), MS(33), .seq = 5, .flags = WCBPF_IV_WAKER_KNOWN, .waker_ctx = WCBPF_WAKER_TASK,
		     .waker_tid = 101, .waker_tgid = 100, .waker_ustack_id = 9);
	rig_finish(&rig, MS(100));
	cr_assert_eq(rig.m->wait_n - 1, 3);
	cr_expect_eq(rig.m->waits[1].waker_stack, 2);
	cr_expect_eq(rig.m->waits[2].waker_stack, 0);
	cr_expect(rig.m->waits[3].waker_stack && !rig.m->stacks[rig.m->waits[3].waker_stack].resolved);
	cr_expect_eq(rig.m->integrity.lost_waker_stacks, 1);
	cr_expect_not(model_is_complete(rig.m));
	cr_expect_eq(model_lost_stack_traces(rig.m), 0, "none of the waiter's own");
}

Test(waits, outcomes)
{
	static const struct {
		uint32_t flags, state;
		uint8_t ctx;
		int32_t syscall;
		int64_t timeout_ns;
		enum wait_outcome outcome;
	} cases[] = {
		{ 0, 1, 0, __NR_futex, -1, WAIT_WOKEN },
		{ WCBPF_IV_SIGNAL, 1, 0, __NR_futex, -1, WAIT_INTERRUPTED },
		{ WCBPF_IV_SIGNAL, 2, 0, __NR_read, -1, WAIT_WOKEN },		/* D doesn't mind signals */
		{ WCBPF_IV_SIGNAL, 0x102, 0, __NR_read, -1, WAIT_WOKEN },	/* killable: only a kill ends it */
		{ WCBPF_IV_SIGNAL | WCBPF_IV_KILLED, 0x102, 0, __NR_read, -1, WAIT_KILLED },
		{ WCBPF_IV_WAKER_KNOWN, 1, WCBPF_WAKER_TIMER, __NR_futex, 1000, WAIT_TIMEOUT },
		{ WCBPF_IV_WAKER_KNOWN, 1, WCBPF_WAKER_TIMER, __NR_futex, -1, WAIT_WOKEN },
		{ WCBPF_IV_WAKER_KNOWN, 1, WCBPF_WAKER_TIMER, __NR_nanosleep, -1, WAIT_TIMEOUT },
		{ WCBPF_IV_WAKER_KNOWN, 1, WCBPF_WAKER_TASK, __NR_futex, 1000, WAIT_WOKEN },
		{ WCBPF_IV_EXITED, 1, 0, __NR_futex, -1, WAIT_KILLED },
		{ WCBPF_IV_SIGNAL | WCBPF_IV_KILLED, 1, 0, __NR_futex, -1, WAIT_KILLED },
		{ WCBPF_IV_SIGNAL | WCBPF_IV_KILLED, 2, 0, __NR_futex, -1, WAIT_WOKEN },
	};
	size_t n = sizeof(cases) / sizeof(cases[0]);

	for (size_t i = 0; i < n; i++)
		RIG_INTERVAL(&rig, MS(10 * (int)i), MS(10 * (int)i + 1), MS(10 * (int)i + 2), .seq = 1 + (uint32_t)i,
			     .flags = cases[i].flags, .state = cases[i].state, .waker_ctx = cases[i].ctx,
			     .syscall = cases[i].syscall, .timeout_ns = cases[i].timeout_ns);
	rig_finish(&rig, MS(1000));
	WAITS(n);
	for (size_t i = 0; i < n; i++)
		cr_expect_eq(rig.m->waits[1 + i].outcome, cases[i].outcome, "case %zu", i);
}

Test(waits, futex_results)
{
	static const struct {
		int64_t result;
		enum wait_outcome outcome;
	} cases[] = {
		{ 0, WAIT_WOKEN },	       { 3, WAIT_WOKEN },	       { -ETIMEDOUT, WAIT_TIMEOUT },
		{ -EINTR, WAIT_INTERRUPTED },  { -512, WAIT_INTERRUPTED },     { -516, WAIT_INTERRUPTED },
		{ -EAGAIN, WAIT_OUTCOME_NONE },
	};
	size_t n = sizeof(cases) / sizeof(cases[0]);

	for (size_t i = 0; i < n; i++) {
		RIG_INTERVAL(&rig, MS(10 * (int)i), MS(10 * (int)i + 1), MS(10 * (int)i + 2), .seq = 1 + (uint32_t)i,
			     .flags = WCBPF_IV_SIGNAL);
		cr_expect_eq(rig_result(&rig, MS(10 * (int)i + 3), 100, 100, 1 + (uint32_t)i, cases[i].result), 0);
	}
	/* Of a call whose interval was left out, and of an unknown thread: nothing to do. */
	cr_expect_eq(rig_result(&rig, MS(900), 100, 100, 77, -ETIMEDOUT), 0);
	cr_expect_eq(rig_result(&rig, MS(900), 555, 555, 1, -ETIMEDOUT), 0);
	rig_finish(&rig, MS(1000));
	WAITS(n);
	for (size_t i = 0; i < n; i++)
		cr_expect_eq(rig.m->waits[1 + i].outcome, cases[i].outcome, "result %lld", (long long)cases[i].result);
}

Test(waits, result_of_a_killed_call)
{
	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1, .flags = WCBPF_IV_SIGNAL | WCBPF_IV_KILLED);
	rig_result(&rig, US(3001), 100, 100, 1, -512);
	rig_finish(&rig, MS(10));
	cr_expect_eq(rig.m->waits[1].outcome, WAIT_KILLED);
}

Test(waits, stacks_that_could_not_be_read)
{
	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1, .flags = WCBPF_IV_KSTACK_FAILED | WCBPF_IV_USTACK_FAILED);
	RIG_INTERVAL(&rig, MS(4), MS(5), MS(6), .seq = 2, .flags = WCBPF_IV_USTACK_FAILED | WCBPF_IV_KTHREAD);
	RIG_INTERVAL(&rig, MS(7), MS(8), MS(9), .seq = 3, .flags = WCBPF_IV_USTACK_FAILED | WCBPF_IV_EXITING);
	RIG_INTERVAL(&rig, MS(10), MS(11), MS(12), .seq = 4, .flags = WCBPF_IV_USTACK_FAILED);
	rig_finish(&rig, MS(20));
	cr_expect_eq(rig.m->integrity.failed_kernel_stacks, 1);
	cr_expect_eq(rig.m->integrity.failed_user_stacks, 2);
	cr_expect_eq(model_lost_stack_traces(rig.m), 2, "intervals 1 and 4");
}

/* Each of the seven ways in which an interval may lack a stack, and one that lacks none. */
Test(waits, an_interval_without_stacks_is_one_loss)
{
	static const struct {
		uint32_t flags;
		uint64_t ustack_id; /* 1: its body came, 9: it never will */
	} cases[] = {
		{ 0, 1 },
		{ WCBPF_IV_KSTACK_FAILED, 1 },
		{ WCBPF_IV_USTACK_FAILED, 1 },
		{ WCBPF_IV_KSTACK_FAILED | WCBPF_IV_USTACK_FAILED, 1 },
		{ 0, 9 },
		{ WCBPF_IV_KSTACK_FAILED, 9 },
		{ WCBPF_IV_USTACK_FAILED, 9 },
		{ WCBPF_IV_KSTACK_FAILED | WCBPF_IV_USTACK_FAILED, 9 },
	};

	rig_stack(&rig, STACK_USER, 1, "known");
	for (uint32_t i = 0; i < 8; i++)
		RIG_INTERVAL(&rig, MS(10 * (int)i), MS(10 * (int)i + 1), MS(10 * (int)i + 2), .seq = 1 + i,
			     .flags = cases[i].flags, .ustack_id = cases[i].ustack_id);
	rig_finish(&rig, MS(100));
	cr_expect_eq(model_lost_stack_traces(rig.m), 7);
	cr_expect_eq(rig.m->integrity.failed_kernel_stacks, 4, "each cause by itself is counted in full");
	cr_expect_eq(rig.m->integrity.failed_user_stacks, 4);
	cr_expect_eq(rig.m->integrity.lost_stack_bodies, 4);
}

Test(waits, outside_wakers_are_kept_once)
{
#define BY(tid_, tgid_, comm_)                                                                                  \
	.flags = WCBPF_IV_WAKER_KNOWN, .waker_ctx = WCBPF_WAKER_TASK, .waker_tid = (tid_), .waker_tgid = (tgid_), \
	.waker_comm = comm_
	uint32_t pid = 0, tid = 0, comm_id = 0;

	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1, BY(900, 900, "client"));
	RIG_INTERVAL(&rig, MS(4), MS(5), MS(6), .seq = 2, BY(901, 900, "client"));
	RIG_INTERVAL(&rig, MS(7), MS(8), MS(9), .seq = 3, BY(900, 900, "client"));
	RIG_INTERVAL(&rig, MS(10), MS(11), MS(12), .seq = 4, BY(900, 900, "after its exec"));
	RIG_INTERVAL(&rig, MS(13), MS(14), MS(15), .seq = 5, BY(0, 0, "other namespace"));
	RIG_INTERVAL(&rig, MS(16), MS(17), MS(18), .seq = 6, BY(0, 0, ""));
	rig_finish(&rig, MS(100));
	WAITS(6);
	cr_expect_eq(rig.m->waker_n, 5, "blank and four");
	cr_expect_eq(rig.m->waits[1].outside_waker, rig.m->waits[3].outside_waker);
	cr_expect_neq(rig.m->waits[1].outside_waker, rig.m->waits[2].outside_waker);
	cr_expect_neq(rig.m->waits[1].outside_waker, rig.m->waits[4].outside_waker);
	cr_assert(model_wait_waker(rig.m, &rig.m->waits[4], &pid, &tid, &comm_id));
	cr_expect(pid == 900 && tid == 900);
	cr_expect_str_eq(rig_str(&rig, comm_id), "after its exec");
	cr_assert(model_wait_waker(rig.m, &rig.m->waits[5], &pid, &tid, &comm_id));
	cr_expect(!pid && !tid);
	cr_expect_str_eq(rig_str(&rig, comm_id), "other namespace");
	cr_expect_not(model_wait_waker(rig.m, &rig.m->waits[6], &pid, &tid, &comm_id));
}

Test(waits, timeouts_as_given)
{
	/* One wait: what the first interval said stands, the preempted one's is nobody's. */
	RIG_INTERVAL(&rig, MS(0), MS(0), MS(1), .seq = 1, .flags = WCBPF_IV_PREEMPTED, .state = 0, .timeout_ns = 5);
	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 2, .flags = WCBPF_IV_SAME_CALL, .timeout_ns = 250000000);
	RIG_INTERVAL(&rig, MS(4), MS(5), MS(6), .seq = 3, .flags = WCBPF_IV_SAME_CALL, .timeout_ns = 240000000);
	RIG_INTERVAL(&rig, MS(10), MS(11), MS(12), .seq = 4);
	RIG_INTERVAL(&rig, MS(20), MS(21), MS(22), .seq = 5, .syscall = __NR_nanosleep, .timeout_ns = 0);
	RIG_INTERVAL(&rig, MS(23), MS(24), MS(25), .seq = 6, .flags = WCBPF_IV_SAME_CALL, .syscall = __NR_nanosleep,
		     .state = 4, .timeout_ns = 7);
	rig_finish(&rig, MS(100));
	WAITS(4);
	cr_expect(rig.m->waits[1].has_timeout && rig.m->waits[1].timeout_ns == 250000000);
	cr_expect_not(rig.m->waits[2].has_timeout);
	cr_expect(rig.m->waits[3].has_timeout && rig.m->waits[3].timeout_ns == 0);
	cr_expect_not(rig.m->waits[4].has_timeout, "a stop");
}

Test(waits, futex_operations)
{
	const struct model_row *row;

	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1, .args = { 0x1000, 0x189 });
	RIG_INTERVAL(&rig, MS(4), MS(5), MS(6), .seq = 2, .args = { 0x1000, 0 });
	RIG_INTERVAL(&rig, MS(7), MS(8), MS(9), .seq = 3, .args = { 0x1000, 0x89 });
	RIG_INTERVAL(&rig, MS(10), MS(11), MS(12), .seq = 4, .args = { 3, 0x189 }, .syscall = __NR_read);
	rig_finish(&rig, MS(100));
	WAITS(4);
	row = &rig.m->rows[rig.m->waits[1].row];
	cr_expect(row->has_futex_op && row->futex_op == 0x189, "with the clock's flag");
	row = &rig.m->rows[rig.m->waits[2].row];
	cr_expect(row->has_futex_op && row->futex_op == 0);
	row = &rig.m->rows[rig.m->waits[3].row];
	cr_expect(row->has_futex_op && row->futex_op == 0x89);
	cr_expect_not(rig.m->rows[rig.m->waits[4].row].has_futex_op);
}

/* The value that a call expects in its futex, as linux/futex.h and futex(2) have it: of waits that compare alone. */
Test(waits, futex_values)
{
	static const struct {
		int32_t syscall;
		uint64_t args[6];
		uint32_t flags;
		bool known;
		uint32_t val;
	} cases[] = {
		{ __NR_futex, { 8, FUTEX_WAIT, 0 }, 0, true, 0 },
		{ __NR_futex, { 8, FUTEX_WAIT_PRIVATE, 0xfffffffe00000007 }, 0, true, 7 }, /* a u32 argument */
		{ __NR_futex, { 8, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0x80000001 }, 0, true, 0x80000001 },
		{ __NR_futex, { 8, FUTEX_WAIT_REQUEUE_PI_PRIVATE, 12 }, 0, true, 12 },
		{ __NR_futex, { 8, FUTEX_LOCK_PI, 13 }, 0, false, 0 },
		{ __NR_futex, { 8, FUTEX_WAKE, 14 }, 0, false, 0 },
		{ 455, { 8, 15, 16, 17 }, 0, true, 15 },   /* futex_wait(address, value, mask, flags) */
		{ 449, { 8, 18, 19, 20 }, 0, false, 0 },   /* futex_waitv */
		{ __NR_read, { 8, FUTEX_WAIT, 21 }, 0, false, 0 },
		{ __NR_futex, { 8, FUTEX_WAIT, 22 }, WCBPF_IV_PREEMPTED, false, 0 },
	};
	enum { N = sizeof(cases) / sizeof(cases[0]) };

	for (int i = 0; i < N; i++) {
		struct wcbpf_interval e = { .head.time_ns = MS(10 * i + 2), .out_ns = MS(10 * i), .wake_ns = MS(10 * i + 1),
					    .tid = 100, .tgid = 100, .seq = 1 + (uint32_t)i, .timeout_ns = -1,
					    .state = 1, .syscall = cases[i].syscall, .flags = cases[i].flags };

		memcpy(e.args, cases[i].args, sizeof(e.args));
		rig_interval(&rig, &e);
	}
	rig_finish(&rig, MS(1000));
	WAITS(N);
	for (int i = 0; i < N; i++) {
		struct model_wait_words words = model_wait_words(rig.m, &rig.m->waits[1 + i]);

		cr_expect(words.has_futex_val == cases[i].known && words.futex_val == cases[i].val, "case %d: %d %u", i,
			  words.has_futex_val, words.futex_val);
	}
}

/* Memory beside a word that is no mutex may look like an owner's until the end: the value stays. */
Test(waits, a_value_beside_what_was_no_owner)
{
	rig_seed(&rig, 100, 100, "app");
	rig_seed(&rig, 100, 101, "app");
	rig_stack(&rig, STACK_USER, 1, "libc.so.6:pthread_mutex_lock");
	rig_stack(&rig, STACK_USER, 2, "libc.so.6:pthread_cond_wait");
	for (uint32_t i = 0; i < 4; i++)
		RIG_INTERVAL(&rig, MS(10 * (int)i), MS(10 * (int)i + 1), MS(10 * (int)i + 2), .seq = 1 + i,
			     .ustack_id = 1 + i / 2, .flags = WCBPF_IV_OWNER_READ, .owner_tid = 101,
			     .args = { 8, FUTEX_WAIT_PRIVATE, i % 2 ? 2 : 40 });
	rig_finish(&rig, MS(1000));
	WAITS(4);
	for (uint32_t i = 0; i < 4; i++) {
		struct model_wait_words words = model_wait_words(rig.m, &rig.m->waits[1 + i]);

		cr_expect_eq(words.owner_tid, i < 2 ? 101 : 0, "wait %u", i);
		cr_expect(words.has_futex_val && words.futex_val == (i % 2 ? 2 : 40), "wait %u", i);
	}
}

Test(waits, why_an_owner_is_unknown)
{
	static const struct {
		uint32_t flags, owner_tid;
		enum owner_unknown why;
	} cases[] = {
		{ WCBPF_IV_OWNER_READ, 101, OWNER_UNKNOWN_NONE },
		{ WCBPF_IV_OWNER_READ, 0, OWNER_UNKNOWN_NO_THREAD },
		{ WCBPF_IV_OWNER_READ, 4711, OWNER_UNKNOWN_NO_THREAD },
		{ WCBPF_IV_OWNER_FAULT, 0, OWNER_UNKNOWN_FAULT },
		{ WCBPF_IV_BEGAN_BEFORE, 0, OWNER_UNKNOWN_BEGAN_BEFORE },
		{ WCBPF_IV_BEGAN_BEFORE | WCBPF_IV_OWNER_READ, 101, OWNER_UNKNOWN_NONE },
		{ 0, 0, OWNER_UNKNOWN_NONE },
	};
	size_t n = sizeof(cases) / sizeof(cases[0]);

	rig_seed(&rig, 100, 100, "app");
	rig_seed(&rig, 100, 101, "app");
	rig_stack(&rig, STACK_USER, 1, "libc.so.6:pthread_mutex_lock");
	rig_stack(&rig, STACK_USER, 2, "libc.so.6:pthread_cond_wait");
	for (size_t i = 0; i < 2 * n; i++)
		RIG_INTERVAL(&rig, MS(10 * (int)i), MS(10 * (int)i + 1), MS(10 * (int)i + 2), .seq = 1 + (uint32_t)i,
			     .ustack_id = 1 + i / n, .flags = cases[i % n].flags, .owner_tid = cases[i % n].owner_tid);
	rig_finish(&rig, MS(1000));
	WAITS(2 * n);
	for (size_t i = 0; i < n; i++) {
		rig_expect_kind(&rig, 1 + (uint32_t)i, REASON_LOCK, "mutex");
		cr_expect_eq(rig.m->waits[1 + i].owner_unknown, cases[i].why, "case %zu", i);
		cr_expect_eq(rig.m->waits[1 + n + i].owner_unknown, OWNER_UNKNOWN_NONE, "a condvar has none");
	}
}

Test(waits, result_after_the_next_interval)
{
	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1);
	RIG_INTERVAL(&rig, MS(4), MS(5), MS(6), .seq = 2);
	rig_result(&rig, US(3001), 100, 100, 1, -ETIMEDOUT);
	rig_finish(&rig, MS(10));
	cr_expect_eq(rig.m->waits[1].outcome, WAIT_TIMEOUT);
	cr_expect_eq(rig.m->waits[2].outcome, WAIT_WOKEN);
}

Test(waits, names_of_their_time)
{
	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1, .comm = "before");
	RIG_INTERVAL(&rig, MS(4), MS(5), MS(6), .seq = 2, .comm = "exactly16bytes!!");
	rig_finish(&rig, MS(10));
	cr_expect_str_eq(rig_str(&rig, rig.m->rows[rig.m->waits[1].row].comm_id), "before");
	cr_expect_str_eq(rig_str(&rig, rig.m->rows[rig.m->waits[2].row].comm_id), "exactly16bytes!!");
	cr_expect_str_eq(rig_str(&rig, rig.m->threads[1].comm_id), "exactly16bytes!!");
}

Test(waits, out_of_order_by_microseconds)
{
	/* The second comes first: two waits instead of one, nothing lost or doubled. */
	RIG_INTERVAL(&rig, US(20), US(25), US(26), .seq = 2, .flags = WCBPF_IV_SAME_CALL);
	RIG_INTERVAL(&rig, US(10), US(15), US(16), .seq = 1);
	RIG_INTERVAL(&rig, US(30), US(35), US(36), .seq = 3);
	rig_finish(&rig, MS(10));
	WAITS(3);
	cr_expect_eq(rig.m->thread_n, 2, "one thread");
	cr_expect_eq(rig.m->ops[rig.m->threads[1].op].start_ns, 10000, "known since its earliest interval");
}

Test(waits, lost_stack_bodies_are_counted_by_interval)
{
	rig_stack(&rig, STACK_USER, 1, "known");
	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1, .ustack_id = 1);
	RIG_INTERVAL(&rig, MS(4), MS(5), MS(6), .seq = 2, .ustack_id = 1, .kstack_id = 5);
	RIG_INTERVAL(&rig, MS(7), MS(8), MS(9), .seq = 3, .ustack_id = 9, .kstack_id = 5);
	RIG_INTERVAL(&rig, MS(10), MS(11), MS(12), .seq = 4, .ustack_id = 9, .kstack_id = 5);
	rig_finish(&rig, MS(20));
	cr_expect_eq(rig.m->integrity.lost_stack_bodies, 3);
	cr_expect_eq(rig.m->integrity.recorded, 4);
}

Test(waits, result_of_a_call_that_never_blocked)
{
	RIG_INTERVAL(&rig, MS(1), MS(1), MS(3), .seq = 1, .flags = WCBPF_IV_PREEMPTED, .state = 0);
	rig_result(&rig, MS(4), 100, 100, 1, -ETIMEDOUT);
	rig_finish(&rig, MS(10));
	cr_expect_eq(rig.m->waits[1].outcome, WAIT_OUTCOME_NONE);
}
