/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * User stacks by the rules of .eh_frame, which userspace has put into tables
 * (wire.h). x86_64: the rules know rsp, rbp, rbx and the return address.
 *
 * A caller's rbp and rbx are kept as the addresses they were saved at, and read
 * only when a later rule needs them. Nothing is accepted that the rules can't
 * mean: a frame lies above the one before, and where code has no rule the
 * frame pointer's word is taken only if it can be one, and marked as guessed.
 *
 * One frame is one call of a global function: see stack.bpf.h. Searches are
 * without branches, or the verifier would follow every path through them.
 */
#include "compat.bpf.h"
#include "maps.bpf.h"

/* All ones if a < b, else 0, for numbers below 2^63: addresses, indexes. */
static __always_inline __u64 mask_below(__u64 a, __u64 b)
{
	__u64 d = a - b;

	barrier_var(d); /* or the compiler makes it a comparison and a branch */
	return (__u64)((__s64)d >> 63);
}

/* The index of the mapping of w's segment that holds addr; -1: none. */
__noinline int unwind_mapping_find(__u32 user, __u64 addr)
{
	struct scratch *s = scratch_get(user);
	__u32 zero = 0, first, n;
	struct mapents *m = bpf_map_lookup_elem(&mapents, &zero);
	const struct wcbpf_mapent *e;
	__u64 at = 0;

	if (!s || !m)
		return -1;
	first = s->walk.proc.first;
	n = s->walk.proc.n;
	if (!n)
		return -1;
#pragma unroll
	for (__u64 half = (WCBPF_PROC_MAPENTS_MAX + 1) / 2; half; half /= 2) {
		__u64 to = at + half, start = m->v[(first + to) & (WCBPF_MAPENTS_MAX - 1)].start;

		at += half & mask_below(to, n) & ~mask_below(addr, start);
	}
	e = &m->v[(first + at) & (WCBPF_MAPENTS_MAX - 1)];
	if (addr < e->start || addr >= e->end || e->gen != s->walk.proc.gen)
		return -1;
	return (first + at) & (WCBPF_MAPENTS_MAX - 1);
}

/* The rule that holds at vaddr in a page of n rows from row on. */
__noinline int unwind_row_find(__u32 row, __u32 n, __u64 vaddr)
{
	__u32 shard = row / WCBPF_SHARD_ROWS, zero = 0;
	__u64 key = vaddr & 0xffff, at = 0;
	struct shard *s;
	void *map = bpf_map_lookup_elem(&shards, &shard);

	if (!map || !n)
		return 0;
	s = bpf_map_lookup_elem(map, &zero);
	if (!s)
		return 0;
#pragma unroll
	for (__u64 half = 1 << 16; half; half /= 2) {
		__u64 to = at + half, low = s->v[(row + to) & (WCBPF_SHARD_ROWS - 1)].low;

		at += half & mask_below(to, n) & ~mask_below(key, low);
	}
	return s->v[(row + at) & (WCBPF_SHARD_ROWS - 1)].rule;
}

/* The index of the rule for addr, 0: its code has none; a negative enum wcbpf_stack_end: can't be told. */
__noinline int unwind_rule_find(__u32 user, __u64 addr)
{
	struct scratch *s = scratch_get(user);
	__u32 zero = 0, slot, page;
	const struct wcbpf_mapent *e;
	struct rule_cached *cached;
	struct mapents *m;
	struct dirs *d;
	__u64 vaddr;
	int i, rule = 0;

	if (!s)
		return -WCBPF_STACK_NO_TABLES;
	slot = (addr ^ addr >> 12 ^ s->walk.proc.gen) & (RULE_CACHE_N - 1);
	cached = bpf_map_lookup_elem(&rule_cache, &slot);
	if (cached && cached->addr == addr && cached->gen == s->walk.proc.gen)
		return cached->rule;
	i = unwind_mapping_find(user, addr);
	m = bpf_map_lookup_elem(&mapents, &zero);
	d = bpf_map_lookup_elem(&dirs, &zero);
	if (i < 0 || !m || !d)
		return -WCBPF_STACK_NO_MAPPING;
	e = &m->v[i & (WCBPF_MAPENTS_MAX - 1)];
	if (e->kind == WCBPF_MAP_PENDING)
		return -WCBPF_STACK_PENDING;
	vaddr = addr - e->bias;
	page = (vaddr >> WCBPF_PAGE_SHIFT) - e->page0;
	if (e->kind == WCBPF_MAP_ROWS && page < e->page_n) {
		struct wcbpf_dir *dir = &d->v[(e->dir0 + page) & (WCBPF_DIRS_MAX - 1)];

		rule = unwind_row_find(dir->row, dir->n, vaddr);
	}
	if (cached) {
		cached->addr = addr;
		cached->gen = s->walk.proc.gen;
		cached->rule = rule;
	}
	return rule;
}

