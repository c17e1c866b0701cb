/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What an op is told of by other functions than its own, and by what it hangs below. */
#include <criterion/criterion.h>
#include <string.h>

#include "hits.h"

static struct rig rig;

enum { QUERY = 1, CALL, EXEC, RUN, DIGEST, ERROR, STATE, PHASE, WAIT, STEP, PART };

static void start(void)
{
	rig_start(&rig, 0);
	rig_seed(&rig, 100, 100, "app");
	rig_seed(&rig, 100, 101, "app");
	POINT(&rig, QUERY, .kind = OP_SESSION_PHASE, .class = TEXT("query"), .client = TEXT("{0}"), .root = true);
	POINT(&rig, CALL, .kind = OP_CALL, .class = TEXT("{1}{&:}{2}{|3}{|Query}.{4}"), .client = TEXT("session"),
	      .inherits_client = true, .key = TEXT("req:{0}"),
	      .outcome = CHOICES({ .cmp = ASSEMBLE_ALWAYS, .word = OUTCOME_EXECUTED }));
	POINT(&rig, EXEC, .kind = OP_CALL_EXEC, .class = TEXT("exec"), .key = TEXT("oc:{0}"), .inherits_class = true,
	      .inherits_client = true, .outcome = CHOICES({ .cmp = ASSEMBLE_ALWAYS, .word = OUTCOME_OK }));
	POINT(&rig, DIGEST, .role = ASSEMBLE_ROLE_KEY, .target = TEXT("req:{0}"), .ident = TEXT("{1}"));
	POINT(&rig, ERROR, .role = ASSEMBLE_ROLE_KEY, .target = TEXT("oc:{0}"),
	      .outcome = CHOICES({ .value = 1, .cmp = ASSEMBLE_NE, .word = OUTCOME_ERROR }));
	POINT(&rig, RUN, .kind = OP_EXEC, .class = TEXT("run"));
	POINT(&rig, STATE, .role = ASSEMBLE_ROLE_KEY, .under = TEXT("run"), .ident = TEXT("{0}{|1}"),
	      .client = TEXT("{2}"), .nested = TEXT("{3}"), .meta = TEXT("{3}"));
	POINT(&rig, PHASE, .kind = OP_SESSION_PHASE, .class = TEXT("phase"), .under = TEXT("query"),
	      .inherits_client = true);
	POINT(&rig, STEP, .kind = OP_INTERNAL, .class = TEXT("{0}"));
	POINT(&rig, PART, .kind = OP_INTERNAL, .class = TEXT("{0}"), .under = TEXT("stop*"));
	POINT(&rig, WAIT, .role = ASSEMBLE_ROLE_WAIT, .under = TEXT("query"), .resource = TEXT("attached"));
}

static void stop(void)
{
	rig_stop(&rig);
}

TestSuite(told, .init = start, .fini = stop);

static const struct model_op *op(const char *class, unsigned n)
{
	return &rig.m->ops[op_of_class(&rig, class, n)];
}

#define EXPECT_STR(id, text) cr_expect_str_eq(rig_str(&rig, (id)), text)

Test(told, words_that_depend_on_what_can_be_read)
{
	static const struct {
		const char *values[5], *class;
	} cases[] = {
		{ { "u1", "gmod", "gContainer", "gFile", "gf" }, "mod:Container.f" },
		{ { "u1", "g", "gContainer", "gFile", "gf" }, "Container.f" },
		{ { "u1", "!", "!", "gFile", "gf" }, "File.f" },
		{ { "u1", "g", "g", "!", "gf" }, "Query.f" },
		{ { "u1", "gmod", "!", "g", "!" }, "mod:Query." },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const *v = cases[i].values;

		ENTER(&rig, MS(2 * i + 1), CALL, FRAME(100, 64), v[0], v[1], v[2], v[3], v[4]);
		LEAVE(&rig, MS(2 * i + 2), CALL, FRAME(100, 64));
	}
	rig_finish(&rig, MS(20));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(ops_of_class(&rig, cases[i].class), 1, "%s", cases[i].class);
}

