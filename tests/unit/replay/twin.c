/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* One event after the other, each found by looking at everything: slow, and easy to see through. */
#include "twin.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 64, EVENTS = 4096, PID = 100 };
/* Of the clock that sleeps until some time are told by. */
#define CLOCK_ZERO_NS 5000000000000ll

enum state { UNBORN, READY, RUNNING, SLEEPING, WAITING, ENDED };

struct actor {
	enum state state;
	size_t at;
	int64_t left_ns;      /* of the present computing */
	int64_t until_ns;     /* SLEEPING */
	int64_t slice_end_ns; /* RUNNING */
	int64_t since_ns;     /* left the CPU */
	int64_t ready_ns;     /* became ready */
	int64_t held_back_ns; /* and can't run until then */
	int64_t used_ns;      /* of the CPUs, as far as it counts against him */
	bool blocked;	      /* what it comes back from was no preemption */
	uint8_t looks;	      /* was woken for a lock: so many times it will still look if that is free */
	uint32_t waker;	      /* thread + 1 */
	uint16_t cpu, cpu_from;
	uint32_t row, ident_id;
	int64_t timeout_ns;
	uint32_t target; /* op */
	uint8_t outcome, ctx;
	int64_t computed_ns;  /* for samples */
	int64_t tick_ns;      /* of the last UNTIL */
	int64_t begin_ns, end_ns;
	int64_t oncpu_ns, run_from_ns;
	uint32_t barrier_ns;
};

struct run {
	const struct world *w;
	struct model *m; /* NULL: nobody watches */
	struct actor actors[THREADS];
	bool signalled[EVENTS];
	uint32_t owner[EVENTS]; /* of locks: thread + 1 */
	uint32_t at_barrier[EVENTS];
	int64_t now;
	uint32_t stacks[256];
	uint32_t lock_wakes;
};

void world_add(struct world *w, uint32_t thread, enum step_what what, uint32_t object, int64_t ns, uint8_t function)
{
	if (w->step_n[thread] == w->step_cap[thread]) {
		w->step_cap[thread] = w->step_cap[thread] ? 2 * w->step_cap[thread] : 16;
		w->steps[thread] = realloc(w->steps[thread], w->step_cap[thread] * sizeof(struct step));
		cr_assert(w->steps[thread]);
	}
	w->steps[thread][w->step_n[thread]++] = (struct step){ (uint8_t)what, function, object, ns };
	if (thread >= w->thread_n)
		w->thread_n = thread + 1;
}

void world_done(struct world *w)
{
	for (size_t t = 0; t < w->thread_n; t++)
		free(w->steps[t]);
	memset(w, 0, sizeof(*w));
}

struct world world_scaled(const struct world *w, uint8_t function, double factor)
{
	struct world x = { .cpu_n = w->cpu_n, .slice_ns = w->slice_ns, .sample_ns = w->sample_ns,
			   .slow_wake = w->slow_wake, .slow_ns = w->slow_ns, .wake_ns = w->wake_ns, .look_ns = w->look_ns };

	for (uint32_t t = 0; t < w->thread_n; t++) {
		for (size_t i = 0; i < w->step_n[t]; i++) {
			const struct step *s = &w->steps[t][i];
			bool it = s->function == function &&
				  (s->what == STEP_COMPUTE || s->what == STEP_SLEEP || s->what == STEP_TIMED_JOIN);

			world_add(&x, t, s->what, s->object, it ? (int64_t)((double)s->ns * factor) : s->ns, s->function);
		}
	}
	return x;
}

static uint32_t str(const struct run *x, const char *s)
{
	uint32_t id;

	cr_assert(strtab_intern(x->m->strings, s, &id) == 0);
	return id;
}

static uint32_t stack_of(struct run *x, uint8_t function)
{
	char name[2] = { (char)function, 0 };
	struct model_frame frames[2] = { 0 };

	if (!x->stacks[function]) {
		frames[0].name_id = function ? str(x, name) : str(x, "wait");
		frames[1].name_id = str(x, "main");
		cr_assert(model_stack_add(x->m, STACK_USER, &x->stacks[function]) == 0);
		cr_assert(model_stack_set(x->m, x->stacks[function], "complete", frames, 2) == 0);
	}
	return x->stacks[function];
}

