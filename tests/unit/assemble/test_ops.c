/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Ops by their frames: what nests, what is left without an exit, whose child is whose. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "hits.h"

static struct rig rig;

enum { OUTER = 1, INNER, DEEP, MAKE, DONE, NAME, LEAF };

static void start(void)
{
	rig_start(&rig, 0);
	rig_seed(&rig, 100, 100, "app");
	POINT(&rig, OUTER, .kind = OP_CALL, .class = TEXT("outer"), .ident = TEXT("{0}"));
	POINT(&rig, INNER, .kind = OP_IO, .class = TEXT("inner"), .work = WORK_EXTERNAL);
	POINT(&rig, DEEP, .kind = OP_INTERNAL, .class = TEXT("deep"));
	POINT(&rig, LEAF, .kind = OP_LAZY, .class = TEXT("leaf"));
}

static void stop(void)
{
	rig_stop(&rig);
}

TestSuite(ops, .init = start, .fini = stop);

static const struct model_op *op(const char *class, unsigned n)
{
	return &rig.m->ops[op_of_class(&rig, class, n)];
}

#define EXPECT_TIMES(o, from_ms, to_ms)                                                           \
	do {                                                                                      \
		const struct model_op *_o = (o);                                                  \
		cr_expect_eq(_o->start_ns, (from_ms) * 1000000ll);                                \
		cr_expect_eq(_o->end_ns, (to_ms) * 1000000ll);                                    \
	} while (0)

/* In one frame it is one call; what it calls, or a frame further in, is another. */
Test(ops, loops_that_begin_where_the_function_does)
{
	POINT(&rig, LEAF, .kind = OP_LAZY, .class = TEXT("leaf"), .entry_repeats = true);
	ENTER(&rig, MS(1), LEAF, FRAME(100, 64));
	ENTER(&rig, MS(2), LEAF, FRAME(100, 64));
	ENTER(&rig, MS(3), LEAF, FRAME(100, 128));
	ENTER(&rig, MS(4), LEAF, FRAME(100, 128));
	LEAVE(&rig, MS(5), LEAF, FRAME(100, 128));
	ENTER(&rig, MS(6), LEAF, FRAME(100, 64));
	LEAVE(&rig, MS(7), LEAF, FRAME(100, 64));
	ENTER(&rig, MS(8), LEAF, FRAME(100, 64));
	LEAVE(&rig, MS(9), LEAF, FRAME(100, 64));
	rig_finish(&rig, MS(10));
	EXPECT_TIMES(op("leaf", 1), 1, 7);
	EXPECT_TIMES(op("leaf", 2), 3, 5);
	EXPECT_TIMES(op("leaf", 3), 8, 9);
	cr_expect_eq(rig.m->op_n, op_of_class(&rig, "leaf", 3) + 1);
	cr_expect(rig.m->integrity.unwound_ops == 0 && rig.m->integrity.unmatched_exits == 0);
}

Test(ops, nest_by_their_frames)
{
	ENTER(&rig, MS(1), OUTER, FRAME(100, 64), "sthe one");
	ENTER(&rig, MS(2), INNER, FRAME(100, 128));
	LEAVE(&rig, MS(3), INNER, FRAME(100, 128));
	ENTER(&rig, MS(4), INNER, FRAME(100, 256));
	LEAVE(&rig, MS(5), INNER, FRAME(100, 256));
	LEAVE(&rig, MS(6), OUTER, FRAME(100, 64));
	rig_finish(&rig, MS(10));
	EXPECT_TIMES(op("outer", 1), 1, 6);
	EXPECT_TIMES(op("inner", 1), 2, 3);
	EXPECT_TIMES(op("inner", 2), 4, 5);
	cr_expect_eq(op("outer", 1)->parent, rig_op_of_thread(&rig, 100));
	cr_expect_eq(op("inner", 1)->parent, op_of_class(&rig, "outer", 1));
	cr_expect_eq(op("inner", 2)->parent, op_of_class(&rig, "outer", 1));
	cr_expect_str_eq(rig_str(&rig, op("outer", 1)->ident_id), "the one");
	cr_expect_eq(op("outer", 1)->kind, OP_CALL);
	cr_expect_eq(op("inner", 1)->work, WORK_EXTERNAL);
	cr_expect(op("outer", 1)->pid == 100 && op("outer", 1)->tid == 100 && !op("outer", 1)->goid);
	cr_expect(!op("outer", 1)->open && !op("outer", 1)->unwound && op("outer", 1)->outcome == OUTCOME_NONE);
	cr_expect_eq(rig.m->integrity.recorded_ops, 6);
	cr_expect_eq(rig.m->integrity.unmatched_exits + rig.m->integrity.unwound_ops, 0);
}

