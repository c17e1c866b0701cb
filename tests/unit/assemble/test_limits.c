/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The event cap, damaged events, and a stream of random ones: what holds of every model holds of theirs. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "hits.h"

static struct rig rig;

static void stop(void)
{
	rig_stop(&rig);
}

TestSuite(limits, .fini = stop);

Test(limits, cap_counts_what_it_drops)
{
	/* Two ops for the process and its thread leave room for three waits. */
	rig_start(&rig, 5);
	rig_seed(&rig, 100, 100, "app");
	for (int i = 0; i < 10; i++)
		RIG_INTERVAL(&rig, MS(10 * i), MS(10 * i + 1), MS(10 * i + 2), .seq = 1 + (uint32_t)i);
	rig_finish(&rig, MS(1000));
	cr_expect_eq(model_event_n(rig.m), 5);
	cr_expect_eq(rig.m->wait_n, 4);
	cr_expect_eq(rig.m->integrity.dropped_events, 7);
	cr_expect_eq(rig.m->integrity.recorded, 10);
	cr_expect_eq(rig.m->rows[1].count, 10, "totals go on");
	cr_expect_eq(rig.m->rows[1].blocked_ns, 10000000);
}

Test(limits, what_is_under_a_dropped_op_is_dropped)
{
	rig_start(&rig, 3);
	rig_seed(&rig, 100, 100, "app");
	/* its exec op takes the last place: no link, no thread op, no phase, no waits */
	rig_fork(&rig, MS(1), 100, 100, 150, 150);
	rig_exec(&rig, MS(2), 150, 150, "x", "x", 2);
	RIG_INTERVAL(&rig, MS(3), MS(4), MS(5), .seq = 1, .tid = 150, .tgid = 150);
	rig_fork(&rig, MS(6), 150, 150, 160, 160);
	RIG_INTERVAL(&rig, MS(7), MS(8), MS(9), .seq = 1, .tid = 160, .tgid = 160);
	rig_exit(&rig, MS(10), 160, 160, 0, true);
	rig_exit(&rig, MS(11), 150, 150, 0, true);
	rig_finish(&rig, MS(20));
	cr_expect_eq(model_event_n(rig.m), 3);
	cr_expect_eq(rig.m->wait_n, 1);
	/* link, thread and phase of 150 and its wait; link, process and thread of 160 and its wait */
	cr_expect_eq(rig.m->integrity.dropped_events, 8);
	cr_expect_eq(rig.m->integrity.recorded, 2);
	cr_expect_eq(rig.m->thread_n, 4, "totals by thread go on");
}

Test(limits, damaged_events)
{
	union {
		struct wcbpf_head head;
		struct wcbpf_interval interval;
		struct wcbpf_exec exec;
		struct wcbpf_stack stack;
		struct wcbpf_fork fork;
		struct wcbpf_thread_totals totals;
	} e;
	uint64_t damaged = 0;

	rig_start(&rig, 0);
	for (uint16_t kind = 0; kind < 20; kind++) {
		memset(&e, 0, sizeof(e));
		e.head = (struct wcbpf_head){ .kind = kind, .size = sizeof(e.head), .time_ns = MS(1) };
		cr_expect_eq(assemble_event(rig.a, &e.head), -EBADMSG, "kind %u", kind);
		damaged++;
	}
	memset(&e, 0, sizeof(e));
	e.head = (struct wcbpf_head){ .kind = WCBPF_EV_EXEC, .size = offsetof(struct wcbpf_exec, argv) + 4 };
	e.exec.tid = e.exec.tgid = 100;
	e.exec.argv_len = 5;
	cr_expect_eq(assemble_event(rig.a, &e.head), -EBADMSG, "argv longer than the event");
	e.exec.argv_len = UINT32_MAX;
	cr_expect_eq(assemble_event(rig.a, &e.head), -EBADMSG);
	memset(&e, 0, sizeof(e));
	e.head = (struct wcbpf_head){ .kind = WCBPF_EV_STACK, .size = offsetof(struct wcbpf_stack, copy) };
	e.stack.id = 1;
	e.stack.copy_len = 8;
	cr_expect_eq(assemble_event(rig.a, &e.head), -EBADMSG, "copy longer than the event");
	e.stack.copy_len = 0;
	e.stack.frame_n = WCBPF_STACK_DEPTH_MAX + 1;
	cr_expect_eq(assemble_event(rig.a, &e.head), -EBADMSG, "more frames than there are");
	memset(&e, 0, sizeof(e));
	e.head = (struct wcbpf_head){ .kind = WCBPF_EV_INTERVAL, .size = sizeof(e.interval), .time_ns = MS(2) };
	e.interval.out_ns = MS(1);
	cr_expect_eq(assemble_event(rig.a, &e.head), -EBADMSG, "tid 0 is no thread");
	memset(&e, 0, sizeof(e));
	e.head = (struct wcbpf_head){ .kind = WCBPF_EV_THREAD, .size = sizeof(e.totals), .time_ns = MS(2) };
	e.totals.tid = e.totals.tgid = 100;
	e.totals.begin_ns = 2;
	e.totals.end_ns = 1;
	cr_expect_eq(assemble_event(rig.a, &e.head), -EBADMSG, "dead before it was born");
	damaged += 6;
	rig_finish(&rig, MS(10));
	cr_expect_eq(rig.m->integrity.lost_samples, 1, "a sample is no interval");
	cr_expect_eq(rig.m->integrity.lost_ops, 1, "nor is a hit");
	cr_expect_eq(rig.m->integrity.lost_go_events, 3);
	cr_expect_eq(rig.m->integrity.lost_unprocessed, damaged - 5);
	cr_expect_eq(rig.m->thread_n, 1, "nothing came of them");
	cr_expect_eq(rig.m->wait_n, 1);
}

