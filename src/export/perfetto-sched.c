/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The scheduler's events as ftrace would have told them of the recorded
 * threads: only from these Perfetto computes states of threads, CPUs and its
 * critical path. A CPU on which none of them ran is idle here (pid 0), also
 * where another program had it.
 */
#include <errno.h>
#include <stdlib.h>

#include "export/label.h"
#include "export/perfetto.h"
#include "export/runs.h"
#include "util/cleanup.h"
#include "util/vec.h"

/* Fields of FtraceEventBundle, FtraceEvent, SchedSwitchFtraceEvent and SchedWakingFtraceEvent. */
enum { BUNDLE_CPU = 1, BUNDLE_EVENT = 2 };
enum { FTRACE_TIMESTAMP = 1, FTRACE_PID = 2, FTRACE_SWITCH = 4, FTRACE_FLAGS = 5, FTRACE_WAKING = 20 };
enum { SWITCH_PREV_COMM = 1, SWITCH_PREV_PID, SWITCH_PREV_PRIO, SWITCH_PREV_STATE, SWITCH_NEXT_COMM, SWITCH_NEXT_PID,
       SWITCH_NEXT_PRIO };
enum { WAKING_COMM = 1, WAKING_PID, WAKING_PRIO, WAKING_SUCCESS, WAKING_CPU };
enum { PRIO_DEFAULT = 120 };
enum { FLAG_HARDIRQ = 0x08, FLAG_SOFTIRQ = 0x10 }; /* TRACE_FLAG_* of the kernel's trace_events.h */
/* Of prev_state since Linux 4.14 (include/linux/sched.h). */
enum { STATE_RUNNABLE = 0, STATE_SLEEPING = 0x01, STATE_REPORTED = 0x7f, STATE_DEAD = 0x10, STATE_IDLE = 0x80,
       STATE_PREEMPTED = 0x100, STATE_NOLOAD = 0x400, STATE_DISK = 0x02 };
enum { EVENTS_A_BUNDLE = 1000 };

struct waking {
	int64_t at_ns;
	uint32_t wait, thread;
	uint32_t cpu; /* on which its waker ran */
};

struct sched {
	struct trace *t;
	struct runs runs;
	struct waking *wakings; /* by CPU, by time */
	size_t waking_n, waking_cap;
	uint32_t *by_thread;	/* runs by thread, by time: from first_run[thread] on */
	size_t *first_run;
	struct text bundle;
	size_t event_n;
};

static void sched_done(struct sched *s)
{
	runs_done(&s->runs);
	free(s->wakings);
	free(s->by_thread);
	free(s->first_run);
	text_done(&s->bundle);
}

/* ---- wakes ---- */

static int runs_index(struct sched *s)
{
	const struct model *m = s->t->m;

	s->by_thread = calloc(s->runs.n + 1, sizeof(*s->by_thread));
	s->first_run = calloc(m->thread_n + 2, sizeof(*s->first_run));
	if (!s->by_thread || !s->first_run)
		return -ENOMEM;
	for (size_t i = 0; i < s->runs.n; i++)
		s->first_run[s->runs.v[i].thread + 2]++;
	for (size_t i = 2; i < m->thread_n + 2; i++)
		s->first_run[i] += s->first_run[i - 1];
	for (size_t i = 0; i < s->runs.n; i++)
		s->by_thread[s->first_run[s->runs.v[i].thread + 1]++] = (uint32_t)i;
	return 0;
}

static int by_moment(const void *a, const void *b, void *arg)
{
	const struct run *runs = arg;
	const struct run *x = &runs[*(const uint32_t *)a], *y = &runs[*(const uint32_t *)b];

	return x->on_ns < y->on_ns ? -1 : x->on_ns > y->on_ns;
}

/* The CPU that a thread was on at ns; 0 if that isn't known. */
static uint32_t cpu_at(const struct sched *s, uint32_t thread, int64_t ns)
{
	size_t low = s->first_run[thread], high = s->first_run[thread + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->runs.v[s->by_thread[middle]].on_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == s->first_run[thread])
		return 0;
	return s->runs.v[s->by_thread[low - 1]].off_ns >= ns ? s->runs.v[s->by_thread[low - 1]].cpu : 0;
}

static int waking_compare(const void *a, const void *b)
{
	const struct waking *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->wait < y->wait ? -1 : x->wait > y->wait;
}

