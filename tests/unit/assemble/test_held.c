/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Waits at choke points, whose waits other waits are, and what wakers were at. */
#include <criterion/criterion.h>
#include <linux/futex.h>

#include "hits.h"

static struct rig rig;

enum { CALL = 1, EXEC, WAIT, LOCK, ANY };

static void start(void)
{
	rig_start(&rig, 0);
	for (uint32_t tid = 100; tid < 105; tid++)
		rig_seed(&rig, 100, tid, "app");
	POINT(&rig, CALL, .kind = OP_CALL, .class = TEXT("call"), .ident = TEXT("{0}"),
	      .outcome = CHOICES({ .value = 8, .cmp = ASSEMBLE_NE, .than = 0, .word = OUTCOME_ERROR },
				 { .cmp = ASSEMBLE_ALWAYS, .word = OUTCOME_EXECUTED }));
	POINT(&rig, EXEC, .kind = OP_CALL_EXEC, .class = TEXT("exec"), .key = TEXT("oc:{0}"));
	POINT(&rig, WAIT, .role = ASSEMBLE_ROLE_WAIT, .target = TEXT("oc:{0}"),
	      .reason = CHOICES({ .value = 1, .cmp = ASSEMBLE_NE, .than = 0, .word = REASON_SINGLEFLIGHT },
				{ .cmp = ASSEMBLE_ALWAYS, .word = REASON_CALL_EXEC }));
	POINT(&rig, LOCK, .role = ASSEMBLE_ROLE_LOCK, .resource = TEXT("lock:{0}"));
	POINT(&rig, ANY, .kind = OP_INTERNAL, .class = TEXT("any"));
}

static void stop(void)
{
	rig_stop(&rig);
}

TestSuite(held, .init = start, .fini = stop);

#define BLOCK(t, out, wake, in, s, ...) RIG_INTERVAL(&rig, out, wake, in, .tid = (t), .seq = (s), __VA_ARGS__)
#define BY(t) .flags = WCBPF_IV_WAKER_KNOWN, .waker_ctx = WCBPF_WAKER_TASK, .waker_tid = (t), .waker_tgid = 100

static const struct model_wait *only_wait(void)
{
	cr_assert_eq(rig.m->wait_n, 2, "one wait, there are %zu", rig.m->wait_n - 1);
	return &rig.m->waits[1];
}

static const struct model_row *row_of(const struct model_wait *w)
{
	return &rig.m->rows[w->row];
}

Test(held, one_wait_from_entry_to_exit)
{
	const struct model_wait *w;

	ENTER(&rig, MS(1), EXEC, FRAME(101, 64), "u7");
	ENTER(&rig, MS(2), CALL, FRAME(100, 64), "sa");
	ENTER(&rig, MS(3), WAIT, FRAME(100, 128), "u7", "u0");
	BLOCK(100, MS(4), MS(5), US(5200), 1);
	BLOCK(100, MS(6), MS(10), US(10300), 2, BY(101));
	BLOCK(100, MS(11), MS(11), MS(12), 3, .flags = WCBPF_IV_PREEMPTED, .syscall = -1);
	LEAVE(&rig, US(10100), EXEC, FRAME(101, 64));
	LEAVE(&rig, MS(13), WAIT, FRAME(100, 128));
	LEAVE(&rig, MS(14), CALL, FRAME(100, 64), "u0");
	rig_finish(&rig, MS(20));
	w = only_wait();
	cr_expect_eq(w->op, op_of_class(&rig, "call", 1));
	cr_expect_eq(w->target, op_of_class(&rig, "exec", 1));
	cr_expect_eq(w->start_ns, 3000000);
	cr_expect_eq(w->end_ns, 13000000);
	cr_expect_eq(w->blocked_ns, 5000000);
	cr_expect_eq(w->runnable_ns, 1500000);
	cr_expect_eq(w->wake_ns, 10000000, "a preemption on the way out leaves the wake standing");
	cr_expect_eq(rig.m->threads[w->waker].tid, 101);
	cr_expect_eq(model_wait_waker_op(rig.m, w), op_of_class(&rig, "exec", 1));
	cr_expect_eq(w->ident_id, 0);
	cr_expect_eq(row_of(w)->reason, REASON_CALL_EXEC);
	cr_expect_str_eq(rig_str(&rig, row_of(w)->kind_id), "");
	cr_expect_eq(rig.m->ops[w->op].outcome, OUTCOME_EXECUTED);
}

