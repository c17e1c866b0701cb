/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The off-CPU interval of a thread: begun at its switch-out, when its registers,
 * user memory and files can be read; emitted at its switch-in, when the length
 * is known. Then the kernel stack still is the frozen one, and most are recognized
 * (skeleton.bpf.h). One that isn't is walked: at the switch-out if the CPU goes to a
 * thread that is not traced, as that of a call whose last was not recognized.
 */
#include "filter.bpf.h"
#include "resource.bpf.h"
#include "skeleton.bpf.h"
#include "userstack.bpf.h"
#include "wakeup.bpf.h"

#define FUTEX_CMD_MASK 0x7f
#define FUTEX_WAIT 0
#define FUTEX_LOCK_PI 6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_LOCK_PI2 13
#define FUTEX_TID_MASK 0x3fffffff
#define NSEC_PER_SEC 1000000000ll
/* A waker on another CPU may be told before the switch that it races with; not by more than the scheduler takes for that. */
#define WAKE_EARLY_MAX_NS 1000000

/* The time a call asked for, ns; -1: none, or it can't be read. */
static __always_inline __s64 timeout_read(__u16 class, const __u64 args[6])
{
	__u32 arg = WCBPF_SC_TIMEOUT_ARG(class);
	__s64 value, pair[2];

	if (arg > 5)
		return -1;
	value = args[arg];
	switch (WCBPF_SC_TIMEOUT_KIND(class)) {
	case WCBPF_TIMEOUT_MS:
		return (__s32)value < 0 ? -1 : (__s32)value * 1000000ll;
	case WCBPF_TIMEOUT_TIMESPEC:
	case WCBPF_TIMEOUT_TIMEVAL:
		if (!value || bpf_probe_read_user(pair, sizeof(pair), (void *)value))
			return -1;
		if (WCBPF_SC_TIMEOUT_KIND(class) == WCBPF_TIMEOUT_TIMEVAL)
			pair[1] *= 1000;
		return pair[0] * NSEC_PER_SEC + pair[1];
	}
	return -1;
}

/* A glibc mutex keeps its owner's tid 8 bytes behind its futex word; a PI futex has it in the word. */
static __always_inline void owner_read(struct thread *t)
{
	__u32 op = t->args[1] & FUTEX_CMD_MASK;
	__u64 at = t->args[0];

	if (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET) /* lock, timedlock; told from other users by the caller */
		at += 8;
	else if (op != FUTEX_LOCK_PI && op != FUTEX_LOCK_PI2)
		return;
	if (bpf_probe_read_user(&t->owner_tid, sizeof(t->owner_tid), (void *)at)) {
		t->flags |= WCBPF_IV_OWNER_FAULT;
		return;
	}
	if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2)
		t->owner_tid &= FUTEX_TID_MASK;
	t->flags |= WCBPF_IV_OWNER_READ;
}

static __always_inline __s32 pollfd_read(const __u64 args[6])
{
	__s32 fd;

	if (args[1] != 1 || bpf_probe_read_user(&fd, sizeof(fd), (void *)args[0]))
		return -1;
	return fd;
}

/* struct futex_waitv of the system call's interface */
struct futex_waiter {
	__u64 value, address;
	__u32 flags, reserved;
};

/* The list of a futex_waitv call lies on a stack, as a rule: its first futex is what it is known by. */
static __always_inline void waitv_read(struct thread *t)
{
	struct futex_waiter first;

	t->args[4] = t->args[5] = 0;
	if (bpf_probe_read_user(&first, sizeof(first), (void *)t->args[0]))
		return;
	t->args[4] = first.flags;
	t->args[5] = first.address;
}

static __always_inline __u16 syscall_class(__s32 nr)
{
	return nr >= 0 && nr < WCBPF_SYSCALLS_MAX ? cfg_syscall_class[nr & (WCBPF_SYSCALLS_MAX - 1)] : 0;
}