/* One that ran at once was woken just before: of two events at one time on two CPUs none would come first. */
static int64_t waking_ns(const struct model *m, uint32_t wait)
{
	int64_t ready_ns = scene_wait_ready_ns(m, wait);

	return ready_ns - (scene_wait_run_ns(m, wait) == ready_ns && ready_ns > m->waits[wait].start_ns + 1 ? 1 : 0);
}

static int thread_wakings(struct sched *s, const struct scene_actor *a)
{
	const struct model *m = s->t->m;

	for (size_t i = 0; i < a->wait_n; i++) {
		uint32_t wait = s->t->scene.waits[a->wait_first + i];
		const struct model_wait *w = &m->waits[wait];

		if (w->wake_ns < 0 || m->rows[w->row].reason == REASON_CPU)
			continue;
		if (VEC_RESERVE(s->wakings, s->waking_cap, s->waking_n + 1) < 0)
			return -ENOMEM;
		s->wakings[s->waking_n++] = (struct waking){
			.at_ns = waking_ns(m, wait), .wait = wait, .thread = a->thread,
			.cpu = w->waker ? cpu_at(s, w->waker, w->wake_ns) : 0,
		};
	}
	return 0;
}

static int wakings_make(struct sched *s)
{
	const struct model *m = s->t->m;

	for (size_t i = 0; i < m->thread_n; i++)
		if (s->first_run[i + 1] > s->first_run[i])
			qsort_r(s->by_thread + s->first_run[i], s->first_run[i + 1] - s->first_run[i],
				sizeof(*s->by_thread), by_moment, s->runs.v);
	for (size_t i = 0; i < s->t->scene.actor_n; i++) {
		const struct scene_actor *a = &s->t->scene.actors[i];

		if (a->thread && !m->threads[a->thread].goid && thread_wakings(s, a) < 0)
			return -ENOMEM;
	}
	if (s->waking_n)
		qsort(s->wakings, s->waking_n, sizeof(*s->wakings), waking_compare);
	return 0;
}

/* ---- events ---- */

static int bundle_write(struct sched *s, uint32_t cpu)
{
	struct text *out = &s->t->packet;
	size_t packet, bundle;
	int err = text_error(&s->bundle);

	if (err || !s->bundle.n)
		return err;
	text_clear(out);
	packet = proto_begin(out, TRACE_PACKET);
	bundle = proto_begin(out, PACKET_FTRACE);
	proto_uint(out, BUNDLE_CPU, cpu);
	text_append_n(out, text_str(&s->bundle), s->bundle.n);
	proto_end(out, bundle);
	proto_end(out, packet);
	text_clear(&s->bundle);
	s->event_n = 0;
	err = text_error(out);
	return err ? err : s->t->sink(s->t->arg, text_str(out), out->n);
}

static int64_t state_of(const struct sched *s, const struct run *run)
{
	const struct model *m = s->t->m;
	const struct model_row *r;
	uint32_t state;

	if (!run->wait)
		return STATE_DEAD;
	r = &m->rows[m->waits[run->wait].row];
	/* It did not run before: it began, or was recorded from here on. */
	if (r->reason == REASON_CPU && run->on_ns == run->off_ns)
		return STATE_RUNNABLE;
	/* The number of "preempted" depends on the kernel, which a trace without its name doesn't tell. */
	if (r->reason == REASON_CPU)
		return s->t->job->kernel ? STATE_PREEMPTED : STATE_RUNNABLE;
	if ((r->state & STATE_NOLOAD) && (r->state & STATE_DISK))
		return STATE_IDLE;
	state = r->state & STATE_REPORTED;
	return state ? state : STATE_SLEEPING;
}

static size_t event_begin(struct sched *s, int64_t ns, uint32_t pid)
{
	size_t at = proto_begin(&s->bundle, BUNDLE_EVENT);

	proto_uint(&s->bundle, FTRACE_TIMESTAMP, trace_ns(s->t, ns));
	proto_uint(&s->bundle, FTRACE_PID, pid);
	s->event_n++;
	return at;
}