/* The value of a register that a frame further in may have saved. 0 or an end. */
static __always_inline int saved_read(struct saved_reg *r)
{
	if (r->lost)
		return WCBPF_STACK_UNSUPPORTED;
	if (!r->at)
		return 0;
	if (bpf_probe_read_user(&r->value, sizeof(r->value), (void *)r->at))
		return WCBPF_STACK_UNREADABLE;
	r->at = 0;
	return 0;
}

/* A frame pointer further than this from the frame below it is none. */
#define FRAME_BYTES_MAX (1 << 20)

static __always_inline bool can_be_frame(__u64 bp, __u64 sp)
{
	return bp >= sp && !(bp & 7) && bp - sp <= FRAME_BYTES_MAX;
}

/* Goes on to the caller: its frame is the i-th. */
static __always_inline void frame_enter(struct scratch *s, __u32 i, __u64 pc, __u64 sp, bool guessed)
{
	s->walk.pc = pc;
	s->walk.sp = sp;
	s->walk.exact = false;
	s->stack.frames[i & 127] = pc; /* the caller has looked: i <= 126 */
	if (guessed)
		s->stack.guessed[i >> 6 & 1] |= 1ull << (i & 63);
	s->stack.frame_n = i + 1;
}

/*
 * Code without a rule. glibc's clone and vfork end their frame information before
 * the system call; all else is given the benefit of a frame pointer.
 */
__noinline int unwind_step_guess(__u32 user, __u32 i)
{
	struct scratch *s = scratch_get(user);
	__u64 pair[2];
	int end;

	if (!s || i + 1 >= WCBPF_STACK_DEPTH_MAX)
		return WCBPF_STACK_TRUNCATED;
	if (!i && s->walk.tables && compat_is_clone(REGS_SYSCALL(&s->regs))) {
		if (!REGS_RESULT(&s->regs)) /* the child, on its first way to user mode */
			return WCBPF_STACK_COMPLETE;
		if (bpf_probe_read_user(pair, 8, (void *)s->walk.sp))
			return WCBPF_STACK_UNREADABLE;
		frame_enter(s, 1, pair[0], s->walk.sp + 8, false);
		return 0;
	}
	end = saved_read(&s->walk.bp);
	if (end)
		return end;
	if (!s->walk.bp.value) { /* the mark of the outermost frame, by convention: a guess where there is no other sign */
		if (s->walk.tables)
			s->stack.guessed[i >> 6 & 1] |= 1ull << (i & 63);
		return WCBPF_STACK_FP;
	}
	if (!can_be_frame(s->walk.bp.value, s->walk.sp) ||
	    bpf_probe_read_user(pair, sizeof(pair), (void *)s->walk.bp.value) || !pair[1])
		return WCBPF_STACK_NO_FRAME;
	frame_enter(s, i + 1, pair[1], s->walk.bp.value + sizeof(pair), s->walk.tables);
	s->walk.bp.value = pair[0];
	return 0;
}

#define SIGNAL_BP 80 /* in struct sigcontext */
#define SIGNAL_BX 88
#define SIGNAL_SP 120
#define SIGNAL_IP 128

/* The frame that a signal interrupted: all its registers are in memory. */
__noinline int unwind_step_signal(__u32 user, __u32 i, __u64 context)
{
	struct scratch *s = scratch_get(user);
	__u64 pair[2]; /* rsp and rip lie side by side */

	if (!s || i + 1 >= WCBPF_STACK_DEPTH_MAX)
		return WCBPF_STACK_TRUNCATED;
	if (bpf_probe_read_user(pair, sizeof(pair), (void *)(context + SIGNAL_SP)))
		return WCBPF_STACK_UNREADABLE;
	frame_enter(s, i + 1, pair[1], pair[0], false);
	s->walk.exact = true; /* interrupted, not called from */
	s->walk.bp.at = context + SIGNAL_BP;
	s->walk.bx.at = context + SIGNAL_BX;
	s->walk.bp.lost = s->walk.bx.lost = false;
	return 0;
}

/* Where the caller's register is, by a rule's two fields. */
static __always_inline int saved_follow(struct saved_reg *r, __u8 how, __s16 off, __u64 cfa, __u64 bp)
{
	switch (how) {
	case WCBPF_SAVED_SAME:
		return 0;
	case WCBPF_SAVED_CFA:
		r->at = cfa + off;
		r->lost = false;
		return 0;
	case WCBPF_SAVED_BP:
		r->at = bp + off;
		r->lost = false;
		return 0;
	}
	r->lost = true;
	return 0;
}

