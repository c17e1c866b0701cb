/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* --only: what is under ops that match, with what they spawn, and nothing else. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "hits.h"

static struct rig rig;

enum { SESSION = 1, CALL, WAIT, LATE };

static void scoped(const char *only)
{
	static const char *const reasons[] = { "", "select" };

	rig_start_with(&rig, &(struct assemble_options){ .begin_ns = RIG_BEGIN_NS, .epoch_unix_ns = 1700000000000000000,
							 .keep_args = true, .only = only });
	for (uint32_t tid = 100; tid < 103; tid++)
		rig_seed(&rig, 100, tid, "app");
	assemble_go_set(rig.a, 100, reasons, 2);
	POINT(&rig, SESSION, .kind = OP_SESSION_PHASE, .class = TEXT("serve"), .ident = TEXT("{0}"), .client = TEXT("{1}"));
	POINT(&rig, CALL, .kind = OP_CALL, .class = TEXT("a::b::call"), .key = TEXT("k{0}"));
	POINT(&rig, WAIT, .role = ASSEMBLE_ROLE_WAIT, .target = TEXT("k{0}"),
	      .reason = CHOICES({ .cmp = ASSEMBLE_ALWAYS, .word = REASON_SINGLEFLIGHT }));
	POINT(&rig, LATE, .kind = OP_SESSION_PHASE, .class = TEXT("serve"), .ident = TEXT("{8}"));
}

static void stop(void)
{
	rig_stop(&rig);
}

TestSuite(scope, .fini = stop);

#define G(goid, depth) GO_FRAME(100, goid, 0xc0001000 + (goid) * 0x10000, depth)

static void work(uint64_t goid, const char *ident, const char *client, int64_t at_ms)
{
	ENTER(&rig, MS(at_ms), SESSION, G(goid, 64), ident, client);
	GO_WAIT(&rig, goid, MS(at_ms + 1), MS(at_ms + 2), MS(at_ms + 2), .reason = 1);
	ENTER(&rig, MS(at_ms + 3), CALL, G(goid, 128), "u1");
	RIG_INTERVAL(&rig, MS(at_ms + 4), MS(at_ms + 5), MS(at_ms + 5), .seq = (uint32_t)at_ms, .goid = goid,
		     .syscall = __NR_read);
	LEAVE(&rig, MS(at_ms + 6), CALL, G(goid, 128));
	LEAVE(&rig, MS(at_ms + 7), SESSION, G(goid, 64));
	GO_WAIT(&rig, goid, MS(at_ms + 8), MS(at_ms + 9), MS(at_ms + 9), .reason = 1);
}

static void two_sessions(void)
{
	work(7, "sone", "sx", 10);
	work(8, "stwo", "sy", 20);
	ENTER(&rig, MS(30), CALL, G(9, 64), "u2");
	LEAVE(&rig, MS(31), CALL, G(9, 64));
	RIG_INTERVAL(&rig, MS(32), MS(33), MS(33), .seq = 100);
	rig_finish(&rig, MS(100));
}

/* It is told by the threads that left the CPU, also of what a goroutine did on them. */
static uint64_t left_out_ns(void)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < rig.m->thread_n; i++) {
		cr_expect(!rig.m->threads[i].left_out_ns || rig.m->threads[i].tid == 100);
		cr_expect(!rig.m->threads[i].goid || !rig.m->threads[i].left_out_ns);
		sum_ns += rig.m->threads[i].left_out_ns;
	}
	return sum_ns;
}

Test(scope, by_ident)
{
	scoped("session_phase:serve:two");
	two_sessions();
	cr_expect_eq(ops_of_class(&rig, "serve"), 1);
	cr_expect_eq(ops_of_class(&rig, "a::b::call"), 1);
	cr_expect_str_eq(rig_str(&rig, rig.m->ops[op_of_class(&rig, "serve", 1)].ident_id), "two");
	cr_expect_eq(rig.m->wait_n - 1, 2, "not what came after it, nor what idle threads do");
	for (size_t i = 1; i < rig.m->wait_n; i++)
		cr_expect_eq(rig.m->threads[rig.m->waits[i].thread].goid, 8);
	cr_expect_eq(entry_of(&rig, 7), 0);
	cr_expect(rig.m->integrity.recorded == 1 && rig.m->integrity.out_of_scope == 2);
	cr_expect_eq(left_out_ns(), 2 * 1000000, "of a millisecond each");
	cr_expect_eq(rig.m->integrity.unmatched_exits, 0);
	cr_expect(model_is_complete(rig.m));
}