static uint32_t row_of(struct run *x, enum wait_reason reason, const char *kind, uint8_t function)
{
	uint32_t kind_id = str(x, kind), stack = reason == REASON_CPU ? 0 : stack_of(x, function), row;

	for (row = 1; row < x->m->row_n; row++) {
		if (x->m->rows[row].reason == reason && x->m->rows[row].kind_id == kind_id && x->m->rows[row].ustack == stack)
			return row;
	}
	cr_assert(model_row_add(x->m, &row) == 0);
	x->m->rows[row] = (struct model_row){ .reason = (uint8_t)reason, .kind_id = kind_id, .ustack = stack, .syscall = -1 };
	return row;
}

/* Leaves the CPU; what for is in the row. */
static void leave(struct run *x, uint32_t t, enum wait_reason reason, const char *kind, const char *ident, uint8_t function)
{
	struct actor *a = &x->actors[t];

	a->oncpu_ns += x->now - a->run_from_ns;
	a->since_ns = x->now;
	a->cpu_from = (uint16_t)(a->cpu + 1);
	a->blocked = reason != REASON_CPU;
	a->waker = 0;
	a->outcome = WAIT_WOKEN;
	a->ctx = WAKER_NONE;
	a->timeout_ns = -1;
	a->target = 0;
	if (!x->m)
		return;
	a->row = row_of(x, reason, kind, function);
	a->ident_id = ident ? str(x, ident) : 0;
}

static int64_t least_used(const struct run *x)
{
	int64_t least_ns = INT64_MAX;

	for (uint32_t t = 0; t < x->w->thread_n; t++) {
		const struct actor *a = &x->actors[t];

		if ((a->state == RUNNING || a->state == READY) && a->used_ns < least_ns)
			least_ns = a->used_ns;
	}
	return least_ns == INT64_MAX ? 0 : least_ns;
}

static void ready(struct run *x, uint32_t t)
{
	struct actor *a = &x->actors[t];

	a->state = READY;
	a->ready_ns = x->now;
	/* Who slept has no claim on what others used meanwhile. */
	if (a->blocked && a->used_ns < least_used(x))
		a->used_ns = least_used(x);
}

static void wake(struct run *x, uint32_t t, uint32_t by)
{
	x->actors[t].waker = by + 1;
	x->actors[t].ctx = WAKER_TASK;
	ready(x, t);
}

/* It has a CPU again: what it was off for is over, and seen. */
static void enter(struct run *x, uint32_t t, uint16_t cpu)
{
	struct actor *a = &x->actors[t];
	uint32_t i;

	a->state = RUNNING;
	a->cpu = cpu;
	a->run_from_ns = x->now;
	a->slice_end_ns = x->now + x->w->slice_ns;
	if (!x->m || (x->now == a->since_ns && !a->blocked && a->at))
		return;
	cr_assert(model_wait_add(x->m, &i) == 0);
	x->m->waits[i] = (struct model_wait){
		.start_ns = a->since_ns, .end_ns = x->now, .blocked_ns = a->ready_ns - a->since_ns,
		.runnable_ns = x->now - a->ready_ns, .wake_ns = a->blocked || a->waker ? a->ready_ns : -1,
		.row = a->row, .op = t + 2, .ident_id = a->ident_id, .thread = t + 1, .waker = a->waker,
		.outcome = a->outcome, .ctx = a->ctx, .cpu_from = a->cpu_from, .cpu_to = (uint16_t)(cpu + 1),
		.target = a->target, .has_timeout = a->timeout_ns >= 0, .timeout_ns = a->timeout_ns < 0 ? 0 : a->timeout_ns,
	};
}

static void sleep_begin(struct run *x, uint32_t t, const struct step *s)
{
	struct actor *a = &x->actors[t];
	bool stranger = s->what == STEP_STRANGER;

	leave(x, t, stranger ? REASON_IO : REASON_SLEEP, stranger ? "socket" : "sleep", NULL, s->function);
	a->ctx = stranger ? WAKER_NET : WAKER_TIMER;
	a->outcome = stranger ? WAIT_WOKEN : WAIT_TIMEOUT;
	a->timeout_ns = stranger ? -1 : s->ns;
	a->state = SLEEPING;
	a->until_ns = x->now + s->ns;
}

/* True if it is that time already. */
static bool until_begin(struct run *x, uint32_t t, const struct step *s)
{
	struct actor *a = &x->actors[t];

	/* A tick that was missed is gone through. */
	a->tick_ns += s->ns;
	if (a->tick_ns <= x->now)
		return true;
	leave(x, t, REASON_SLEEP, "sleep", NULL, s->function);
	a->ctx = WAKER_TIMER;
	a->outcome = WAIT_TIMEOUT;
	a->timeout_ns = CLOCK_ZERO_NS + a->tick_ns;
	a->state = SLEEPING;
	a->until_ns = a->tick_ns;
	return false;
}

