/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Who wakes: the current task if it acts on its own, else the interrupt that
 * borrowed its CPU. The preempt count says exactly whether this is interrupt
 * context; the irq, softirq and hrtimer tracepoints say which. A softirq that a
 * task raised itself (sending over loopback) is that task's doing.
 */
#include "compat.bpf.h"
#include "filter.bpf.h"
#include "userstack.bpf.h"

enum { SOFTIRQ_HI, SOFTIRQ_TIMER, SOFTIRQ_NET_TX, SOFTIRQ_NET_RX, SOFTIRQ_BLOCK, SOFTIRQ_IRQ_POLL, SOFTIRQ_TASKLET,
       SOFTIRQ_SCHED, SOFTIRQ_HRTIMER, SOFTIRQ_RCU };

static __always_inline struct cpu_context *cpu_context(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cpu_contexts, &zero);
}

enum running_in { IN_TASK, IN_SOFTIRQ, IN_HARDIRQ };
static __always_inline enum running_in context_now(const struct cpu_context *c, const bool btf)
{
	__s64 count = rt.hardirq_mask ? compat_preempt_count(btf) : -1;

	if (count < 0) /* by the tracepoints alone */
		return c->irq || c->hrtimer ? IN_HARDIRQ : c->softirq ? IN_SOFTIRQ : IN_TASK;
	if (count & rt.hardirq_mask)
		return IN_HARDIRQ;
	return compat_serving_softirq(count) ? IN_SOFTIRQ : IN_TASK;
}

static __always_inline __u32 softirq_context(const struct cpu_context *c)
{
	switch (c->softirq ? c->softirq - 1 : SOFTIRQS) {
	case SOFTIRQ_TIMER:
	case SOFTIRQ_HRTIMER:
		return WCBPF_WAKER_TIMER;
	case SOFTIRQ_NET_TX:
	case SOFTIRQ_NET_RX:
		return WCBPF_WAKER_NET;
	case SOFTIRQ_BLOCK:
		return WCBPF_WAKER_DISK;
	}
	return WCBPF_WAKER_IRQ;
}

/* Fills the waker fields of a thread that is being made runnable. */
static __always_inline void waker_note(struct thread *t, const bool btf)
{
	struct cpu_context *c = cpu_context();
	__u64 id = bpf_get_current_pid_tgid();
	enum running_in where;

	t->waker_tid = t->waker_tgid = t->waker_irq = 0;
	t->waker_ctx = WCBPF_WAKER_UNKNOWN;
	t->waker_comm[0] = 0;
	if (!c)
		return;
	where = context_now(c, btf);
	if (where == IN_HARDIRQ) {
		t->waker_ctx = c->hrtimer ? WCBPF_WAKER_TIMER : WCBPF_WAKER_IRQ;
		t->waker_irq = c->irq ? c->irq - 1 : 0;
		return;
	}
	if (where == IN_SOFTIRQ) {
		t->waker_ctx = softirq_context(c);
		t->waker_irq = c->softirq ? c->softirq - 1 : 0;
		/* what it runs for came from one task, and that task is still the one on this CPU */
		if (t->waker_ctx != WCBPF_WAKER_NET || c->running.ambiguous || c->running.tid != (__u32)id || !(__u32)id)
			return;
	}
	if (!(__u32)id) /* the idle task does nothing on its own */
		return;
	t->waker_ctx = WCBPF_WAKER_TASK;
	t->waker_irq = 0;
	if (!rt.pidns_level) {
		t->waker_tid = id;
		t->waker_tgid = id >> 32;
	} else {
		struct task_struct *current = (void *)bpf_get_current_task();

		t->waker_tid = ns_pid(current);
		t->waker_tgid = ns_tgid(current);
	}
	bpf_get_current_comm(t->waker_comm, sizeof(t->waker_comm));
}