Test(scope, by_client)
{
	scoped("session_phase:serve:x");
	two_sessions();
	cr_expect_str_eq(rig_str(&rig, rig.m->ops[op_of_class(&rig, "serve", 1)].ident_id), "one");
	cr_expect_eq(ops_of_class(&rig, "serve"), 1);
}

Test(scope, by_class_alone)
{
	scoped("call:a::b::call");
	two_sessions();
	cr_expect_eq(ops_of_class(&rig, "serve"), 0);
	cr_expect_eq(ops_of_class(&rig, "a::b::call"), 3);
	cr_expect_eq(rig.m->wait_n - 1, 2);
	for (unsigned i = 1; i <= 3; i++)
		cr_expect_eq(rig.m->ops[rig.m->ops[op_of_class(&rig, "a::b::call", i)].parent].kind, OP_INTERNAL);
}

Test(scope, any_kind_and_class)
{
	scoped("*:*:two");
	two_sessions();
	cr_expect_eq(ops_of_class(&rig, "serve"), 1);
}

Test(scope, what_it_spawns)
{
	scoped("session_phase:serve:two");
	ENTER(&rig, MS(1), SESSION, G(7, 64), "sone", "sx");
	ENTER(&rig, MS(1), SESSION, G(8, 64), "stwo", "sy");
	go_birth(&rig, MS(2), 100, 7, 17, 0x1000);
	go_birth(&rig, MS(2), 100, 8, 18, 0x1000);
	go_birth(&rig, MS(3), 100, 18, 28, 0x1000);
	LEAVE(&rig, MS(4), SESSION, G(8, 64));
	LEAVE(&rig, MS(4), SESSION, G(7, 64));
	rig_fork(&rig, MS(5), 100, 100, 140, 140);
	for (uint64_t goid = 17; goid <= 28; goid += goid == 18 ? 10 : 1) {
		GO_WAIT(&rig, goid, MS(6), MS(7), MS(7), .reason = 1);
		ENTER(&rig, MS(8), CALL, G(goid, 64), "u5");
		LEAVE(&rig, MS(9), CALL, G(goid, 64));
	}
	rig_finish(&rig, MS(100));
	cr_expect_eq(ops_of_class(&rig, "a::b::call"), 2);
	cr_expect_eq(rig.m->wait_n - 1, 2);
	cr_expect(entry_of(&rig, 18) && entry_of(&rig, 28) && !entry_of(&rig, 17));
	for (unsigned i = 1; i <= 2; i++)
		cr_expect_eq(rig.m->ops[op_of_class(&rig, "a::b::call", i)].parent, op_of_class(&rig, "serve", 1));
}

Test(scope, processes_that_it_starts)
{
	scoped("session_phase:serve");
	ENTER(&rig, MS(1), SESSION, FRAME(100, 64), "sone", "sx");
	rig_fork(&rig, MS(2), 100, 100, 150, 150);
	LEAVE(&rig, MS(3), SESSION, FRAME(100, 64));
	rig_fork(&rig, MS(4), 100, 100, 151, 151);
	rig_fork(&rig, MS(5), 150, 150, 160, 160);
	for (uint32_t pid = 150; pid <= 160; pid += pid == 151 ? 9 : 1)
		RIG_INTERVAL(&rig, MS(6), MS(7), MS(7), .seq = 1, .tid = pid, .tgid = pid);
	rig_finish(&rig, MS(100));
	cr_assert_eq(rig.m->wait_n - 1, 2);
	cr_expect(rig.m->ops[rig.m->waits[1].op].pid != 151 && rig.m->ops[rig.m->waits[2].op].pid != 151);
}

