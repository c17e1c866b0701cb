/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Memory for the programs of choke points. From Linux 6.0 on (8c7dcb84e3b7) they
 * may be preempted, and another thread's may run on the same CPU meanwhile: so
 * each claims a slot of its CPU, which it can't leave while it runs.
 */
#include "filter.bpf.h"
#include "userstack.bpf.h"

/*
 * From 6.13 on (e00931c02568) programs of this type have one stack a CPU, not that of the thread they run in. But here one
 * may be preempted, and another thread's runs on the same stack: registers that were saved there are the other's. A
 * program with a tail call keeps the thread's stack, also if the call is never made.
 */
static __always_inline void stack_own(void *ctx)
{
	if (rt.never)
		bpf_tail_call(ctx, &no_programs, 0);
}

/*
 * A slot of this CPU's, -1: all are in use. Without atomic (they came with 5.12,
 * 5ca419f2864a) the programs can't be preempted: one slot is enough.
 */
static __always_inline int slot_claim(const bool atomic)
{
	__u32 zero = 0;
	struct site_claims *c;

	if (!atomic)
		return 0;
	c = bpf_map_lookup_elem(&site_claims, &zero);
	if (!c)
		return -1;
#pragma unroll
	for (int i = 0; i < SITE_SLOTS; i++)
		if (!__sync_val_compare_and_swap(&c->busy[i], 0, 1))
			return i;
	return -1;
}

static __always_inline void slot_release(int slot, const bool atomic)
{
	__u32 zero = 0;
	struct site_claims *c;

	if (!atomic || slot < 0 || slot >= SITE_SLOTS)
		return;
	c = bpf_map_lookup_elem(&site_claims, &zero);
	if (c)
		*(volatile __u32 *)&c->busy[slot] = 0;
}

/* The user stack where a site was hit; its id, 0: none could be read. */
static __always_inline __u64 site_stack(int slot, const struct regs *r, struct thread *t, __u64 now)
{
	struct scratch *s = scratch_get(SCRATCH_SITE + slot);
	__u64 id;

	if (!s || !cfg_ustack || slot < 0)
		return 0;
	s->regs = *r;
	id = stack_user_read(s, SCRATCH_SITE + slot, t, now);
	if (id)
		stack_send(&s->stack, &t->ustack_sent);
	return id;
}

/* The thread that hits a site, NULL: it is not traced. */
static __always_inline struct thread *site_thread(__u64 now)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u32 tid = bpf_get_current_pid_tgid(), one = 1;
	struct thread *t;

	if (rt.probing_tid && rt.probing_tid == ns_pid(task))
		return bpf_map_lookup_elem(&blank, &one);
	if (rt.on != WCBPF_ON)
		return NULL;
	t = thread_of(task, tid);
	if (!t && in_scope(task, tid, bpf_get_current_pid_tgid() >> 32)) {
		t = thread_insert(task, tid, now, PHASE_ONCPU, BPF_NOEXIST);
		if (t)
			t->seeded = 1;
	}
	return t && !t->held ? t : NULL;
}
