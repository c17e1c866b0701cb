/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Idleness is mostly a matter of words. */
#include "analyze/idle.h"

#include <string.h>

#include "analyze/analyze.h"

/* Of PostgreSQL: heavyweight and lightweight locks; of InnoDB: row locks. */
static const char *const lock_functions[] = { "ProcSleep", "LWLockAcquire", "LWLockAcquireOrWait",
					      "lock_wait_suspend_thread" };

uint32_t idle_lock_function(const struct model *m, const struct model_row *row)
{
	const struct model_stack *s = &m->stacks[row->ustack < m->stack_n ? row->ustack : 0];

	for (uint32_t i = 0; i < s->frame_n; i++) {
		const char *name = strtab_str(m->strings, s->frames[i].name_id);

		for (size_t k = 0; k < sizeof(lock_functions) / sizeof(lock_functions[0]); k++) {
			if (strcmp(name, lock_functions[k]) == 0)
				return s->frames[i].name_id;
		}
	}
	return 0;
}

/*
 * Of Go's runtime: where a thread that has no goroutine to run is until there is one, where the monitor and who waits for
 * signals always are (proc.go, sigqueue.go, 1.19 to 1.27; findrunnable until 1.18). Stops of the world sleep in the same
 * futexes without these, locks of the runtime below them in lock2.
 */
static const char *const scheduler_functions[] = { "runtime.stopm", "runtime.stoplockedm", "runtime.mPark",
						   "runtime.findRunnable", "runtime.findrunnable", "runtime.sysmon",
						   "runtime.signal_recv", "runtime.templateThread" };

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static bool has_scheduler_frame(const struct model *m, const struct model_row *row)
{
	const struct model_stack *s = &m->stacks[row->ustack < m->stack_n ? row->ustack : 0];

	for (uint32_t i = 0; i < s->frame_n; i++) {
		const char *name = strtab_str(m->strings, s->frames[i].name_id);

		if (strncmp(name, "runtime.", 8) != 0)
			continue;
		if (strcmp(name, "runtime.lock2") == 0)
			return false;
		if (is_one_of(name, scheduler_functions, sizeof(scheduler_functions) / sizeof(scheduler_functions[0])))
			return true;
	}
	return false;
}

bool analyze_row_is_go_scheduler(const struct model *m, const struct model_row *row)
{
	static const bool sleeps[REASON_MAX] = {
		[REASON_SYNC] = true, [REASON_LOCK] = true, [REASON_POLL] = true, [REASON_SLEEP] = true,
		[REASON_OTHER] = true,
	};

	return row->reason < REASON_MAX && sleeps[row->reason] && has_scheduler_frame(m, row);
}

enum idle_row idle_row(const struct model *m, const struct model_row *row)
{
	static const char *const kinds[] = { "condvar",	 "epoll",   "accept",  "child",	   "vfork",
					     "join",	 "signal",  "sigwait", "signalfd", "inotify",
					     "fanotify", "stopped", "traced",  "frozen",   "kthread" };
	const char *kind = strtab_str(m->strings, row->kind_id);

	/* Go's runtime waits for work, however: its workers, and threads that have no goroutine to run. */
	if (strcmp(kind, "go_idle") == 0 || strcmp(kind, "go_scheduler") == 0)
		return IDLE_ALWAYS;
	if (row->reason == REASON_CPU)
		return IDLE_NEVER;
	/* Of a recording that doesn't follow goroutines only the stack tells. */
	if (analyze_row_is_go_scheduler(m, row))
		return IDLE_ALWAYS;
	if (row->reason == REASON_SLEEP)
		return IDLE_NEVER;
	if ((row->reason == REASON_POLL || row->reason == REASON_SYNC) && idle_lock_function(m, row))
		return IDLE_NEVER;
	if (strcmp(kind, "poll") == 0 || strcmp(kind, "select") == 0)
		return IDLE_UNLESS_TIMEOUT;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kind, kinds[i]) == 0)
			return IDLE_ALWAYS;
	}
	return row->reason == REASON_POLL || row->reason == REASON_SIGNAL || row->reason == REASON_STOPPED ?
		       IDLE_ALWAYS :
		       IDLE_NEVER;
}

bool analyze_wait_is_idle(const struct model *m, const struct model_wait *w)
{
	return idle_wait(idle_row(m, &m->rows[w->row]), w);
}

bool analyze_kind_is_idle(const struct model *m, enum wait_reason reason, uint32_t kind_id)
{
	return idle_row(m, &(struct model_row){ .reason = (uint8_t)reason, .kind_id = kind_id }) == IDLE_ALWAYS;
}

uint32_t analyze_lock_function(const struct model *m, const struct model_wait *w)
{
	const struct model_row *row = &m->rows[w->row];

	return row->reason == REASON_POLL || row->reason == REASON_SYNC ? idle_lock_function(m, row) : 0;
}

bool analyze_wait_is_given_up(const struct model *m, const struct model_wait *w)
{
	enum { TARGET_SLACK_NS = 1000000 };

	return w->target && w->target < m->op_n && m->ops[w->target].end_ns > w->end_ns + TARGET_SLACK_NS;
}
