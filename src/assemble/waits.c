/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A wait of the dump is one system call's blocking. Each thread has one pending
 * wait; the next interval either extends it (same call, and no interval between
 * them was lost or left out) or closes it. So a wait never bridges a gap.
 *
 * The last interval says how a wait ended (wake, waker, outcome), the longest
 * one says what it was (row, resource). One that blocked goes before one that
 * was only preempted, however long. A stop by signal or tracer inside a call is
 * a wait of its own.
 */
#include "assemble/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "assemble/goroutines.h"
#include "assemble/held.h"
#include "assemble/resource.h"
#include "assemble/rows.h"
#include "assemble/scope.h"
#include "assemble/strand.h"
#include "assemble/syscall.h"
#include "assemble/threads.h"

/* The kernel's own error numbers for "go on with this call after the signal" (include/linux/errno.h). */
#define ERESTART_FIRST 512
#define ERESTART_LAST 516
/* A killed thread runs from its wait straight to its exit, but may have to wait for a CPU. */
#define KILL_NS_MAX 100000000ull

static void stretch_times(const struct assemble *a, const struct wcbpf_interval *e, struct stretch *x)
{
	bool preempted = e->flags & WCBPF_IV_PREEMPTED, born = e->flags & WCBPF_IV_NEW_THREAD;
	bool runnable_before = e->flags & WCBPF_IV_WAKE_BEFORE;
	uint64_t out_ns = assemble_clip(a, e->out_ns), in_ns = assemble_clip(a, e->head.time_ns), wake_ns;

	if (preempted || born || runnable_before)
		wake_ns = out_ns;
	else
		wake_ns = e->wake_ns ? assemble_clip(a, e->wake_ns) : in_ns;
	wake_ns = wake_ns < out_ns ? out_ns : wake_ns > in_ns ? in_ns : wake_ns;
	x->start_ns = out_ns;
	x->end_ns = in_ns;
	x->blocked = !preempted && !born;
	x->stopped = !preempted && e->state & (TASK_STOPPED | TASK_TRACED | TASK_FROZEN);
	x->blocked_ns = wake_ns - out_ns;
	x->runnable_ns = in_ns - wake_ns;
	/* Nobody woke the preempted; a wake before the recording has no time in it; a new thread's is its fork. */
	x->wake_ns = (preempted && !born) || runnable_before || !e->wake_ns ? 0 : wake_ns;
}

/* The kernel side counts a new thread's time to its first run as a preemption, but somebody woke it. */
static bool is_preemption(const struct wcbpf_interval *e)
{
	return (e->flags & (WCBPF_IV_PREEMPTED | WCBPF_IV_NEW_THREAD)) == WCBPF_IV_PREEMPTED;
}

static bool is_woken_by_task(const struct wcbpf_interval *e)
{
	return (e->flags & WCBPF_IV_WAKER_KNOWN) && !is_preemption(e) && e->waker_ctx == WCBPF_WAKER_TASK;
}

static enum waker_ctx waker_ctx(const struct wcbpf_interval *e)
{
	static const uint8_t known[] = {
		[WCBPF_WAKER_UNKNOWN] = WAKER_UNKNOWN, [WCBPF_WAKER_TASK] = WAKER_TASK,
		[WCBPF_WAKER_TIMER] = WAKER_TIMER,     [WCBPF_WAKER_DISK] = WAKER_DISK,
		[WCBPF_WAKER_NET] = WAKER_NET,	       [WCBPF_WAKER_IRQ] = WAKER_IRQ,
	};

	if (is_preemption(e))
		return WAKER_NONE;
	if (e->flags & WCBPF_IV_WAKER_KNOWN)
		return e->waker_ctx < sizeof(known) ? known[e->waker_ctx] : WAKER_UNKNOWN;
	/* Still blocked, or ended by its death: there was no wake to know. */
	if (!e->wake_ns && (e->flags & (WCBPF_IV_OPEN_AT_END | WCBPF_IV_EXITED)))
		return WAKER_NONE;
	return WAKER_UNKNOWN;
}