/* The digest is told of the call whose request it is, whichever call asks for it. */
Test(told, of_the_op_that_has_the_key)
{
	ENTER(&rig, MS(1), CALL, FRAME(100, 64), "u1", "g", "g", "g", "gouter");
	ENTER(&rig, MS(2), CALL, FRAME(100, 128), "u2", "g", "g", "g", "ginner");
	MARK(&rig, MS(3), DIGEST, FRAME(100, 192), "u1", "gsha:1");
	MARK(&rig, MS(4), DIGEST, FRAME(100, 192), "u9", "gsha:9");
	MARK(&rig, MS(5), DIGEST, FRAME(100, 192), "u1", "!");
	LEAVE(&rig, MS(6), CALL, FRAME(100, 128));
	LEAVE(&rig, MS(7), CALL, FRAME(100, 64));
	MARK(&rig, MS(8), DIGEST, FRAME(100, 192), "u2", "gtoo late");
	rig_finish(&rig, MS(20));
	EXPECT_STR(op("Query.outer", 1)->ident_id, "sha:1");
	cr_expect_eq(op("Query.inner", 1)->ident_id, 0);
	EXPECT_STR(op("Query.inner", 1)->client_id, "session");
}

Test(told, that_it_failed)
{
	static const char *const errors[] = { "u0", "u7" };

	for (unsigned i = 0; i < 2; i++) {
		ENTER(&rig, MS(4 * i + 1), EXEC, FRAME(100, 64), "u7");
		MARK(&rig, MS(4 * i + 2), ERROR, FRAME(100, 128), "u7", errors[i]);
		LEAVE(&rig, MS(4 * i + 3), EXEC, FRAME(100, 64));
		/* When it is over nothing changes how it ended. */
		MARK(&rig, MS(4 * i + 4), ERROR, FRAME(100, 128), "u7", "u7");
	}
	rig_finish(&rig, MS(20));
	cr_expect_eq(op("exec", 1)->outcome, OUTCOME_OK);
	cr_expect_eq(op("exec", 2)->outcome, OUTCOME_ERROR);
}

/* The goroutine's own op is none that a profile tells of: what is above it is inherited. */
Test(told, by_what_it_hangs_below)
{
	static const char *const reasons[] = { "", "chan receive" };

	cr_assert_eq(assemble_go_set(rig.a, 100, reasons, 2), 0);
	ENTER(&rig, MS(1), QUERY, GO_FRAME(100, 5, 0xc000010000, 64), "gclient");
	ENTER(&rig, MS(2), CALL, GO_FRAME(100, 5, 0xc000010000, 128), "u1", "g", "g", "g", "gf");
	cr_assert_eq(go_birth(&rig, MS(3), 100, 5, 6, 0x1000), 0);
	ENTER(&rig, MS(4), EXEC, GO_FRAME(101, 6, 0xc000020000, 64), "u7");
	LEAVE(&rig, MS(5), EXEC, GO_FRAME(101, 6, 0xc000020000, 64));
	LEAVE(&rig, MS(6), CALL, GO_FRAME(100, 5, 0xc000010000, 128));
	LEAVE(&rig, MS(7), QUERY, GO_FRAME(100, 5, 0xc000010000, 64));
	rig_finish(&rig, MS(20));
	cr_assert_eq(ops_of_class(&rig, "Query.f"), 2);
	EXPECT_STR(op("Query.f", 1)->client_id, "client");
	cr_expect_eq(op("Query.f", 2)->kind, OP_CALL_EXEC);
	EXPECT_STR(op("Query.f", 2)->client_id, "client");
}

Test(told, only_where_it_is_meant)
{
	ENTER(&rig, MS(1), PHASE, FRAME(100, 32));
	LEAVE(&rig, MS(2), PHASE, FRAME(100, 32));
	ENTER(&rig, MS(3), QUERY, FRAME(100, 64), "gclient");
	ENTER(&rig, MS(4), WAIT, FRAME(100, 128));
	LEAVE(&rig, MS(5), WAIT, FRAME(100, 128));
	ENTER(&rig, MS(6), PHASE, FRAME(100, 128));
	ENTER(&rig, MS(7), PHASE, FRAME(100, 192));
	ENTER(&rig, MS(7), WAIT, FRAME(100, 256));
	LEAVE(&rig, MS(8), WAIT, FRAME(100, 256));
	LEAVE(&rig, MS(8), PHASE, FRAME(100, 192));
	LEAVE(&rig, MS(9), PHASE, FRAME(100, 128));
	LEAVE(&rig, MS(10), QUERY, FRAME(100, 64));
	rig_finish(&rig, MS(20));
	cr_assert_eq(ops_of_class(&rig, "phase"), 1);
	cr_expect_eq(op("phase", 1)->start_ns, 6000000);
	EXPECT_STR(op("phase", 1)->client_id, "client");
	cr_assert_eq(rig.m->wait_n, 2);
	cr_expect_eq(rig.m->waits[1].start_ns, 4000000);
	cr_expect_eq(rig.m->integrity.unmatched_exits, 0);
}

