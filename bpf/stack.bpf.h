/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Stacks: taken into scratch, hashed, and sent once each. The hash is the id
 * that intervals carry; userspace keeps the bodies, so no fixed-size stack map
 * can lose the hot ones.
 */
#include "compat.bpf.h"
#include "ring.bpf.h"

static __always_inline __u64 hash_word(__u64 h, __u64 word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/*
 * Functions with loops are global ones (no static), so that the verifier sees
 * each once and by itself: inlined, it would follow every possible count of
 * rounds through all that comes after. Their arguments are numbers, for 5.10.
 */

/* The hash of frames[0..frame_n) of a scratch stack, begun with h. */
__noinline __u64 hash_frames(__u32 user, __u64 h)
{
	struct scratch *scratch = scratch_get(user);
	__u32 n;

	if (!scratch)
		return 0;
	n = scratch->stack.frame_n;
	for (__u32 i = 0; i < WCBPF_STACK_DEPTH_MAX; i++) {
		if (i >= n)
			break;
		h = hash_word(h, scratch->stack.frames[i]);
	}
	return h;
}

/*
 * Sends a body unless it was sent before. The id is good either way; a lost
 * body is tried again at its next use. last is the thread's own memory of the
 * body it used last: most waits repeat.
 */
static __always_inline void body_send(void *body, __u64 id, __u64 *last, __u32 size, enum wcbpf_counter lost)
{
	__u8 one = 1;
	void *ring;

	if (*last == id)
		return;
	if (!bpf_map_lookup_elem(&seen, &id)) {
		ring = ring_of_cpu();
		if (!ring || bpf_ringbuf_output(ring, body, size, BPF_RB_FORCE_WAKEUP)) {
			count(lost);
			return;
		}
		bpf_map_update_elem(&seen, &id, &one, BPF_ANY);
	}
	*last = id;
}

#define STACK_SIZE_FIXED (__builtin_offsetof(struct wcbpf_stack, copy))

/* Names the kernel frames that lie in s (bytes of them); 0: none could be read. */
static __always_inline __u64 stack_kernel_name(struct wcbpf_stack *s, __u32 user, long bytes, __u64 now)
{
	__u32 n;

	if (bytes < 8)
		return 0;
	n = (__u64)bytes / 8;
	s->frame_n = n;
	s->id = hash_frames(user, 0x6b65726e656cull) | 1;
	s->tgid = s->tid = 0;
	s->guessed[0] = s->guessed[1] = 0;
	s->side = WCBPF_STACK_KERNEL;
	s->end = n < WCBPF_STACK_DEPTH_MAX ? WCBPF_STACK_COMPLETE : WCBPF_STACK_TRUNCATED;
	s->copy_len = 0;
	head_fill(&s->head, WCBPF_EV_STACK, STACK_SIZE_FIXED, now);
	return s->id;
}

/* The kernel stack of a task that is off the CPU (or being switched in); its id, 0: none could be read. */
static __always_inline __u64 stack_kernel_read(struct wcbpf_stack *s, __u32 user, struct task_struct *task, __u64 now)
{
	return stack_kernel_name(s, user, bpf_get_task_stack(task, s->frames, sizeof(s->frames), 0), now);
}

/* The raw_tp fallback, where that helper takes no task: the current task's, at switch-out. */
static __always_inline __u64 stack_kernel_current(void *ctx, struct wcbpf_stack *s, __u64 now)
{
	return stack_kernel_name(s, SCRATCH_SCHED, bpf_get_stack(ctx, s->frames, sizeof(s->frames), 0), now);
}

static __always_inline void stack_send(struct wcbpf_stack *s, __u64 *last)
{
	__u32 size = STACK_SIZE_FIXED + s->copy_len;

	if (size > sizeof(*s))
		return;
	body_send(s, s->id, last, size, WCBPF_CNT_LOST_STACK_BODY);
}
