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
#include <string.h>

#include "assemble/resource.h"
#include "assemble/rows.h"
#include "assemble/syscall.h"
#include "assemble/threads.h"

/* The kernel's own error numbers for "go on with this call after the signal" (include/linux/errno.h). */
#define ERESTART_FIRST 512
#define ERESTART_LAST 516
/* A killed thread runs from its wait straight to its exit, but may have to wait for a CPU. */
#define KILL_NS_MAX 100000000ull

/* An interval, clipped to the recording. */
struct piece {
	uint64_t start_ns, end_ns;
	uint64_t wake_ns; /* 0: unknown */
	uint64_t blocked_ns, runnable_ns;
	bool blocked;	  /* not just preempted */
	bool stopped;
};

static struct piece piece_of(const struct assemble *a, const struct wcbpf_interval *e)
{
	bool preempted = e->flags & WCBPF_IV_PREEMPTED, born = e->flags & WCBPF_IV_NEW_THREAD;
	bool runnable_before = e->flags & WCBPF_IV_WAKE_BEFORE;
	uint64_t out_ns = assemble_clip(a, e->out_ns), in_ns = assemble_clip(a, e->head.time_ns), wake_ns;
	struct piece p = {
		.start_ns = out_ns,
		.end_ns = in_ns,
		.blocked = !preempted && !born,
		.stopped = !preempted && e->state & (TASK_STOPPED | TASK_TRACED | TASK_FROZEN),
	};