/* Where the caller's frame begins. 0 or an end. */
static __always_inline int cfa_find(struct scratch *s, const struct wcbpf_rule *r, __u64 *ret)
{
	__u64 base = s->walk.sp;
	int end = 0;

	if (r->cfa == WCBPF_CFA_BP || r->cfa == WCBPF_CFA_BP_DEREF || r->cfa == WCBPF_CFA_BP_SWITCH ||
	    r->bp == WCBPF_SAVED_BP || r->bx == WCBPF_SAVED_BP)
		end = saved_read(&s->walk.bp);
	if (!end && r->cfa == WCBPF_CFA_BX)
		end = saved_read(&s->walk.bx);
	if (end)
		return end;
	if (r->cfa == WCBPF_CFA_BP || r->cfa == WCBPF_CFA_BP_DEREF || r->cfa == WCBPF_CFA_BP_SWITCH)
		base = s->walk.bp.value;
	if (r->cfa == WCBPF_CFA_BX)
		base = s->walk.bx.value;
	base += (__s64)r->cfa_off;
	if (r->cfa == WCBPF_CFA_PLT && (__s64)(s->walk.pc & 15) >= r->bp_off)
		base += 8;
	if ((r->cfa == WCBPF_CFA_BP_DEREF || r->cfa == WCBPF_CFA_SP_DEREF) &&
	    bpf_probe_read_user(&base, sizeof(base), (void *)base))
		return WCBPF_STACK_UNREADABLE;
	*ret = base;
	return 0;
}

/* From frame i to the next. 0: there is one; else how the walk ends (enum wcbpf_stack_end). */
__noinline int unwind_step(__u32 user, __u32 i)
{
	struct scratch *s = scratch_get(user);
	__u32 zero = 0;
	struct rules *all = bpf_map_lookup_elem(&rules, &zero);
	const struct wcbpf_rule *r;
	__u64 cfa, ra;
	int rule, end;

	if (!s || !all)
		return WCBPF_STACK_NO_TABLES;
	rule = s->walk.tables ? unwind_rule_find(user, s->walk.pc - !s->walk.exact) : 0;
	if (rule == -WCBPF_STACK_PENDING) {
		s->walk.pending = true;
		rule = 0;
	}
	if (rule < 0)
		return -rule;
	r = &all->v[rule & (WCBPF_RULES_MAX - 1)];
	if (r->cfa == WCBPF_CFA_STOP)
		return WCBPF_STACK_COMPLETE;
	if (i + 1 >= WCBPF_STACK_DEPTH_MAX)
		return WCBPF_STACK_TRUNCATED;
	if (r->cfa == WCBPF_CFA_NONE)
		return unwind_step_guess(user, i);
	if (r->cfa == WCBPF_CFA_SIGNAL)
		return unwind_step_signal(user, i, s->walk.sp + r->cfa_off);
	if (r->cfa == WCBPF_CFA_UNSUPPORTED || r->cfa > WCBPF_CFA_BP_SWITCH || (r->cfa == WCBPF_CFA_SP_RA_DI && i))
		return WCBPF_STACK_UNSUPPORTED;
	end = cfa_find(s, r, &cfa);
	if (end)
		return end;
	if (r->cfa == WCBPF_CFA_SP_RA_DI) {
		ra = REGS_VFORK_RETURN(&s->regs);
	} else {
		if (cfa <= s->walk.sp && r->cfa != WCBPF_CFA_BP_SWITCH)
			return WCBPF_STACK_BAD_CFA;
		if (bpf_probe_read_user(&ra, sizeof(ra), (void *)(cfa - 8)))
			return WCBPF_STACK_UNREADABLE;
	}
	if (!ra)
		return WCBPF_STACK_ZERO;
	if (r->cfa != WCBPF_CFA_PLT)
		saved_follow(&s->walk.bp, r->bp, r->bp_off, cfa, s->walk.bp.value);
	saved_follow(&s->walk.bx, r->bx, r->bx_off, cfa, s->walk.bp.value);
	frame_enter(s, i + 1, ra, cfa, false);
	return 0;
}

/* Walks the current task's stack from the scratch registers: fills frames, frame_n, guessed and end. */
__noinline int unwind_walk(__u32 user)
{
	struct scratch *s = scratch_get(user);
	int end = WCBPF_STACK_TRUNCATED;

	if (!s)
		return 0;
	s->walk.pc = REGS_IP(&s->regs);
	s->walk.sp = REGS_SP(&s->regs);
	s->walk.bp = (struct saved_reg){ .value = REGS_BP(&s->regs) };
	s->walk.bx = (struct saved_reg){ .value = REGS_BX(&s->regs) };
	s->walk.exact = true;
	s->walk.pending = false;
	s->stack.frames[0] = s->walk.pc;
	s->stack.frame_n = 1;
	s->stack.guessed[0] = s->stack.guessed[1] = 0;
	for (__u32 i = 0; i < WCBPF_STACK_DEPTH_MAX; i++) {
		end = unwind_step(user, i);
		if (end)
			break;
	}
	/* an address where nothing is mapped was none: the frame before led astray */
	if (end == WCBPF_STACK_NO_MAPPING && s->stack.frame_n > 1)
		s->stack.frame_n--;
	if (s->walk.pending)
		end = WCBPF_STACK_PENDING;
	else if (!s->walk.tables && end != WCBPF_STACK_TRUNCATED)
		end = WCBPF_STACK_FP;
	s->stack.end = end;
	return 0;
}
