/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Twenty processes with ten threads each on eight CPUs, simulated: a thread takes
 * requests one after the other; for each it computes, holds a lock of its process
 * for a short time, reads a file within an inner op, and now and then waits until
 * its neighbour has done one. CPUs serve one queue, a slice each. A few thousand
 * stacks, twenty frames deep.
 */
#include "generate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/cleanup.h"
#include "util/vec.h"

enum {
	PROCESSES = 20, THREADS = 10, ALL = PROCESSES * THREADS, CPUS = 8, STACKS = 4000, DEPTH = 20, FUNCTIONS = 3000,
	CLASSES = 300, LOCKS = 4, FILES = 5000, SLICE_NS = 3000000,
};
enum sort { MUTEX, CONDVAR, DISK, SLEEP, PREEMPTED, NEW_THREAD, SORTS };

enum what { READY_AGAIN, SLICE_END, COMPUTED, DISK_DONE };

struct event {
	int64_t at_ns;
	uint32_t thread;
	uint32_t stamp; /* of its thread: else it is out of date */
	uint8_t what;	/* enum what */
};

struct thread {
	uint32_t step;	  /* of the request */
	uint32_t stamp;
	bool running;
	int64_t left_ns;  /* to compute */
	int64_t slice_ns; /* end of its slice */
	int64_t out_ns, wake_ns;
	uint32_t row, ident_id, waker; /* of what it is off the CPU for; waker: thread + 1 */
	uint8_t ctx, outcome;
	uint16_t cpu;
	uint32_t outer, inner, class;
	uint32_t lock;
	uint32_t done, owed; /* requests that its neighbour did and it has not waited for */
	bool waits_neighbour;
};

struct lock {
	uint32_t owner; /* thread + 1 */
	uint32_t queue[THREADS], n;
};

struct generator {
	struct model *m;
	unsigned seed;
	uint32_t functions[FUNCTIONS], classes[CLASSES], lock_ids[PROCESSES][LOCKS], files[FILES];
	uint32_t mutex_id, condvar_id, file_id, sleep_id, preempted_id, new_thread_id;
	uint32_t rows[SORTS]; /* first row of each sort, STACKS / SORTS of them */
	struct thread threads[ALL];
	struct lock locks[PROCESSES][LOCKS];
	struct event *heap;
	size_t heap_n, heap_cap;
	uint32_t ready[ALL]; /* a ring */
	size_t ready_from, ready_n;
	uint32_t running[CPUS]; /* thread + 1 */
	int64_t now_ns;
};

static uint32_t pick(struct generator *g, uint32_t n)
{
	g->seed = g->seed * 1103515245u + 12345u;
	return (uint32_t)(((uint64_t)(g->seed >> 8) * n) >> 24);
}

static int words_make(struct generator *g)
{
	struct strtab *s = g->m->strings;
	char text[64];

	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		snprintf(text, sizeof(text), "module%u::Function%u", i / 50, i);
		if (strtab_intern(s, text, &g->functions[i]) < 0)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < CLASSES; i++) {
		snprintf(text, sizeof(text), "Service%u.method%u", i / 10, i);
		if (strtab_intern(s, text, &g->classes[i]) < 0)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < FILES; i++) {
		snprintf(text, sizeof(text), "/var/lib/data/table-%u", i);
		if (strtab_intern(s, text, &g->files[i]) < 0)
			return -ENOMEM;
	}
	for (uint32_t p = 0; p < PROCESSES; p++) {
		for (uint32_t i = 0; i < LOCKS; i++) {
			snprintf(text, sizeof(text), "futex:%u:1:0x%x", p + 100, 0x5000 + 64 * i);
			if (strtab_intern(s, text, &g->lock_ids[p][i]) < 0)
				return -ENOMEM;
		}
	}
	return strtab_intern(s, "mutex", &g->mutex_id) < 0 || strtab_intern(s, "condvar", &g->condvar_id) < 0 ||
	       strtab_intern(s, "file", &g->file_id) < 0 || strtab_intern(s, "sleep", &g->sleep_id) < 0 ||
	       strtab_intern(s, "preempted", &g->preempted_id) < 0 ||
	       strtab_intern(s, "new_thread", &g->new_thread_id) < 0 ? -ENOMEM : 0;
}