/*
 * Is this the system call that the thread already was in at its last
 * switch-out? The same registers, and no return to user mode since: a switch
 * sets thread flags (lazy FPU, rseq) that only that return clears. Which bits
 * do so is learned at start (rt.same_call_mask).
 */
static __always_inline bool same_call(const struct thread *t, struct task_struct *task, const struct regs *r, __s32 nr,
				      const __u64 args[6], const bool btf)
{
	__u64 flags = BPF_CORE_READ(task, thread_info.flags) & rt.same_call_mask;

	/* without rseq the bits that are left also come from elsewhere (the kernel's own use of the FPU): two waits, honestly */
	if (!rt.same_call_mask || flags != rt.same_call_mask || !compat_has_rseq(task))
		return false;
	if (t->syscall < 0 || t->syscall != nr)
		return false;
	if (t->call_ip != REGS_IP(r) || t->call_sp != REGS_SP(r))
		return false;
	/* the last two may have been overwritten, see waitv_read() */
	for (int i = 0; i < 4; i++)
		if (t->args[i] != args[i])
			return false;
	return true;
}

static __always_inline void call_read(struct thread *t, struct task_struct *task, const struct regs *r, const bool btf)
{
	__s32 nr = REGS_SYSCALL(r);
	__u64 args[6];

	regs_args(r, args);
	/* after a stop the call goes on under another number, with the registers of the first */
	if (nr == cfg_restart_syscall && nr >= 0 && t->call_sp == REGS_SP(r))
		nr = t->syscall;
	if (same_call(t, task, r, nr, args, btf))
		t->flags |= WCBPF_IV_SAME_CALL;
	t->syscall = nr;
	t->call_ip = REGS_IP(r);
	t->call_sp = REGS_SP(r);
	__builtin_memcpy(t->args, args, sizeof(args));
	if (syscall_class(nr) & WCBPF_SC_WAITV) /* see wire.h */
		t->args[4] = t->args[5] = 0;
}

/* What a blocked task waits for. */
static __always_inline void subject_read(struct scratch *s, struct thread *t, struct task_struct *task, __u16 class,
					 __u64 now, const bool btf)
{
	__s32 fd = -1;

	t->timeout_ns = timeout_read(class, t->args);
	if (class & WCBPF_SC_FUTEX)
		owner_read(t);
	if (class & (WCBPF_SC_FUTEX | WCBPF_SC_FUTEX2))
		t->futex_pending = 1;
	if (class & WCBPF_SC_WAITV)
		waitv_read(t);
	if (class & WCBPF_SC_POLL)
		fd = pollfd_read(t->args);
	else if ((class & WCBPF_SC_FD_MASK) && (class & WCBPF_SC_FD_MASK) <= 6)
		fd = t->args[((class & WCBPF_SC_FD_MASK) - 1) & 7];
	if (fd >= 0)
		t->resource_id = resource_of_fd(&s->resource, t, task, fd, now, btf);
}

static __always_inline void interval_fill(struct wcbpf_interval *e, const struct thread *t, __u64 wake_ns, __u64 now)
{
	head_fill(&e->head, WCBPF_EV_INTERVAL, sizeof(*e), now);
	e->out_ns = t->out_ns;
	e->wake_ns = wake_ns;
	e->ustack_id = t->ustack_id;
	e->resource_id = t->resource_id;
	/* a goroutine that has run elsewhere since was not on this thread any more: it sat in the scheduler, idle */
	e->goid = t->goid == t->out_goid && !rt.go_off ? t->out_goid : 0;
	__builtin_memcpy(e->args, t->args, sizeof(e->args));
	e->timeout_ns = t->timeout_ns;
	e->flags = t->flags;
	e->tid = t->tid;
	e->tgid = t->tgid;
	e->syscall = t->syscall;
	e->state = t->state;
	e->seq = t->seq;
	e->owner_tid = t->owner_tid;
	e->cpu_out = t->cpu_out;
	e->cpu_in = bpf_get_smp_processor_id();
	e->pad[0] = e->pad[1] = e->pad[2] = 0;
	if (t->flags & WCBPF_IV_WAKER_KNOWN) {
		e->waker_tid = t->waker_tid;
		e->waker_tgid = t->waker_tgid;
		e->waker_irq = t->waker_irq;
		e->waker_ctx = t->waker_ctx;
		e->waker_ustack_id = t->waker_ustack_id;
		__builtin_memcpy(e->waker_comm, t->waker_comm, sizeof(e->waker_comm));
	} else {
		e->waker_tid = e->waker_tgid = e->waker_irq = 0;
		e->waker_ustack_id = 0;
		e->waker_ctx = WCBPF_WAKER_UNKNOWN;
		__builtin_memset(e->waker_comm, 0, sizeof(e->waker_comm));
	}
}

