/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Idleness is mostly a matter of words. */
#include "analyze/idle.h"

#include <string.h>

#include "analyze/analyze.h"

enum idle_row idle_row(const struct model *m, const struct model_row *row)
{
	static const char *const kinds[] = { "condvar",	 "epoll",   "accept",  "child",	   "vfork",
					     "join",	 "signal",  "sigwait", "signalfd", "inotify",
					     "fanotify", "stopped", "traced",  "frozen",   "kthread" };
	const char *kind = strtab_str(m->strings, row->kind_id);

	/* Go's runtime waits for work, however: its workers, and threads that have no goroutine to run. */
	if (strcmp(kind, "go_idle") == 0 || strcmp(kind, "go_scheduler") == 0)
		return IDLE_ALWAYS;
	if (row->reason == REASON_CPU || row->reason == REASON_SLEEP)
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