Test(scope, a_join_to_work_outside)
{
	scoped("session_phase:serve:two");
	ENTER(&rig, MS(1), CALL, G(7, 64), "u5");
	ENTER(&rig, MS(2), SESSION, G(8, 64), "stwo", "sy");
	ENTER(&rig, MS(3), WAIT, G(8, 128), "u5");
	LEAVE(&rig, MS(5), CALL, G(7, 64));
	GO_WAIT(&rig, 8, MS(4), MS(5), MS(6), .reason = 1, .waker_goid = 7, .waker_tid = 100,
		.flags = WCBPF_GO_WAKER_KNOWN, .waker_ctx = WCBPF_WAKER_TASK);
	LEAVE(&rig, MS(7), WAIT, G(8, 128));
	LEAVE(&rig, MS(8), SESSION, G(8, 64));
	rig_finish(&rig, MS(100));
	cr_assert_eq(rig.m->wait_n, 2);
	cr_expect_eq(rig.m->waits[1].target, 0);
	cr_expect_str_eq(rig_str(&rig, rig.m->waits[1].ident_id), "k5");
	cr_expect_eq(rig.m->rows[rig.m->waits[1].row].reason, REASON_SINGLEFLIGHT);
}

/* Whether it matches comes with its exit: what is under it is kept or not then. */
Test(scope, names_that_come_late)
{
	scoped("session_phase:serve:two");
	for (int i = 0; i < 3; i++) {
		ENTER(&rig, MS(10 * i + 1), LATE, FRAME(100, 64));
		RIG_INTERVAL(&rig, MS(10 * i + 2), MS(10 * i + 3), MS(10 * i + 3), .seq = (uint32_t)(2 * i + 1));
		ENTER(&rig, MS(10 * i + 4), CALL, FRAME(100, 128), "u1");
		RIG_INTERVAL(&rig, MS(10 * i + 5), MS(10 * i + 6), MS(10 * i + 6), .seq = (uint32_t)(2 * i + 2));
		if (i == 2) {
			ENTER(&rig, MS(10 * i + 6), SESSION, FRAME(100, 256), "stwo", "s");
			LEAVE(&rig, MS(10 * i + 6), SESSION, FRAME(100, 256));
		}
		LEAVE(&rig, MS(10 * i + 7), CALL, FRAME(100, 128));
		LEAVE(&rig, MS(10 * i + 8), LATE, FRAME(100, 64), i == 1 ? "stwo" : "sone");
	}
	assemble_finish(rig.a, MS(100));
	cr_expect_eq(ops_of_class(&rig, "serve"), 2, "the one, and one that matches by itself inside of another");
	cr_expect_eq(ops_of_class(&rig, "a::b::call"), 1);
	cr_expect_eq(rig.m->wait_n - 1, 2);
	cr_expect(rig.m->integrity.recorded == 2 && rig.m->integrity.out_of_scope == 4);
	cr_expect_eq(left_out_ns(), 4 * 1000000);
	for (uint32_t i = 1; i < rig.m->op_n; i++)
		cr_expect(rig.m->ops[i].id == i && rig.m->ops[i].parent < rig.m->op_n && rig.m->ops[i].parent != i);
	for (size_t i = 1; i < rig.m->wait_n; i++)
		cr_expect(rig.m->waits[i].op && rig.m->waits[i].op < rig.m->op_n);
	cr_expect_eq(rig.m->ops[op_of_class(&rig, "a::b::call", 1)].parent, op_of_class(&rig, "serve", 1));
}

Test(scope, what_is_refused)
{
	static const char *const wrong[] = { "", "call", "call:", ":x", "nokind:x", "nokind" };
	struct assemble *a = NULL;
	struct model *m;

	scoped("*:*");
	cr_assert_eq(model_new(&m), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cr_expect_eq(assemble_new(m, &(struct assemble_options){ .only = wrong[i] }, &a), -EINVAL, "'%s'", wrong[i]);
		cr_expect_null(a);
	}
	model_free(m);
}