/* When was it made runnable? Settles the wake flags of a thread that stops being off the CPU. 0: never seen. */
static __always_inline __u64 wake_settle(struct thread *t, bool open)
{
	__u64 wake = t->wake_ns;

	if (t->flags & WCBPF_IV_PREEMPTED)
		return t->out_ns;
	if (wake + WAKE_EARLY_MAX_NS < t->out_ns)
		wake = 0; /* that was for an earlier sleep */
	if (!wake) {
		if (!open) {
			t->flags |= WCBPF_IV_WAKE_UNSEEN;
			count(WCBPF_CNT_WAKE_UNSEEN);
		}
		return 0;
	}
	t->flags |= WCBPF_IV_WAKER_KNOWN | (t->state & (TASK_INTERRUPTIBLE | TASK_WAKEKILL) ? t->wake_signal : 0);
	if (wake < t->out_ns) {
		if (open) { /* an old wake, from before it blocked */
			t->flags &= ~(WCBPF_IV_WAKER_KNOWN | WCBPF_IV_SIGNAL | WCBPF_IV_KILLED);
			return 0;
		}
		t->flags |= WCBPF_IV_WAKE_EARLY;
		wake = t->out_ns;
	}
	return wake;
}

/* An interval that goes on when recording ends: it is cut there. */
static __always_inline void open_settle(struct thread *t, __u64 end, __u64 *ret_wake)
{
	if (t->phase == PHASE_NEW) {
		t->flags = WCBPF_IV_PREEMPTED | WCBPF_IV_NEW_THREAD;
		t->out_ns = t->last_ns;
	}
	t->flags |= WCBPF_IV_OPEN_AT_END;
	*ret_wake = wake_settle(t, true);
	if (*ret_wake > end)
		*ret_wake = 0;
}

/* Adds an interval to the thread's times. */
static __always_inline void totals_add(struct thread *t, __u64 wake, __u64 now)
{
	if (!wake || wake > now) {
		t->blocked_ns += now - t->out_ns;
	} else {
		t->blocked_ns += wake - t->out_ns;
		t->runnable_ns += now - wake;
	}
}

/* Emits the interval with its kernel stack. False: the ring is full. */
static __always_inline bool interval_emit(void *ctx, struct thread *t, struct task_struct *task, __u64 wake, __u64 now,
					  const bool inferred, const bool btf)
{
	struct scratch *s = scratch_get(SCRATCH_SCHED);
	void *ring = ring_of_cpu();
	struct wcbpf_interval *e;
	__u64 kstack_id = t->kstack_id;

	if (!ring || !s)
		return false;
	if (btf && !(t->flags & WCBPF_IV_NEW_THREAD)) {
		/* inferred: it has run since, the frozen stack is gone */
		kstack_id = inferred ? t->kstack_id : stack_kernel_frozen(&s->stack, t, task, now);
		if (!kstack_id)
			t->flags |= WCBPF_IV_KSTACK_FAILED;
	}
	e = bpf_ringbuf_reserve(ring, sizeof(*e), 0);
	if (!e)
		return false;
	interval_fill(e, t, wake, now);
	e->kstack_id = kstack_id;
	/* likewise it may have another name since */
	if (inferred && t->comm[0])
		__builtin_memcpy(e->comm, t->comm, sizeof(e->comm));
	else
		bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), &task->comm);
	bpf_ringbuf_submit(e, ring_flags(ring));
	return true;
}