Test(ops, recursion_a_hundred_deep)
{
	for (int i = 0; i < 100; i++)
		ENTER(&rig, US(10 * i + 10), DEEP, FRAME(100, 48 * (i + 1)));
	for (int i = 99; i >= 0; i--)
		LEAVE(&rig, US(3000 - 10 * i), DEEP, FRAME(100, 48 * (i + 1)));
	rig_finish(&rig, MS(10));
	cr_assert_eq(ops_of_class(&rig, "deep"), 100);
	for (unsigned i = 1; i <= 100; i++) {
		cr_expect_eq(op("deep", i)->start_ns, 10000 * i);
		cr_expect_eq(op("deep", i)->end_ns, 3000000 - 10000 * (i - 1));
		if (i > 1)
			cr_expect_eq(op("deep", i)->parent, op_of_class(&rig, "deep", i - 1));
	}
	cr_expect_eq(rig.m->integrity.unwound_ops, 0);
}

/* setjmp in outer, recursion to a hundred, longjmp back: C42 of the cases. */
Test(ops, longjmp_closes_what_it_left)
{
	ENTER(&rig, MS(1), OUTER, FRAME(100, 64), "sa");
	for (int i = 0; i < 100; i++)
		ENTER(&rig, MS(2), DEEP, FRAME(100, 128 + 48 * i));
	/* back in outer, which calls something else */
	ENTER(&rig, MS(5), INNER, FRAME(100, 128));
	LEAVE(&rig, MS(6), INNER, FRAME(100, 128));
	LEAVE(&rig, MS(8), OUTER, FRAME(100, 64));
	rig_finish(&rig, MS(100));
	cr_expect_eq(ops_of_class(&rig, "deep"), 100);
	for (unsigned i = 1; i <= 100; i++) {
		cr_expect(op("deep", i)->unwound && op("deep", i)->outcome == OUTCOME_CANCELED && !op("deep", i)->open);
		cr_expect_eq(op("deep", i)->end_ns, 5000000, "no op is stretched to the end");
	}
	EXPECT_TIMES(op("inner", 1), 5, 6);
	EXPECT_TIMES(op("outer", 1), 1, 8);
	cr_expect_eq(op("inner", 1)->parent, op_of_class(&rig, "outer", 1));
	cr_expect(!op("inner", 1)->unwound && !op("outer", 1)->unwound);
	cr_expect_eq(rig.m->integrity.unwound_ops, 100);
}

Test(ops, an_exception_shows_at_the_exit_of_who_caught_it)
{
	ENTER(&rig, MS(1), OUTER, FRAME(100, 64), "sa");
	ENTER(&rig, MS(2), INNER, FRAME(100, 128));
	ENTER(&rig, MS(3), DEEP, FRAME(100, 256));
	LEAVE(&rig, MS(7), OUTER, FRAME(100, 64));
	rig_finish(&rig, MS(10));
	EXPECT_TIMES(op("inner", 1), 2, 7);
	EXPECT_TIMES(op("deep", 1), 3, 7);
	cr_expect(op("inner", 1)->unwound && op("deep", 1)->unwound && !op("outer", 1)->unwound);
}

