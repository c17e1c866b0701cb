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

/* Tells a process with this program from others: its number is used again, and so are goids in it. */
static __always_inline __u32 life_of(const struct thread *t)
{
	return hash_word(t->start_ns, t->exec_id) >> 32;
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
 * body it used last: most waits repeat. at_once: what it says can be told only
 * while the process has it. That costs a switch 15 us, and an interrupt of 30
 * after it: whoever comes to the CPU pays for it.
 */
static __always_inline void body_send(void *body, __u64 id, __u64 *last, __u32 size, enum wcbpf_counter lost,
				      const bool at_once)
{
	__u8 one = 1;
	void *ring;

	if (*last == id)
		return;
	if (!bpf_map_lookup_elem(&seen, &id)) {
		ring = ring_of_cpu();
		if (!ring || bpf_ringbuf_output(ring, body, size, at_once ? BPF_RB_FORCE_WAKEUP : ring_flags(ring))) {
			count(lost);
			return;
		}
		bpf_map_update_elem(&seen, &id, &one, BPF_ANY);
	}
	*last = id;
}

#define STACK_SIZE_FIXED (__builtin_offsetof(struct wcbpf_stack, copy))

static __always_inline void stack_kernel_head(struct wcbpf_stack *s, __u64 id, __u32 frame_n, __u64 now)
{
	s->id = id;
	s->frame_n = frame_n;
	s->tgid = s->tid = 0;
	s->guessed[0] = s->guessed[1] = 0;
	s->side = WCBPF_STACK_KERNEL;
	s->end = frame_n < WCBPF_STACK_DEPTH_MAX ? WCBPF_STACK_COMPLETE : WCBPF_STACK_TRUNCATED;
	s->copy_len = 0;
	head_fill(&s->head, WCBPF_EV_STACK, STACK_SIZE_FIXED, now);
}

/* Names the kernel frames that lie in s (bytes of them); 0: none could be read. */
static __always_inline __u64 stack_kernel_name(struct wcbpf_stack *s, __u32 user, long bytes, __u64 now)
{
	__u32 n;

	if (bytes < 8)
		return 0;
	n = (__u64)bytes / 8;
	s->frame_n = n; /* for the hash */
	stack_kernel_head(s, hash_frames(user, 0x6b65726e656cull) | 1, n, now);
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

static __always_inline bool is_scheduler_code(__u64 address)
{
	return address - rt.sched_text < rt.sched_text_bytes || address - rt.lock_text < rt.lock_text_bytes;
}

enum kernel_part { PART_TRACER, PART_SCHEDULER, PART_CALLER };

/*
 * Of n frames of a scratch stack, taken in a scheduler program of the task that
 * leaves the CPU: which is the first that bpf_get_task_stack() would give of it
 * later? Before it lie the tracer's own frames and then the scheduler's
 * (in_sched_functions(), which that helper leaves out everywhere). 0: there is
 * none, or others of the scheduler's follow.
 */
__noinline __u32 frames_caller_find(__u32 user, __u32 n)
{
	struct scratch *scratch = scratch_get(user);
	volatile __u32 *part, *first; /* or the compiler keeps them where the verifier follows them */

	if (!scratch)
		return 0;
	part = &scratch->kernel_part;
	first = &scratch->kernel_first;
	*part = PART_TRACER;
	*first = 0;
	for (__u32 i = 0; i < WCBPF_STACK_DEPTH_MAX; i++) {
		if (i >= n)
			break;
		if (is_scheduler_code(scratch->stack.frames[i])) {
			if (*part == PART_CALLER)
				return 0;
			*part = PART_SCHEDULER;
		} else if (*part == PART_SCHEDULER) {
			*part = PART_CALLER;
			*first = i;
		}
	}
	return *first;
}

/*
 * The kernel stack of the current task, which leaves the CPU to the idle task or
 * another that is not traced: walked now. At the switch-in the thread itself would
 * wait for that, and long: 25 us instead of 1.6, for the unwinder's tables are not
 * in the caches then. The same frames, so the same id. 0: can't be taken now.
 */
static __always_inline __u64 stack_kernel_leaving(void *ctx, struct wcbpf_stack *s, __u64 now)
{
	__u64 bytes, first, rest;

	if (!rt.sched_text_bytes)
		return 0;
	bytes = bpf_get_stack(ctx, s->frames, sizeof(s->frames), 0);
	/* an error; or one that is cut here would be cut elsewhere at the switch-in */
	if (bytes >= sizeof(s->frames))
		return 0;
	first = frames_caller_find(SCRATCH_SCHED, bytes / 8);
	rest = bytes - 8 * first;
	if (!first || rest > sizeof(s->frames))
		return 0;
	/* moves them down, word by word from the first on (copy_from_kernel_nofault()) */
	if (bpf_probe_read_kernel(s->frames, rest, &s->frames[first & WCBPF_STACK_DEPTH_MAX]))
		return 0;
	return stack_kernel_name(s, SCRATCH_SCHED, rest, now);
}

/* The kernel stack that the sampling timer interrupted. Read in another way than one that is off the CPU: another id. */
static __always_inline __u64 stack_kernel_running(void *ctx, struct wcbpf_stack *s, __u64 now)
{
	if (!stack_kernel_name(s, SCRATCH_SAMPLE, bpf_get_stack(ctx, s->frames, sizeof(s->frames), 0), now))
		return 0;
	s->side = WCBPF_STACK_KERNEL_RUNNING;
	s->id = hash_word(s->id, 0x72756e) | 1;
	return s->id;
}

/* It can wait for the reader's next round: what was mapped at its time is known by then, and is kept. */
static __always_inline void stack_send(struct wcbpf_stack *s, __u64 *last)
{
	__u32 size = STACK_SIZE_FIXED + s->copy_len;

	if (size > sizeof(*s))
		return;
	body_send(s, s->id, last, size, WCBPF_CNT_LOST_STACK_BODY, false);
}
