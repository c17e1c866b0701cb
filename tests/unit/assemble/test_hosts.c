/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Executions that an engine's op hosts: the phases that the kernel sees; and OTel spans. */
#include <criterion/criterion.h>
#include <string.h>

#include "hits.h"

static struct rig rig;

enum { RUN = 1, PHASE, SPAN, SPAN_END, CALL };

static void start(void)
{
	rig_start(&rig, 0);
	rig_seed(&rig, 100, 100, "engine");
	POINT(&rig, RUN, .kind = OP_EXEC, .class = TEXT("run"), .ident = TEXT("{0}"), .hosts = true);
	POINT(&rig, PHASE, .kind = OP_EXEC_PHASE, .class = TEXT("exec.runContainer"));
	POINT(&rig, SPAN, .role = ASSEMBLE_ROLE_SPAN, .trace = TEXT("{8}"), .span = TEXT("{9}"));
	POINT(&rig, SPAN_END, .role = ASSEMBLE_ROLE_SPAN_END, .trace = TEXT("{0}"), .span = TEXT("{1}"));
	POINT(&rig, CALL, .kind = OP_CALL, .class = TEXT("call"));
}

static void stop(void)
{
	rig_stop(&rig);
}

TestSuite(hosts, .init = start, .fini = stop);

#define EXEC(ms, pid, comm, argv) rig_exec(&rig, MS(ms), pid, pid, comm, argv, sizeof(argv))
#define FORK(ms, parent, pid) rig_fork(&rig, MS(ms), parent, parent, pid, pid)
#define EXIT(ms, pid) rig_exit(&rig, MS(ms), pid, pid, 0, true)

static void expect_phase(const char *class, const char *parent, int from_ms, int to_ms)
{
	const struct model_op *o;

	cr_assert_eq(ops_of_class(&rig, class), 1, "%s: %u", class, ops_of_class(&rig, class));
	o = &rig.m->ops[op_of_class(&rig, class, 1)];
	cr_expect_eq(o->kind, OP_EXEC_PHASE);
	cr_expect_str_eq(rig_str(&rig, rig.m->ops[o->parent].class_id), parent, "%s", class);
	cr_expect_eq(o->start_ns, from_ms * 1000000ll, "%s begins at %ld", class, (long)o->start_ns);
	cr_expect_eq(o->end_ns, to_ms * 1000000ll, "%s ends at %ld", class, (long)o->end_ns);
	cr_expect_not(o->open);
}

/* Engine -> runc run -> runc init -> .init -> sh. */
Test(hosts, container_with_an_init)
{
	ENTER(&rig, MS(10), RUN, FRAME(100, 64), "sid1");
	ENTER(&rig, MS(12), PHASE, FRAME(100, 128));
	FORK(14, 100, 150);
	EXEC(15, 150, "runc", "runc\0run\0id1");
	FORK(20, 150, 151);
	EXEC(21, 151, "exe", "runc\0init");
	FORK(22, 151, 152);
	FORK(23, 152, 153);
	EXIT(24, 152);
	EXIT(25, 151);
	EXEC(30, 153, ".init", "/.init\0sh");
	FORK(33, 153, 154);
	EXEC(34, 154, "sh", "sh\0-c\0true");
	FORK(36, 154, 155);
	EXEC(37, 155, "true", "true");
	EXIT(38, 155);
	EXIT(50, 154);
	EXIT(52, 153);
	EXIT(55, 150);
	LEAVE(&rig, MS(58), PHASE, FRAME(100, 128));
	LEAVE(&rig, MS(60), RUN, FRAME(100, 64));
	rig_finish(&rig, MS(100));
	expect_phase("exec.containerStart", "exec.runContainer", 12, 15);
	expect_phase("exec.runtimeStart", "exec.runContainer", 15, 30);
	expect_phase("exec.processRun", "exec.runContainer", 30, 58);
	expect_phase("exec.initStart", "exec.processRun", 30, 33);
	expect_phase("exec.processSpawn", "exec.processRun", 33, 34);
	expect_phase("exec.workload", "exec.processRun", 34, 50);
	expect_phase("exec.processExit", "exec.processRun", 50, 58);
	expect_phase("exec.reap", "exec.processExit", 50, 55);
	expect_phase("exec.stdioDrain", "exec.processExit", 55, 58);
	cr_expect_eq(rig.m->ops[op_of_class(&rig, "exec.workload", 1)].work, WORK_USER);
	cr_expect_eq(rig.m->ops[op_of_class(&rig, "exec.reap", 1)].work, WORK_ENGINE);
	cr_expect_eq(rig.m->links[1].from, op_of_class(&rig, "exec.runContainer", 1));
	cr_expect_eq(rig.m->links[1].to, rig_op_of_process(&rig, 150));
}