/* The same frame begins again: its exit was lost, or a tail call left it. */
Test(ops, an_entry_no_further_in_closes_its_like)
{
	ENTER(&rig, MS(1), OUTER, FRAME(100, 64), "sa");
	ENTER(&rig, MS(2), INNER, FRAME(100, 128));
	ENTER(&rig, MS(3), INNER, FRAME(100, 128));
	LEAVE(&rig, MS(4), INNER, FRAME(100, 128));
	ENTER(&rig, MS(5), OUTER, FRAME(100, 64), "sb");
	LEAVE(&rig, MS(6), OUTER, FRAME(100, 64));
	rig_finish(&rig, MS(10));
	EXPECT_TIMES(op("inner", 1), 2, 3);
	EXPECT_TIMES(op("inner", 2), 3, 4);
	EXPECT_TIMES(op("outer", 1), 1, 5);
	cr_expect(op("inner", 1)->unwound && !op("inner", 2)->unwound && op("outer", 1)->unwound);
	cr_expect_eq(op("outer", 2)->parent, rig_op_of_thread(&rig, 100));
	cr_expect_eq(rig.m->integrity.unwound_ops, 2);
}

Test(ops, an_exit_without_its_entry_is_counted_and_changes_nothing)
{
	LEAVE(&rig, MS(1), OUTER, FRAME(100, 64), "sa");
	ENTER(&rig, MS(2), OUTER, FRAME(100, 64), "sa");
	LEAVE(&rig, MS(3), INNER, FRAME(100, 64));
	LEAVE(&rig, MS(4), OUTER, FRAME(100, 72));
	LEAVE(&rig, MS(5), OUTER, FRAME(100, 64));
	rig_finish(&rig, MS(10));
	EXPECT_TIMES(op("outer", 1), 2, 5);
	cr_expect_eq(rig.m->integrity.unmatched_exits, 3);
	cr_expect_eq(rig.m->integrity.unwound_ops, 0);
}

Test(ops, an_exit_of_others_is_no_oddity)
{
	POINT(&rig, LEAF, .kind = OP_LAZY, .class = TEXT("leaf"), .shared_exits = true);
	LEAVE(&rig, MS(1), LEAF, FRAME(100, 64));
	ENTER(&rig, MS(2), LEAF, FRAME(100, 64));
	LEAVE(&rig, MS(3), LEAF, FRAME(100, 96));
	LEAVE(&rig, MS(4), LEAF, FRAME(100, 64));
	rig_finish(&rig, MS(10));
	EXPECT_TIMES(op("leaf", 1), 2, 4);
	cr_expect_eq(rig.m->integrity.unmatched_exits, 0);
}

Test(ops, a_thread_that_dies_inside)
{
	rig_fork(&rig, MS(1), 100, 100, 101, 100);
	ENTER(&rig, MS(2), OUTER, FRAME(101, 64), "sa");
	ENTER(&rig, MS(3), INNER, FRAME(101, 128));
	rig_exit(&rig, MS(6), 101, 100, 0, false);
	rig_finish(&rig, MS(10));
	EXPECT_TIMES(op("outer", 1), 2, 6);
	EXPECT_TIMES(op("inner", 1), 3, 6);
	cr_expect(op("outer", 1)->unwound && op("inner", 1)->unwound);
	cr_expect_eq(rig.m->integrity.unwound_ops, 2);
}

Test(ops, exec_leaves_no_frame)
{
	ENTER(&rig, MS(2), OUTER, FRAME(100, 64), "sa");
	rig_exec(&rig, MS(3), 100, 100, "next", "next", 5);
	ENTER(&rig, MS(4), INNER, FRAME(100, 128));
	LEAVE(&rig, MS(5), INNER, FRAME(100, 128));
	rig_finish(&rig, MS(10));
	EXPECT_TIMES(op("outer", 1), 2, 3);
	cr_expect(op("outer", 1)->unwound);
	cr_expect_eq(op("inner", 1)->parent, rig_op_of_thread(&rig, 100));
}

/* A handler on a stack of its own is within what it interrupted, whatever the addresses say. */
Test(ops, signal_stack)
{
	struct where handler = { .tid = 100, .tgid = 100, .cfa = 0x10000000ull };

	ENTER(&rig, MS(1), OUTER, FRAME(100, 64), "sa");
	ENTER(&rig, MS(2), INNER, handler);
	LEAVE(&rig, MS(3), INNER, handler);
	handler.cfa = 0x7fffff000000ull;
	ENTER(&rig, MS(4), INNER, handler);
	LEAVE(&rig, MS(5), INNER, handler);
	LEAVE(&rig, MS(6), OUTER, FRAME(100, 64));
	rig_finish(&rig, MS(10));
	cr_expect_eq(rig.m->integrity.unwound_ops, 0);
	EXPECT_TIMES(op("outer", 1), 1, 6);
	for (unsigned i = 1; i <= 2; i++)
		cr_expect_eq(op("inner", i)->parent, op_of_class(&rig, "outer", 1));
}