/* The interval is over: emitted or counted, and its time booked. */
static __always_inline void interval_finish(void *ctx, struct thread *t, struct task_struct *task, __u64 now,
					    const bool inferred, const bool btf)
{
	__u64 wake;

	if (t->held)
		return;
	t->interval_n++;
	count(WCBPF_CNT_INTERVALS);
	if (now < t->out_ns) {
		t->lost_n++;
		count(WCBPF_CNT_CLOCK_BACK);
		return;
	}
	wake = wake_settle(t, false);
	if (wake > now)
		wake = now;
	if (now - t->out_ns < cfg_min_ns) {
		t->below_min_n++;
		count(WCBPF_CNT_BELOW_MIN);
		totals_add(t, wake, now);
	} else if (interval_emit(ctx, t, task, wake, now, inferred, btf)) {
		count(WCBPF_CNT_EMITTED);
		totals_add(t, wake, now);
	} else {
		t->lost_n++;
		t->lost_ns += now - t->out_ns;
		count(WCBPF_CNT_LOST_RING_FULL);
	}
}

static __always_inline void offcpu_end(void *ctx, struct thread *t, struct task_struct *task, __u64 now, const bool btf)
{
	__u64 ran;

	if (t->phase == PHASE_NEW) {
		t->flags = WCBPF_IV_PREEMPTED | WCBPF_IV_NEW_THREAD | (t->wake_ns ? WCBPF_IV_WAKER_KNOWN : 0);
		t->out_ns = t->last_ns;
		t->seq++;
	}
	if (t->phase != PHASE_ONCPU) {
		interval_finish(ctx, t, task, now, false, btf);
	} else {
		/* Its switch-out was not seen. What it did off the CPU is unknown, how long it ran is not. */
		ran = FIELD(btf, task, se.sum_exec_runtime) - t->exec_ns;
		count(WCBPF_CNT_UNBALANCED);
		t->seq++;
		if (now > t->last_ns) {
			if (ran > now - t->last_ns)
				ran = now - t->last_ns;
			t->oncpu_ns += ran;
			t->lost_ns += now - t->last_ns - ran;
		}
	}
	t->exec_ns = FIELD(btf, task, se.sum_exec_runtime);
	t->wake_ns = 0;
	t->phase = PHASE_ONCPU;
	t->last_ns = now;
}

/* An interval that was open when recording ended, of a thread that comes back before the iterator has been there. */
static __always_inline void offcpu_close(struct thread *t, struct task_struct *task, const bool btf)
{
	__u64 end = rt.end_ns > t->last_ns ? rt.end_ns : t->last_ns, wake;

	if (t->phase == PHASE_ONCPU || t->phase == PHASE_DEAD || t->closed_interval || t->held)
		return;
	open_settle(t, end, &wake);
	t->closed_interval = 1;
	if (!interval_emit(NULL, t, task, wake, end, false, btf)) {
		count(WCBPF_CNT_INTERVALS);
		count(WCBPF_CNT_LOST_RING_FULL);
	}
}

/*
 * A thread leaves the CPU: books its time on it. If its switch-in was not seen
 * (programs are not run everywhere: not in contexts that a hypervisor's agent
 * or a recursion guard keeps to itself), the kernel's own run time tells when
 * that was, and the interval before it is finished now, without kernel stack.
 */
static __always_inline void oncpu_end(void *ctx, struct thread *t, struct task_struct *task, __u64 now, const bool btf)
{
	__u64 exec_ns = FIELD(btf, task, se.sum_exec_runtime), ran = exec_ns - t->exec_ns;

	if (t->phase != PHASE_ONCPU) {
		count(WCBPF_CNT_INFERRED);
		if (ran > now - t->last_ns)
			ran = now - t->last_ns;
		if (t->phase == PHASE_NEW) {
			t->flags = WCBPF_IV_PREEMPTED | WCBPF_IV_NEW_THREAD;
			t->out_ns = t->last_ns;
			t->seq++;
		}
		t->flags |= WCBPF_IV_IN_INFERRED;
		interval_finish(ctx, t, task, now - ran, true, btf);
		t->wake_ns = 0;
		t->last_ns = now - ran;
	}
	if (now > t->last_ns)
		t->oncpu_ns += now - t->last_ns;
	t->exec_ns = exec_ns;
}