static int stacks_make(struct generator *g)
{
	struct model_frame frames[DEPTH];
	uint32_t stack;

	for (uint32_t i = 0; i < STACKS; i++) {
		/* Outer frames are few, inner ones many, as trees of calls are. */
		for (uint32_t k = 0; k < DEPTH; k++)
			frames[k] = (struct model_frame){ .name_id = g->functions[(i / (1 + k * k) * 7 + k * 131) % FUNCTIONS],
							  .address = i * 64 + k };
		if (model_stack_add(g->m, STACK_USER, &stack) < 0 ||
		    model_stack_set(g->m, stack, "complete", frames, DEPTH) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int rows_make(struct generator *g)
{
	const struct {
		uint8_t reason;
		uint32_t kind_id;
	} sorts[SORTS] = { { REASON_LOCK, g->mutex_id }, { REASON_SYNC, g->condvar_id }, { REASON_IO, g->file_id },
		       { REASON_SLEEP, g->sleep_id }, { REASON_CPU, g->preempted_id }, { REASON_CPU, g->new_thread_id } };
	uint32_t row;

	for (uint32_t s = 0; s < SORTS; s++) {
		for (uint32_t i = 0; i < STACKS / SORTS; i++) {
			if (model_row_add(g->m, &row) < 0)
				return -ENOMEM;
			if (!i)
				g->rows[s] = row;
			g->m->rows[row] = (struct model_row){ .reason = sorts[s].reason, .kind_id = sorts[s].kind_id,
							      .ustack = 1 + s * (STACKS / SORTS) + i, .syscall = -1 };
		}
	}
	return 0;
}

static int threads_make(struct generator *g)
{
	uint32_t op, process, thread, name_id;
	char text[32];

	for (uint32_t p = 0; p < PROCESSES; p++) {
		snprintf(text, sizeof(text), "server-%u", p);
		if (strtab_intern(g->m->strings, text, &name_id) < 0 || model_op_add(g->m, &op) < 0 ||
		    model_process_add(g->m, &process) < 0)
			return -ENOMEM;
		g->m->ops[op] = (struct model_op){ .id = op, .kind = OP_EXEC, .class_id = name_id, .pid = 100 + p, .work = WORK_USER };
		g->m->processes[process] = (struct model_process){ .pid = 100 + p, .op = op, .comm_id = name_id };
		for (uint32_t t = 0; t < THREADS; t++) {
			uint32_t parent = g->m->processes[process].op;

			snprintf(text, sizeof(text), "worker-%u", t);
			if (strtab_intern(g->m->strings, text, &name_id) < 0 || model_op_add(g->m, &op) < 0 ||
			    model_thread_add(g->m, &thread) < 0)
				return -ENOMEM;
			g->m->ops[op] = (struct model_op){ .id = op, .kind = OP_INTERNAL, .class_id = name_id, .parent = parent,
							   .pid = 100 + p, .tid = 1000 + p * 100 + t, .work = WORK_USER };
			g->m->threads[thread] = (struct model_thread){ .pid = 100 + p, .tid = 1000 + p * 100 + t, .op = op,
								       .process = process, .comm_id = name_id,
								       .cpu_allowed_n = CPUS, .has_totals = true };
		}
	}
	return 0;
}

static bool is_before(const struct event *a, const struct event *b)
{
	return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->thread < b->thread);
}

static int event_add(struct generator *g, int64_t at_ns, uint32_t thread, enum what what)
{
	struct event e = { .at_ns = at_ns, .thread = thread, .stamp = g->threads[thread].stamp, .what = (uint8_t)what };
	size_t i;

	if (VEC_RESERVE(g->heap, g->heap_cap, g->heap_n + 1) < 0)
		return -ENOMEM;
	for (i = g->heap_n++; i && is_before(&e, &g->heap[(i - 1) / 2]); i = (i - 1) / 2)
		g->heap[i] = g->heap[(i - 1) / 2];
	g->heap[i] = e;
	return 0;
}

static struct event event_take(struct generator *g)
{
	struct event first = g->heap[0], e = g->heap[--g->heap_n];
	size_t i = 0;

	for (size_t k = 1; k < g->heap_n; k = 2 * i + 1) {
		k += k + 1 < g->heap_n && is_before(&g->heap[k + 1], &g->heap[k]);
		if (!is_before(&g->heap[k], &e))
			break;
		g->heap[i] = g->heap[k];
		i = k;
	}
	g->heap[i] = e;
	return first;
}

/* Off the CPU, for something of that sort; where it does that depends on its process. */
static void leave(struct generator *g, uint32_t t, enum sort sort, uint32_t ident_id)
{
	struct thread *x = &g->threads[t];
	uint32_t each = STACKS / SORTS / PROCESSES;

	x->out_ns = g->now_ns;
	x->wake_ns = -1;
	x->running = false;
	x->stamp++;
	x->row = g->rows[sort] + t / THREADS * each + pick(g, each);
	x->ident_id = ident_id;
	x->waker = 0;
	x->ctx = WAKER_NONE;
	x->outcome = WAIT_OUTCOME_NONE;
	g->running[x->cpu] = 0;
}

static void ready(struct generator *g, uint32_t t, uint32_t waker, enum waker_ctx ctx)
{
	struct thread *x = &g->threads[t];

	x->waker = waker;
	x->ctx = (uint8_t)ctx;
	if (ctx != WAKER_NONE)
		x->wake_ns = g->now_ns;
	x->outcome = ctx == WAKER_NONE ? WAIT_OUTCOME_NONE : WAIT_WOKEN;
	g->ready[(g->ready_from + g->ready_n++) % ALL] = t;
}

static int enter(struct generator *g, uint32_t t, uint16_t cpu)
{
	struct thread *x = &g->threads[t];
	int64_t ready_ns = x->wake_ns >= 0 ? x->wake_ns : x->out_ns;
	uint32_t wait;

	if (model_wait_add(g->m, &wait) < 0)
		return -ENOMEM;
	g->m->waits[wait] = (struct model_wait){
		.start_ns = x->out_ns, .end_ns = g->now_ns, .blocked_ns = ready_ns - x->out_ns,
		.runnable_ns = g->now_ns - ready_ns, .wake_ns = x->wake_ns, .row = x->row, .ident_id = x->ident_id,
		.op = x->inner ? x->inner : x->outer ? x->outer : g->m->threads[t + 1].op, .thread = t + 1,
		.waker = x->waker, .ctx = x->ctx, .outcome = x->outcome, .cpu_from = (uint16_t)(x->cpu + 1),
		.cpu_to = (uint16_t)(cpu + 1),
	};
	x->cpu = cpu;
	x->running = true;
	x->stamp++;
	x->slice_ns = g->now_ns + SLICE_NS;
	g->running[cpu] = t + 1;
	return event_add(g, x->left_ns < SLICE_NS ? g->now_ns + x->left_ns : x->slice_ns, t, x->left_ns < SLICE_NS ? COMPUTED : SLICE_END);
}

static int dispatch(struct generator *g)
{
	for (uint16_t cpu = 0; cpu < CPUS && g->ready_n; cpu++) {
		uint32_t t = g->ready[g->ready_from];

		if (g->running[cpu])
			continue;
		g->ready_from = (g->ready_from + 1) % ALL;
		g->ready_n--;
		/* From the wake to running it takes a little. */
		g->now_ns += 1500;
		if (enter(g, t, cpu) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int op_begin(struct generator *g, uint32_t t, enum op_kind kind, uint32_t class, uint32_t parent, uint32_t *ret)
{
	const struct model_thread *x = &g->m->threads[t + 1];

	if (model_op_add(g->m, ret) < 0)
		return -ENOMEM;
	g->m->ops[*ret] = (struct model_op){ .id = *ret, .kind = (uint8_t)kind, .class_id = g->classes[class], .parent = parent,
					     .pid = x->pid, .tid = x->tid, .start_ns = g->now_ns, .outcome = OUTCOME_OK };
	return 0;
}

static void lock_leave(struct generator *g, uint32_t t)
{
	struct lock *l = &g->locks[t / THREADS][g->threads[t].lock];

	l->owner = 0;
	if (!l->n)
		return;
	/* It gets the lock when it runs; others may come before. */
	ready(g, l->queue[0], t + 1, WAKER_TASK);
	for (uint32_t i = 1; i < l->n; i++)
		l->queue[i - 1] = l->queue[i];
	l->n--;
}

/* What the thread does when it has computed; it computes again, or has left the CPU. */
static int step(struct generator *g, uint32_t t)
{
	struct thread *x = &g->threads[t];
	uint32_t process = t / THREADS, neighbour = process * THREADS + (t + 1) % THREADS;
	struct lock *l = &g->locks[process][x->lock];

	switch (x->step) {
	case 0:
		x->class = process * (CLASSES / PROCESSES) + pick(g, CLASSES / PROCESSES);
		x->lock = pick(g, LOCKS) * pick(g, LOCKS) / LOCKS;
		x->left_ns = 5000 + pick(g, 30000);
		x->step = 1;
		return op_begin(g, t, OP_CALL, x->class, g->m->threads[t + 1].op, &x->outer);
	case 1:
		if (l->owner && l->owner != t + 1) {
			l->queue[l->n++] = t;
			leave(g, t, MUTEX, g->lock_ids[process][x->lock]);
			return 0;
		}
		l->owner = t + 1;
		x->left_ns = 20000 + pick(g, 60000);
		x->step = 2;
		return 0;
	case 2:
		lock_leave(g, t);
		x->left_ns = 2000 + pick(g, 5000);
		x->step = 3;
		return op_begin(g, t, OP_IO, x->class / 5 * 5, x->outer, &x->inner);
	case 3:
		x->step = 4;
		x->left_ns = 3000 + pick(g, 10000);
		leave(g, t, DISK, g->files[process * (FILES / PROCESSES) + pick(g, FILES / PROCESSES)]);
		return event_add(g, g->now_ns + 500000 + pick(g, 3000000), t, DISK_DONE);
	default:
		g->m->ops[x->inner].end_ns = g->m->ops[x->outer].end_ns = g->now_ns;
		x->inner = x->outer = 0;
		x->step = 0;
		x->left_ns = 3000 + pick(g, 10000);
		g->threads[neighbour].owed++;
		if (g->threads[neighbour].waits_neighbour) {
			g->threads[neighbour].waits_neighbour = false;
			ready(g, neighbour, t + 1, WAKER_TASK);
		}
		if (x->owed || pick(g, 3)) {
			x->owed = 0;
			return 0;
		}
		x->waits_neighbour = true;
		leave(g, t, CONDVAR, 0);
		return 0;
	}
}

static int computed(struct generator *g, uint32_t t)
{
	struct thread *x = &g->threads[t];

	x->left_ns = 0;
	while (x->running && !x->left_ns) {
		if (step(g, t) < 0)
			return -ENOMEM;
	}
	if (!x->running)
		return 0;
	x->stamp++;
	return event_add(g, g->now_ns + x->left_ns, t, COMPUTED);
}

static int event_do(struct generator *g, const struct event *e)
{
	struct thread *x = &g->threads[e->thread];

	if (e->stamp != x->stamp)
		return 0;
	g->now_ns = e->at_ns > g->now_ns ? e->at_ns : g->now_ns;
	switch (e->what) {
	case COMPUTED:
		return computed(g, e->thread);
	case SLICE_END:
		x->left_ns -= SLICE_NS;
		leave(g, e->thread, PREEMPTED, 0);
		ready(g, e->thread, 0, WAKER_NONE);
		return 0;
	default:
		ready(g, e->thread, 0, WAKER_DISK);
		return 0;
	}
}

/* What no wait is in was on a CPU. */
static void totals_set(struct model *m, int64_t end_ns)
{
	for (uint32_t t = 1; t <= ALL; t++)
		m->threads[t].oncpu_ns = (uint64_t)end_ns;
	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];
		struct model_thread *t = &m->threads[w->thread];

		t->blocked_ns += (uint64_t)w->blocked_ns;
		t->runnable_ns += (uint64_t)w->runnable_ns;
		t->oncpu_ns -= (uint64_t)(w->end_ns - w->start_ns);
		t->interval_n++;
	}
}

static void ends_set(struct generator *g)
{
	int64_t end_ns = g->now_ns;

	for (size_t i = 1; i < g->m->op_n; i++) {
		if (!g->m->ops[i].end_ns)
			g->m->ops[i].end_ns = end_ns;
	}
	for (uint32_t t = 1; t <= ALL; t++) {
		g->m->threads[t].end_ns = end_ns;
		g->m->ops[g->m->threads[t].op].end_ns = end_ns;
	}
	for (uint32_t p = 1; p <= PROCESSES; p++)
		g->m->ops[g->m->processes[p].op].end_ns = end_ns;
	totals_set(g->m, end_ns);
	g->m->end_ns = end_ns;
	g->m->cpu_n = CPUS;
}

int generate(size_t event_n, unsigned seed, struct model **ret)
{
	_cleanup_(model_freep) struct model *m = NULL;
	_cleanup_(freep) struct generator *g = calloc(1, sizeof(*g));
	int e;

	if (!g || model_new(&m) < 0)
		return -ENOMEM;
	g->m = m;
	g->seed = seed;
	if (words_make(g) < 0 || stacks_make(g) < 0 || rows_make(g) < 0 || threads_make(g) < 0)
		return -ENOMEM;
	for (uint32_t t = 0; t < ALL; t++) {
		g->threads[t].left_ns = 1000 + t;
		g->threads[t].row = g->rows[NEW_THREAD];
		ready(g, t, 0, WAKER_NONE);
	}
	e = dispatch(g);
	while (e == 0 && model_event_n(m) < event_n && g->heap_n) {
		struct event next = event_take(g);

		e = event_do(g, &next);
		if (e == 0)
			e = dispatch(g);
	}
	free(g->heap);
	if (e < 0)
		return e;
	ends_set(g);
	*ret = TAKE_PTR(m);
	return 0;
}