/* Two coroutines that take turns: their calls end in any order. */
Test(ops, coroutines_of_one_thread)
{
	struct where a = { .tid = 100, .tgid = 100, .cfa = 0x10000000ull }, a2 = a;
	struct where b = { .tid = 100, .tgid = 100, .cfa = 0x20000000ull }, b2 = b;

	a2.cfa -= 100;
	b2.cfa -= 100;
	ENTER(&rig, MS(1), OUTER, a, "sa");
	ENTER(&rig, MS(2), OUTER, b, "sb");
	ENTER(&rig, MS(3), INNER, a2);
	ENTER(&rig, MS(4), DEEP, b2);
	LEAVE(&rig, MS(5), INNER, a2);
	LEAVE(&rig, MS(6), OUTER, a);
	LEAVE(&rig, MS(7), DEEP, b2);
	LEAVE(&rig, MS(8), OUTER, b);
	rig_finish(&rig, MS(10));
	cr_expect_eq(rig.m->integrity.unwound_ops + rig.m->integrity.unmatched_exits, 0);
	cr_expect_str_eq(rig_str(&rig, rig.m->ops[op("inner", 1)->parent].ident_id), "a");
	cr_expect_str_eq(rig_str(&rig, rig.m->ops[op("deep", 1)->parent].ident_id), "b");
	EXPECT_TIMES(op("outer", 1), 1, 6);
	EXPECT_TIMES(op("outer", 2), 2, 8);
}

Test(ops, threads_have_stacks_of_their_own)
{
	rig_fork(&rig, MS(1), 100, 100, 101, 100);
	ENTER(&rig, MS(2), OUTER, FRAME(100, 64), "sa");
	ENTER(&rig, MS(3), OUTER, FRAME(101, 64), "sb");
	LEAVE(&rig, MS(4), OUTER, FRAME(100, 64));
	LEAVE(&rig, MS(5), OUTER, FRAME(101, 64));
	rig_finish(&rig, MS(10));
	EXPECT_TIMES(op("outer", 1), 2, 4);
	EXPECT_TIMES(op("outer", 2), 3, 5);
	cr_expect_eq(op("outer", 2)->parent, rig_op_of_thread(&rig, 101));
}

/* A thread is the work of whoever began it, as long as it does nothing else. */
Test(ops, spawned_threads)
{
	ENTER(&rig, MS(1), OUTER, FRAME(100, 64), "sa");
	rig_fork(&rig, MS(2), 100, 100, 101, 100);
	rig_fork(&rig, MS(3), 101, 100, 102, 100);
	LEAVE(&rig, MS(4), OUTER, FRAME(100, 64));
	rig_fork(&rig, MS(5), 100, 100, 103, 100);
	ENTER(&rig, MS(6), INNER, FRAME(102, 64));
	ENTER(&rig, MS(7), DEEP, FRAME(102, 128));
	LEAVE(&rig, MS(8), DEEP, FRAME(102, 128));
	LEAVE(&rig, MS(9), INNER, FRAME(102, 64));
	ENTER(&rig, MS(10), INNER, FRAME(103, 64));
	LEAVE(&rig, MS(11), INNER, FRAME(103, 64));
	rig_finish(&rig, MS(20));
	cr_expect_eq(op("inner", 1)->parent, op_of_class(&rig, "outer", 1), "by way of 101, which did nothing itself");
	cr_expect_eq(op("deep", 1)->parent, op_of_class(&rig, "inner", 1));
	cr_expect_eq(op("inner", 2)->parent, rig_op_of_thread(&rig, 103));
	EXPECT_TIMES(op("outer", 1), 1, 4);
	EXPECT_TIMES(op("inner", 1), 6, 9);
}