	if (preempted || born || runnable_before)
		wake_ns = out_ns;
	else
		wake_ns = e->wake_ns ? assemble_clip(a, e->wake_ns) : in_ns;
	wake_ns = wake_ns < out_ns ? out_ns : wake_ns > in_ns ? in_ns : wake_ns;
	p.blocked_ns = wake_ns - out_ns;
	p.runnable_ns = in_ns - wake_ns;
	/* Nobody woke the preempted; a wake before the recording has no time in it; a new thread's is its fork. */
	p.wake_ns = (preempted && !born) || runnable_before || !e->wake_ns ? 0 : wake_ns;
	return p;
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

static uint32_t waker_of(const struct assemble *a, const struct wcbpf_interval *e, const struct piece *p)
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

static bool continues(const struct pending_wait *w, const struct wcbpf_interval *e, const struct piece *p)
{
	return w->active && (e->flags & WCBPF_IV_SAME_CALL) && e->seq == w->seq + 1 && e->syscall == w->syscall &&
	       p->start_ns >= w->end_ns && !w->stopped && !p->stopped;
}

static void waker_take(const struct assemble *a, struct pending_wait *w, const struct wcbpf_interval *e,
		       const struct piece *p)
{
	w->waker = waker_of(a, e, p);
	w->waker_pid = w->waker_tid = 0;
	memset(w->waker_comm, 0, sizeof(w->waker_comm));
	if (w->waker || !is_woken_by_task(e))
		return;
	w->waker_pid = e->waker_tgid;
	w->waker_tid = e->waker_tid;
	memcpy(w->waker_comm, e->waker_comm, sizeof(w->waker_comm));
}

/* Takes the interval into the pending wait, which is blank for the first one. */
static void pending_add(const struct assemble *a, uint32_t thread, const struct wcbpf_interval *e,
			const struct piece *p, uint32_t row, uint32_t ident)
{
	struct pending_wait *w = &a->threads[thread].pending;
	uint64_t length_ns = p->end_ns - p->start_ns;

	if (!w->active) {
		*w = (struct pending_wait){
			.active = true, .start_ns = p->start_ns, .syscall = e->syscall, .stopped = p->stopped,
			.timeout_ns = -1,
		};
	}
	/* Who was stopped or preempted in a call did not wait for its time. */
	if (w->timeout_ns < 0 && p->blocked && !p->stopped && e->syscall >= 0)
		w->timeout_ns = e->timeout_ns;
	if (!w->row || p->blocked > w->blocked || (p->blocked == w->blocked && length_ns > w->longest_ns)) {
		w->row = row;
		w->ident = ident;
		w->longest_ns = length_ns;
		w->words.owner_tid = owner_of(a, a->m->threads[thread].process, e);
		w->owner_unknown = w->words.owner_tid ? OWNER_UNKNOWN_NONE : (uint8_t)owner_unknown(e);
		w->words.has_futex_val = assemble_futex_val(e, &w->words.futex_val);
	}
	w->end_ns = p->end_ns;
	w->blocked_ns += p->blocked_ns;
	w->runnable_ns += p->runnable_ns;
	w->seq = e->seq;
	w->clipped |= e->flags & WCBPF_IV_BEGAN_BEFORE || e->out_ns < a->o.begin_ns ? CLIPPED_BEFORE : 0;
	w->clipped |= e->flags & WCBPF_IV_OPEN_AT_END ? CLIPPED_AFTER : 0;
	/* A preemption on the way out of a call leaves standing what ended its blocking. */
	if (p->blocked || !w->blocked) {
		w->wake_ns = p->wake_ns;
		waker_take(a, w, e, p);
		w->ctx = (uint8_t)waker_ctx(e);
		w->outcome = (uint8_t)wait_outcome(e);
	}
	w->blocked |= p->blocked;
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

int assemble_wait_flush(struct assemble *a, uint32_t thread)
{
	struct thread_state *s = &a->threads[thread];
	const struct pending_wait *w = &s->pending;
	uint32_t wait, outside, op = a->m->threads[thread].op;
	struct model_wait words = { 0 };
	int r;

	if (!w->active)
		return 0;
	s->pending.active = false;
	if (w->blocked) {
		s->wait = 0;
		s->wait_seq = w->seq;
	}
	/* What is under an op without a place has none either. */
	if (!op) {
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
	wait_span_add(s, w);
	a->m->waits[wait] = (struct model_wait){
		.start_ns = assemble_relative(a, w->start_ns),
		.end_ns = assemble_relative(a, w->end_ns),
		.blocked_ns = (int64_t)w->blocked_ns,
		.runnable_ns = (int64_t)w->runnable_ns,
		.wake_ns = w->wake_ns ? assemble_relative(a, w->wake_ns) : -1,
		.row = w->row,
		.op = op,
		.ident_id = w->ident, /* an index until targets.c makes it a string */
		.thread = thread,
		.waker = w->waker,
		.outside_waker = outside,
		.word = words.word,
		.word_kind = words.word_kind,
		.owner_unknown = w->owner_unknown,
		.has_timeout = w->timeout_ns >= 0,
		.timeout_ns = w->timeout_ns < 0 ? 0 : w->timeout_ns,
		.outcome = w->outcome,
		.ctx = w->ctx,
		.clipped = w->clipped,
	};
	if (w->blocked)
		s->wait = wait;
	return 0;
}

/* Stacks that were due and could not be read. Who has no user memory, or no longer, owes no user stack. */
static void stacks_count(struct assemble *a, uint32_t row, const struct wcbpf_interval *e)
{
	bool kernel = e->flags & WCBPF_IV_KSTACK_FAILED;
	bool user = (e->flags & WCBPF_IV_USTACK_FAILED) && !(e->flags & (WCBPF_IV_KTHREAD | WCBPF_IV_EXITING));

	a->m->integrity.failed_kernel_stacks += kernel;
	a->m->integrity.failed_user_stacks += user;
	a->m->integrity.repeated_stack_losses += kernel && user;
	a->rows[row].failed_n += kernel || user;
}

/*
 * On kernels before 6.16 a thread counts as gone to its process some time
 * before its own exit event, and may wait for a CPU in between: the process's
 * end can be told first.
 */
static bool outlives_process(const struct assemble *a, const struct wcbpf_interval *e)
{
	uint32_t thread = assemble_thread_at(a, e->tid, e->head.time_ns);

	return thread && a->m->threads[thread].pid == e->tgid && !a->threads[thread].exit_seen &&
	       a->processes[a->m->threads[thread].process].exit_seen;
}

static int interval_use(struct assemble *a, const struct wcbpf_interval *e)
{
	bool late = outlives_process(a, e);
	struct assemble_span span = {
		.from_ns = e->out_ns,
		.to_ns = e->head.time_ns,
		.dying = late || e->flags & (WCBPF_IV_EXITING | WCBPF_IV_EXITED),
	};
	struct piece p = piece_of(a, e);
	char comm[WCBPF_COMM_LEN + 1] = { 0 };
	uint32_t thread, row, ident;
	struct thread_state *s;

	memcpy(comm, e->comm, WCBPF_COMM_LEN);
	span.comm = comm;
	if (assemble_thread_for(a, e->tid, e->tgid, &span, &thread) < 0 ||
	    assemble_thread_name(a, thread, e->comm) < 0 || assemble_row_of(a, thread, e, &row, &ident) < 0)
		return -ENOMEM;
	s = &a->threads[thread];
	s->seen = true;
	if (p.blocked && (!s->death_ns || e->out_ns < s->death_ns) && e->out_ns > s->block_ns)
		s->block_ns = e->out_ns;
	if (!continues(&s->pending, e, &p) && assemble_wait_flush(a, thread) < 0)
		return -ENOMEM;
	a->m->rows[row].count++;
	a->m->rows[row].blocked_ns += p.blocked_ns;
	a->m->rows[row].runnable_ns += p.runnable_ns;
	a->m->integrity.recorded++;
	stacks_count(a, row, e);
	/* Between its exit and its last switch a thread has no op any more: that time is in the totals alone. */
	if (e->flags & WCBPF_IV_EXITING || (late && e->out_ns >= s->death_ns))
		return 0;
	pending_add(a, thread, e, &p, row, ident);
	/* Nothing comes after its thread's death or the recording's end. */
	return e->flags & (WCBPF_IV_EXITED | WCBPF_IV_OPEN_AT_END) ? assemble_wait_flush(a, thread) : 0;
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
	if (s->pending.active && s->pending.seq == e->seq) {
		if (s->pending.blocked)
			s->pending.outcome = (uint8_t)result_outcome(e->result, s->pending.outcome);
		if (e->address && waitv_woken(a, e->address, &s->pending.ident) < 0)
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

	if (s->pending.active && s->pending.blocked) {
		if (s->pending.outcome == WAIT_INTERRUPTED && time_ns - s->pending.end_ns <= KILL_NS_MAX)
			s->pending.outcome = WAIT_KILLED;
	} else if (s->wait && w->outcome == WAIT_INTERRUPTED && death_ns - w->end_ns <= (int64_t)KILL_NS_MAX) {
		w->outcome = WAIT_KILLED;
	}
}