/* While recording goes on: those that are not over, as far as they go. */
Test(held, open_in_a_snapshot)
{
	const struct model_wait *called = NULL, *locked = NULL;

	ENTER(&rig, MS(1), EXEC, FRAME(101, 64), "u7");
	ENTER(&rig, MS(2), CALL, FRAME(100, 64), "sa");
	ENTER(&rig, MS(3), WAIT, FRAME(100, 128), "u7", "u1");
	ENTER(&rig, MS(3), LOCK, FRAME(102, 64), "u2"); /* nobody has it */
	ENTER(&rig, MS(4), LOCK, FRAME(103, 64), "u3");
	BLOCK(100, MS(4), 0, MS(20), 1, .flags = WCBPF_IV_OPEN_AT_END);
	BLOCK(103, MS(5), 0, MS(20), 1, .flags = WCBPF_IV_OPEN_AT_END);
	ENTER(&rig, MS(21), WAIT, FRAME(104, 64), "u7", "u1"); /* after the moment that it shows */
	cr_assert_eq(assemble_snapshot(rig.a, MS(20)), 0);
	cr_assert_eq(rig.m->wait_n, 3);
	for (size_t i = 1; i < rig.m->wait_n; i++)
		*(rig.m->threads[rig.m->waits[i].thread].tid == 100 ? &called : &locked) = &rig.m->waits[i];
	cr_assert(called && locked);
	cr_expect_eq(called->start_ns, 3000000);
	cr_expect_eq(called->end_ns, 20000000);
	cr_expect_eq(called->blocked_ns, 16000000);
	cr_expect_eq(called->clipped, CLIPPED_AFTER);
	cr_expect_eq(called->target, op_of_class(&rig, "exec", 1));
	cr_expect_eq(called->op, op_of_class(&rig, "call", 1));
	cr_expect_eq(row_of(called)->reason, REASON_SINGLEFLIGHT);
	cr_expect(rig.m->ops[called->op].open && rig.m->ops[called->target].open);
	cr_expect_eq(locked->start_ns, 5000000);
	cr_expect_eq(locked->end_ns, 20000000);
	cr_expect_eq(locked->clipped, CLIPPED_AFTER);
	cr_expect_eq(row_of(locked)->reason, REASON_LOCK);
	cr_expect_str_eq(rig_str(&rig, locked->ident_id), "lock:3");
}

Test(held, a_wait_that_never_left_the_cpu)
{
	const struct model_wait *w;

	ENTER(&rig, MS(1), EXEC, FRAME(101, 64), "u7");
	ENTER(&rig, MS(2), WAIT, FRAME(100, 128), "u7", "u0");
	LEAVE(&rig, MS(3), EXEC, FRAME(101, 64));
	LEAVE(&rig, US(3100), WAIT, FRAME(100, 128));
	rig_finish(&rig, MS(20));
	w = only_wait();
	cr_expect(w->blocked_ns == 0 && w->runnable_ns == 0 && w->end_ns - w->start_ns == 1100000);
	cr_expect_eq(w->target, op_of_class(&rig, "exec", 1));
	cr_expect_eq(row_of(w)->count, 0);
	cr_expect_eq(row_of(w)->reason, REASON_CALL_EXEC);
}

