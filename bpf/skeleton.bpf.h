/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The kernel stack of a thread that is being switched in, without a walk. What
 * a walk would give follows from some words of the frozen stack alone: the
 * return addresses at their places, and the saved frame pointers. Userspace
 * learns from walked stacks which words those are (a skeleton, see wire.h); if
 * all of them are there again, so are the frames.
 */
#include "filter.bpf.h"
#include "stack.bpf.h"

/*
 * A word of a frozen stack, in the copy that was made of it. Loads from the stack
 * itself (bpf_rdonly_cast(), 6.2) would take 85 ns less of 760, but calls of such
 * functions are refused by kernels that lack them, from 5.13 to 5.15 even where
 * they can't be reached.
 */
static __always_inline __u64 frozen_word(const struct scratch *scratch, __u32 at)
{
	return *(__u64 *)(scratch->stack.copy + (at & (WCBPF_FROZEN_MAX - 8)));
}

/* Copies a frozen stack up to the user's registers: a read that goes beyond would fail whole. */
static __always_inline bool frozen_copy(struct scratch *scratch, __u64 sp, __u64 room)
{
	__u32 n = room;

	if (room > WCBPF_FROZEN_MAX)
		return false;
	barrier_var(n); /* 5.10 doesn't carry the bound of the one to the other */
	if (n > WCBPF_FROZEN_MAX || n < sizeof(__u64) || bpf_probe_read_kernel(scratch->stack.copy, n, (void *)sp))
		return false;
	scratch->stack.copy_len = n;
	return true;
}

static __always_inline struct wcbpf_skeleton *skeleton_get(__u32 index)
{
	__u32 zero = 0;
	struct skeletons *all = bpf_map_lookup_elem(&skeletons, &zero);

	return all ? &all->v[index & (WCBPF_SKELETONS_MAX - 1)] : NULL;
}

/* For rt.key_at and rt.regs_offset: what lies on the stack of our second thread when it has blocked. */
static __always_inline void skeleton_calibrate(struct task_struct *next)
{
	__u32 n = rt.frozen_n;

	if ((__u32)next->tgid != rt.self_tgid || ns_pid(next) != rt.calibrating || n >= WCBPF_CALIBRATION_FROZEN_MAX)
		return;
	barrier_var(n);
	if (!bpf_probe_read_kernel(rt.frozen[n & (WCBPF_CALIBRATION_FROZEN_MAX - 1)], sizeof(rt.frozen[0]),
				   (void *)compat_frozen_sp(next)))
		rt.frozen_n = n + 1;
	rt.regs_offset = compat_user_regs_offset(next, &rt.regs_offset);
}

/* Is a stack of room bytes up to the user's registers one that the skeleton describes? */
__noinline int skeleton_matches(__u32 user, __u32 index, __u64 sp, __u64 room)
{
	struct scratch *scratch = scratch_get(user);
	struct wcbpf_skeleton *k = skeleton_get(index);
	__u32 n;

	if (!scratch || !k || k->dead || k->depth > room || (k->at_top && k->depth != room))
		return 0;
	n = k->slot_n;
	for (__u32 i = 0; i < WCBPF_SKELETON_SLOTS_MAX; i++) {
		__u64 relative;

		if (i >= n)
			break;
		relative = -(__u64)(k->at[i] & WCBPF_SLOT_RELATIVE) & sp;
		if (frozen_word(scratch, k->at[i]) != k->word[i] + relative)
			return 0;
	}
	return n > 0;
}

/* The number of the skeleton that describes the frozen stack; 0: none is known. */
__noinline __u32 skeleton_find(__u32 user, __s32 syscall, __u64 sp, __u64 room)
{
	struct wcbpf_skeleton_key key = { .syscall = syscall };
	struct scratch *scratch = scratch_get(user);
	struct wcbpf_variants *variants;

	if (!scratch || !rt.key_at[0] || !frozen_copy(scratch, sp, room))
		return 0;
	for (int i = 0; i < 2; i++) {
		__u64 word = frozen_word(scratch, rt.key_at[i]);

		key.word[i] = word - rt.text < rt.text_bytes ? word : 0;
	}
	variants = bpf_map_lookup_elem(&skeleton_keys, &key);
	if (!variants)
		return 0;
	for (__u32 i = 0; i < WCBPF_VARIANTS_MAX; i++) {
		__u32 index = variants->index[i];

		if (!index)
			break;
		if (skeleton_matches(user, index, sp, room))
			return index;
	}
	return 0;
}

/* Should userspace see this stack whole, to learn from it? The first ones with these frames, then ever fewer. */
static __always_inline bool specimen_due(__u64 id)
{
	__u32 *n = bpf_map_lookup_elem(&specimens, &id), one = 1;

	if (!n) {
		bpf_map_update_elem(&specimens, &id, &one, BPF_ANY);
		return true;
	}
	*n += 1;
	return *n <= 8 || !(*n & (*n - 1));
}

