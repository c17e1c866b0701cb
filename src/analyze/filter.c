/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Idleness is mostly a matter of words, so they are compared once a row, not once a wait. */
#include "analyze/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum row_idle { ROW_BUSY, ROW_IDLE, ROW_IDLE_UNLESS_TIMEOUT };

static enum row_idle row_idle(const struct model *m, const struct model_row *row)
{
	static const char *const kinds[] = { "condvar", "epoll", "accept", "child", "vfork", "join", "signal",
					     "sigwait", "signalfd", "inotify", "fanotify", "stopped", "traced", "frozen" };
	const char *kind = strtab_str(m->strings, row->kind_id);

	/* Go's runtime waits for work, however: its workers, and threads that have no goroutine to run. */
	if (strcmp(kind, "go_idle") == 0 || strcmp(kind, "go_scheduler") == 0)
		return ROW_IDLE;
	if (row->reason == REASON_CPU || row->reason == REASON_SLEEP)
		return ROW_BUSY;
	if (strcmp(kind, "poll") == 0 || strcmp(kind, "select") == 0)
		return ROW_IDLE_UNLESS_TIMEOUT;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kind, kinds[i]) == 0)
			return ROW_IDLE;
	}
	return row->reason == REASON_POLL || row->reason == REASON_SIGNAL || row->reason == REASON_STOPPED ? ROW_IDLE :
													     ROW_BUSY;
}

static bool wait_idle(enum row_idle row, const struct model_wait *w)
{
	return row == ROW_IDLE || (row == ROW_IDLE_UNLESS_TIMEOUT && w->outcome != WAIT_TIMEOUT);
}

bool analyze_wait_is_idle(const struct model *m, const struct model_wait *w)
{
	return wait_idle(row_idle(m, &m->rows[w->row]), w);
}

bool filter_wait_is_idle(const struct filter *x, const struct model_wait *w)
{
	return wait_idle(x->row_idle[w->row], w);
}

int filter_init(struct filter *x, const struct model *m, const struct analyze_filter *f)
{
	static const struct analyze_filter all;
	uint8_t *idle = calloc(m->row_n, sizeof(*idle));

	if (!idle)
		return -ENOMEM;
	for (size_t i = 1; i < m->row_n; i++)
		idle[i] = (uint8_t)row_idle(m, &m->rows[i]);
	*x = (struct filter){ .m = m, .f = f ? f : &all, .row_idle = idle };
	return 0;
}

void filter_done(struct filter *x)
{
	free(x->row_idle);
	x->row_idle = NULL;
}

static bool number_passes(const uint32_t *numbers, size_t n, uint32_t number)
{
	for (size_t i = 0; i < n; i++) {
		if (numbers[i] == number)
			return true;
	}
	return n == 0;
}

bool filter_thread(const struct filter *x, const struct model_thread *t)
{
	const struct analyze_filter *f = x->f;

	return number_passes(f->pids, f->pid_n, t->pid) && number_passes(f->tids, f->tid_n, t->tid) &&
	       (!f->comm || strcmp(f->comm, strtab_str(x->m->strings, t->comm_id)) == 0);
}

bool filter_wait(const struct filter *x, const struct model_wait *w)
{
	const struct model_thread *t = &x->m->threads[w->thread];
	const struct model_op *o = &x->m->ops[w->op];
	const struct analyze_filter *f = x->f;

	if (f->idle != ANALYZE_IDLE_TOO && filter_wait_is_idle(x, w) != (f->idle == ANALYZE_IDLE_ONLY))
		return false;
	/* A name is that of its time, so it is the row's, not the thread's last. */
	return number_passes(f->pids, f->pid_n, w->thread ? t->pid : o->pid) &&
	       number_passes(f->tids, f->tid_n, model_wait_words(x->m, w).tid ?: w->thread ? t->tid : o->tid) &&
	       (!f->comm || strcmp(f->comm, strtab_str(x->m->strings, x->m->rows[w->row].comm_id)) == 0);
}

bool filter_is_blank(const struct analyze_filter *f)
{
	return !f || (!f->pid_n && !f->tid_n && !f->comm);
}