Test(held, single_flight_of_three)
{
	ENTER(&rig, MS(1), CALL, FRAME(100, 64), "sfirst");
	rig_fork(&rig, MS(2), 100, 100, 110, 100);
	ENTER(&rig, MS(3), EXEC, FRAME(110, 64), "u7");
	ENTER(&rig, MS(3), WAIT, FRAME(100, 128), "u7", "u0");
	for (uint32_t tid = 101; tid <= 103; tid++) {
		ENTER(&rig, MS(4), CALL, FRAME(tid, 64), "sjoiner");
		ENTER(&rig, MS(5), WAIT, FRAME(tid, 128), "u7", "u1");
	}
	LEAVE(&rig, US(9900), EXEC, FRAME(110, 64));
	for (uint32_t tid = 100; tid <= 103; tid++)
		BLOCK(tid, MS(6), MS(10), US(10100), 1, BY(110));
	for (uint32_t tid = 100; tid <= 103; tid++) {
		LEAVE(&rig, US(10200), WAIT, FRAME(tid, 128));
		LEAVE(&rig, MS(11), CALL, FRAME(tid, 64), tid == 103 ? "u1" : "u0");
	}
	rig_finish(&rig, MS(20));
	cr_assert_eq(ops_of_class(&rig, "exec"), 1);
	cr_assert_eq(rig.m->wait_n, 5);
	for (size_t i = 1; i < rig.m->wait_n; i++) {
		const struct model_wait *w = &rig.m->waits[i];
		bool first = rig.m->threads[w->thread].tid == 100;

		cr_expect_eq(w->target, op_of_class(&rig, "exec", 1));
		cr_expect_eq(row_of(w)->reason, first ? REASON_CALL_EXEC : REASON_SINGLEFLIGHT);
		cr_expect_eq(rig.m->ops[w->op].outcome, first ? OUTCOME_EXECUTED :
			     rig.m->threads[w->thread].tid == 103 ? OUTCOME_ERROR : OUTCOME_JOINED);
	}
	cr_expect_eq(rig.m->ops[op_of_class(&rig, "exec", 1)].parent, op_of_class(&rig, "call", 1), "whose thread it is");
}

/* A call is joined by its own wait, not by one of an op within it. */
Test(held, whose_wait_a_join_is)
{
	ENTER(&rig, MS(1), EXEC, FRAME(101, 64), "u7");
	ENTER(&rig, MS(2), CALL, FRAME(100, 64), "sa");
	ENTER(&rig, MS(3), ANY, FRAME(100, 128));
	ENTER(&rig, MS(4), WAIT, FRAME(100, 256), "u7", "u1");
	LEAVE(&rig, MS(5), EXEC, FRAME(101, 64));
	LEAVE(&rig, MS(6), WAIT, FRAME(100, 256));
	LEAVE(&rig, MS(7), ANY, FRAME(100, 128));
	LEAVE(&rig, MS(8), CALL, FRAME(100, 64), "u0");
	rig_finish(&rig, MS(20));
	cr_expect_eq(row_of(only_wait())->reason, REASON_SINGLEFLIGHT);
	cr_expect_eq(rig.m->ops[op_of_class(&rig, "call", 1)].outcome, OUTCOME_EXECUTED);
}

Test(held, locks_are_listed_when_contended)
{
	const struct model_wait *w;

	ENTER(&rig, MS(1), CALL, FRAME(100, 64), "sa");
	ENTER(&rig, MS(2), LOCK, FRAME(100, 128), "score.mu");
	LEAVE(&rig, US(2010), LOCK, FRAME(100, 128));
	ENTER(&rig, MS(3), LOCK, FRAME(100, 128), "score.mu");
	/* spins, is preempted, then blocks */
	BLOCK(100, MS(4), MS(4), US(4500), 1, .flags = WCBPF_IV_PREEMPTED, .syscall = -1);
	BLOCK(100, MS(5), MS(7), US(7100), 2, BY(101));
	LEAVE(&rig, MS(8), LOCK, FRAME(100, 128));
	LEAVE(&rig, MS(9), CALL, FRAME(100, 64), "u0");
	rig_finish(&rig, MS(20));
	cr_assert_eq(rig.m->wait_n, 3, "the lock's, and the preemption before it");
	w = &rig.m->waits[row_of(&rig.m->waits[1])->reason == REASON_LOCK ? 1 : 2];
	rig_expect_kind(&rig, w == &rig.m->waits[1] ? 1 : 2, REASON_LOCK, "mutex");
	cr_expect_str_eq(rig_str(&rig, w->ident_id), "lock:core.mu");
	cr_expect_eq(w->start_ns, 5000000, "from its first blocking");
	cr_expect_eq(w->end_ns, 8000000);
	cr_expect_eq(w->blocked_ns, 2000000);
	cr_expect_eq(w->target, 0);
	cr_expect_eq(w->op, op_of_class(&rig, "call", 1));
}