/* "stop*": under that one and all that are called by it, but not under what is below those. */
Test(told, under_any_class_that_begins_so)
{
	static const char *const under[] = { "gstop", "gstop.func1", "gsto", "gnonstop", "gstopped" };
	static const bool meant[] = { true, true, false, false, true };

	ENTER(&rig, MS(1), PART, FRAME(100, 32), "galone");
	LEAVE(&rig, MS(2), PART, FRAME(100, 32));
	for (unsigned i = 0; i < 5; i++) {
		char part[] = "gpart0", inner[] = "ginner0";

		part[5] = inner[6] = (char)('0' + i);
		ENTER(&rig, MS(10 * i + 3), STEP, FRAME(100, 64), under[i]);
		ENTER(&rig, MS(10 * i + 4), PART, FRAME(100, 128), part);
		ENTER(&rig, MS(10 * i + 5), PART, FRAME(100, 192), inner);
		LEAVE(&rig, MS(10 * i + 6), PART, FRAME(100, 192));
		LEAVE(&rig, MS(10 * i + 7), PART, FRAME(100, 128));
		LEAVE(&rig, MS(10 * i + 8), STEP, FRAME(100, 64));
	}
	rig_finish(&rig, MS(100));
	cr_expect_eq(ops_of_class(&rig, "alone"), 0);
	for (unsigned i = 0; i < 5; i++) {
		char part[] = "part0", inner[] = "inner0";

		part[4] = inner[5] = (char)('0' + i);
		cr_expect_eq(ops_of_class(&rig, part), meant[i] ? 1 : 0, "%s under %s", part, under[i]);
		cr_expect_eq(ops_of_class(&rig, inner), 0, "%s under %s", inner, under[i]);
	}
	cr_expect_eq(rig.m->integrity.unmatched_exits, 0);
}

Test(told, who_it_is_and_whom_it_hosts)
{
	ENTER(&rig, MS(1), RUN, FRAME(100, 64));
	MARK(&rig, MS(2), STATE, FRAME(100, 128), "!", "gstate", "gcaller", "gnested");
	/* Inside of something else it is about that. */
	ENTER(&rig, MS(3), CALL, FRAME(100, 128), "u1", "g", "g", "g", "gf");
	MARK(&rig, MS(4), STATE, FRAME(100, 192), "gother", "gother", "gother", "gother");
	LEAVE(&rig, MS(5), CALL, FRAME(100, 128));
	LEAVE(&rig, MS(6), RUN, FRAME(100, 64));
	ENTER(&rig, MS(7), QUERY, FRAME(101, 64), "gnested");
	LEAVE(&rig, MS(8), QUERY, FRAME(101, 64));
	rig_finish(&rig, MS(20));
	EXPECT_STR(op("run", 1)->ident_id, "state");
	EXPECT_STR(op("run", 1)->client_id, "caller");
	EXPECT_STR(op("run", 1)->meta_id, "[\"nested\"]");
	cr_expect_eq(op("Query.f", 1)->ident_id, 0);
	cr_assert_eq(rig.m->link_n, 2);
	cr_expect_eq(rig.m->links[1].kind, LINK_NESTED_CLIENT);
	cr_expect_eq(rig.m->links[1].from, op_of_class(&rig, "run", 1));
	cr_expect_eq(rig.m->links[1].to, 0);
	cr_expect_eq(rig.m->links[1].start_ns, 2000000);
	EXPECT_STR(rig.m->links[1].ident_id, "nested");
	cr_expect_eq(op("query", 1)->parent, 0);
	EXPECT_STR(op("query", 1)->client_id, "nested");
}