static void waiters_wake(struct run *x, enum step_what what, uint32_t object, uint32_t by, bool all)
{
	for (;;) {
		uint32_t first = THREADS;

		for (uint32_t t = 0; t < x->w->thread_n; t++) {
			const struct actor *a = &x->actors[t];

			if (a->state == WAITING && x->w->steps[t][a->at].what == what &&
			    x->w->steps[t][a->at].object == object &&
			    (first == THREADS || a->since_ns < x->actors[first].since_ns))
				first = t;
		}
		if (first == THREADS)
			return;
		wake(x, first, by);
		if (what == STEP_LOCK)
			x->actors[first].held_back_ns =
				x->now + (++x->lock_wakes == x->w->slow_wake ? x->w->slow_ns : x->w->wake_ns);
		if (!all)
			return;
	}
}

static void spawn(struct run *x, uint32_t t, uint32_t by)
{
	struct actor *a = &x->actors[t];

	a->begin_ns = a->since_ns = x->now;
	if (x->m)
		a->row = row_of(x, REASON_CPU, "new_thread", 0);
	wake(x, t, by);
}

/* True if the thread goes on with its next step at once. */
static bool step_do(struct run *x, uint32_t t, const struct step *s)
{
	struct actor *a = &x->actors[t];
	char ident[32];

	snprintf(ident, sizeof(ident), "object:%u", s->object);
	switch (s->what) {
	case STEP_COMPUTE:
		a->left_ns = s->ns;
		return false;
	case STEP_SLEEP:
	case STEP_STRANGER:
		sleep_begin(x, t, s);
		return false;
	case STEP_UNTIL:
		return until_begin(x, t, s);
	case STEP_SIGNAL:
		x->signalled[s->object] = true;
		waiters_wake(x, STEP_WAIT, s->object, t, true);
		return true;
	case STEP_WAIT:
		if (x->signalled[s->object])
			return true;
		leave(x, t, REASON_SYNC, "semaphore", ident, s->function);
		break;
	case STEP_LOCK:
		if (!x->owner[s->object]) {
			x->owner[s->object] = t + 1;
			return true;
		}
		leave(x, t, REASON_LOCK, "mutex", ident, s->function);
		break;
	case STEP_UNLOCK:
		x->owner[s->object] = 0;
		waiters_wake(x, STEP_LOCK, s->object, t, false);
		return true;
	case STEP_BARRIER:
		if (++x->at_barrier[s->object] == (uint32_t)s->ns) {
			x->at_barrier[s->object] = 0;
			waiters_wake(x, STEP_BARRIER, s->object, t, true);
			return true;
		}
		leave(x, t, REASON_SYNC, "barrier", ident, s->function);
		break;
	case STEP_SPAWN:
		spawn(x, s->object, t);
		return true;
	case STEP_TIMED_JOIN:
		if (x->actors[s->object].state == ENDED)
			return true;
		leave(x, t, REASON_SYNC, "join", ident, s->function);
		a->timeout_ns = s->ns;
		a->until_ns = x->now + s->ns;
		a->target = s->object + 2;
		break;
	default:
		if (x->actors[s->object].state == ENDED)
			return true;
		leave(x, t, REASON_SYNC, "join", ident, s->function);
	}
	a->state = WAITING;
	return false;
}

/* Runs what takes no time, until it computes, leaves the CPU or ends. */
static void go(struct run *x, uint32_t t)
{
	struct actor *a = &x->actors[t];

	while (a->state == RUNNING && !a->left_ns) {
		if (a->at == x->w->step_n[t]) {
			a->oncpu_ns += x->now - a->run_from_ns;
			a->state = ENDED;
			a->end_ns = x->now;
			waiters_wake(x, STEP_JOIN, t, t, true);
			waiters_wake(x, STEP_TIMED_JOIN, t, t, true);
			return;
		}
		if (step_do(x, t, &x->w->steps[t][a->at]) || a->left_ns)
			a->at += !a->left_ns;
		else if (a->state == RUNNING)
			a->at++;
	}
}