Test(ops, a_root_hangs_below_nothing)
{
	POINT(&rig, LEAF, .kind = OP_SESSION_PHASE, .class = TEXT("request"), .root = true);
	ENTER(&rig, MS(1), OUTER, FRAME(100, 64), "sa");
	ENTER(&rig, MS(2), LEAF, FRAME(100, 128));
	ENTER(&rig, MS(3), INNER, FRAME(100, 256));
	LEAVE(&rig, MS(4), INNER, FRAME(100, 256));
	LEAVE(&rig, MS(5), LEAF, FRAME(100, 128));
	rig_finish(&rig, MS(20));
	cr_expect_eq(op("request", 1)->parent, 0);
	cr_expect_eq(op("inner", 1)->parent, op_of_class(&rig, "request", 1));
}

Test(ops, open_at_the_end)
{
	POINT(&rig, LEAF, .kind = OP_CALL, .class = TEXT("{8}"), .ident = TEXT("id {0}"));
	ENTER(&rig, MS(1), OUTER, FRAME(100, 64), "sa");
	ENTER(&rig, MS(2), LEAF, FRAME(100, 128), "u5");
	rig_finish(&rig, MS(20));
	cr_expect(op("outer", 1)->open && op("outer", 1)->clipped == CLIPPED_AFTER && !op("outer", 1)->unwound);
	cr_expect_eq(op("outer", 1)->end_ns, 20000000);
	/* What would have come with the exit is not known: the point's name stands for the class. */
	cr_expect(op("test/point", 1)->open);
	cr_expect_str_eq(rig_str(&rig, op("test/point", 1)->ident_id), "id 5");
	cr_expect_eq(rig.m->integrity.unwound_ops, 0);
}

Test(ops, texts_and_outcomes)
{
	POINT(&rig, LEAF, .kind = OP_CALL, .class = TEXT("c/{0}/{8}"), .ident = TEXT("{x1}:{p2}:{3}"), .client = TEXT("{4}"),
	      .meta = TEXT("{9}"),
	      .outcome = CHOICES({ .value = 8, .cmp = ASSEMBLE_NE, .than = 0, .word = OUTCOME_ERROR },
				 { .value = 10, .cmp = ASSEMBLE_GT, .than = 2, .word = OUTCOME_HIT },
				 { .cmp = ASSEMBLE_ALWAYS, .word = OUTCOME_EXECUTED }));
	ENTER(&rig, MS(1), LEAF, FRAME(100, 64), "sname", "b00ffa1", "u4096", "i-7", "gclient one");
	LEAVE(&rig, MS(2), LEAF, FRAME(100, 64), "u0", "gmeta", "sab");
	ENTER(&rig, MS(3), LEAF, FRAME(100, 64), "!", "u255", "u0", "i-5000000000", "!");
	LEAVE(&rig, MS(4), LEAF, FRAME(100, 64), "i-1", "!", "sabc");
	ENTER(&rig, MS(5), LEAF, FRAME(100, 64));
	LEAVE(&rig, MS(6), LEAF, FRAME(100, 64), "!", "!", "sabc");
	rig_finish(&rig, MS(20));
	cr_expect_str_eq(rig_str(&rig, op("c/name/0", 1)->ident_id), "00ffa1:0x1000:-7");
	cr_expect_str_eq(rig_str(&rig, op("c/name/0", 1)->client_id), "client one");
	cr_expect_str_eq(rig_str(&rig, op("c/name/0", 1)->meta_id), "meta");
	cr_expect_eq(op("c/name/0", 1)->outcome, OUTCOME_EXECUTED);
	cr_expect_str_eq(rig_str(&rig, op("c//-1", 1)->ident_id), "ff:0x0:-5000000000");
	cr_expect_eq(op("c//-1", 1)->outcome, OUTCOME_ERROR);
	cr_expect_eq(op("c//", 1)->outcome, OUTCOME_HIT, "what could not be read holds nothing");
}