/* Both flags are of the moment of the wake: a signal that came later, while it was runnable, ended no wait. */
static enum wait_outcome wait_outcome(const struct wcbpf_interval *e)
{
	/* An uninterruptible sleeper doesn't mind the signal that waits for it, a killable one only the kill. */
	bool uninterruptible = e->state & TASK_UNINTERRUPTIBLE;
	bool deaf = uninterruptible && !(e->state & TASK_WAKEKILL);
	bool timed = e->timeout_ns >= 0 || syscall_sort(e->syscall) == SYSCALL_SLEEP;

	if (e->flags & WCBPF_IV_EXITED)
		return WAIT_KILLED;
	if (e->flags & (WCBPF_IV_OPEN_AT_END | WCBPF_IV_PREEMPTED | WCBPF_IV_NEW_THREAD))
		return WAIT_OUTCOME_NONE;
	if ((e->flags & WCBPF_IV_KILLED) && !deaf)
		return WAIT_KILLED;
	if ((e->flags & WCBPF_IV_SIGNAL) && !uninterruptible)
		return WAIT_INTERRUPTED;
	if ((e->flags & WCBPF_IV_WAKER_KNOWN) && e->waker_ctx == WCBPF_WAKER_TIMER && timed && e->syscall >= 0)
		return WAIT_TIMEOUT;
	return WAIT_WOKEN;
}

static uint32_t waker_of(const struct assemble *a, const struct wcbpf_interval *e, const struct stretch *p)
{
	uint32_t t;

	if (!is_woken_by_task(e) || !e->waker_tid)
		return 0;
	t = assemble_thread_at(a, e->waker_tid, p->wake_ns ?: p->end_ns);
	return t && (!e->waker_tgid || a->m->threads[t].pid == e->waker_tgid) ? t : 0;
}

/* Memory may hold anything where a mutex would have its owner: only a thread of the process is believed. */
static uint32_t owner_of(const struct assemble *a, uint32_t process, const struct wcbpf_interval *e)
{
	if (!(e->flags & WCBPF_IV_OWNER_READ) || (e->flags & WCBPF_IV_PREEMPTED) || !e->owner_tid)
		return 0;
	return assemble_thread_in(a, e->owner_tid, process, e->out_ns) ? e->owner_tid : 0;
}

static enum owner_unknown owner_unknown(const struct wcbpf_interval *e)
{
	if (e->flags & WCBPF_IV_PREEMPTED)
		return OWNER_UNKNOWN_NONE;
	if (e->flags & WCBPF_IV_OWNER_READ)
		return OWNER_UNKNOWN_NO_THREAD;
	if (e->flags & WCBPF_IV_OWNER_FAULT)
		return OWNER_UNKNOWN_FAULT;
	return e->flags & WCBPF_IV_BEGAN_BEFORE ? OWNER_UNKNOWN_BEGAN_BEFORE : OWNER_UNKNOWN_NONE;
}

static bool continues(const struct pending_wait *w, const struct stretch *x)
{
	return w && x->same_call && x->seq == w->seq + 1 && x->syscall == w->syscall && x->start_ns >= w->end_ns &&
	       !w->stopped && !x->stopped;
}