Test(limits, stack_indexes)
{
	uint32_t kernel, user, again;

	rig_start(&rig, 0);
	cr_expect_eq(assemble_stack_index(rig.a, STACK_KERNEL, 0, &kernel), 0);
	cr_expect_eq(kernel, 0);
	cr_expect_eq(assemble_stack_index(rig.a, STACK_KERNEL, 77, &kernel), 0);
	cr_expect_eq(assemble_stack_index(rig.a, STACK_USER, 77, &user), 0);
	cr_expect_eq(assemble_stack_index(rig.a, STACK_KERNEL, 77, &again), 0);
	cr_expect(kernel && user && kernel != user && kernel == again);
	cr_expect_eq(rig.m->stacks[user].side, STACK_USER);
	rig_finish(&rig, MS(1));
}

/* xorshift64*: the same stream in each run. */
static uint64_t random_state;
static uint64_t random_u64(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 0x2545f4914f6cdd1dull;
}
static uint64_t below(uint64_t n)
{
	return random_u64() % n;
}

static void random_interval(uint64_t now)
{
	static const int32_t calls[] = { __NR_futex, __NR_read, __NR_wait4, __NR_waitid, __NR_poll, __NR_nanosleep, -1,
					 __NR_restart_syscall, 449, 455, 511, 9999 };
	struct wcbpf_interval e = {
		.head.time_ns = now - below(3000),
		.args = { below(8) * 4, below(16) | below(2) * 128, 1 + below(40), below(4) },
		.timeout_ns = below(2) ? -1 : (int64_t)below(1000000),
		.flags = (uint32_t)(below(4) ? random_u64() & random_u64() & 0x1ffff : random_u64()),
		.tid = 1 + (uint32_t)below(40), .tgid = 1 + (uint32_t)below(8), .seq = (uint32_t)below(6),
		.syscall = calls[below(sizeof(calls) / sizeof(calls[0]))],
		.state = below(8) ? 1u << below(4) : (uint32_t)random_u64(),
		.waker_tid = (uint32_t)below(42), .waker_tgid = (uint32_t)below(9), .owner_tid = (uint32_t)below(42),
		.waker_ctx = (uint8_t)below(8), .kstack_id = below(5), .ustack_id = below(5), .resource_id = below(6),
	};

	e.out_ns = e.head.time_ns - below(2000000) + below(64) / 63 * 4000000;
	e.wake_ns = below(5) ? e.out_ns + below(2500000) - below(3000) : below(3);
	for (size_t i = 0; i < sizeof(e.comm); i++)
		e.comm[i] = (char)(below(20) ? 'a' + below(2) : random_u64());
	rig_interval(&rig, &e);
}

