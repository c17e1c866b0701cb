/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The events of a dump for jq and its like: one object a line in the order of
 * their starts, with names instead of string ids, stacks as lists of names, and
 * the ids by which events refer to each other as they are in the dump.
 */
#include <errno.h>
#include <stdlib.h>

#include "cmd/report-sections.h"
#include "util/cleanup.h"

enum event_sort { EVENT_THREAD, EVENT_OP, EVENT_LINK, EVENT_WAIT };

struct event {
	int64_t start_ns;
	uint32_t index;
	uint8_t sort; /* enum event_sort */
};

static int event_compare(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->sort != y->sort)
		return x->sort < y->sort ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static void kv_name(const struct report *r, struct json *j, const char *key, uint32_t id)
{
	json_kv_string_nz(j, key, strtab_str(r->m->strings, id));
}

static void times_write(struct json *j, int64_t start_ns, int64_t end_ns, unsigned clipped)
{
	json_kv_int(j, "start_ns", start_ns);
	json_kv_int(j, "end_ns", end_ns);
	json_kv_int(j, "duration_ns", end_ns - start_ns);
	if (clipped & CLIPPED_BEFORE)
		json_kv_bool(j, "began_before", true);
	if (clipped & CLIPPED_AFTER)
		json_kv_bool(j, "open_at_end", true);
}

static void thread_write(const struct report *r, struct json *j, const struct model_thread *t)
{
	json_kv_string(j, "event", "thread");
	times_write(j, t->begin_ns, t->end_ns, t->clipped);
	json_kv_uint(j, "pid", t->pid);
	json_kv_uint(j, "tid", t->tid);
	json_kv_uint_nz(j, "goid", t->goid);
	json_kv_uint_nz(j, "parent_goid", t->parent_goid);
	kv_name(r, j, "thread_name", t->comm_id);
	json_kv_uint_nz(j, "op", r->m->ops[t->op].id);
	if (!t->has_totals)
		return;
	json_kv_uint(j, "oncpu_ns", t->oncpu_ns);
	json_kv_uint(j, "runnable_ns", t->runnable_ns);
	json_kv_uint(j, "blocked_ns", t->blocked_ns);
	json_kv_uint(j, "lost_ns", t->lost_ns);
}

static void op_write(const struct report *r, struct json *j, const struct model_op *o)
{
	json_kv_string(j, "event", "op");
	times_write(j, o->start_ns, o->end_ns, o->clipped);
	json_kv_uint(j, "id", o->id);
	json_kv_uint_nz(j, "parent", r->m->ops[o->parent].id);
	json_kv_string(j, "kind", op_kind_name(o->kind));
	kv_name(r, j, "class", o->class_id);
	json_kv_string(j, "work_type", work_type_name(o->work));
	json_kv_string_nz(j, "outcome", op_outcome_name(o->outcome));
	kv_name(r, j, "ident", o->ident_id);
	kv_name(r, j, "client", o->client_id);
	kv_name(r, j, "meta", o->meta_id);
	json_kv_uint_nz(j, "result", o->result);
	json_kv_uint_nz(j, "pid", o->pid);
	json_kv_uint_nz(j, "tid", o->tid);
	json_kv_uint_nz(j, "goid", o->goid);
	if (o->has_exit_status)
		json_kv_int(j, "exit_status", o->exit_status);
	if (o->open)
		json_kv_bool(j, "open", true);
}

static void link_write(const struct report *r, struct json *j, const struct model_link *l)
{
	json_kv_string(j, "event", "link");
	times_write(j, l->start_ns, l->end_ns, 0);
	json_kv_string(j, "kind", link_kind_name(l->kind));
	json_kv_uint_nz(j, "from", r->m->ops[l->from].id);
	json_kv_uint_nz(j, "to", r->m->ops[l->to].id);
	kv_name(r, j, "ident", l->ident_id);
	json_kv_uint_nz(j, "result", l->result);
}

static void waker_write(const struct report *r, struct json *j, const struct model_wait *w)
{
	uint32_t pid, tid, comm_id;

	json_kv_string_nz(j, "waker", waker_ctx_name(w->ctx));
	if (w->wake_ns >= 0)
		json_kv_int(j, "wake_ns", w->wake_ns);
	if (!model_wait_waker(r->m, w, &pid, &tid, &comm_id))
		return;
	json_kv_uint_nz(j, "waker_pid", pid);
	json_kv_uint_nz(j, "waker_tid", tid);
	json_kv_uint_nz(j, "waker_goid", r->m->threads[w->waker].goid);
	json_kv_uint_nz(j, "waker_op", r->m->ops[model_wait_waker_op(r->m, w)].id);
	kv_name(r, j, "waker_name", comm_id);
}