/* An op that begins in one function and ends in another, on another thread. */
Test(ops, begin_and_end_by_key)
{
	POINT(&rig, MAKE, .role = ASSEMBLE_ROLE_BEGIN, .kind = OP_IO, .class = TEXT("request"), .ident = TEXT("{0}"),
	      .key = TEXT("r:{8}"));
	POINT(&rig, DONE, .role = ASSEMBLE_ROLE_END, .key = TEXT("r:{0}"),
	      .outcome = CHOICES({ .value = 1, .cmp = ASSEMBLE_EQ, .than = 0, .word = OUTCOME_OK },
				 { .cmp = ASSEMBLE_ALWAYS, .word = OUTCOME_ERROR }));
	rig_seed(&rig, 100, 101, "app");
	ENTER(&rig, MS(1), OUTER, FRAME(100, 64), "sa");
	ENTER(&rig, MS(2), MAKE, FRAME(100, 128), "sone");
	LEAVE(&rig, MS(3), MAKE, FRAME(100, 128), "u77");
	ENTER(&rig, MS(4), MAKE, FRAME(100, 128), "stwo");
	LEAVE(&rig, MS(5), MAKE, FRAME(100, 128), "u78");
	LEAVE(&rig, MS(6), OUTER, FRAME(100, 64));
	MARK(&rig, MS(7), DONE, FRAME(101, 64), "u78", "u0");
	ENTER(&rig, MS(8), DONE, FRAME(101, 64), "u77", "u5");
	LEAVE(&rig, MS(9), DONE, FRAME(101, 64));
	MARK(&rig, MS(10), DONE, FRAME(101, 64), "u78", "u0");
	rig_finish(&rig, MS(20));
	EXPECT_TIMES(op("request", 1), 3, 8);
	EXPECT_TIMES(op("request", 2), 5, 7);
	cr_expect_eq(op("request", 1)->outcome, OUTCOME_ERROR);
	cr_expect_eq(op("request", 2)->outcome, OUTCOME_OK);
	cr_expect_str_eq(rig_str(&rig, op("request", 2)->ident_id), "two");
	cr_expect_eq(op("request", 1)->parent, op_of_class(&rig, "outer", 1));
	cr_expect_eq(rig.m->integrity.unmatched_exits, 1, "78 is over");
	cr_expect_eq(rig.m->integrity.unwound_ops, 0);
}

/* Static markers: what happens between them is theirs. */
Test(ops, begin_and_end_on_one_strand)
{
	POINT(&rig, MAKE, .role = ASSEMBLE_ROLE_BEGIN, .kind = OP_CALL, .class = TEXT("query"), .ident = TEXT("{0}"));
	POINT(&rig, DONE, .role = ASSEMBLE_ROLE_END, .kind = OP_CALL);
	MARK(&rig, MS(1), MAKE, FRAME(100, 64), "sselect");
	ENTER(&rig, MS(2), INNER, FRAME(100, 128));
	LEAVE(&rig, MS(3), INNER, FRAME(100, 128));
	MARK(&rig, MS(4), DONE, FRAME(100, 64));
	ENTER(&rig, MS(5), OUTER, FRAME(100, 64), "sa");
	MARK(&rig, MS(6), MAKE, FRAME(100, 64), "sfails");
	LEAVE(&rig, MS(7), OUTER, FRAME(100, 64));
	ENTER(&rig, MS(8), INNER, FRAME(100, 64));
	LEAVE(&rig, MS(9), INNER, FRAME(100, 64));
	rig_finish(&rig, MS(20));
	EXPECT_TIMES(op("query", 1), 1, 4);
	cr_expect_eq(op("inner", 1)->parent, op_of_class(&rig, "query", 1));
	EXPECT_TIMES(op("query", 2), 6, 7);
	cr_expect(op("query", 2)->unwound && !op("query", 1)->unwound);
	cr_expect_eq(op("inner", 2)->parent, rig_op_of_thread(&rig, 100));
}

Test(ops, a_begun_op_ends_with_its_process)
{
	POINT(&rig, MAKE, .role = ASSEMBLE_ROLE_BEGIN, .kind = OP_IO, .class = TEXT("request"), .key = TEXT("{0}"));
	rig_fork(&rig, MS(1), 100, 100, 150, 150);
	MARK(&rig, MS(2), MAKE, ((struct where){ .tid = 150, .tgid = 150, .cfa = 1000 }), "u1");
	MARK(&rig, MS(2), MAKE, FRAME(100, 64), "u1");
	rig_exit(&rig, MS(5), 150, 150, 9, true);
	rig_finish(&rig, MS(20));
	EXPECT_TIMES(op("request", 1), 2, 5);
	cr_expect(op("request", 1)->unwound && op("request", 2)->open && !op("request", 2)->unwound);
}