/* The runtime has a hook, which is none of the container's. */
Test(hosts, container_without_an_init)
{
	ENTER(&rig, MS(10), RUN, FRAME(100, 64), "sid1");
	FORK(14, 100, 150);
	EXEC(15, 150, "runc", "runc\0run");
	FORK(20, 150, 151);
	EXEC(21, 151, "6", "/proc/self/fd/6\0init");
	FORK(22, 150, 152);
	EXEC(23, 152, "nvidia-hook", "nvidia-hook\0prestart");
	EXIT(28, 152);
	EXEC(30, 151, "make", "make\0all");
	EXIT(50, 151);
	EXIT(52, 150);
	LEAVE(&rig, MS(60), RUN, FRAME(100, 64));
	rig_finish(&rig, MS(100));
	expect_phase("exec.containerStart", "run", 10, 15);
	expect_phase("exec.runtimeStart", "run", 15, 30);
	expect_phase("exec.processRun", "run", 30, 60);
	expect_phase("exec.workload", "exec.processRun", 30, 50);
	expect_phase("exec.reap", "exec.processExit", 50, 52);
	expect_phase("exec.stdioDrain", "exec.processExit", 52, 60);
	cr_expect_eq(ops_of_class(&rig, "exec.initStart"), 0);
}

/* No runtime: the command itself; a helper before it is not taken for it. */
Test(hosts, a_plain_command)
{
	ENTER(&rig, MS(10), RUN, FRAME(100, 64), "sid1");
	FORK(11, 100, 140);
	EXEC(12, 140, "ip", "ip\0link");
	EXIT(13, 140);
	FORK(14, 100, 150);
	EXEC(15, 150, "cc", "cc\0x.c");
	EXIT(50, 150);
	LEAVE(&rig, MS(60), RUN, FRAME(100, 64));
	FORK(61, 100, 160);
	EXEC(62, 160, "ls", "ls");
	rig_finish(&rig, MS(100));
	expect_phase("exec.containerStart", "run", 10, 15);
	expect_phase("exec.processRun", "run", 15, 60);
	expect_phase("exec.workload", "exec.processRun", 15, 50);
	expect_phase("exec.stdioDrain", "exec.processExit", 50, 60);
	cr_expect_eq(ops_of_class(&rig, "exec.runtimeStart"), 0);
	cr_expect_eq(rig.m->link_n - 1, 3);
	cr_expect_eq(rig.m->links[3].from, rig_op_of_thread(&rig, 100));
}

/* What has a runtime is the execution, also where a helper lives longer. */
Test(hosts, a_helper_that_stays)
{
	ENTER(&rig, MS(10), RUN, FRAME(100, 64), "sid1");
	FORK(11, 100, 140);
	EXEC(12, 140, "slirp4netns", "slirp4netns");
	FORK(14, 100, 150);
	EXEC(15, 150, "crun", "crun\0run");
	FORK(20, 150, 151);
	EXEC(30, 151, "make", "make\0all");
	EXIT(50, 151);
	EXIT(52, 150);
	LEAVE(&rig, MS(60), RUN, FRAME(100, 64));
	rig_finish(&rig, MS(100));
	expect_phase("exec.runtimeStart", "run", 15, 30);
	expect_phase("exec.workload", "exec.processRun", 30, 50);
	expect_phase("exec.reap", "exec.processExit", 50, 52);
}

Test(hosts, still_running_at_the_end)
{
	const struct model_op *o;

	ENTER(&rig, MS(10), RUN, FRAME(100, 64), "sid1");
	FORK(14, 100, 150);
	EXEC(15, 150, "runc", "runc\0run");
	FORK(20, 150, 151);
	EXEC(30, 151, "make", "make\0all");
	rig_finish(&rig, MS(100));
	expect_phase("exec.runtimeStart", "run", 15, 30);
	for (int i = 0; i < 2; i++) {
		o = &rig.m->ops[op_of_class(&rig, i ? "exec.workload" : "exec.processRun", 1)];
		cr_expect(o->open && o->start_ns == 30000000 && o->end_ns == 100000000 && o->clipped == CLIPPED_AFTER);
	}
	cr_expect_eq(ops_of_class(&rig, "exec.processExit"), 0);
}

Test(hosts, nothing_was_started)
{
	ENTER(&rig, MS(10), RUN, FRAME(100, 64), "sid1");
	FORK(14, 100, 150);
	EXIT(15, 150);
	LEAVE(&rig, MS(60), RUN, FRAME(100, 64));
	rig_finish(&rig, MS(100));
	for (size_t i = 1; i < rig.m->op_n; i++)
		cr_expect_neq(rig.m->ops[i].kind, OP_EXEC_PHASE);
}

