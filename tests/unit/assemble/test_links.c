/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What a process hangs below when its fork was not seen: the process that its seed names. */
#include <criterion/criterion.h>
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

TestSuite(links, .init = start, .fini = stop);

/* The op of the holder of a pid that has this "pid:starttime". */
static uint32_t op_of(const char *key)
{
	for (uint32_t i = 1; i < rig.m->process_n; i++) {
		if (strcmp(rig_str(&rig, rig.m->processes[i].key_id), key) == 0)
			return rig.m->processes[i].op;
	}
	cr_assert(false, "no process %s", key);
	return 0;
}

static void expect_link(uint32_t from, const char *to)
{
	uint32_t found = 0;

	for (size_t i = 1; i < rig.m->link_n; i++) {
		if (rig.m->links[i].to != op_of(to))
			continue;
		cr_expect_eq(rig.m->links[i].from, from, "%s hangs below op %u, not %u", to, rig.m->links[i].from, from);
		cr_expect_eq(rig.m->links[i].kind, LINK_NESTED_CLIENT);
		cr_expect_str_eq(rig_str(&rig, rig.m->links[i].ident_id), to);
		found++;
	}
	cr_expect_eq(found, 1, "%u links to %s", found, to);
}

Test(links, seeds_in_any_order)
{
	/* a shell, its child, grandchildren, some with two threads; all twice; the shell's parent is not there */
	static const struct {
		uint32_t pid, tid, parent;
		uint64_t start, parent_start;
	} seeds[] = { { 130, 130, 120, 30, 20 }, { 110, 110, 90, 10, 5 }, { 120, 120, 110, 20, 10 },
		      { 105, 105, 120, 25, 20 }, { 130, 131, 120, 30, 20 }, { 105, 106, 120, 25, 20 } };

	for (unsigned i = 0; i < 12; i++)
		cr_assert_eq(rig_seed_child(&rig, seeds[i % 6].pid, seeds[i % 6].tid, seeds[i % 6].start,
					    seeds[i % 6].parent, seeds[i % 6].parent_start), 0);
	rig_finish(&rig, MS(10));
	cr_assert_eq(rig.m->process_n, 5);
	cr_expect_eq(rig.m->link_n, 4);
	expect_link(op_of("110:10"), "120:20");
	expect_link(op_of("120:20"), "130:30");
	expect_link(op_of("120:20"), "105:25");
	cr_expect_eq(rig.m->integrity.dropped_events, 0);
	for (size_t i = 1; i < rig.m->link_n; i++)
		cr_expect(rig.m->links[i].start_ns == 0 && rig.m->links[i].end_ns == 0, "known from the begin on");
}

Test(links, the_parents_pid_is_anothers_by_now)
{
	/* seeded while 100 was the one of before: that has ended, and a new 100 has come, also as a seed's parent */
	rig_seed_child(&rig, 100, 100, 10, 0, 0);
	rig_seed_child(&rig, 110, 110, 11, 100, 10);
	rig_exit(&rig, MS(1), 100, 100, 0, true);
	rig_seed_child(&rig, 115, 115, 12, 100, 11);
	rig_fork(&rig, MS(2), 110, 110, 100, 100);
	rig_seed_child(&rig, 120, 120, MS(2) + 9, 100, MS(2) + 5);
	rig_finish(&rig, MS(10));
	cr_expect_eq(rig.m->link_n, 4);
	expect_link(op_of("100:10"), "110:11");
	expect_link(rig_op_of_thread(&rig, 110), "100:1000002000005");
	expect_link(op_of("100:1000002000005"), "120:1000002000009");
}

Test(links, a_parent_known_by_events_alone)
{
	rig_seed_child(&rig, 110, 110, 20, 100, 10);
	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1);
	rig_totals(&rig, &(struct wcbpf_thread_totals){ .tid = 100, .tgid = 100, .start_ns = 10, .begin_ns = MS(0),
							.end_ns = MS(9), .seeded = 1, .open = 1 });
	/* of this one nobody ever says when it started: it may be another's number */
	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1, .tid = 200, .tgid = 200);
	rig_seed_child(&rig, 210, 210, 20, 200, 10);
	rig_finish(&rig, MS(10));
	cr_expect_eq(rig.m->link_n, 2);
	expect_link(op_of("100:10"), "110:20");
	cr_expect_eq(rig.m->integrity.dropped_events, 0, "210 never had a link to lose");
}