/* A run NULL: the CPU is idle. */
static void switch_put(struct sched *s, int64_t ns, const struct run *prev, const struct run *next)
{
	const struct model *m = s->t->m;
	struct text *b = &s->bundle;
	size_t event = event_begin(s, ns, prev ? m->threads[prev->thread].tid : 0), at = proto_begin(b, FTRACE_SWITCH);

	proto_string(b, SWITCH_PREV_COMM, prev ? label_thread(m, prev->thread) : "swapper");
	proto_uint(b, SWITCH_PREV_PID, prev ? m->threads[prev->thread].tid : 0);
	proto_uint(b, SWITCH_PREV_PRIO, PRIO_DEFAULT);
	proto_int(b, SWITCH_PREV_STATE, prev ? state_of(s, prev) : STATE_RUNNABLE);
	proto_string(b, SWITCH_NEXT_COMM, next ? label_thread(m, next->thread) : "swapper");
	proto_uint(b, SWITCH_NEXT_PID, next ? m->threads[next->thread].tid : 0);
	proto_uint(b, SWITCH_NEXT_PRIO, PRIO_DEFAULT);
	proto_end(b, at);
	proto_end(b, event);
}

static void waking_put(struct sched *s, const struct waking *x)
{
	const struct model *m = s->t->m;
	const struct model_wait *w = &m->waits[x->wait];
	struct text *b = &s->bundle;
	uint32_t pid = 0, tid = 0, comm_id = 0;
	bool from_task = w->ctx == WAKER_TASK || w->waker;
	size_t event, at;

	/* Which thread a goroutine that woke it was on then is not told. */
	if (!m->threads[w->waker].goid)
		model_wait_waker(m, w, &pid, &tid, &comm_id);
	event = event_begin(s, x->at_ns, from_task ? tid : 0);
	if (!from_task)
		proto_uint(b, FTRACE_FLAGS, w->ctx == WAKER_NET ? FLAG_SOFTIRQ : FLAG_HARDIRQ);
	at = proto_begin(b, FTRACE_WAKING);
	proto_string(b, WAKING_COMM, label_thread(m, x->thread));
	proto_uint(b, WAKING_PID, m->threads[x->thread].tid);
	proto_uint(b, WAKING_PRIO, PRIO_DEFAULT);
	proto_uint(b, WAKING_SUCCESS, 1);
	proto_uint(b, WAKING_CPU, w->cpu_to ? w->cpu_to - 1u : 0);
	proto_end(b, at);
	proto_end(b, event);
}

static int wakings_until(struct sched *s, size_t *at, uint32_t cpu, int64_t ns)
{
	int err = 0;

	for (; *at < s->waking_n && s->wakings[*at].cpu == cpu && s->wakings[*at].at_ns < ns && !err; ++*at) {
		waking_put(s, &s->wakings[*at]);
		if (s->event_n >= EVENTS_A_BUNDLE)
			err = bundle_write(s, cpu);
	}
	return err;
}

/* All of one CPU: runs first to last and the wakes there, in time order. */
static int cpu_write(struct sched *s, uint32_t cpu, size_t first, size_t last, size_t *waking)
{
	const struct run *prev = NULL, *runs = s->runs.v;
	int err = 0;

	for (size_t i = first; i < last && !err; i++) {
		bool adjoining = i + 1 < last && runs[i + 1].on_ns == runs[i].off_ns;

		err = wakings_until(s, waking, cpu, runs[i].on_ns);
		switch_put(s, runs[i].on_ns, prev, &runs[i]);
		prev = &runs[i];
		if (!err && !adjoining && !runs[i].to_the_end) {
			err = wakings_until(s, waking, cpu, runs[i].off_ns);
			switch_put(s, runs[i].off_ns, &runs[i], NULL);
			prev = NULL;
		}
		if (!err && s->event_n >= EVENTS_A_BUNDLE)
			err = bundle_write(s, cpu);
	}
	if (!err)
		err = wakings_until(s, waking, cpu, INT64_MAX);
	return err ? err : bundle_write(s, cpu);
}

int perfetto_sched_write(struct trace *t)
{
	_cleanup_(sched_done) struct sched s = { .t = t };
	size_t waking = 0;

	if (runs_make(t->m, &t->scene, &s.runs) < 0 || runs_index(&s) < 0 || wakings_make(&s) < 0)
		return -ENOMEM;
	t->told->virtual_run_n = s.runs.virtual_n;
	for (size_t first = 0, last; first < s.runs.n || waking < s.waking_n; first = last) {
		/* CPUs in order; one with wakes only has them too. */
		uint32_t cpu = first < s.runs.n ? s.runs.v[first].cpu : UINT32_MAX;
		int err;

		if (waking < s.waking_n && s.wakings[waking].cpu < cpu)
			cpu = s.wakings[waking].cpu;
		for (last = first; last < s.runs.n && s.runs.v[last].cpu == cpu; last++)
			;
		err = cpu_write(&s, cpu, first, last, &waking);
		if (err)
			return err;
	}
	return 0;
}