void assemble_pending_add(struct pending_wait *w, const struct stretch *x, uint32_t row)
{
	uint64_t length_ns = x->end_ns - x->start_ns;

	/* Who was stopped or preempted in a call did not wait for its time. */
	if (w->timeout_ns < 0 && x->blocked && !x->stopped && x->syscall >= 0)
		w->timeout_ns = x->timeout_ns;
	if (!w->row || x->blocked > w->blocked || (x->blocked == w->blocked && length_ns > w->longest_ns)) {
		w->row = row;
		w->ident = x->ident;
		w->longest_ns = length_ns;
		w->words = x->words;
		w->owner_unknown = x->owner_unknown;
	}
	w->end_ns = x->end_ns;
	w->blocked_ns += x->blocked_ns;
	w->runnable_ns += x->runnable_ns;
	w->seq = x->seq;
	w->cpu_to = x->cpu_to;
	w->clipped |= x->clipped;
	/* A preemption on the way out of a call leaves standing what ended its blocking. */
	if (x->blocked || !w->blocked) {
		w->wake_ns = x->wake_ns;
		w->waker = x->waker;
		w->waker_pid = x->waker_pid;
		w->waker_tid = x->waker_tid;
		w->waker_stack = x->waker_stack;
		memcpy(w->waker_comm, x->waker_comm, sizeof(w->waker_comm));
		w->ctx = x->ctx;
		w->outcome = x->outcome;
	}
	w->blocked |= x->blocked;
}

struct pending_wait assemble_pending_begin(const struct stretch *x)
{
	return (struct pending_wait){ .start_ns = x->start_ns, .syscall = x->syscall, .stopped = x->stopped,
				      .timeout_ns = -1, .cpu_from = x->cpu_from };
}

/* 0: a thread of the recording, or unknown. */
static int outside_waker(struct assemble *a, const struct pending_wait *w, uint32_t *ret)
{
	uint32_t comm_id;

	*ret = 0;
	if (w->waker || (!w->waker_pid && !w->waker_tid && !w->waker_comm[0]))
		return 0;
	if (strtab_intern_n(a->m->strings, w->waker_comm, strnlen(w->waker_comm, sizeof(w->waker_comm)), &comm_id) < 0)
		return -ENOMEM;
	return model_waker_intern(a->m, w->waker_pid, w->waker_tid, comm_id, ret);
}

static void wait_span_add(struct thread_state *s, const struct pending_wait *w)
{
	if (!s->last_wait_ns || w->start_ns < s->first_wait_ns)
		s->first_wait_ns = w->start_ns;
	if (w->end_ns > s->last_wait_ns)
		s->last_wait_ns = w->end_ns;
}

int assemble_wait_emit(struct assemble *a, uint32_t thread, const struct pending_wait *w, uint32_t *ret)
{
	struct model_wait words = { 0 };
	uint32_t wait, outside;
	int r;

	*ret = 0;
	/* What is under an op without a place has none either. */
	if (!w->op) {
		a->m->integrity.dropped_events++;
		return 0;
	}
	r = model_wait_add(a->m, &wait);
	if (r == 0)
		r = outside_waker(a, w, &outside);
	if (r == 0)
		r = model_wait_words_set(a->m, &words, &w->words);
	if (r < 0)
		return r == -ENOSPC ? 0 : r;
	wait_span_add(&a->threads[thread], w);
	a->m->waits[wait] = (struct model_wait){
		.start_ns = assemble_relative(a, w->start_ns),
		.end_ns = assemble_relative(a, w->end_ns),
		.blocked_ns = (int64_t)w->blocked_ns,
		.runnable_ns = (int64_t)w->runnable_ns,
		.wake_ns = w->wake_ns ? assemble_relative(a, w->wake_ns) : -1,
		.row = w->row,
		.op = w->op,
		.ident_id = w->ident, /* an index until targets.c makes it a string */
		.thread = thread,
		.waker = w->waker,
		.outside_waker = outside,
		.waker_stack = w->waker_stack,
		.word = words.word,
		.word_kind = words.word_kind,
		.owner_unknown = w->owner_unknown,
		.has_timeout = w->timeout_ns >= 0,
		.timeout_ns = w->timeout_ns < 0 ? 0 : w->timeout_ns,
		.outcome = w->outcome,
		.ctx = w->ctx,
		.clipped = w->clipped,
		.cpu_from = w->cpu_from,
		.cpu_to = w->cpu_to,
	};
	*ret = wait;
	return 0;
}