Test(held, a_fault_inside_is_no_contention)
{
	ENTER(&rig, MS(2), LOCK, FRAME(100, 128), "smu");
	BLOCK(100, MS(3), MS(4), US(4100), 1, .syscall = -1, .state = 2);
	LEAVE(&rig, MS(5), LOCK, FRAME(100, 128));
	POINT(&rig, ANY, .role = ASSEMBLE_ROLE_WAIT, .resource = TEXT("thing"), .contended = true);
	ENTER(&rig, MS(6), ANY, FRAME(100, 128));
	BLOCK(100, MS(7), MS(8), US(8100), 2, .syscall = -1, .state = 2);
	LEAVE(&rig, MS(9), ANY, FRAME(100, 128));
	rig_finish(&rig, MS(20));
	cr_assert_eq(rig.m->wait_n, 3);
	for (uint32_t i = 1; i <= 2; i++) {
		cr_expect_neq(row_of(&rig.m->waits[i])->reason, REASON_LOCK);
		cr_expect_eq(rig.m->waits[i].end_ns - rig.m->waits[i].start_ns, 1100000, "each is itself");
	}
}

Test(held, wanted_or_not_shows_at_the_exit)
{
	POINT(&rig, ANY, .role = ASSEMBLE_ROLE_WAIT, .resource = TEXT("r{0}"), .wait_kind = "thing",
	      .reason = CHOICES({ .cmp = ASSEMBLE_ALWAYS, .word = REASON_SERVICE }),
	      .only = CHOICES({ .value = 8, .cmp = ASSEMBLE_EQ, .than = 1, .word = 1 }));
	for (uint32_t i = 0; i < 4; i++) {
		ENTER(&rig, MS(10 * i + 1), ANY, FRAME(100, 64), "u9");
		BLOCK(100, MS(10 * i + 2), MS(10 * i + 3), MS(10 * i + 3), 2 * i + 1, .args = { 0x1000 });
		BLOCK(100, MS(10 * i + 4), MS(10 * i + 5), MS(10 * i + 5), 2 * i + 2, .args = { 0x1000 });
		LEAVE(&rig, MS(10 * i + 6), ANY, FRAME(100, 64), i % 2 ? "u1" : "u0");
	}
	rig_finish(&rig, MS(50));
	cr_assert_eq(rig.m->wait_n - 1, 2 * 2 + 2);
	for (uint32_t i = 1; i < rig.m->wait_n; i++) {
		const struct model_wait *w = &rig.m->waits[i];

		if (row_of(w)->reason == REASON_SERVICE) {
			cr_expect_eq(w->end_ns - w->start_ns, 5000000);
			cr_expect_str_eq(rig_str(&rig, w->ident_id), "r9");
			rig_expect_kind(&rig, i, REASON_SERVICE, "thing");
		} else {
			cr_expect_eq(w->end_ns - w->start_ns, 1000000);
			rig_expect_kind(&rig, i, REASON_SYNC, "futex");
		}
	}
}

/* More intervals than are kept aside: none is lost from the totals (the rig compares), wanted or not. */
Test(held, many_intervals)
{
	unsigned found = 0;

	for (int wanted = 0; wanted < 2; wanted++) {
		POINT(&rig, ANY, .role = ASSEMBLE_ROLE_WAIT, .resource = TEXT("r"),
		      .only = CHOICES({ .value = 8, .cmp = ASSEMBLE_EQ, .than = wanted, .word = 1 }));
		ENTER(&rig, MS(1000 * wanted), ANY, FRAME(100, 64));
		for (uint32_t i = 1; i <= 200; i++)
			BLOCK(100, MS(1000 * wanted + 2 * i), MS(1000 * wanted + 2 * i + 1),
			      US(1000000 * wanted + 2000 * i + 1100), 1000 * (uint32_t)wanted + 2 * i);
		LEAVE(&rig, MS(1000 * wanted + 500), ANY, FRAME(100, 64), "u1");
	}
	rig_finish(&rig, MS(2000));
	cr_expect_lt(rig.m->wait_n, 80);
	for (size_t i = 1; i < rig.m->wait_n; i++)
		found += rig.m->waits[i].end_ns == 1500000000 && rig.m->waits[i].blocked_ns == 200 * 1000000ll;
	cr_expect_eq(found, 1, "the wanted one is whole");
}