Test(ops, only_some_calls_are_wanted)
{
	POINT(&rig, LEAF, .kind = OP_CALL, .class = TEXT("early"),
	      .only = CHOICES({ .value = 0, .cmp = ASSEMBLE_GE, .than = 10, .word = 1 }));
	POINT(&rig, DEEP, .kind = OP_CALL, .class = TEXT("late"), .ident = TEXT("{8}"),
	      .only = CHOICES({ .value = 8, .cmp = ASSEMBLE_NE, .than = 0, .word = 1 }));
	for (int i = 0; i < 20; i++) {
		char n[8];

		snprintf(n, sizeof(n), "u%d", i);
		ENTER(&rig, MS(i * 4 + 1), LEAF, FRAME(100, 64), n);
		ENTER(&rig, MS(i * 4 + 2), DEEP, FRAME(100, 128));
		ENTER(&rig, MS(i * 4 + 2), INNER, FRAME(100, 256));
		LEAVE(&rig, MS(i * 4 + 3), INNER, FRAME(100, 256));
		LEAVE(&rig, MS(i * 4 + 3), DEEP, FRAME(100, 128), i % 2 ? "u1" : "u0");
		LEAVE(&rig, MS(i * 4 + 4), LEAF, FRAME(100, 64));
	}
	rig_finish(&rig, MS(200));
	cr_expect_eq(ops_of_class(&rig, "early"), 10);
	cr_expect_eq(ops_of_class(&rig, "late"), 10);
	cr_expect_eq(ops_of_class(&rig, "inner"), 20);
	cr_expect_eq(rig.m->integrity.unmatched_exits + rig.m->integrity.unwound_ops, 0);
	for (unsigned i = 1; i <= 20; i++) {
		uint32_t parent = op("inner", i)->parent;
		const char *class = rig_str(&rig, rig.m->ops[parent].class_id);

		/* i counts from 1: the inner op of call i - 1. */
		if (i % 2 == 0)
			cr_expect_str_eq(class, "late");
		else
			cr_expect_str_eq(class, i > 10 ? "early" : "app");
	}
}

Test(ops, a_key_given_later)
{
	POINT(&rig, OUTER, .kind = OP_CALL_EXEC, .class = TEXT("exec"));
	POINT(&rig, NAME, .role = ASSEMBLE_ROLE_KEY, .key = TEXT("result:{8}"));
	POINT(&rig, LEAF, .role = ASSEMBLE_ROLE_WAIT, .target = TEXT("result:{0}"));
	rig_seed(&rig, 100, 101, "app");
	ENTER(&rig, MS(1), OUTER, FRAME(100, 64));
	ENTER(&rig, MS(2), NAME, FRAME(100, 128));
	LEAVE(&rig, MS(3), NAME, FRAME(100, 128), "u5");
	ENTER(&rig, MS(4), LEAF, FRAME(101, 64), "u5");
	LEAVE(&rig, MS(9), OUTER, FRAME(100, 64));
	LEAVE(&rig, US(9100), LEAF, FRAME(101, 64));
	rig_finish(&rig, MS(20));
	cr_assert_eq(rig.m->wait_n, 2);
	cr_expect_eq(rig.m->waits[1].target, op_of_class(&rig, "exec", 1));
	cr_expect_eq(rig.m->rows[rig.m->waits[1].row].reason, REASON_CALL_EXEC);
}