int assemble_wait_flush(struct assemble *a, uint32_t thread)
{
	_cleanup_(freep) struct pending_wait *w = TAKE_PTR(a->threads[thread].pending);
	uint32_t wait;
	int r;

	if (!w)
		return 0;
	if (w->blocked) {
		a->threads[thread].wait = 0;
		a->threads[thread].wait_seq = w->seq;
	}
	r = assemble_wait_emit(a, thread, w, &wait);
	if (w->blocked && wait)
		a->threads[thread].wait = wait;
	return r;
}

int assemble_stretch_count(struct assemble *a, const struct stretch *x, uint32_t *ret_row)
{
	uint32_t row;

	if (assemble_row_index(a, &x->key, x->resource, &row) < 0)
		return -ENOMEM;
	a->m->rows[row].count++;
	a->m->rows[row].blocked_ns += x->blocked_ns;
	a->m->rows[row].runnable_ns += x->runnable_ns;
	a->m->integrity.failed_kernel_stacks += x->kstack_failed;
	a->m->integrity.failed_user_stacks += x->ustack_failed;
	a->m->integrity.repeated_stack_losses += x->kstack_failed && x->ustack_failed;
	a->rows[row].failed_n += x->kstack_failed || x->ustack_failed;
	*ret_row = row;
	return 0;
}

/* A wait of its own, or more of the one before. */
static int stretch_add(struct assemble *a, const struct strand *s, uint32_t thread, const struct stretch *x, uint32_t row)
{
	struct thread_state *t = &a->threads[thread];
	struct place place = { .op = a->m->threads[thread].op };

	if (!continues(t->pending, x)) {
		if (assemble_wait_flush(a, thread) < 0)
			return -ENOMEM;
		if (s)
			place = assemble_strand_waits(a, s);
		t = &a->threads[thread];
		t->pending = malloc(sizeof(*t->pending));
		if (!t->pending)
			return -ENOMEM;
		*t->pending = assemble_pending_begin(x);
		t->pending->op = place.dropped ? 0 : place.op;
	}
	assemble_pending_add(t->pending, x, row);
	return 0;
}

int assemble_stretch_put(struct assemble *a, struct strand *s, uint32_t thread, const struct stretch *x)
{
	struct call *waiting = assemble_strand_waiting(s);
	bool taken = false;
	uint32_t row;

	if (waiting && assemble_held_take(a, s, waiting, x, &taken) < 0)
		return -ENOMEM;
	if (taken)
		return 0;
	if (assemble_stretch_count(a, x, &row) < 0)
		return -ENOMEM;
	/* Between its exit and its last switch a thread has no op any more: that time is in the totals alone. */
	if (x->late)
		return 0;
	if (!thread) {
		a->m->integrity.dropped_events++;
		return 0;
	}
	if (stretch_add(a, s, thread, x, row) < 0)
		return -ENOMEM;
	/* Nothing comes after its thread's death or the recording's end. */
	return x->last ? assemble_wait_flush(a, thread) : 0;
}

int assemble_stretch_take(struct assemble *a, struct strand *s, uint32_t thread, const struct stretch *x)
{
	/* What is in flight when recording goes off, a call or a choke point's wait, is told of to its end. */
	bool is_on = !assemble_is_off(a, x->start_ns) || continues(a->threads[thread].pending, x) || assemble_strand_waiting(s);
	bool in_scope = is_on && assemble_in_scope(a, s, thread);
	/* A goroutine that doesn't run is no thread's interval. */
	uint64_t n = x->key.go_reason ? 0 : 1;
	int r = in_scope ? assemble_stretch_put(a, s, thread, x) : 0;

	if (r == 0 && in_scope)
		a->m->integrity.recorded += n;
	else if (r == 0)
		a->m->integrity.out_of_scope += n;
	return r;
}

static void stretch_waker(const struct assemble *a, const struct wcbpf_interval *e, struct stretch *x)
{
	x->waker = waker_of(a, e, x);
	x->ctx = (uint8_t)waker_ctx(e);
	x->outcome = (uint8_t)wait_outcome(e);
	if (x->waker || !is_woken_by_task(e))
		return;
	x->waker_pid = e->waker_tgid;
	x->waker_tid = e->waker_tid;
	memcpy(x->waker_comm, e->waker_comm, sizeof(x->waker_comm));
}