Test(held, open_and_unwound_waits)
{
	ENTER(&rig, MS(1), EXEC, FRAME(102, 64), "u7");
	ENTER(&rig, MS(2), WAIT, FRAME(100, 128), "u7", "u1");
	BLOCK(100, MS(3), 0, MS(20), 1, .flags = WCBPF_IV_OPEN_AT_END);
	ENTER(&rig, MS(2), CALL, FRAME(101, 64), "sa");
	ENTER(&rig, MS(3), WAIT, FRAME(101, 128), "u7", "u1");
	BLOCK(101, MS(4), MS(5), MS(5), 1);
	LEAVE(&rig, MS(6), CALL, FRAME(101, 64), "u0");
	rig_finish(&rig, MS(20));
	cr_assert_eq(rig.m->wait_n, 3);
	cr_expect_eq(rig.m->waits[1].end_ns, 6000000, "the panic went past it");
	cr_expect_eq(rig.m->waits[1].clipped, 0);
	cr_expect_eq(rig.m->waits[2].end_ns, 20000000);
	cr_expect_eq(rig.m->waits[2].clipped, CLIPPED_AFTER);
	cr_expect_eq(rig.m->waits[2].target, op_of_class(&rig, "exec", 1));
	cr_expect_eq(rig.m->integrity.unwound_ops, 0, "a wait is no op");
}

/* Addresses are used again: the one who has the key while the wait lasts. */
Test(held, keys_that_are_used_again)
{
	ENTER(&rig, MS(1), EXEC, FRAME(101, 64), "u7");
	LEAVE(&rig, MS(2), EXEC, FRAME(101, 64));
	ENTER(&rig, MS(3), WAIT, FRAME(100, 64), "u7", "u0");
	ENTER(&rig, MS(4), EXEC, FRAME(101, 64), "u7");
	LEAVE(&rig, MS(6), EXEC, FRAME(101, 64));
	LEAVE(&rig, US(6100), WAIT, FRAME(100, 64));
	/* it is over when the next one comes: there is nobody to wait for */
	ENTER(&rig, MS(8), WAIT, FRAME(100, 64), "u7", "u0");
	LEAVE(&rig, MS(9), WAIT, FRAME(100, 64));
	ENTER(&rig, MS(10), WAIT, FRAME(100, 64), "u99", "u0");
	LEAVE(&rig, MS(11), WAIT, FRAME(100, 64));
	rig_finish(&rig, MS(20));
	cr_assert_eq(rig.m->wait_n, 4);
	cr_expect_eq(rig.m->waits[1].target, op_of_class(&rig, "exec", 2));
	cr_expect_eq(rig.m->waits[2].target, 0);
	cr_expect_str_eq(rig_str(&rig, rig.m->waits[2].ident_id), "oc:7");
	cr_expect_str_eq(rig_str(&rig, rig.m->waits[3].ident_id), "oc:99");
}

/* Keys of ops that are over are forgotten in time, not those of ops that go on. */
Test(held, very_many_keys)
{
	char n[16];

	ENTER(&rig, US(1), EXEC, FRAME(101, 64), "u7");
	for (int i = 100; i < 150000; i++) {
		snprintf(n, sizeof(n), "u%d", i);
		ENTER(&rig, US(i), EXEC, FRAME(102, 64), n);
		LEAVE(&rig, US(i), EXEC, FRAME(102, 64));
	}
	ENTER(&rig, MS(200), WAIT, FRAME(100, 64), "u7", "u0");
	LEAVE(&rig, MS(201), EXEC, FRAME(101, 64));
	LEAVE(&rig, MS(201), WAIT, FRAME(100, 64));
	cr_assert_eq(assemble_finish(rig.a, MS(300)), 0);
	cr_assert_eq(rig.m->wait_n, 2);
	cr_expect_eq(rig.m->waits[1].target, op_of_class(&rig, "exec", 1));
}

Test(held, keys_are_of_one_process)
{
	struct where other = { .tid = 200, .tgid = 200, .cfa = 1000 };

	ENTER(&rig, MS(1), EXEC, FRAME(101, 64), "u7");
	ENTER(&rig, MS(2), WAIT, other, "u7", "u0");
	LEAVE(&rig, MS(3), WAIT, other);
	rig_finish(&rig, MS(20));
	cr_expect_eq(only_wait()->target, 0);
}