/* to_other: the thread that gets the CPU is not traced (the idle task above all), so none of ours waits while we look. */
static __always_inline void offcpu_begin(void *ctx, struct thread *t, struct task_struct *task, __u32 state,
					 bool runnable, bool to_other, __u64 now, const bool btf)
{
	struct scratch *s = scratch_get(SCRATCH_SCHED);
	bool has_regs;
	__u16 class = 0;

	t->phase = PHASE_OFF;
	t->last_ns = t->out_ns = now;
	t->seq++;
	t->state = runnable ? 0 : state;
	t->flags = (runnable ? WCBPF_IV_PREEMPTED : 0) | (t->exiting ? WCBPF_IV_EXITING : 0);
	t->cpu_out = bpf_get_smp_processor_id();
	t->ustack_id = t->resource_id = 0;
	t->out_goid = t->goid;
	t->owner_tid = 0;
	t->timeout_ns = -1;
	if (runnable)
		t->involuntary_n++;
	else
		t->voluntary_n++;
	bpf_probe_read_kernel_str(t->comm, sizeof(t->comm), &task->comm);
	t->kstack_id = 0;
	t->to_other = to_other;
	if (!s) {
		t->syscall = -1;
		return;
	}
	has_regs = !t->kthread && !t->exiting && compat_user_regs(task, btf, &s->regs);
	if (has_regs)
		call_read(t, task, &s->regs, btf);
	else
		t->syscall = -1;
	if (!btf || (to_other && leaving_walk_due(t))) {
		t->kstack_id = btf ? stack_kernel_leaving(ctx, &s->stack, now) :
				     stack_kernel_current(ctx, &s->stack, now);
		if (t->kstack_id)
			stack_send(&s->stack, &t->kstack_sent);
	}
	if (!has_regs) {
		t->flags |= t->kthread ? WCBPF_IV_KTHREAD : 0;
		return;
	}
	if (!runnable) {
		class = syscall_class(t->syscall);
		subject_read(s, t, task, class, now, btf);
	}
	/* in execve between the old memory's end and the new program's begin there is no user stack: its registers are the old's */
	if (!cfg_ustack || t->exec_id != BPF_CORE_READ(task, self_exec_id))
		return;
	t->ustack_id = stack_user_read(s, SCRATCH_SCHED, t, now);
	if (t->ustack_id)
		stack_send(&s->stack, &t->ustack_sent);
	else
		t->flags |= WCBPF_IV_USTACK_FAILED;
}

/* A futex call returns in a thread that blocked in it. */
static __always_inline void on_futex_exit(struct thread *t, __s64 result)
{
	void *ring = ring_of_cpu();
	struct wcbpf_futex_result *e = ring ? bpf_ringbuf_reserve(ring, sizeof(*e), 0) : NULL;
	struct futex_waiter woken;

	t->futex_pending = 0;
	if (!e) {
		count(WCBPF_CNT_LOST_FUTEX_RESULT);
		return;
	}
	head_fill(&e->head, WCBPF_EV_FUTEX_RESULT, sizeof(*e), bpf_ktime_get_ns());
	e->tid = t->tid;
	e->tgid = t->tgid;
	e->result = result;
	e->address = 0;
	e->seq = t->seq;
	e->pad = 0;
	/* futex_waitv says which of its futexes by number */
	if (syscall_class(t->syscall) & WCBPF_SC_WAITV && result >= 0 && result < 128 &&
	    !bpf_probe_read_user(&woken, sizeof(woken), (void *)(t->args[0] + result * sizeof(woken))))
		e->address = woken.address;
	bpf_ringbuf_submit(e, ring_flags(ring));
}