/*
 * Numbers + 1, 0: unknown. A new thread left none, one that was off the CPU all along has none that is known, and who is
 * noticed later (iterator, inferred switch) entered none that is.
 */
static uint16_t cpu_left(const struct wcbpf_interval *e)
{
	bool known = !(e->flags & (WCBPF_IV_NEW_THREAD | WCBPF_IV_BEGAN_BEFORE));

	return known && e->cpu_out < UINT16_MAX ? (uint16_t)(e->cpu_out + 1) : 0;
}

static uint16_t cpu_entered(const struct wcbpf_interval *e)
{
	bool known = !(e->flags & (WCBPF_IV_OPEN_AT_END | WCBPF_IV_EXITED));

	return known && e->cpu_in < UINT16_MAX ? (uint16_t)(e->cpu_in + 1) : 0;
}

static int stretch_of(struct assemble *a, uint32_t thread, const struct wcbpf_interval *e, struct stretch *ret)
{
	struct stretch x = { .syscall = e->syscall, .timeout_ns = e->timeout_ns, .seq = e->seq, .cpu_from = cpu_left(e),
			     .cpu_to = cpu_entered(e) };
	bool user = !(e->flags & (WCBPF_IV_KTHREAD | WCBPF_IV_EXITING));

	stretch_times(a, e, &x);
	if (assemble_row_key(a, thread, e, &x.key, &x.resource, &x.ident) < 0)
		return -ENOMEM;
	x.same_call = e->flags & WCBPF_IV_SAME_CALL;
	x.words.owner_tid = owner_of(a, a->m->threads[thread].process, e);
	x.owner_unknown = x.words.owner_tid ? OWNER_UNKNOWN_NONE : (uint8_t)owner_unknown(e);
	x.words.has_futex_val = assemble_futex_val(e, &x.words.futex_val);
	x.clipped = e->flags & WCBPF_IV_BEGAN_BEFORE || e->out_ns < a->o.begin_ns ? CLIPPED_BEFORE : 0;
	x.clipped |= e->flags & WCBPF_IV_OPEN_AT_END ? CLIPPED_AFTER : 0;
	/* Who has no user memory, or no longer, owes no user stack. */
	x.kstack_failed = e->flags & WCBPF_IV_KSTACK_FAILED;
	x.ustack_failed = (e->flags & WCBPF_IV_USTACK_FAILED) && user;
	x.last = e->flags & (WCBPF_IV_EXITED | WCBPF_IV_OPEN_AT_END);
	stretch_waker(a, e, &x);
	if (is_woken_by_task(e) && assemble_stack_index(a, STACK_USER, e->waker_ustack_id, &x.waker_stack) < 0)
		return -ENOMEM;
	*ret = x;
	return 0;
}

static int interval_use(struct assemble *a, const struct wcbpf_interval *e)
{
	bool late = assemble_outlives_process(a, e->tid, e->tgid, e->head.time_ns);
	struct assemble_span span = {
		.from_ns = e->out_ns,
		.to_ns = e->head.time_ns,
		.dying = late || e->flags & (WCBPF_IV_EXITING | WCBPF_IV_EXITED),
	};
	char comm[WCBPF_COMM_LEN + 1] = { 0 };
	struct strand *strand;
	struct stretch x;
	uint32_t thread, own;
	struct thread_state *s;
	uint64_t left_out;
	int r;

	memcpy(comm, e->comm, WCBPF_COMM_LEN);
	span.comm = comm;
	if (assemble_thread_for(a, e->tid, e->tgid, &span, &thread) < 0 ||
	    assemble_thread_name(a, thread, e->comm) < 0 || stretch_of(a, thread, e, &x) < 0)
		return -ENOMEM;
	s = &a->threads[thread];
	s->seen = true;
	if (x.blocked && (!s->death_ns || e->out_ns < s->death_ns) && e->out_ns > s->block_ns)
		s->block_ns = e->out_ns;
	x.late = e->flags & WCBPF_IV_EXITING || (late && e->out_ns >= s->death_ns);
	strand = s->strand;
	own = thread;
	if (e->goid && !x.late && assemble_goroutine_blocks(a, e, &x, &strand, &thread) < 0)
		return -ENOMEM;
	left_out = a->m->integrity.out_of_scope;
	r = assemble_stretch_take(a, strand, thread, &x);
	if (a->m->integrity.out_of_scope != left_out)
		a->m->threads[own].left_out_ns += x.blocked_ns + x.runnable_ns;
	return r;
}