Test(held, reasons_by_target)
{
	static const struct {
		enum op_kind kind;
		enum wait_reason reason;
	} rows[] = { { OP_CALL_EXEC, REASON_CALL_EXEC }, { OP_LAZY, REASON_LAZY }, { OP_SERVICE_START, REASON_SERVICE },
		     { OP_EXEC, REASON_EXEC }, { OP_IO, REASON_OTHER } };

	for (unsigned i = 0; i < 5; i++) {
		POINT(&rig, EXEC, .kind = rows[i].kind, .class = TEXT("target"), .key = TEXT("k"));
		POINT(&rig, WAIT, .role = ASSEMBLE_ROLE_WAIT, .target = TEXT("k"));
		ENTER(&rig, MS(10 * i + 1), EXEC, FRAME(101, 64));
		ENTER(&rig, MS(10 * i + 2), WAIT, FRAME(100, 64));
		LEAVE(&rig, MS(10 * i + 3), EXEC, FRAME(101, 64));
		LEAVE(&rig, MS(10 * i + 3), WAIT, FRAME(100, 64));
	}
	rig_finish(&rig, MS(100));
	cr_assert_eq(rig.m->wait_n, 6);
	for (unsigned i = 0; i < 5; i++)
		cr_expect_eq(row_of(&rig.m->waits[i + 1])->reason, rows[i].reason, "%u", i);
}

/* ---- waits that no choke point knows of ---- */

Test(held, a_wait_is_the_innermost_ops)
{
	BLOCK(100, MS(1), MS(2), MS(2), 1);
	ENTER(&rig, MS(3), CALL, FRAME(100, 64), "sa");
	BLOCK(100, MS(4), MS(5), MS(5), 2);
	ENTER(&rig, MS(6), ANY, FRAME(100, 128));
	BLOCK(100, MS(7), MS(8), MS(8), 3);
	LEAVE(&rig, MS(9), ANY, FRAME(100, 128));
	BLOCK(100, MS(10), MS(11), MS(11), 4);
	LEAVE(&rig, MS(12), CALL, FRAME(100, 64), "u0");
	BLOCK(100, MS(13), MS(14), MS(14), 5);
	rig_finish(&rig, MS(20));
	cr_assert_eq(rig.m->wait_n, 6);
	cr_expect_eq(rig.m->waits[1].op, rig_op_of_thread(&rig, 100));
	cr_expect_eq(rig.m->waits[2].op, op_of_class(&rig, "call", 1));
	cr_expect_eq(rig.m->waits[3].op, op_of_class(&rig, "any", 1));
	cr_expect_eq(rig.m->waits[4].op, op_of_class(&rig, "call", 1));
	cr_expect_eq(rig.m->waits[5].op, rig_op_of_thread(&rig, 100));
}

/* 101 wakes 100 at 10 ms; its op ends after_us later, having blocked in between or not. */
static const struct model_wait *woken_by_op(int after_us, bool blocks)
{
	ENTER(&rig, MS(1), CALL, FRAME(101, 64), "sa");
	ENTER(&rig, MS(2), ANY, FRAME(101, 128));
	ENTER(&rig, MS(3), CALL, FRAME(100, 64), "sb");
	BLOCK(100, MS(4), MS(10), US(10005), 1, BY(101));
	if (blocks)
		BLOCK(101, US(10010), US(10020), US(10030), 1);
	LEAVE(&rig, US(10000 + after_us), ANY, FRAME(101, 128));
	ENTER(&rig, US(10001 + after_us), ANY, FRAME(101, 128));
	LEAVE(&rig, US(10002 + after_us), ANY, FRAME(101, 128));
	LEAVE(&rig, MS(15), CALL, FRAME(101, 64), "u0");
	LEAVE(&rig, MS(16), CALL, FRAME(100, 64), "u0");
	rig_finish(&rig, MS(20));
	return &rig.m->waits[rig.m->threads[rig.m->waits[1].thread].tid == 100 ? 1 : 2];
}