static void random_lifecycle(uint64_t now)
{
	uint32_t tid = 1 + (uint32_t)below(40), tgid = 1 + (uint32_t)below(8), other = 1 + (uint32_t)below(40);

	switch (below(7)) {
	case 0:
		rig_fork(&rig, now, tid, tgid, other, tgid);
		break;
	case 1:
		rig_fork(&rig, now, tid, tgid, other % 8 + 1, other % 8 + 1);
		break;
	case 2:
		rig_exec(&rig, now - below(2000), tgid, below(3) ? other : tgid, "prog", "a\0\xff\0b", below(6));
		break;
	case 3:
		rig_exit(&rig, now - below(2000), below(2) ? tid : tgid, tgid, (int)below(512), below(3) == 0);
		break;
	case 4:
		rig_result(&rig, now, tid, tgid, (uint32_t)below(6), (int64_t)below(3) * -110);
		break;
	case 5:
		rig_totals(&rig, &(struct wcbpf_thread_totals){
					 .tid = tid, .tgid = tgid, .start_ns = below(3), .end_ns = now + 5,
					 .begin_ns = now - below(6000000), .open = below(2) == 0,
					 .seeded = below(2) == 0 });
		break;
	default:
		if (below(2))
			rig_seed(&rig, tgid, tid, "seeded");
		else
			rig_seed_child(&rig, tgid, tid, below(4), (uint32_t)below(9), below(4));
	}
}

/* One of each role, their texts of any value. */
static void points_set(void)
{
	for (uint32_t i = 0; i < 16; i++) {
		struct assemble_point p = {
			.name = "random", .role = i % 8, .kind = (enum op_kind)(i % OP_KIND_MAX), .class = TEXT("{0}"),
			.ident = i % 3 ? TEXT("{x8}") : TEXT("i{1}"), .key = i % 2 ? TEXT("{0}") : TEXT(""),
			.target = i % 4 ? TEXT("{0}") : TEXT(""), .resource = TEXT("r{8}"),
			.trace = TEXT("{0}{1}"), .span = TEXT("{0}"), .contended = i % 5 == 0, .hosts = i % 4 == 0,
			.root = i == 9, .outcome = CHOICES({ .value = 8, .cmp = ASSEMBLE_LT, .than = 2, .word = OUTCOME_HIT }),
			.reason = CHOICES({ .value = 0, .cmp = ASSEMBLE_EQ, .than = 1, .word = REASON_SINGLEFLIGHT }),
			.only = i < 8 ? (struct assemble_choices){ 0 } :
					CHOICES({ .value = (int8_t)(i % 2 * 8), .cmp = ASSEMBLE_NE, .than = 3, .word = 1 }),
		};

		cr_assert_eq(assemble_point_set(rig.a, i + 1, &p), 0);
	}
}

static void random_hit(uint64_t now)
{
	static const char *const values[] = { "u0", "u1", "u2", "u3", "!", "sx", "b0123456789abcdef" };
	struct where w = { .tid = 1 + (uint32_t)below(40), .tgid = 1 + (uint32_t)below(8), .goid = below(2) * below(12),
			   .ustack_id = below(4) };
	enum wcbpf_site_kind kind = below(5) ? WCBPF_SITE_ENTRY + (uint32_t)below(2) : WCBPF_SITE_MARK;

	w.stack_hi = w.goid ? 0xc000000000 + w.goid * 0x10000 : 0;
	w.cfa = (w.goid ? w.stack_hi : 0x7f0000000000 + below(20) / 19 * 0x40000000) - 64 * below(12);
	hit(&rig, kind, now - below(2000), 1 + (uint32_t)below(16), w,
	    VALUES(values[below(7)], values[below(7)], values[below(7)]));
}

static void random_goroutine(uint64_t now)
{
	static const char *const reasons[] = { "", "select", "chan receive", "sleep", "GC worker (idle)" };
	uint32_t tid = 1 + (uint32_t)below(40), tgid = 1 + (uint32_t)below(8);
	uint64_t goid = 1 + below(12), park = now - below(3000000);

	switch (below(8)) {
	case 0:
		assemble_event(rig.a, &(struct wcbpf_go_birth){
					      .head = { .kind = WCBPF_EV_GO_BIRTH, .size = sizeof(struct wcbpf_go_birth),
							.time_ns = now },
					      .goid = goid, .parent_goid = below(12), .start_pc = below(4) * 16, .tid = tid,
					      .tgid = tgid, .flags = (uint32_t)below(2) }.head);
		break;
	case 1:
		assemble_event(rig.a, &(struct wcbpf_go_death){
					      .head = { .kind = WCBPF_EV_GO_DEATH, .size = sizeof(struct wcbpf_go_death),
							.time_ns = now },
					      .goid = goid, .tid = tid, .tgid = tgid }.head);
		break;
	case 2:
		if (below(10) == 0)
			assemble_go_set(rig.a, tgid, reasons, 5);
		else
			assemble_go_function(rig.a, tgid, below(4) * 16, below(2) ? "runtime.bgsweep" : "main.f");
		break;
	default:
		GO_WAIT(&rig, goid, park, below(3) ? park + below(4000000) : 0, now, .tid = tid, .tgid = tgid,
			.reason = (uint8_t)below(7), .waker_goid = below(13), .waker_tid = (uint32_t)below(41),
			.waker_ctx = (uint8_t)below(6), .flags = (uint32_t)(random_u64() & 0x7f), .ustack_id = below(5),
			.resource = below(3));
	}
}