Test(ops, hits_that_make_no_sense_are_lost_ones)
{
	static struct wcbpf_op e = {
		.head = { .kind = WCBPF_EV_OP, .size = offsetof(struct wcbpf_op, data), .time_ns = MS(1) },
		.tid = 100, .tgid = 100, .point = OUTER, .kind = WCBPF_SITE_ENTRY, .cfa = 1000,
	};
	struct wcbpf_op bad = e;

	bad.point = 99;
	cr_expect_eq(assemble_event(rig.a, &bad.head), -EBADMSG, "a point that was never set");
	bad = e;
	bad.kind = WCBPF_SITE_GO_PARK;
	cr_expect_eq(assemble_event(rig.a, &bad.head), -EBADMSG, "no site of a function");
	bad = e;
	bad.value_n = 1;
	cr_expect_eq(assemble_event(rig.a, &bad.head), -EBADMSG, "a value that is not there");
	bad.data_len = 8;
	cr_expect_eq(assemble_event(rig.a, &bad.head), -EBADMSG, "data beyond the event");
	bad.head.size += 8;
	memcpy(bad.data, &(struct wcbpf_value){ .type = WCBPF_VALUE_STRING, .len = 9, .total = 9 }, 8);
	cr_expect_eq(assemble_event(rig.a, &bad.head), -EBADMSG, "a value longer than the data");
	bad = e;
	bad.value_n = WCBPF_FETCHES_MAX + 1;
	cr_expect_eq(assemble_event(rig.a, &bad.head), -EBADMSG);
	rig_finish(&rig, MS(5));
	cr_expect_eq(rig.m->integrity.lost_ops, 6);
	cr_expect_eq(rig.m->integrity.recorded_ops, 0);
	cr_expect_not(model_is_complete(rig.m));
}

Test(ops, points_that_are_refused)
{
	struct assemble_point p = { .name = "x" };

	cr_expect_eq(assemble_point_set(rig.a, 0, &p), -EINVAL);
	cr_expect_eq(assemble_point_set(rig.a, WCBPF_POINTS_MAX, &p), -EINVAL);
	p.kind = OP_KIND_MAX;
	cr_expect_eq(assemble_point_set(rig.a, 1, &p), -EINVAL);
	p.kind = OP_CALL;
	p.outcome = CHOICES({ .word = OP_OUTCOME_MAX });
	cr_expect_eq(assemble_point_set(rig.a, 1, &p), -EINVAL);
	p.outcome = CHOICES({ .cmp = ASSEMBLE_GE + 1 });
	cr_expect_eq(assemble_point_set(rig.a, 1, &p), -EINVAL);
	p.outcome = (struct assemble_choices){ 0 };
	p.class = (struct assemble_text){ &(struct assemble_piece){ .value = ASSEMBLE_VALUES_MAX }, 1 };
	cr_expect_eq(assemble_point_set(rig.a, 1, &p), -EINVAL);
	p.class = (struct assemble_text){ 0 };
	cr_expect_eq(assemble_point_set(rig.a, 1, &p), 0);
}

/* A place is an op's from its begin: what comes when all are taken is not half there. */
Test(ops, places_in_the_event_cap)
{
	rig_stop(&rig);
	rig_start(&rig, 5);
	rig_seed(&rig, 100, 100, "app"); /* two ops */
	POINT(&rig, OUTER, .kind = OP_CALL, .class = TEXT("outer"));
	POINT(&rig, INNER, .kind = OP_IO, .class = TEXT("inner"));
	ENTER(&rig, MS(1), OUTER, FRAME(100, 64));
	ENTER(&rig, MS(2), INNER, FRAME(100, 128));
	RIG_INTERVAL(&rig, MS(3), MS(4), US(4100), .seq = 1); /* the fifth */
	RIG_INTERVAL(&rig, MS(5), MS(6), US(6100), .seq = 2);
	ENTER(&rig, MS(7), OUTER, FRAME(100, 256));
	ENTER(&rig, MS(8), INNER, FRAME(100, 512));
	RIG_INTERVAL(&rig, MS(9), MS(10), US(10100), .seq = 3);
	LEAVE(&rig, MS(11), INNER, FRAME(100, 512));
	LEAVE(&rig, MS(12), OUTER, FRAME(100, 256));
	LEAVE(&rig, MS(13), INNER, FRAME(100, 128));
	LEAVE(&rig, MS(14), OUTER, FRAME(100, 64));
	rig_finish(&rig, MS(20));
	cr_expect_eq(ops_of_class(&rig, "outer"), 1);
	cr_expect_eq(ops_of_class(&rig, "inner"), 1);
	cr_expect_eq(rig.m->wait_n - 1, 1);
	cr_expect_eq(rig.m->waits[1].op, op_of_class(&rig, "inner", 1));
	EXPECT_TIMES(op("outer", 1), 1, 14);
	cr_expect_eq(rig.m->integrity.dropped_events, 4, "two ops, two waits");
	cr_expect_eq(rig.m->integrity.unmatched_exits + rig.m->integrity.unwound_ops, 0);
}
