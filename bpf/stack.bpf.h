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

#define STACK_SIZE_KERNEL (__builtin_offsetof(struct wcbpf_stack, copy))

/* Names the kernel frames that lie in s (bytes of them); 0: none could be read. */
static __always_inline __u64 stack_kernel_name(struct wcbpf_stack *s, __u32 user, long bytes, __u64 now)
{
	__u32 n;

	if (bytes < 8)
		return 0;
	n = (__u64)bytes / 8;
	s->frame_n = n;
	s->id = hash_frames(user, 0x6b65726e656cull) | 1;
	s->tgid = 0;
	s->side = WCBPF_STACK_KERNEL;
	s->end = n < WCBPF_STACK_DEPTH_MAX ? WCBPF_STACK_COMPLETE : WCBPF_STACK_TRUNCATED;
	s->copy_len = 0;
	head_fill(&s->head, WCBPF_EV_STACK, STACK_SIZE_KERNEL, now);
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

#define PAGE 4096ull
/*
 * Copies user stack from sp upwards, up to WCBPF_STACK_COPY_MAX, and mixes
 * into the hash what may be a return address (see wire.h). A read that meets an absent page
 * fails whole, so the two pages are read apart. The verifier bounds offset and
 * length each, not their sum: hence the slack behind the copy.
 */
__noinline __u64 stack_copy(__u32 user, __u64 h, __u64 code_start, __u64 code_end)
{
	struct scratch *scratch = scratch_get(user);
	struct wcbpf_stack *s;
	const __u64 *words;
	__u64 ip, sp;
	__u32 first;

	if (!scratch)
		return h;
	s = &scratch->stack;
	words = (const __u64 *)s->copy;
	ip = REGS_IP(&scratch->regs);
	sp = REGS_SP(&scratch->regs);
	first = PAGE - (sp & (PAGE - 1));
	if (first >= WCBPF_STACK_COPY_MAX) {
		if (bpf_probe_read_user(s->copy, WCBPF_STACK_COPY_MAX, (void *)sp))
			return h;
		s->copy_len = WCBPF_STACK_COPY_MAX;
	} else {
		__u32 rest = WCBPF_STACK_COPY_MAX - first;

		barrier_var(first);
		barrier_var(rest);
		first &= WCBPF_STACK_COPY_MAX - 1;
		rest &= WCBPF_STACK_COPY_MAX - 1;
		if (bpf_probe_read_user(s->copy, first, (void *)sp))
			return h;
		s->copy_len = first;
		if (!bpf_probe_read_user(s->copy + first, rest, (void *)(sp + first)))
			s->copy_len = WCBPF_STACK_COPY_MAX;
	}
	for (__u32 i = 0; i < WCBPF_STACK_COPY_MAX / 8; i++) {
		if (i >= s->copy_len / 8)
			break;
		if (words[i] - ip + WCBPF_NEAR_CODE < 2 * WCBPF_NEAR_CODE || words[i] - code_start < code_end - code_start)
			h = hash_word(h, words[i] ^ (__u64)i << 48); /* where it lies counts too */
	}
	return h;
}

/* A frame pointer further than this from the frame below it is none. */
#define FRAME_BYTES_MAX (1 << 20)

/*
 * Follows the frame pointers of the current task: cheaper than bpf_get_stack()
 * for the short chains that libc's frameless wrappers leave, and it stops where
 * the chain can't be one (not upwards, not aligned, too far). Fills frames and
 * frame_n of the scratch stack.
 */
__noinline int frame_pointer_walk(__u32 user)
{
	struct scratch *scratch = scratch_get(user);
	struct wcbpf_stack *s;
	__u64 low, bp, pair[2];
	__u32 n = 1;

	if (!scratch)
		return 0;
	s = &scratch->stack;
	low = REGS_SP(&scratch->regs);
	bp = REGS_BP(&scratch->regs);
	s->frames[0] = REGS_IP(&scratch->regs);
	for (int i = 1; i < WCBPF_STACK_DEPTH_MAX; i++) {
		if (bp < low || bp & 7 || bp - low > FRAME_BYTES_MAX)
			break;
		if (bpf_probe_read_user(pair, sizeof(pair), (void *)bp) || !pair[1])
			break;
		s->frames[i] = pair[1];
		n = i + 1;
		low = bp + sizeof(pair);
		bp = pair[0];
	}
	s->frame_n = n;
	return 0;
}

/* Puts the current task's user stack into s and gives its id; 0: none could be read. */
static __always_inline __u64 stack_user_read(struct wcbpf_stack *s, struct task_struct *task, const struct regs *r,
					     __u32 tgid, bool copy, __u64 now, const bool btf)
{
	__u64 h;
	__u32 n;

	frame_pointer_walk(SCRATCH_SCHED);
	n = s->frame_n;

	/* an exec gives addresses a new meaning */
	h = hash_word(hash_word(0x75736572, tgid), BPF_CORE_READ(task, self_exec_id));
	h = hash_frames(SCRATCH_SCHED, h);
	s->copy_len = 0;
	s->code_start = s->code_end = 0;
	if (copy) {
		s->code_start = btf ? task->mm->start_code : BPF_CORE_READ(task, mm, start_code);
		s->code_end = btf ? task->mm->end_code : BPF_CORE_READ(task, mm, end_code);
		h = stack_copy(SCRATCH_SCHED, h, s->code_start, s->code_end);
	}
	s->id = h | 1;
	s->tgid = tgid;
	s->side = WCBPF_STACK_USER;
	s->end = n < WCBPF_STACK_DEPTH_MAX ? WCBPF_STACK_FP : WCBPF_STACK_TRUNCATED;
	regs_dwarf(r, s->regs);
	head_fill(&s->head, WCBPF_EV_STACK, STACK_SIZE_KERNEL + s->copy_len, now);
	return s->id;
}

static __always_inline void stack_send(struct wcbpf_stack *s, __u64 *last)
{
	__u32 size = STACK_SIZE_KERNEL + s->copy_len;

	if (size > sizeof(*s))
		return;
	body_send(s, s->id, last, size, WCBPF_CNT_LOST_STACK_BODY);
}