/* It looks at the lock that it was woken for, which may be taken by now. */
static void look(struct run *x, uint32_t t)
{
	struct actor *a = &x->actors[t];
	const struct step *s = &x->w->steps[t][a->at];
	char ident[32];

	a->looks--;
	if (x->owner[s->object] && a->looks) {
		a->left_ns = x->w->look_ns;
		return;
	}
	if (x->owner[s->object]) {
		snprintf(ident, sizeof(ident), "object:%u", s->object);
		leave(x, t, REASON_LOCK, "mutex", ident, s->function);
		a->state = WAITING;
		return;
	}
	a->looks = 0;
	x->owner[s->object] = t + 1;
	a->at++;
	go(x, t);
}

/* What it waited for has come, and it runs. */
static void come_back(struct run *x, uint32_t t)
{
	struct actor *a = &x->actors[t];
	const struct step *s = a->at < x->w->step_n[t] ? &x->w->steps[t][a->at] : NULL;

	if (!a->blocked) {
		go(x, t);
		return;
	}
	a->blocked = false;
	if (s && s->what == STEP_LOCK) {
		a->looks = x->w->look_ns ? 2 : 1;
		a->left_ns = x->w->look_ns;
		if (!a->left_ns)
			look(x, t);
		return;
	}
	a->at++;
	go(x, t);
}

static uint32_t running_n(const struct run *x)
{
	uint32_t n = 0;

	for (uint32_t t = 0; t < x->w->thread_n; t++)
		n += x->actors[t].state == RUNNING;
	return n;
}

static bool is_taken(const struct run *x, uint16_t cpu)
{
	for (uint32_t t = 0; t < x->w->thread_n; t++) {
		if (x->actors[t].state == RUNNING && x->actors[t].cpu == cpu)
			return true;
	}
	return false;
}

/* The one that it had before, if that can be. */
static uint16_t free_cpu(const struct run *x, uint32_t t)
{
	if (x->actors[t].oncpu_ns && !is_taken(x, x->actors[t].cpu))
		return x->actors[t].cpu;
	for (uint16_t cpu = 0;; cpu++) {
		if (!is_taken(x, cpu))
			return cpu;
	}
}

/* CPUs that are free go to who used them least. */
static void dispatch(struct run *x)
{
	for (;;) {
		uint32_t first = THREADS;

		for (uint32_t t = 0; t < x->w->thread_n; t++) {
			if (x->actors[t].state == READY && x->actors[t].held_back_ns <= x->now && (first == THREADS || x->actors[t].used_ns < x->actors[first].used_ns))
				first = t;
		}
		if (first == THREADS || (x->w->cpu_n && running_n(x) >= x->w->cpu_n))
			return;
		enter(x, first, free_cpu(x, first));
		come_back(x, first);
	}
}

static bool somebody_is_ready(const struct run *x)
{
	for (uint32_t t = 0; t < x->w->thread_n; t++) {
		if (x->actors[t].state == READY && x->actors[t].held_back_ns <= x->now)
			return true;
	}
	return false;
}

static bool has_limit(const struct run *x, uint32_t t)
{
	return x->actors[t].state == WAITING && x->w->steps[t][x->actors[t].at].what == STEP_TIMED_JOIN;
}

static int64_t next_ns(const struct run *x)
{
	int64_t next = INT64_MAX;

	for (uint32_t t = 0; t < x->w->thread_n; t++) {
		const struct actor *a = &x->actors[t];
		int64_t at = INT64_MAX;

		if (a->state == SLEEPING || has_limit(x, t))
			at = a->until_ns;
		else if (a->state == READY && a->held_back_ns > x->now)
			at = a->held_back_ns;
		else if (a->state == RUNNING)
			at = somebody_is_ready(x) && a->slice_end_ns < x->now + a->left_ns ? a->slice_end_ns : x->now + a->left_ns;
		at = at < x->now ? x->now : at;
		next = at < next ? at : next;
	}
	return next;
}

static void samples_take(struct run *x, uint32_t t, int64_t from_ns, int64_t to_ns)
{
	struct actor *a = &x->actors[t];
	uint8_t function = x->w->steps[t][a->at].function;
	uint32_t i;

	while (x->m && x->w->sample_ns && a->computed_ns + (to_ns - from_ns) >= x->w->sample_ns) {
		from_ns += x->w->sample_ns - a->computed_ns;
		a->computed_ns = 0;
		for (i = 1; i < x->m->sample_n; i++) {
			if (x->m->samples[i].thread == t + 1 && x->m->samples[i].ustack == stack_of(x, function))
				break;
		}
		if (i == x->m->sample_n) {
			cr_assert(model_sample_add(x->m, &i) == 0);
			x->m->samples[i] = (struct model_sample){ .thread = t + 1, .ustack = stack_of(x, function), .syscall = -1 };
		}
		x->m->samples[i].count++;
		cr_assert(model_sample_time_add(x->m, i, from_ns) == 0);
	}
	a->computed_ns += to_ns - from_ns;
}

