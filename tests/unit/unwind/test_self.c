/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* This process's own stack, copied by itself, against backtrace(). */
#include <criterion/criterion.h>
#include <execinfo.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "unwind/unwind.h"
#include "util/cleanup.h"

struct snapshot {
	uint64_t regs[WCBPF_REGS_MAX];
	uint8_t stack[65536];
	size_t stack_n;
	void *frames[64];
	int frame_n;
};

/* Reads what is beyond any one object, on purpose. */
__attribute__((noinline, no_sanitize("address"))) static void copy_stack(struct snapshot *s, const uint8_t *from,
									 const uint8_t *top)
{
	for (s->stack_n = 0; s->stack_n < sizeof(s->stack) && from + s->stack_n < top; s->stack_n++)
		s->stack[s->stack_n] = from[s->stack_n];
}

__attribute__((noinline, noclone)) static void take(struct snapshot *s, const uint8_t *top)
{
	/* DWARF's order in terms of ucontext's. */
	static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
				     REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };
	ucontext_t u;

	getcontext(&u);
	for (int i = 0; i < WCBPF_REGS_MAX; i++)
		s->regs[i] = (uint64_t)u.uc_mcontext.gregs[order[i]];
	copy_stack(s, (const uint8_t *)s->regs[7], top);
	s->frame_n = backtrace(s->frames, 64);
}

__attribute__((noinline, noclone)) static int recurse(struct snapshot *s, const uint8_t *top, int n)
{
	if (n) {
		int below = recurse(s, top, n - 1);

		__asm__ volatile("" : "+r"(below)); /* or the compiler makes a loop of it */
		return below + 1;
	}
	take(s, top);
	return 1;
}

static const uint8_t *stack_end(void)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/self/maps", "re");
	unsigned long end = 0;
	char line[512];

	while (fgets(line, sizeof(line), f))
		if (strstr(line, "[stack]"))
			cr_assert_eq(sscanf(line, "%*x-%lx", &end), 1);
	return (const uint8_t *)end;
}

Test(self, as_backtrace_says)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	struct proc_maps *maps;
	struct unwind *unwind;
	uint64_t frames[64];
	enum unwind_end end;
	size_t n;

	cr_assert_eq(proc_maps_new(&maps), 0);
	cr_assert_eq(unwind_new(maps, &unwind), 0);
	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)getpid(), 0), 0);
	cr_assert_eq(recurse(s, stack_end(), 9), 10);
	struct unwind_input in = { (uint32_t)getpid(), 1, s->regs, s->stack, s->stack_n };
	cr_assert_eq(unwind_copy(unwind, &in, frames, 64, &n, &end), 0);
	/*
	 * Both begin in take(), at two places of it; from its caller on they are the same. A sanitizer's backtrace()
	 * has a frame of its own before that.
	 */
	size_t extra = (size_t)s->frame_n - n;

	cr_assert_gt(n, 12);
	cr_assert_eq(end, UNWIND_COMPLETE);
	cr_assert_leq(extra, 1, "%zu frames, backtrace() has %d", n, s->frame_n);
	for (size_t i = 1; i < n; i++)
		cr_assert_eq(frames[i], (uint64_t)s->frames[i + extra], "frame %zu of %zu", i, n);
	unwind_free(unwind);
	proc_maps_free(maps);
	free(s);
}

/* Every ip of the vDSO that has a rule: one frame up is the return address on top of a made-up stack. */
Test(self, vdso)
{
	struct proc_maps *maps;
	struct unwind *unwind;
	_cleanup_(fclosep) FILE *f = fopen("/proc/self/maps", "re");
	unsigned long start = 0, end_addr = 0;
	uint64_t regs[WCBPF_REGS_MAX] = { 0 }, frames[8], stack[64];
	size_t with_rule = 0;
	char line[512];

	while (fgets(line, sizeof(line), f))
		if (strstr(line, "[vdso]"))
			cr_assert_eq(sscanf(line, "%lx-%lx", &start, &end_addr), 2);
	if (!start)
		cr_skip_test("no vDSO");
	cr_assert_eq(proc_maps_new(&maps), 0);
	cr_assert_eq(unwind_new(maps, &unwind), 0);
	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)getpid(), 0), 0);
	for (size_t i = 0; i < 64; i++)
		stack[i] = 0x1000 + i;
	regs[7] = 0x7ffd00000000;
	for (uint64_t ip = start; ip < end_addr; ip++) {
		struct unwind_input in = { (uint32_t)getpid(), 1, regs, (uint8_t *)stack, sizeof(stack) };
		enum unwind_end end;
		size_t n;

		regs[16] = ip;
		cr_assert_eq(unwind_copy(unwind, &in, frames, 8, &n, &end), 0);
		cr_assert_eq(frames[0], ip);
		if (n < 2)
			continue;
		cr_assert(frames[1] >= 0x1000 && frames[1] < 0x1040);
		cr_assert_eq(end, UNWIND_NO_RULE);
		with_rule++;
	}
	cr_assert_gt(with_rule, 100);
	unwind_free(unwind);
	proc_maps_free(maps);
}
