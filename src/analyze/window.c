/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A part of a recording is a recording, so all views work on it unchanged:
 * hence it is cut out of the model once instead of each view learning about
 * times. Vectors are packed in place; what refers to an entry by its index is
 * given the new one, 0 if it is gone.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/account.h"
#include "util/cleanup.h"

struct window {
	struct model *m;
	int64_t from_ns, to_ns;
	uint32_t *ops, *threads, *processes; /* new index by old */
	uint32_t *waker_ops;		     /* old op index by old wait index */
};

static void window_free(struct window *x)
{
	free(x->ops);
	free(x->threads);
	free(x->processes);
	free(x->waker_ops);
}

/* What only touches the window is outside, unless it has no length itself. */
static bool outside(const struct window *x, int64_t start_ns, int64_t end_ns)
{
	if (start_ns == end_ns)
		return start_ns < x->from_ns || start_ns > x->to_ns;
	return end_ns <= x->from_ns || start_ns >= x->to_ns;
}

/* Clips an interval and moves it to the new time; gives the bits of clipped. */
static uint8_t clip(const struct window *x, int64_t *start_ns, int64_t *end_ns)
{
	uint8_t clipped = (uint8_t)((*start_ns < x->from_ns ? CLIPPED_BEFORE : 0) |
				    (*end_ns > x->to_ns ? CLIPPED_AFTER : 0));

	*start_ns = (*start_ns > x->from_ns ? *start_ns : x->from_ns) - x->from_ns;
	*end_ns = (*end_ns < x->to_ns ? *end_ns : x->to_ns) - x->from_ns;
	return clipped;
}

/* Off the CPU by the thread's account and in no wait; what its waits leave for the CPU. */
static void thread_rest(const struct model *m, const struct lanes *l, const struct where *w, uint32_t thread,
			uint64_t *ret_hidden_ns, uint64_t *ret_running_ns)
{
	const struct model_thread *t = &m->threads[thread];
	struct account all;
	uint64_t off_ns = t->blocked_ns + t->runnable_ns + t->lost_ns, waits_ns;

	account_between(m, l, w, thread, t->begin_ns, t->end_ns, &all);
	waits_ns = all.total_ns - all.ns[WHERE_RUNNING];
	*ret_hidden_ns = off_ns > waits_ns ? off_ns - waits_ns : 0;
	*ret_running_ns = all.ns[WHERE_RUNNING];
}

static void thread_account(const struct window *x, const struct lanes *l, const struct where *w, uint32_t thread)
{
	struct model_thread *t = &x->m->threads[thread];
	uint64_t hidden_ns, running_ns, share_ns = 0;
	struct account a;

	if (!t->has_totals)
		return;
	thread_rest(x->m, l, w, thread, &hidden_ns, &running_ns);
	account_between(x->m, l, w, thread, x->from_ns, x->to_ns, &a);
	if (running_ns)
		share_ns = (uint64_t)((double)hidden_ns * (double)a.ns[WHERE_RUNNING] / (double)running_ns);
	share_ns = share_ns < a.ns[WHERE_RUNNING] ? share_ns : a.ns[WHERE_RUNNING];
	t->oncpu_ns = a.ns[WHERE_RUNNING] - share_ns;
	t->runnable_ns = a.ns[WHERE_RUNNABLE];
	t->lost_ns = share_ns;
	t->blocked_ns = a.total_ns - a.ns[WHERE_RUNNING] - a.ns[WHERE_RUNNABLE];
}

static int threads_account(struct window *x)
{
	_cleanup_(lanes_done) struct lanes lanes = { 0 };
	_cleanup_(where_done) struct where where = { 0 };

	if (lanes_init(&lanes, x->m) < 0 || where_init(&where, x->m) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < x->m->thread_n; i++)
		thread_account(x, &lanes, &where, i);
	return 0;
}

static void ops_pack(struct window *x)
{
	struct model *m = x->m;
	uint32_t n = 1;

	for (uint32_t i = 1; i < m->op_n; i++) {
		struct model_op o = m->ops[i];

		if (outside(x, o.start_ns, o.end_ns))
			continue;
		o.open |= o.end_ns > x->to_ns;
		o.clipped |= clip(x, &o.start_ns, &o.end_ns);
		x->ops[i] = n;
		m->ops[n++] = o;
	}
	m->op_n = n;
	for (uint32_t i = 1; i < n; i++)
		m->ops[i].parent = x->ops[m->ops[i].parent];
}

static void processes_pack(struct window *x)
{
	struct model *m = x->m;
	uint32_t n = 1;

	for (uint32_t i = 1; i < m->process_n; i++) {
		struct model_process p = m->processes[i];

		if (p.op && !x->ops[p.op])
			continue;
		p.op = x->ops[p.op];
		p.phase = x->ops[p.phase];
		x->processes[i] = n;
		m->processes[n++] = p;
	}
	m->process_n = n;
}

static void threads_pack(struct window *x)
{
	struct model *m = x->m;
	size_t goroutine_n = 0;
	uint32_t n = 1;

	for (uint32_t i = 1; i < m->thread_n; i++) {
		struct model_thread t = m->threads[i];

		if (outside(x, t.begin_ns, t.end_ns))
			continue;
		t.clipped |= clip(x, &t.begin_ns, &t.end_ns);
		t.op = x->ops[t.op];
		t.process = x->processes[t.process];
		t.sample_n = 0;
		x->threads[i] = n;
		m->threads[n++] = t;
		goroutine_n += t.goid != 0;
	}
	m->thread_n = n;
	m->goroutine_n = goroutine_n;
}