static void advance(struct run *x, int64_t to)
{
	for (uint32_t t = 0; t < x->w->thread_n; t++) {
		struct actor *a = &x->actors[t];

		if (a->state != RUNNING || !a->left_ns)
			continue;
		samples_take(x, t, x->now, to);
		a->left_ns -= to - x->now;
		a->used_ns += to - x->now;
	}
	x->now = to;
}

static void due_do(struct run *x)
{
	for (uint32_t t = 0; t < x->w->thread_n; t++) {
		struct actor *a = &x->actors[t];

		if (has_limit(x, t) && a->until_ns <= x->now) {
			a->outcome = WAIT_TIMEOUT;
			a->ctx = WAKER_TIMER;
			ready(x, t);
		} else if (a->state == SLEEPING && a->until_ns <= x->now) {
			ready(x, t);
		} else if (a->state == RUNNING && !a->left_ns && a->looks) {
			look(x, t);
		} else if (a->state == RUNNING && !a->left_ns) {
			a->at++;
			go(x, t);
		} else if (a->state == RUNNING && a->slice_end_ns <= x->now && somebody_is_ready(x)) {
			leave(x, t, REASON_CPU, "preempted", NULL, 0);
			ready(x, t);
		}
	}
}

static void threads_tell(struct run *x)
{
	uint32_t i;

	x->m->end_ns = x->now;
	x->m->epoch_unix_ns = 1700000000000000000ll;
	x->m->cpu_n = x->w->cpu_n;
	for (uint32_t t = 0; t < x->w->thread_n; t++) {
		struct actor *a = &x->actors[t];
		int64_t end_ns = a->state == ENDED ? a->end_ns : x->now;

		cr_assert(model_thread_add(x->m, &i) == 0);
		x->m->threads[i] = (struct model_thread){
			.pid = PID, .tid = PID + t, .process = 1, .op = t + 2, .begin_ns = a->begin_ns, .end_ns = end_ns,
			.comm_id = str(x, "thread"), .has_totals = true, .oncpu_ns = (uint64_t)a->oncpu_ns,
			.clipped = a->state == ENDED || a->state == UNBORN ? 0 : CLIPPED_AFTER,
		};
		x->m->ops[t + 2] = (struct model_op){ .id = t + 2, .kind = OP_INTERNAL, .parent = 1, .pid = PID, .tid = PID + t,
						      .class_id = str(x, "thread"), .start_ns = a->begin_ns, .end_ns = end_ns };
	}
	x->m->ops[1].end_ns = x->now;
}

static void model_begin(struct run *x)
{
	uint32_t i;

	cr_assert(model_new(&x->m) == 0);
	for (size_t t = 0; t <= x->w->thread_n; t++)
		cr_assert(model_op_add(x->m, &i) == 0);
	x->m->ops[1] = (struct model_op){ .id = 1, .kind = OP_EXEC, .pid = PID, .class_id = str(x, "program") };
	cr_assert(model_process_add(x->m, &i) == 0);
	x->m->processes[i] = (struct model_process){ .pid = PID, .op = 1, .comm_id = str(x, "program") };
}

int64_t world_run(const struct world *w, struct model **ret)
{
	struct run *x = calloc(1, sizeof(*x));
	int64_t end_ns;

	cr_assert(x && w->thread_n && w->thread_n < THREADS);
	x->w = w;
	if (ret)
		model_begin(x);
	x->actors[0].blocked = false;
	ready(x, 0);
	if (x->m)
		x->actors[0].row = row_of(x, REASON_CPU, "new_thread", 0);
	dispatch(x);
	while (x->actors[0].state != ENDED) {
		int64_t next = next_ns(x);

		cr_assert(next < INT64_MAX, "the world came to a stand");
		advance(x, next);
		due_do(x);
		dispatch(x);
	}
	end_ns = x->now;
	if (ret) {
		threads_tell(x);
		*ret = x->m;
	}
	free(x);
	return end_ns;
}