static void wait_write(const struct report *r, struct json *j, const struct model_wait *w)
{
	const struct model *m = r->m;
	const struct model_row *row = &m->rows[w->row];

	json_kv_string(j, "event", "wait");
	times_write(j, w->start_ns, w->end_ns, w->clipped);
	json_kv_uint_nz(j, "op", m->ops[w->op].id);
	json_kv_uint_nz(j, "pid", w->thread ? m->threads[w->thread].pid : m->ops[w->op].pid);
	json_kv_uint_nz(j, "tid", w->thread ? m->threads[w->thread].tid : m->ops[w->op].tid);
	json_kv_uint_nz(j, "goid", m->threads[w->thread].goid);
	kv_name(r, j, "thread_name", row->comm_id);
	json_kv_string(j, "reason", wait_reason_name(row->reason));
	kv_name(r, j, "wait_kind", row->kind_id);
	kv_name(r, j, "name", analyze_awaited_name(m, w));
	json_kv_bool(j, "idle_by_design", analyze_wait_is_idle(m, w));
	json_kv_uint_nz(j, "target", m->ops[w->target].id);
	json_kv_string_nz(j, "outcome", wait_outcome_name(w->outcome));
	json_kv_int(j, "blocked_ns", w->blocked_ns);
	json_kv_int(j, "runnable_ns", w->runnable_ns);
	json_kv_int(j, "oncpu_ns", w->end_ns - w->start_ns - w->blocked_ns - w->runnable_ns);
	waker_write(r, j, w);
	json_kv_uint_nz(j, "owner_tid", model_wait_words(m, w).owner_tid);
	json_kv_string_nz(j, "owner_unknown", owner_unknown_name(w->owner_unknown));
	if (row->syscall >= 0)
		json_kv_int(j, "syscall", row->syscall);
	if (row->ustack)
		report_frames_json(r, j, "user_frames", row->ustack);
	if (row->kstack)
		report_frames_json(r, j, "kernel_frames", row->kstack);
}

void report_op_json(const struct report *r, struct json *j, uint32_t op)
{
	json_begin_object(j);
	op_write(r, j, &r->m->ops[op]);
	json_end_object(j);
}

void report_wait_json(const struct report *r, struct json *j, uint32_t wait)
{
	json_begin_object(j);
	wait_write(r, j, &r->m->waits[wait]);
	json_end_object(j);
}

static void event_write(const struct report *r, struct json *j, const struct event *e)
{
	json_begin_object(j);
	switch ((enum event_sort)e->sort) {
	case EVENT_THREAD:
		thread_write(r, j, &r->m->threads[e->index]);
		break;
	case EVENT_OP:
		op_write(r, j, &r->m->ops[e->index]);
		break;
	case EVENT_LINK:
		link_write(r, j, &r->m->links[e->index]);
		break;
	case EVENT_WAIT:
		wait_write(r, j, &r->m->waits[e->index]);
		break;
	}
	json_end_object(j);
	json_newline(j);
}

static int events_collect(const struct report *r, struct event **ret, size_t *ret_n)
{
	const struct model *m = r->m;
	_cleanup_(freep) struct event *list = calloc(m->thread_n + m->op_n + m->link_n + m->wait_n, sizeof(*list));
	struct analyze_filter f = r->filter;
	struct analyze_picked picked;
	size_t n = 0;

	f.idle = ANALYZE_IDLE_TOO;
	if (!list || analyze_pick(m, &f, &picked) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->thread_n; i++) {
		if (picked.threads[i])
			list[n++] = (struct event){ m->threads[i].begin_ns, i, EVENT_THREAD };
	}
	for (uint32_t i = 1; i < m->op_n; i++) {
		if (picked.ops[i])
			list[n++] = (struct event){ m->ops[i].start_ns, i, EVENT_OP };
	}
	for (uint32_t i = 1; i < m->link_n; i++) {
		if (picked.ops[m->links[i].from] || picked.ops[m->links[i].to])
			list[n++] = (struct event){ m->links[i].start_ns, i, EVENT_LINK };
	}
	for (uint32_t i = 1; i < m->wait_n; i++) {
		if (picked.waits[i])
			list[n++] = (struct event){ m->waits[i].start_ns, i, EVENT_WAIT };
	}
	analyze_picked_done(&picked);
	qsort(list, n, sizeof(*list), event_compare);
	*ret = TAKE_PTR(list);
	*ret_n = n;
	return 0;
}

int report_events_print(const struct report *r, FILE *f)
{
	_cleanup_(freep) struct event *list = NULL;
	_cleanup_(json_freep) struct json *j = NULL;
	size_t n;

	if (events_collect(r, &list, &n) < 0 || json_new(json_to_stream, f, JSON_COMPACT, &j) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n && json_error(j) == 0; i++)
		event_write(r, j, &list[i]);
	return json_flush(j);
}