Test(held, the_wakers_op_ends_with_the_wake)
{
	const struct model_wait *w = woken_by_op(900, false);

	cr_expect_eq(w->target, op_of_class(&rig, "any", 1));
	cr_expect_eq(model_wait_waker_op(rig.m, w), op_of_class(&rig, "any", 1));
}

Test(held, the_wakers_op_goes_on)
{
	const struct model_wait *w = woken_by_op(1100, false);

	cr_expect_eq(w->target, 0, "a wake from the middle of an op");
	cr_expect_eq(model_wait_waker_op(rig.m, w), op_of_class(&rig, "any", 1));
}

Test(held, the_wakers_op_blocks_again)
{
	const struct model_wait *w = woken_by_op(900, true);

	cr_expect_eq(w->target, 0);
	cr_expect_eq(model_wait_waker_op(rig.m, w), op_of_class(&rig, "any", 1));
}

Test(held, nobody_waits_for_what_it_is_a_part_of)
{
	ENTER(&rig, MS(1), CALL, FRAME(101, 64), "sa");
	rig_fork(&rig, MS(2), 101, 100, 110, 100);
	ENTER(&rig, MS(3), ANY, FRAME(110, 64));
	BLOCK(110, MS(4), MS(10), US(10005), 1, BY(101));
	LEAVE(&rig, US(10100), CALL, FRAME(101, 64), "u0");
	LEAVE(&rig, MS(12), ANY, FRAME(110, 64));
	rig_finish(&rig, MS(20));
	cr_expect_eq(only_wait()->target, 0);
	cr_expect_eq(model_wait_waker_op(rig.m, only_wait()), op_of_class(&rig, "call", 1));
}

Test(held, a_waker_without_an_op)
{
	ENTER(&rig, MS(1), CALL, FRAME(101, 64), "sa");
	LEAVE(&rig, MS(2), CALL, FRAME(101, 64), "u0");
	BLOCK(100, MS(4), MS(10), US(10005), 1, BY(101));
	rig_finish(&rig, MS(20));
	cr_expect_eq(only_wait()->target, 0);
	cr_expect_eq(model_wait_waker_op(rig.m, only_wait()), rig_op_of_thread(&rig, 101));
}

/* A choke point's wait inside another's: both last, the time is counted once. */
Test(held, waits_within_waits)
{
	const struct model_wait *outer, *inner;

	ENTER(&rig, MS(1), EXEC, FRAME(101, 64), "u7");
	ENTER(&rig, MS(2), WAIT, FRAME(100, 64), "u7", "u0");
	ENTER(&rig, MS(3), LOCK, FRAME(100, 128), "smu");
	BLOCK(100, MS(4), MS(6), MS(6), 1);
	LEAVE(&rig, MS(7), LOCK, FRAME(100, 128));
	BLOCK(100, MS(8), MS(9), MS(9), 2);
	LEAVE(&rig, MS(10), EXEC, FRAME(101, 64));
	LEAVE(&rig, MS(10), WAIT, FRAME(100, 64));
	rig_finish(&rig, MS(20));
	cr_assert_eq(rig.m->wait_n, 3);
	inner = &rig.m->waits[1];
	outer = &rig.m->waits[2];
	cr_expect_eq(row_of(inner)->reason, REASON_LOCK);
	cr_expect(inner->start_ns == 4000000 && inner->end_ns == 7000000 && inner->blocked_ns == 2000000);
	cr_expect(outer->start_ns == 2000000 && outer->end_ns == 10000000 && outer->blocked_ns == 3000000);
}

/* ---- functions that do other things behind their wait ---- */

#define ONCE(...)                                                                                 \
	POINT(&rig, WAIT, .role = ASSEMBLE_ROLE_WAIT, .target = TEXT("oc:{0}"), .once = true, __VA_ARGS__)

