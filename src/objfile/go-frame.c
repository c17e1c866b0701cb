/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The tables tell where the stack pointer is, not what becomes of rbp. Go keeps
 * the caller's in the frame, and where is in the code: up to 1.20 a prologue is
 * sub N,%rsp; mov %rbp,N-8(%rsp); lea N-8(%rsp),%rbp, from then on push %rbp;
 * mov %rsp,%rbp; sub N-8,%rsp; assembly that is entered from C puts it
 * elsewhere. So the first instruction that stores rbp on the stack is looked
 * for, and with what the table says of the stack pointer there, the slot is
 * known. Compiled code has no other use for rbp.
 *
 * Some runtime functions load the stack pointer (systemstack, asmcgocall, those
 * that call the vDSO): from that instruction on only rbp leads back.
 */
#include <errno.h>
#include <string.h>

#include "objfile/go.h"
#include "objfile/x86.h"

struct operand {
	bool is_rsp_based; /* memory at rsp + disp, no index */
	int32_t disp;
};

/* [rsp + disp] of an instruction whose ModRM is at p; reg: the register field it must have. */
static struct operand rsp_operand(const uint8_t *p, size_t n, uint8_t reg)
{
	struct operand none = { 0 };
	int32_t wide;

	if (n < 2 || (p[0] & 0x3f) != (reg << 3 | 4) || p[1] != 0x24)
		return none;
	switch (p[0] >> 6) {
	case 0:
		return (struct operand){ true, 0 };
	case 1:
		return n < 3 ? none : (struct operand){ true, (int8_t)p[2] };
	case 2:
		if (n < 6)
			return none;
		memcpy(&wide, p + 2, sizeof(wide));
		return (struct operand){ true, wide };
	}
	return none;
}

#define RSP 4
#define RBP 5

/* mov to rsp, lea to rsp, and of rsp; not push, pop, add and sub: the assembler keeps count of those that it wrote. */
static bool loads_rsp(const uint8_t *p, size_t n)
{
	if (n < 3)
		return false;
	if ((p[0] & 0xfc) == 0x48 && p[1] == 0x8b && (p[2] & 0x38) == RSP << 3)
		return true;
	if ((p[0] & 0xfb) == 0x48 && p[1] == 0x89 && (p[2] & 0xc7) == (0xc0 | RSP))
		return true;
	if ((p[0] & 0xfc) == 0x48 && p[1] == 0x8d && (p[2] & 0x38) == RSP << 3)
		return true;
	return p[0] == 0x48 && (p[1] == 0x83 || p[1] == 0x81) && p[2] == (0xe0 | RSP);
}

/* add or sub of a number to rsp; to which side is the table's to say. */
static bool adds_to_rsp(const uint8_t *p, size_t n)
{
	return n >= 4 && p[0] == 0x48 && (p[1] == 0x83 || p[1] == 0x81) &&
	       (p[2] == (0xe8 | RSP) || p[2] == (0xc0 | RSP));
}

/* An instruction in a function. */
struct place {
	const uint8_t *p;
	size_t n;
	int32_t delta, delta_after;
	uint64_t next; /* the address behind it */
};

static void look_for_save(const struct place *at, struct objfile_go_frame *frame)
{
	struct operand m;

	if (at->p[0] == 0x55) { /* push %rbp */
		frame->saved_from = at->next;
		frame->saved_off = -(at->delta + 16);
		frame->saved_above = at->delta;
	} else if (at->n >= 3 && at->p[0] == 0x48 && at->p[1] == 0x89) {
		m = rsp_operand(at->p + 2, at->n - 2, RBP);
		if (!m.is_rsp_based)
			return;
		frame->saved_from = at->next;
		frame->saved_off = m.disp - at->delta - 8;
		/* Up to where the slot is above the stack pointer. */
		frame->saved_above = at->delta - m.disp - 8;
	}
}

static void look_for_pointer(const struct place *at, struct objfile_go_frame *frame)
{
	struct operand m;

	if (at->n == 3 && !memcmp(at->p, "\x48\x89\xe5", 3)) { /* mov %rsp,%rbp */
		frame->pointer_from = at->next;
		frame->pointer_off = at->delta + 8;
	} else if (at->n >= 3 && at->p[0] == 0x48 && at->p[1] == 0x8d) {
		m = rsp_operand(at->p + 2, at->n - 2, RBP);
		if (!m.is_rsp_based)
			return;
		frame->pointer_from = at->next;
		frame->pointer_off = at->delta + 8 - m.disp;
	}
}

static void look_for_switch(const struct place *at, struct objfile_go_frame *frame)
{
	if (!frame->switch_from) {
		if (loads_rsp(at->p, at->n) || (adds_to_rsp(at->p, at->n) && at->delta == at->delta_after))
			frame->switch_from = at->next;
		return;
	}
	if (at->n >= 3 && at->p[0] == 0x48 && at->p[1] == 0x8b && rsp_operand(at->p + 2, at->n - 2, RBP).is_rsp_based &&
	    frame->restored_n < OBJFILE_GO_RESTORES_MAX)
		frame->restored_from[frame->restored_n++] = at->next;
}

static void look(const struct place *at, bool sp_write, struct objfile_go_frame *frame)
{
	if (!frame->saved_from)
		look_for_save(at, frame);
	else if (!frame->pointer_from)
		look_for_pointer(at, frame);
	if (sp_write)
		look_for_switch(at, frame);
}

int objfile_go_frame(const struct objfile_go *g, const struct objfile_go_function *f, const uint8_t *code, size_t code_n,
		     struct objfile_go_frame *ret)
{
	struct objfile_go_frame frame = { 0 };
	struct objfile_go_sp_walk walk;
	struct objfile_go_sp sp = { 0 };
	int r = objfile_go_sp_begin(g, f, &walk);
	uint64_t at = 0;

	if (!r)
		r = objfile_go_sp_next(&walk, &sp);
	while (r == 1 && at < f->end - f->start) {
		struct x86_insn insn;
		int32_t before = sp.delta;

		if (frame.pointer_from && !f->sp_write)
			break;
		r = x86_decode(code + at, at < code_n ? code_n - at : 0, &insn);
		if (r)
			return r;
		r = 1;
		while (r == 1 && f->start + at + insn.len >= sp.end)
			r = objfile_go_sp_next(&walk, &sp);
		if (r == 1)
			look(&(struct place){ code + at, insn.len, before, sp.delta, f->start + at + insn.len },
			     f->sp_write, &frame);
		at += insn.len;
	}
	if (r < 0)
		return r;
	*ret = frame;
	return 0;
}