/*
 * Is a signal about to be delivered, and is the process dying? Asked at the
 * wake: a signal that wakes is pending by then, one that comes later (SIGCHLD
 * behind the closing of a pipe) is not what ended the wait.
 */
static __always_inline __u32 signal_flags(struct task_struct *task, const bool btf)
{
	struct signal_struct *sig = FIELD(btf, task, signal);
	__u64 pending = FIELD(btf, task, pending.signal.sig[0]) | FIELD(btf, sig, shared_pending.signal.sig[0]);
	__u32 flags = 0;

	if (pending & ~FIELD(btf, task, blocked.sig[0]))
		flags |= WCBPF_IV_SIGNAL;
	if (pending & 1ull << 8 || FIELD(btf, sig, flags) & SIGNAL_GROUP_EXIT)
		flags |= WCBPF_IV_SIGNAL | WCBPF_IV_KILLED;
	return flags;
}

/*
 * The user stack of the current task, which wakes t. It costs the waker as much as a switch-out's, so it is taken of
 * traced wakers alone, and for waits that will be told. Interrupts are off, as at a switch, but for a thread that
 * wakes itself before it has slept: that one is no waker. One that is ending has its memory until it has told its joiner.
 */
static __always_inline __u64 waker_stack_take(const struct thread *t, __u64 now)
{
	struct task_struct *current = (struct task_struct *)bpf_get_current_task();
	struct scratch *s = scratch_get(SCRATCH_SCHED);
	struct thread *waker;
	__u64 id;

	if (t->waker_ctx != WCBPF_WAKER_TASK || t->phase != PHASE_OFF || !t->state || now - t->out_ns < cfg_min_ns)
		return 0;
	waker = thread_of(current, bpf_get_current_pid_tgid());
	if (!waker || waker == t || waker->held || waker->kthread || !s || !BPF_CORE_READ(current, mm) ||
	    waker->exec_id != compat_current_exec_id() || !compat_current_user_regs(&s->regs))
		return 0;
	id = stack_user_read(s, SCRATCH_SCHED, waker, now);
	if (id)
		stack_send(&s->stack, &waker->ustack_sent);
	return id;
}

/*
 * A wake may come before the switch-out it belongs to, so nothing is decided
 * here: the last wake seen when the thread runs again is the one.
 */
static __always_inline void on_wake(struct task_struct *task, const bool btf)
{
	struct thread *t = thread_of(task, FIELD(btf, task, pid));
	__u64 now = bpf_ktime_get_ns();

	if (!t)
		return;
	waker_note(t, btf);
	t->wake_signal = signal_flags(task, btf);
	t->waker_ustack_id = cfg_waker_stacks && cfg_ustack ? waker_stack_take(t, now) : 0;
	t->wake_ns = now;
}

static __always_inline void on_softirq_raise(__u32 vec)
{
	struct cpu_context *c = cpu_context();
	__u64 id = bpf_get_current_pid_tgid();
	struct origin *o;
	__u32 tid = 0;

	if (!c || vec >= SOFTIRQS)
		return;
	o = &c->raised[vec];
	switch (context_now(c, false)) {
	case IN_TASK:
		tid = (__u32)id;
		break;
	case IN_SOFTIRQ: /* goes on for whom the running one works */
		tid = c->running.ambiguous ? 0 : c->running.tid;
		break;
	case IN_HARDIRQ:
		break;
	}
	if (o->raised && o->tid != tid)
		o->ambiguous = 1;
	o->raised = 1;
	o->tid = tid;
}

static __always_inline void on_softirq_entry(__u32 vec)
{
	struct cpu_context *c = cpu_context();

	if (!c || vec >= SOFTIRQS)
		return;
	c->running = c->raised[vec];
	__builtin_memset(&c->raised[vec], 0, sizeof(c->raised[vec]));
	c->softirq = vec + 1;
}

static __always_inline void on_softirq_exit(void)
{
	struct cpu_context *c = cpu_context();

	if (c)
		c->softirq = 0;
}