static void random_recording(uint64_t seed, size_t events, size_t cap, const char *only)
{
	uint64_t now = RIG_BEGIN_NS - 1000000;

	random_state = seed;
	rig_start_with(&rig, &(struct assemble_options){ .begin_ns = RIG_BEGIN_NS, .epoch_unix_ns = 1700000000000000000,
							 .keep_args = true, .event_cap = cap, .only = only });
	points_set();
	rig_stack(&rig, STACK_USER, 1, "libc.so.6:pthread_mutex_lock app:main");
	rig_stack(&rig, STACK_USER, 2, "libc.so.6:pthread_join app:main");
	rig_stack(&rig, STACK_USER, 3, "libc.so.6:pthread_cond_wait app:main");
	rig_stack(&rig, STACK_KERNEL, 1, "schedule io_schedule filemap_fault");
	rig_stack(&rig, STACK_KERNEL, 2, "schedule futex_wait");
	for (size_t i = 0; i < events; i++) {
		now += below(20000);
		if (seed % 2 && below(2)) {
			if (below(3))
				random_hit(now);
			else
				random_goroutine(now);
		} else if (below(4))
			random_interval(now);
		else
			random_lifecycle(now);
		if (below(1000) == 0)
			rig_file(&rig, 1 + below(5), (uint32_t)below(16) << 12, (uint32_t)random_u64());
		if (below(5000) == 0)
			assemble_resource_name(rig.a, 1 + below(5), "file", "/x");
	}
	rig_finish(&rig, below(2) ? now + 10 : RIG_BEGIN_NS + (now - RIG_BEGIN_NS) / 2);
}

Test(limits, random_events_keep_the_invariants, .timeout = 240)
{
	for (int ops = 0; ops < 2; ops++) {
		random_recording(2 - (uint64_t)ops, 100000, 0, NULL);
		cr_expect_gt(rig.m->wait_n, 30000);
		cr_expect_gt(rig.m->link_n, 100);
		if (ops)
			cr_expect_gt(rig.m->integrity.recorded_ops, 30000);
		rig_stop(&rig);
	}
	for (uint64_t seed = 2; seed < 60; seed++) {
		if (seed > 2)
			rig_stop(&rig);
		random_recording(seed, 2000, seed % 3 ? 0 : 300, NULL);
		if (seed % 3 == 0) {
			cr_expect_leq(model_event_n(rig.m), 300);
			cr_expect_gt(rig.m->integrity.dropped_events, 0);
		}
	}
}

Test(limits, random_events_in_a_scope)
{
	static const char *const scopes[] = { "*:*:1", "call:*", "*:2:ffffffffffffffff", "*:random" };

	for (uint64_t seed = 101; seed < 141; seed++) {
		random_recording(seed, 2000, seed % 3 ? 0 : 300, scopes[seed % 4]);
		cr_expect_gt(rig.m->integrity.out_of_scope, 0);
		rig_stop(&rig);
	}
	rig_start(&rig, 0);
}

Test(limits, random_bytes_are_no_harm, .timeout = 120)
{
	static union {
		struct wcbpf_head head;
		unsigned char bytes[sizeof(struct wcbpf_exec)];
	} e;

	random_state = 99;
	rig_start(&rig, 0);
	points_set();
	for (int i = 0; i < 20000; i++) {
		uint64_t recorded = rig.m->integrity.recorded;

		for (size_t at = 0; at < 256; at++)
			e.bytes[at] = (unsigned char)(below(3) ? 0 : random_u64());
		e.head.kind = (uint16_t)below(16);
		e.head.size = below(2) ? (uint32_t)sizeof(e.bytes) : (uint32_t)(sizeof(e.head) + below(300));
		assemble_event(rig.a, &e.head);
		cr_assert_leq(rig.m->integrity.recorded - recorded, 1);
		rig.row_count += rig.m->integrity.recorded - recorded;
	}
	rig.end_ns = UINT64_MAX; /* such times reach beyond the end: sums are not compared */
	rig_finish(&rig, MS(1000));
}
