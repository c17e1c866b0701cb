/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The words of the dump format, one table an enum, in the enum's order. Tables
 * are the only place that knows a word: writer, reader and report go through here.
 */
#include "model/model.h"

#include <errno.h>
#include <string.h>

static const char *const op_kinds[OP_KIND_MAX] = {
	[OP_CALL] = "call",
	[OP_CALL_EXEC] = "call_exec",
	[OP_LAZY] = "lazy",
	[OP_EXEC] = "exec",
	[OP_EXEC_PHASE] = "exec_phase",
	[OP_SERVICE_START] = "service_start",
	[OP_SESSION_PHASE] = "session_phase",
	[OP_IO] = "io",
	[OP_INTERNAL] = "internal",
};

static const char *const work_types[WORK_TYPE_MAX] = {
	[WORK_ENGINE] = "engine",
	[WORK_USER] = "user",
	[WORK_EXTERNAL] = "external",
};

static const char *const op_outcomes[OP_OUTCOME_MAX] = {
	[OUTCOME_NONE] = "",
	[OUTCOME_HIT] = "hit",
	[OUTCOME_EXECUTED] = "executed",
	[OUTCOME_JOINED] = "joined",
	[OUTCOME_DO_NOT_CACHE] = "do_not_cache",
	[OUTCOME_OK] = "ok",
	[OUTCOME_ERROR] = "error",
	[OUTCOME_CANCELED] = "canceled",
};

static const char *const link_kinds[LINK_KIND_MAX] = {
	[LINK_NESTED_CLIENT] = "nested_client",
	[LINK_RESULT] = "result",
	[LINK_REUSED_RESULT] = "reused_result",
};

static const char *const wait_reasons[REASON_MAX] = {
	[REASON_CALL_EXEC] = "call_exec",
	[REASON_SINGLEFLIGHT] = "singleflight",
	[REASON_LAZY] = "lazy",
	[REASON_SERVICE] = "service",
	[REASON_LOCK] = "lock",
	[REASON_EXEC] = "exec",
	[REASON_IO] = "io",
	[REASON_SYNC] = "sync",
	[REASON_SLEEP] = "sleep",
	[REASON_POLL] = "poll",
	[REASON_CPU] = "cpu",
	[REASON_FAULT] = "fault",
	[REASON_STOPPED] = "stopped",
	[REASON_SIGNAL] = "signal",
	[REASON_OTHER] = "other",
};

static const char *const wait_outcomes[WAIT_OUTCOME_MAX] = {
	[WAIT_OUTCOME_NONE] = "",
	[WAIT_WOKEN] = "woken",
	[WAIT_TIMEOUT] = "timeout",
	[WAIT_INTERRUPTED] = "interrupted",
	[WAIT_KILLED] = "killed",
};

static const char *const waker_ctxs[WAKER_CTX_MAX] = {
	[WAKER_NONE] = "",
	[WAKER_UNKNOWN] = "unknown",
	[WAKER_TASK] = "task",
	[WAKER_TIMER] = "timer",
	[WAKER_DISK] = "disk",
	[WAKER_NET] = "net",
	[WAKER_IRQ] = "irq",
};

static const char *const owner_unknowns[OWNER_UNKNOWN_MAX] = {
	[OWNER_UNKNOWN_NONE] = "",
	[OWNER_UNKNOWN_FAULT] = "fault",
	[OWNER_UNKNOWN_BEGAN_BEFORE] = "began before",
	[OWNER_UNKNOWN_NO_THREAD] = "no thread of the process",
};

/* Values come from files too: one that is out of range has no name. */
static const char *word_of(const char *const *words, unsigned n, unsigned value)
{
	return value < n ? words[value] : "";
}

static int word_find(const char *const *words, unsigned n, const char *word, unsigned *ret)
{
	for (unsigned i = 0; i < n; i++) {
		/* Asked for each event: most words differ in their first letter. */
		if (words[i][0] == word[0] && strcmp(words[i], word) == 0) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

#define DEFINE_WORDS(prefix, type, words, max)                           \
	const char *prefix##_name(type value)                            \
	{                                                                \
		return word_of(words, max, (unsigned)value);             \
	}                                                                \
	int prefix##_parse(const char *word, type *ret)                  \
	{                                                                \
		unsigned value;                                          \
                                                                         \
		if (word_find(words, max, word, &value) < 0)             \
			return -EINVAL;                                  \
		*ret = (type)value;                                      \
		return 0;                                                \
	}

DEFINE_WORDS(op_kind, enum op_kind, op_kinds, OP_KIND_MAX)
DEFINE_WORDS(work_type, enum work_type, work_types, WORK_TYPE_MAX)
DEFINE_WORDS(op_outcome, enum op_outcome, op_outcomes, OP_OUTCOME_MAX)
DEFINE_WORDS(link_kind, enum link_kind, link_kinds, LINK_KIND_MAX)
DEFINE_WORDS(wait_reason, enum wait_reason, wait_reasons, REASON_MAX)
DEFINE_WORDS(wait_outcome, enum wait_outcome, wait_outcomes, WAIT_OUTCOME_MAX)
DEFINE_WORDS(waker_ctx, enum waker_ctx, waker_ctxs, WAKER_CTX_MAX)
DEFINE_WORDS(owner_unknown, enum owner_unknown, owner_unknowns, OWNER_UNKNOWN_MAX)