/*
 * Sends a stack with what lies on it, unless the ring is needed for better
 * things. With frame_n 0 its frames were sent before.
 */
__noinline int specimen_send(__u32 user, __s32 syscall, __u64 sp, __u64 room)
{
	struct scratch *scratch = scratch_get(user);
	void *ring = ring_of_cpu();
	struct wcbpf_stack *s;
	__u32 size;

	if (!scratch || !ring || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= cfg_wakeup_bytes ||
	    !frozen_copy(scratch, sp, room))
		return 0;
	s = &scratch->stack;
	size = STACK_SIZE_FIXED + s->copy_len;
	if (size > sizeof(*s))
		return 0;
	s->head.size = size;
	__builtin_memset(s->regs, 0, sizeof(s->regs));
	s->regs[0] = syscall;
	s->regs[7] = sp;
	return !bpf_ringbuf_output(ring, s, size, BPF_RB_NO_WAKEUP);
}

/* A stack was recognized: is it one of those that are walked to compare? */
static __always_inline bool comparison_due(const struct thread *t)
{
	return (t->out_ns ^ t->seq) % WCBPF_SKELETON_CHECK_OF < rt.skeleton_checks;
}

/*
 * What the thread is off the CPU for: its system call, and from where. By the upper bits it has its byte in
 * known_calls, by the lower ones it is told from others there; never 0. Two that are taken for one cost a walk.
 */
static __always_inline __u32 call_hash(const struct thread *t)
{
	return hash_word(t->syscall, t->syscall < 0 ? 0 : t->call_ip);
}

static __always_inline __u8 call_tag(__u32 hash)
{
	return hash | 1;
}

static __always_inline void call_recognized(struct thread *t, bool recognized)
{
	__u32 hash = call_hash(t);
	__u8 *known = &t->known_calls[hash >> 8 & 7];

	if (recognized)
		*known = call_tag(hash);
	else if (*known == call_tag(hash))
		*known = 0;
}

/* Is a walk at the switch-out due? If not, the stack of this call was recognized the last time, and so may be this one. */
static __always_inline bool leaving_walk_due(const struct thread *t)
{
	__u32 hash = call_hash(t);

	return t->known_calls[hash >> 8 & 7] != call_tag(hash) || comparison_due(t);
}

/* A skeleton fits. A share is compared with a walk: of the switch-out, where one could be made, or made now. */
static __always_inline __u64 stack_recognized(struct wcbpf_stack *s, struct thread *t, struct task_struct *task,
					      struct wcbpf_skeleton *k, __u64 now)
{
	__u64 id = t->kstack_id;

	count(WCBPF_CNT_SKELETON_HITS);
	if (!id && (t->to_other || !comparison_due(t)))
		return k->stack_id;
	count(WCBPF_CNT_SKELETON_CHECKS);
	if (!id) {
		id = stack_kernel_read(s, SCRATCH_SCHED, task, now);
		if (!id)
			return 0;
		stack_send(s, &t->kstack_sent);
	}
	if (id != k->stack_id) {
		k->dead = 1;
		count(WCBPF_CNT_SKELETON_WRONG);
	}
	return id;
}

/* No skeleton fits: it is walked, unless it was at the switch-out. */
static __always_inline __u64 stack_unknown(struct wcbpf_stack *s, struct thread *t, struct task_struct *task, __u64 sp,
					   __u64 room, __u64 now)
{
	bool learning = rt.key_at[0] && !t->kthread && room <= WCBPF_FROZEN_MAX;
	__u64 id = t->kstack_id;

	if (id) {
		if (!learning || !specimen_due(id))
			return id;
		stack_kernel_head(s, id, 0, now);
		specimen_send(SCRATCH_SCHED, t->syscall, sp, room);
		return id;
	}
	id = stack_kernel_read(s, SCRATCH_SCHED, task, now);
	if (id && !(learning && specimen_due(id) && specimen_send(SCRATCH_SCHED, t->syscall, sp, room)))
		stack_send(s, &t->kstack_sent);
	return id;
}

/* The kernel stack of a thread that is being switched in, its body sent if need be; 0: none could be read. */
static __always_inline __u64 stack_kernel_frozen(struct wcbpf_stack *s, struct thread *t, struct task_struct *task,
						 __u64 now)
{
	__u64 sp = compat_frozen_sp(task), room = (__u64)BPF_CORE_READ(task, stack) + rt.regs_offset - sp;
	__u32 index = t->kthread ? 0 : skeleton_find(SCRATCH_SCHED, t->syscall, sp, room);
	struct wcbpf_skeleton *k = skeleton_get(index);

	call_recognized(t, index && k);
	return index && k ? stack_recognized(s, t, task, k, now) : stack_unknown(s, t, task, sp, room, now);
}