int assemble_interval(struct assemble *a, const struct wcbpf_interval *e)
{
	uint64_t recorded;
	int r;

	if (!e->tid || !e->tgid)
		return -EBADMSG;
	if (e->out_ns > e->head.time_ns) {
		a->m->integrity.lost_clock_back++;
		return 0;
	}
	recorded = a->m->integrity.recorded;
	r = interval_use(a, e);
	if (r < 0 && a->m->integrity.recorded == recorded)
		a->m->integrity.lost_unprocessed++;
	return r;
}

/* The signal that kills also interrupts: the result doesn't tell the two apart. */
static enum wait_outcome result_outcome(int64_t result, enum wait_outcome before)
{
	if (result >= 0)
		return WAIT_WOKEN;
	if (result == -ETIMEDOUT)
		return WAIT_TIMEOUT;
	if (result == -EINTR || (result >= -ERESTART_LAST && result <= -ERESTART_FIRST))
		return before == WAIT_KILLED ? WAIT_KILLED : WAIT_INTERRUPTED;
	return WAIT_OUTCOME_NONE;
}

/* A futex_waitv was known by its first futex until it said which was woken. */
static int waitv_woken(struct assemble *a, uint64_t address, uint32_t *ident)
{
	struct ident_key key = a->idents[*ident].key;

	if (key.kind != IDENT_FUTEX)
		return 0;
	key.address = address;
	return assemble_ident_index(a, &key, ident);
}

int assemble_futex_result(struct assemble *a, const struct wcbpf_futex_result *e)
{
	uint32_t thread = assemble_thread_at(a, e->tid, e->head.time_ns);
	struct thread_state *s = &a->threads[thread];

	/* No such wait: it was shorter than --min, or lost. */
	if (!thread || a->m->threads[thread].pid != e->tgid)
		return 0;
	if (s->pending && s->pending->seq == e->seq) {
		if (s->pending->blocked)
			s->pending->outcome = (uint8_t)result_outcome(e->result, s->pending->outcome);
		if (e->address && waitv_woken(a, e->address, &s->pending->ident) < 0)
			return -ENOMEM;
		/* The call is over, nothing can extend it. */
		return assemble_wait_flush(a, thread);
	}
	if (s->wait && s->wait_seq == e->seq) {
		struct model_wait *w = &a->m->waits[s->wait];

		w->outcome = result_outcome(e->result, w->outcome);
	}
	return 0;
}

void assemble_wait_killed(struct assemble *a, uint32_t thread, uint64_t time_ns)
{
	struct thread_state *s = &a->threads[thread];
	struct model_wait *w = &a->m->waits[s->wait];
	int64_t death_ns = assemble_relative(a, time_ns);

	if (s->pending && s->pending->blocked) {
		if (s->pending->outcome == WAIT_INTERRUPTED && time_ns - s->pending->end_ns <= KILL_NS_MAX)
			s->pending->outcome = WAIT_KILLED;
	} else if (s->wait && w->outcome == WAIT_INTERRUPTED && death_ns - w->end_ns <= (int64_t)KILL_NS_MAX) {
		w->outcome = WAIT_KILLED;
	}
}