static void rows_clear(struct model *m)
{
	for (size_t i = 1; i < m->row_n; i++) {
		m->rows[i].count = m->rows[i].blocked_ns = m->rows[i].runnable_ns = 0;
		m->rows[i].thread = 0;
	}
}

/* What is said of a waker is said in its terms. */
static void waker_move(const struct window *x, struct model_wait *w, uint32_t waker_op)
{
	if (!w->waker)
		return;
	w->waker = x->threads[w->waker];
	if (w->waker)
		model_wait_waker_op_set(x->m, w, x->ops[waker_op]);
	else
		w->outside_waker = 0;
}

static void waits_pack(struct window *x)
{
	struct model *m = x->m;
	uint32_t n = 1;

	rows_clear(m);
	for (uint32_t i = 1; i < m->wait_n; i++) {
		struct model_wait w = m->waits[i];
		int64_t blocked_end = lanes_blocked_end(&w), ready = lanes_ready_begin(&w);

		if (outside(x, w.start_ns, w.end_ns))
			continue;
		w.blocked_ns = lanes_overlap(w.start_ns, blocked_end, x->from_ns, x->to_ns);
		w.runnable_ns = lanes_overlap(ready, w.end_ns, x->from_ns, x->to_ns);
		if (w.wake_ns >= 0)
			w.wake_ns = w.wake_ns > x->to_ns ? -1 : w.wake_ns < x->from_ns ? 0 : w.wake_ns - x->from_ns;
		/* Nothing in the window ended it. */
		if (w.end_ns > x->to_ns)
			w.target = 0;
		w.clipped |= clip(x, &w.start_ns, &w.end_ns);
		w.op = x->ops[w.op];
		w.target = x->ops[w.target];
		w.thread = x->threads[w.thread];
		waker_move(x, &w, x->waker_ops[i]);
		m->waits[n++] = w;
		m->rows[w.row].count++;
		m->rows[w.row].blocked_ns += (uint64_t)w.blocked_ns;
		m->rows[w.row].runnable_ns += (uint64_t)w.runnable_ns;
	}
	m->wait_n = n;
}

static void links_pack(struct window *x)
{
	struct model *m = x->m;
	uint32_t n = 1;

	for (uint32_t i = 1; i < m->link_n; i++) {
		struct model_link l = m->links[i];

		if (!x->ops[l.from])
			continue;
		l.from = x->ops[l.from];
		l.to = x->ops[l.to];
		l.start_ns = l.start_ns > x->from_ns ? l.start_ns : x->from_ns;
		l.end_ns = l.end_ns > l.start_ns ? l.end_ns : l.start_ns;
		l.start_ns = l.start_ns < x->to_ns ? l.start_ns : x->to_ns;
		clip(x, &l.start_ns, &l.end_ns);
		m->links[n++] = l;
	}
	m->link_n = n;
}

static void spans_pack(struct window *x)
{
	struct model *m = x->m;
	uint32_t n = 1;

	for (uint32_t i = 1; i < m->span_n; i++) {
		struct model_span s = m->spans[i];

		s.op = x->ops[s.op];
		if (s.op)
			m->spans[n++] = s;
	}
	m->span_n = n;
}

/* A sample is what was seen at several moments: those in the window count. Without moments there is no telling. */
static void samples_pack(struct window *x)
{
	struct model *m = x->m;
	size_t n = 0;

	for (size_t i = 1; i < m->sample_n; i++) {
		m->samples[i].count = m->samples[i].ns = 0;
		m->samples[i].thread = x->threads[m->samples[i].thread];
	}
	for (size_t i = 0; i < m->sample_time_n; i++) {
		struct model_sample_time t = m->sample_times[i];

		if (t.at_ns < x->from_ns || t.at_ns >= x->to_ns || !m->samples[t.sample].thread)
			continue;
		t.at_ns -= x->from_ns;
		m->sample_times[n++] = t;
		m->samples[t.sample].count++;
		m->threads[m->samples[t.sample].thread].sample_n++;
	}
	m->sample_time_n = n;
}

int analyze_window(struct model *m, int64_t from_ns, int64_t to_ns)
{
	_cleanup_(window_free) struct window x = { .m = m, .from_ns = from_ns, .to_ns = to_ns };

	x.ops = calloc(m->op_n, sizeof(*x.ops));
	x.threads = calloc(m->thread_n, sizeof(*x.threads));
	x.processes = calloc(m->process_n, sizeof(*x.processes));
	x.waker_ops = calloc(m->wait_n, sizeof(*x.waker_ops));
	if (!x.ops || !x.threads || !x.processes || !x.waker_ops || threads_account(&x) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->wait_n; i++)
		x.waker_ops[i] = model_wait_waker_op(m, &m->waits[i]);
	ops_pack(&x);
	processes_pack(&x);
	threads_pack(&x);
	waits_pack(&x);
	links_pack(&x);
	spans_pack(&x);
	samples_pack(&x);
	m->epoch_unix_ns += from_ns;
	m->end_ns = to_ns - from_ns;
	return 0;
}
