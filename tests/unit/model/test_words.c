/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The words are typed here once more, from the format's description: a dump's words never change by accident. */
#include "model/model.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define CHECK_WORDS(prefix, type, max, ...)                                                    \
	do {                                                                                   \
		static const char *const want[] = { __VA_ARGS__ };                             \
		type got = (type)77;                                                           \
                                                                                               \
		cr_assert_eq(sizeof(want) / sizeof(want[0]), max);                             \
		for (unsigned i = 0; i < max; i++) {                                           \
			cr_expect_str_eq(prefix##_name((type)i), want[i]);                     \
			cr_expect_eq(prefix##_parse(want[i], &got), 0, "%s", want[i]);         \
			cr_expect_eq((unsigned)got, i, "%s", want[i]);                         \
		}                                                                              \
		got = (type)77;                                                                \
		cr_expect_eq(prefix##_parse("Exec", &got), -EINVAL);                           \
		cr_expect_eq(prefix##_parse("execx", &got), -EINVAL);                          \
		cr_expect_eq(prefix##_parse("exe", &got), -EINVAL);                            \
		cr_expect_eq((unsigned)got, 77);                                               \
		cr_expect_str_eq(prefix##_name((type)max), "");                                \
		cr_expect_str_eq(prefix##_name((type)255), "");                                \
	} while (0)

Test(words, ops)
{
	CHECK_WORDS(op_kind, enum op_kind, OP_KIND_MAX, "call", "call_exec", "lazy", "exec", "exec_phase",
		    "service_start", "session_phase", "io", "internal");
	CHECK_WORDS(work_type, enum work_type, WORK_TYPE_MAX, "engine", "user", "external");
	CHECK_WORDS(op_outcome, enum op_outcome, OP_OUTCOME_MAX, "", "hit", "executed", "joined", "do_not_cache", "ok",
		    "error", "canceled");
	CHECK_WORDS(link_kind, enum link_kind, LINK_KIND_MAX, "nested_client", "result", "reused_result");
}

Test(words, waits)
{
	CHECK_WORDS(wait_reason, enum wait_reason, REASON_MAX, "call_exec", "singleflight", "lazy", "service", "lock",
		    "exec", "io", "sync", "sleep", "poll", "cpu", "fault", "stopped", "signal", "other");
	CHECK_WORDS(wait_outcome, enum wait_outcome, WAIT_OUTCOME_MAX, "", "woken", "timeout", "interrupted", "killed");
	CHECK_WORDS(waker_ctx, enum waker_ctx, WAKER_CTX_MAX, "", "unknown", "task", "timer", "disk", "net", "irq");
	CHECK_WORDS(owner_unknown, enum owner_unknown, OWNER_UNKNOWN_MAX, "", "fault", "began before",
		    "no thread of the process");
}

Test(words, an_empty_word_is_none_only_where_none_exists)
{
	enum wait_reason reason;
	enum op_kind kind;

	cr_assert_eq(wait_reason_parse("", &reason), -EINVAL);
	cr_assert_eq(op_kind_parse("", &kind), -EINVAL);
}
