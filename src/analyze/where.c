/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Fifteen reasons and dozens of kinds are too many for the question "where did
 * the time go?", and a reason alone says too little: io may be a disk, a peer
 * or a program at the other end of a pipe. The kind decides, then the name of
 * the socket, then what woke the waiter; what none of them tells is unknown.
 * Words are compared once a row, not once a wait.
 */
#include "analyze/where.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/idle.h"

/* Beyond enum analyze_where: what only the wait itself can tell. */
enum { RULE_POLL = WHERE_MAX, RULE_SOCKET, RULE_DEVICE, RULE_HANDED, RULE_NETPOLL };

const char *analyze_where_name(enum analyze_where w)
{
	static const char *const names[WHERE_MAX] = {
		[WHERE_RUNNING] = "running", [WHERE_RUNNABLE] = "runnable", [WHERE_LOCK] = "lock",
		[WHERE_DISK] = "disk",	     [WHERE_NET] = "net",	    [WHERE_PIPE] = "pipe",
		[WHERE_TIMER] = "timer",     [WHERE_CHILD] = "child",	    [WHERE_WORK] = "work",
		[WHERE_IDLE] = "idle",	     [WHERE_UNKNOWN] = "unknown",
	};

	return w < WHERE_MAX ? names[w] : "";
}

static bool is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++) {
		if (strcmp(word, *words) == 0)
			return true;
	}
	return false;
}

static uint8_t io_where(const char *kind)
{
	static const char *const disk[] = { "file", "fsync", NULL };
	static const char *const pipe[] = { "pipe", "tty", "eventfd", "mqueue", "pidfd", NULL };

	if (is_one_of(kind, disk))
		return WHERE_DISK;
	if (is_one_of(kind, pipe))
		return WHERE_PIPE;
	return strcmp(kind, "socket") == 0 ? RULE_SOCKET : RULE_DEVICE;
}

static uint8_t row_where(const struct model *m, const struct model_row *row)
{
	static const char *const children[] = { "child", "vfork", "join", NULL };
	static const char *const handed[] = { "chan_receive", "chan_send", "chan_select", "waitgroup", NULL };
	const char *kind = strtab_str(m->strings, row->kind_id);
	enum idle_row idle = idle_row(m, row);

	if (is_one_of(kind, children))
		return WHERE_CHILD;
	if (row->reason == REASON_POLL && idle_lock_function(m, row))
		return WHERE_LOCK;
	/* What is awaited there is what another goroutine does. */
	if (is_one_of(kind, handed))
		return WHERE_WORK;
	if (idle != IDLE_NEVER)
		return idle == IDLE_ALWAYS ? WHERE_IDLE : RULE_POLL;
	switch ((enum wait_reason)row->reason) {
	case REASON_CPU:
		return WHERE_RUNNABLE;
	case REASON_LOCK:
	case REASON_SYNC:
		return WHERE_LOCK;
	case REASON_SLEEP:
		return WHERE_TIMER;
	case REASON_EXEC:
		return WHERE_CHILD;
	case REASON_IO:
		return io_where(kind);
	case REASON_FAULT:
		return WHERE_DISK;
	case REASON_CALL_EXEC:
	case REASON_SINGLEFLIGHT:
	case REASON_LAZY:
	case REASON_SERVICE:
		return WHERE_WORK;
	default:
		return RULE_DEVICE;
	}
}

static enum analyze_where by_waker(const struct model_wait *w)
{
	switch (w->ctx) {
	case WAKER_DISK:
		return WHERE_DISK;
	case WAKER_NET:
		return WHERE_NET;
	default:
		return WHERE_UNKNOWN;
	}
}

static enum analyze_where by_rule(const struct model *m, uint8_t rule, const struct model_wait *w)
{
	const char *name;

	switch (rule) {
	case RULE_POLL:
		return w->outcome == WAIT_TIMEOUT ? WHERE_TIMER : WHERE_IDLE;
	case RULE_SOCKET:
		/* "unix /run/x", "unix:[4711]": a program of this machine. */
		name = strtab_str(m->strings, w->ident_id);
		return strncmp(name, "unix", 4) == 0 ? WHERE_PIPE : WHERE_NET;
	case RULE_DEVICE:
		return by_waker(w);
	case RULE_HANDED:
		return m->ops[w->op].kind == OP_INTERNAL ? WHERE_IDLE : WHERE_WORK;
	case RULE_NETPOLL:
		return m->ops[w->op].kind == OP_INTERNAL ? WHERE_IDLE : by_rule(m, RULE_SOCKET, w);
	default:
		return rule;
	}
}

enum analyze_where where_of(const struct where *x, const struct model_wait *w)
{
	return by_rule(x->m, x->rows[w->row], w);
}

enum analyze_where analyze_wait_where(const struct model *m, const struct model_wait *w)
{
	return by_rule(m, w->row ? row_where(m, &m->rows[w->row]) : WHERE_UNKNOWN, w);
}

/*
 * The same as a condition variable, epoll and a join are to threads: a server's goroutines are all in them until there is
 * work. In an op there is.
 */
void where_goroutines(struct where *x)
{
	for (size_t i = 1; i < x->m->row_n; i++) {
		const struct model_row *row = &x->m->rows[i];
		const char *kind = strtab_str(x->m->strings, row->kind_id);

		if (!row->parked)
			continue;
		if (strcmp(kind, "chan_receive") == 0 || strcmp(kind, "chan_select") == 0)
			x->rows[i] = RULE_HANDED;
		else if (strcmp(kind, "waitgroup") == 0)
			x->rows[i] = WHERE_CHILD;
		else if (strcmp(kind, "netpoll") == 0 || strcmp(kind, "socket") == 0)
			x->rows[i] = RULE_NETPOLL;
	}
}

int where_init(struct where *x, const struct model *m)
{
	uint8_t *rows = calloc(m->row_n, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	rows[0] = WHERE_UNKNOWN;
	for (size_t i = 1; i < m->row_n; i++)
		rows[i] = row_where(m, &m->rows[i]);
	*x = (struct where){ .m = m, .rows = rows };
	return 0;
}

void where_done(struct where *x)
{
	free(x->rows);
	x->rows = NULL;
}
