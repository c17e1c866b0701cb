/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The user stack of the current task, by what --call-graph says: walked by
 * tables, by frame pointers, or copied for userspace to unwind. What the tables
 * don't know is copied too, as far as a budget goes: tables of a process that has
 * just begun are still being made.
 */
#include "stack.bpf.h"
#include "unwind.bpf.h"

#define PAGE 4096ull
#define COPY_PERIOD_NS 100000000ull

/*
 * Copies user stack from sp upwards, a page at a time: a read that meets an
 * absent page fails whole. The verifier bounds offset and length each, not
 * their sum: hence the slack behind the copy.
 */
__noinline int stack_copy(__u32 user)
{
	struct scratch *scratch = scratch_get(user);
	__u64 sp;
	__u32 have = 0;

	if (!scratch)
		return 0;
	sp = REGS_SP(&scratch->regs);
	for (__u32 i = 0; i < WCBPF_STACK_COPY_MAX / PAGE + 1; i++) {
		__u32 n = PAGE - ((sp + have) & (PAGE - 1));

		if (have >= WCBPF_STACK_COPY_MAX)
			break;
		if (n > WCBPF_STACK_COPY_MAX - have)
			n = WCBPF_STACK_COPY_MAX - have;
		barrier_var(n);
		if (n > COPY_CHUNK || bpf_probe_read_user(scratch->stack.copy + (have & (WCBPF_STACK_COPY_MAX - 1)), n, (void *)(sp + have)))
			break;
		have += n;
	}
	scratch->stack.copy_len = have;
	return 0;
}

static __always_inline bool may_copy(__u64 now)
{
	__u32 zero = 0;
	struct copies *c = bpf_map_lookup_elem(&copy_counts, &zero);

	if (!c)
		return false;
	if (now - c->since_ns >= COPY_PERIOD_NS) {
		c->since_ns = now;
		c->n = 0;
	}
	return c->n++ < cfg_copies_max;
}

/* The process's tables, if it has any that are still true. */
static __always_inline bool tables_find(struct walk *w, __u32 tgid, __u64 exec_id)
{
	struct wcbpf_proc *p = bpf_map_lookup_elem(&procs, &tgid);

	if (!p || p->exec_id != exec_id)
		return false;
	w->proc = *p;
	return true;
}

static __always_inline bool is_copy_due(__u8 end)
{
	if (cfg_ustack == WCBPF_USTACK_COPY)
		return true;
	return end == WCBPF_STACK_NO_TABLES || end == WCBPF_STACK_NO_MAPPING || end == WCBPF_STACK_PENDING ||
	       end == WCBPF_STACK_UNSUPPORTED;
}

/*
 * Puts the current task's user stack into the scratch's stack, from the scratch's
 * registers, and gives its id; 0: none could be read.
 */
static __always_inline __u64 stack_user_read(struct scratch *scratch, __u32 user, const struct thread *t, __u64 now)
{
	struct wcbpf_stack *s = &scratch->stack;
	__u64 h;

	if (REGS_32BIT(&scratch->regs))
		return 0;
	s->copy_len = 0;
	regs_leave_copy(&scratch->regs, (struct task_struct *)bpf_get_current_task());
	scratch->walk.tables = cfg_ustack == WCBPF_USTACK_TABLES && tables_find(&scratch->walk, t->tgid, t->exec_id);
	unwind_walk(user);
	if (cfg_ustack == WCBPF_USTACK_TABLES && !scratch->walk.tables)
		s->end = WCBPF_STACK_NO_TABLES;
	h = hash_word(hash_word(0x75736572, t->tgid), t->exec_id);
	if (cfg_ustack != WCBPF_USTACK_FP && is_copy_due(s->end) && may_copy(now)) {
		stack_copy(user);
		h = hash_word(hash_word(h, t->tid), now);
	} else {
		h = hash_word(hash_word(h, s->guessed[0] ^ s->end), s->guessed[1]);
		h = hash_frames(user, h);
	}
	s->id = h | 1;
	s->tgid = t->tgid;
	s->tid = t->tid;
	s->side = WCBPF_STACK_USER;
	regs_dwarf(&scratch->regs, s->regs);
	head_fill(&s->head, WCBPF_EV_STACK, STACK_SIZE_FIXED + s->copy_len, now);
	return s->id;
}
