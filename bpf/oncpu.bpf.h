/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * What a traced thread does while it is on a CPU, seen at the ticks of a timer
 * on each. The timer's interrupt comes between any two instructions of all but
 * the scheduler programs, so it has scratch memory of its own.
 */
#include "filter.bpf.h"
#include "ring.bpf.h"
#include "userstack.bpf.h"

/* The user stack of the current task, from the registers in s; its id, 0: none could be read. */
static __always_inline __u64 sample_user_stack(struct scratch *s, const struct thread *t, __u64 now)
{
	return stack_user_read(s, SCRATCH_SAMPLE, t, now);
}

static __always_inline void sample_emit(const struct thread *t, __u64 kstack_id, __u64 ustack_id, __s32 syscall,
					__u32 flags, __u64 now)
{
	void *ring = ring_of_cpu();
	struct wcbpf_sample *e = ring ? bpf_ringbuf_reserve(ring, sizeof(*e), 0) : NULL;

	if (!e) {
		count(WCBPF_CNT_LOST_SAMPLES);
		return;
	}
	head_fill(&e->head, WCBPF_EV_SAMPLE, sizeof(*e), now);
	e->kstack_id = kstack_id;
	e->ustack_id = ustack_id;
	e->tid = t->tid;
	e->tgid = t->tgid;
	e->syscall = syscall;
	e->flags = flags;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	bpf_ringbuf_submit(e, ring_flags(ring));
}

static __always_inline void on_sample(struct sample_context *ctx, struct thread *t)
{
	struct scratch *s = scratch_get(SCRATCH_SAMPLE);
	__u64 now = bpf_ktime_get_ns(), kstack_id = 0, ustack_id = 0;
	__s32 syscall = -1;
	__u32 flags = 0;

	if (!s)
		return;
	count(WCBPF_CNT_SAMPLES);
	s->regs = ctx->regs;
	if (REGS_ARE_USER(&s->regs)) {
		flags |= WCBPF_SM_USER;
	} else {
		kstack_id = stack_kernel_running(ctx, &s->stack, now);
		if (kstack_id)
			stack_send(&s->stack, &t->kstack_sent);
		else
			flags |= WCBPF_SM_KSTACK_FAILED;
	}
	if (t->kthread) {
		flags |= WCBPF_SM_KTHREAD;
	} else if (t->exiting) {
		flags |= WCBPF_SM_EXITING;
	} else if (t->exec_id != compat_current_exec_id()) {
		syscall = -1; /* in execve: the registers are the old program's, the memory is not */
	} else if (!(flags & WCBPF_SM_USER) && !compat_current_user_regs(&s->regs)) {
		flags |= cfg_ustack ? WCBPF_SM_USTACK_FAILED : 0;
	} else {
		syscall = flags & WCBPF_SM_USER ? -1 : REGS_SYSCALL(&s->regs);
		if (cfg_ustack)
			ustack_id = sample_user_stack(s, t, now);
		if (ustack_id)
			stack_send(&s->stack, &t->ustack_sent);
		else if (cfg_ustack)
			flags |= WCBPF_SM_USTACK_FAILED;
	}
	sample_emit(t, kstack_id, ustack_id, syscall, flags, now);
}