/* ---- spans ---- */

#define TRACE "b0102030405060708090a0b0c0d0e0f10"

static void span(int64_t from_us, int64_t to_us, const char *id)
{
	ENTER(&rig, US(from_us), SPAN, FRAME(100, 1024));
	LEAVE(&rig, US(from_us), SPAN, FRAME(100, 1024), TRACE, id);
	if (to_us)
		MARK(&rig, US(to_us), SPAN_END, FRAME(100, 1024), TRACE, id);
}

Test(hosts, the_span_of_an_op_is_the_one_that_covers_it)
{
	ENTER(&rig, US(10000), CALL, FRAME(100, 64));
	span(10050, 0, "b1111111111111111");
	span(12000, 13000, "b2222222222222222");
	MARK(&rig, US(19900), SPAN_END, FRAME(100, 128), TRACE, "b1111111111111111");
	LEAVE(&rig, US(20000), CALL, FRAME(100, 64));
	/* parts of an op, and one of which the op is a part */
	span(29000, 0, "b5555555555555555");
	ENTER(&rig, US(30000), CALL, FRAME(100, 64));
	span(31000, 34000, "b3333333333333333");
	span(35000, 39000, "b4444444444444444");
	LEAVE(&rig, US(40000), CALL, FRAME(100, 64));
	MARK(&rig, US(41000), SPAN_END, FRAME(100, 128), TRACE, "b5555555555555555");
	/* never sampled: ids of zero */
	ENTER(&rig, US(50000), CALL, FRAME(100, 64));
	ENTER(&rig, US(50010), SPAN, FRAME(100, 128));
	LEAVE(&rig, US(50010), SPAN, FRAME(100, 128), "b00000000000000000000000000000000", "b0000000000000000");
	LEAVE(&rig, US(60000), CALL, FRAME(100, 64));
	rig_finish(&rig, MS(100));
	cr_assert_eq(rig.m->span_n, 2);
	cr_expect_eq(rig.m->spans[1].op, op_of_class(&rig, "call", 1));
	cr_expect_eq(memcmp(rig.m->spans[1].trace, "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20", 16), 0);
	cr_expect_eq(memcmp(rig.m->spans[1].span, "\x11\x11\x11\x11\x11\x11\x11\x11", 8), 0);
}

/* Others have the CPU for 3 ms after the op's begin and for 4 before its end; and in one where it did something else. */
Test(hosts, what_others_did_on_the_cpu_is_nothing_outside_a_span)
{
	static const struct {
		int64_t off_us[2][2], span_us[2];
		bool owned;
	} cases[] = {
		{ { { 20, 3020 }, { 15950, 19950 } }, { 3050, 15940 }, true },
		{ { { 20, 3020 }, { 15950, 19950 } }, { 3050, 11000 }, false }, /* it ran before that */
		{ { { 20, 1000 }, { 15950, 19950 } }, { 3050, 15940 }, false },
		{ { { 4000, 7000 }, { 8000, 12000 } }, { 3050, 15940 }, false }, /* within the span */
	};

	for (int64_t i = 0; i < 4; i++) {
		int64_t at = 10000 + 30000 * i;
		char id[] = "b1111111111111110";

		id[16] = (char)('1' + i);
		ENTER(&rig, US(at), CALL, FRAME(100, 64));
		for (int k = 0; k < 2; k++)
			RIG_INTERVAL(&rig, US(at + cases[i].off_us[k][0]), US(at + cases[i].off_us[k][0]),
				     US(at + cases[i].off_us[k][1]), .seq = (uint32_t)(2 * i + k + 1),
				     .flags = WCBPF_IV_PREEMPTED, .state = 0, .syscall = -1);
		span(at + cases[i].span_us[0], at + cases[i].span_us[1], id);
		LEAVE(&rig, US(at + 20000), CALL, FRAME(100, 64));
	}
	rig_finish(&rig, MS(200));
	for (unsigned i = 0, n = 1; i < 4; i++) {
		if (!cases[i].owned)
			continue;
		cr_assert_lt(n, rig.m->span_n, "case %u", i);
		cr_expect_eq(rig.m->spans[n++].op, op_of_class(&rig, "call", i + 1), "case %u", i);
		cr_expect_eq(rig.m->span_n, n);
	}
}

Test(hosts, an_open_op_and_its_open_span)
{
	ENTER(&rig, US(10000), CALL, FRAME(100, 64));
	span(10050, 0, "b1111111111111111");
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->span_n, 2);
}