/* The fork's thread is more than a seed knows. */
Test(links, a_fork_says_more_than_a_seed)
{
	rig_seed_child(&rig, 100, 100, 10, 0, 0);
	rig_seed_child(&rig, 100, 101, 10, 0, 0);
	/* made between the two passes over the threads: seeded before its fork event is read */
	rig_seed_child(&rig, 110, 110, MS(1) + 5, 100, 10);
	rig_fork(&rig, MS(1), 101, 100, 110, 110);
	rig_finish(&rig, MS(10));
	cr_expect_eq(rig.m->link_n, 2);
	expect_link(rig_op_of_thread(&rig, 101), "110:1000001000005");
	cr_expect_eq(rig.m->links[1].start_ns, 1000000, "when it was forked");
}

Test(links, nobody_is_their_own_ancestor)
{
	rig_seed_child(&rig, 100, 100, 10, 110, 10);
	rig_seed_child(&rig, 110, 110, 10, 100, 10);
	rig_seed_child(&rig, 120, 120, 10, 120, 10);
	rig_seed_child(&rig, 130, 130, 10, 100, 11);
	rig_seed_child(&rig, 140, 140, 0, 100, 10);
	rig_finish(&rig, MS(10));
	/* equal times are those of a machine that boots */
	cr_expect_eq(rig.m->link_n, 2);
	expect_link(op_of("100:10"), "110:10");
}

/* Whose parent is known is not taken for another's child. */
Test(links, a_wait_for_a_child_that_was_there_before)
{
	static const uint32_t waiter[] = { 100, 200 };

	rig_seed_child(&rig, 100, 100, 10, 0, 0);
	rig_seed_child(&rig, 200, 200, 10, 0, 0);
	rig_seed_child(&rig, 150, 150, 20, 100, 10);
	rig_exit(&rig, MS(5), 150, 150, 0, true);
	for (size_t i = 0; i < 2; i++)
		RIG_INTERVAL(&rig, MS(1), MS(5), MS(6), .seq = 1, .tid = waiter[i], .tgid = waiter[i],
			     .syscall = __NR_wait4, .args = { UINT64_MAX }, .flags = WCBPF_IV_WAKER_KNOWN,
			     .waker_ctx = WCBPF_WAKER_TASK, .waker_tid = 150, .waker_tgid = 150);
	rig_finish(&rig, MS(10));
	cr_assert_eq(rig.m->wait_n, 3);
	for (size_t i = 1; i < 3; i++)
		cr_expect_eq(rig.m->waits[i].target, rig.m->threads[rig.m->waits[i].thread].tid == 100 ?
						     op_of("150:20") : 0);
}

/* A link has its place from the child's seed on, if there is one: waits can't take it. */
Test(links, places_in_the_event_cap)
{
	rig_stop(&rig);
	rig_start(&rig, 7); /* two processes' ops, their threads', a link, two waits */
	rig_seed_child(&rig, 110, 110, 20, 100, 10);
	for (uint32_t i = 0; i < 3; i++) {
		if (i == 1)
			rig_seed_child(&rig, 100, 100, 10, 0, 0);
		RIG_INTERVAL(&rig, MS(2 * i), MS(2 * i), MS(2 * i + 1), .seq = i + 1, .tid = 110, .tgid = 110);
	}
	rig_finish(&rig, MS(10));
	cr_expect_eq(model_event_n(rig.m), 7);
	cr_expect_eq(rig.m->integrity.dropped_events, 1, "a wait");
	expect_link(op_of("100:10"), "110:20");

	rig_stop(&rig);
	rig_start(&rig, 3); /* none is left for the link, nor for a thread of the second process, nor for the others */
	rig_seed_child(&rig, 100, 100, 10, 0, 0);
	rig_seed_child(&rig, 110, 110, 20, 100, 10);
	rig_seed_child(&rig, 120, 120, 30, 110, 20);
	rig_seed_child(&rig, 130, 130, 30, 99, 20);
	rig_finish(&rig, MS(10));
	cr_expect_eq(rig.m->link_n, 1);
	cr_expect_eq(rig.m->integrity.dropped_events, 2 + 5, "two links, two processes, three threads");
}