Test(held, over_when_it_has_blocked_once)
{
	const struct model_wait *w, *behind;

	ONCE();
	ENTER(&rig, MS(1), EXEC, FRAME(101, 64), "u7");
	ENTER(&rig, MS(2), CALL, FRAME(100, 64), "sa");
	ENTER(&rig, MS(3), WAIT, FRAME(100, 128), "u7");
	BLOCK(100, MS(4), MS(4), US(4500), 1, .flags = WCBPF_IV_PREEMPTED, .syscall = -1);
	BLOCK(100, MS(5), MS(10), US(10300), 2, BY(101));
	LEAVE(&rig, US(10100), EXEC, FRAME(101, 64));
	ENTER(&rig, MS(11), ANY, FRAME(100, 192));
	LEAVE(&rig, MS(12), ANY, FRAME(100, 192));
	BLOCK(100, MS(13), MS(15), US(15100), 3);
	LEAVE(&rig, MS(16), WAIT, FRAME(100, 128));
	LEAVE(&rig, MS(17), CALL, FRAME(100, 64), "u0");
	rig_finish(&rig, MS(20));
	cr_assert_eq(rig.m->wait_n, 3);
	w = rig.m->waits[1].target ? &rig.m->waits[1] : &rig.m->waits[2];
	behind = w == &rig.m->waits[1] ? &rig.m->waits[2] : &rig.m->waits[1];
	cr_expect_eq(w->target, op_of_class(&rig, "exec", 1));
	cr_expect_eq(w->start_ns, 3000000);
	cr_expect_eq(w->end_ns, 10300000);
	cr_expect_eq(w->blocked_ns, 5000000);
	cr_expect_eq(row_of(w)->reason, REASON_CALL_EXEC);
	cr_expect_eq(behind->start_ns, 13000000);
	cr_expect_eq(behind->target, 0);
	cr_expect_eq(behind->op, w->op);
}

Test(held, what_was_over_before_is_not_waited_for)
{
	ONCE();
	ENTER(&rig, MS(1), EXEC, FRAME(101, 64), "u7");
	ENTER(&rig, MS(3), WAIT, FRAME(100, 128), "u7");
	LEAVE(&rig, MS(4), EXEC, FRAME(101, 64));
	BLOCK(100, MS(5), MS(10), US(10300), 1);
	LEAVE(&rig, MS(11), WAIT, FRAME(100, 128));
	rig_finish(&rig, MS(20));
	cr_assert_eq(rig.m->wait_n, 3);
	for (size_t i = 1; i < 3; i++) {
		const struct model_wait *w = &rig.m->waits[i];

		cr_expect_eq(w->start_ns, w->target ? 3000000 : 5000000);
		cr_expect_eq(w->end_ns, w->target ? 3000000 : 10300000);
	}
}

Test(held, still_waiting_at_the_end)
{
	ONCE();
	ENTER(&rig, MS(1), EXEC, FRAME(101, 64), "u7");
	ENTER(&rig, MS(3), WAIT, FRAME(100, 128), "u7");
	rig_finish(&rig, MS(20));
	cr_expect_eq(only_wait()->end_ns, 20000000);
	cr_expect(only_wait()->clipped & CLIPPED_AFTER);
}

/* A function that waits for another's work, does it itself, or finds it done; and takes a lock for that. */
Test(held, none_if_nobody_else_is_at_it)
{
	ONCE(.contended = true);
	ENTER(&rig, MS(1), WAIT, FRAME(100, 64), "u1");
	BLOCK(100, MS(2), MS(3), US(3100), 1);
	LEAVE(&rig, MS(4), WAIT, FRAME(100, 64));
	ENTER(&rig, MS(5), WAIT, FRAME(100, 64), "u7");
	BLOCK(100, MS(6), MS(7), US(7100), 2);
	ENTER(&rig, MS(8), EXEC, FRAME(100, 128), "u7");
	ENTER(&rig, MS(9), WAIT, FRAME(101, 64), "u7");
	BLOCK(101, MS(10), MS(12), US(12100), 1);
	LEAVE(&rig, US(12100), EXEC, FRAME(100, 128));
	LEAVE(&rig, MS(13), WAIT, FRAME(100, 64));
	LEAVE(&rig, MS(13), WAIT, FRAME(101, 64));
	ENTER(&rig, MS(14), WAIT, FRAME(100, 64), "u7");
	LEAVE(&rig, MS(15), WAIT, FRAME(100, 64));
	rig_finish(&rig, MS(20));
	cr_assert_eq(rig.m->wait_n, 4);
	for (size_t i = 1; i < 4; i++)
		cr_expect_eq(rig.m->waits[i].target != 0, rig.m->waits[i].start_ns == 9000000, "of %lld",
			     (long long)rig.m->waits[i].start_ns);
}
