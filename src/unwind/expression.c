/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * libdw decodes expressions but evaluates them only inside libdwfl, whose
 * unwinder falls back to frame pointers without a word where there is no
 * rule; our frames must be right or absent. Every operation that can stand in
 * call frame information is here: those of the PLT's expression (the CFA
 * depends on ip), of signal frames (saved registers of the ucontext), and of
 * hand-written assembly. Expressions come from files nobody vouches for: depth and
 * steps are bounded (they can loop).
 */
#include "unwind/expression.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#define DEPTH_MAX 64
#define STEPS_MAX 1000

struct machine {
	const struct expression_input *in;
	uint64_t stack[DEPTH_MAX];
	size_t n;
};

int copy_read(const struct copy *c, uint64_t addr, size_t size, uint64_t *ret)
{
	uint64_t v = 0;

	if (!size || size > sizeof(v) || addr < c->start || addr - c->start > c->n || c->n - (addr - c->start) < size)
		return -EFAULT;
	memcpy(&v, c->bytes + (addr - c->start), size);
	*ret = v;
	return 0;
}

static int push(struct machine *m, uint64_t v)
{
	if (m->n == DEPTH_MAX)
		return -EINVAL;
	m->stack[m->n++] = v;
	return 0;
}

static int register_value(const struct registers *regs, uint64_t number, uint64_t *ret)
{
	if (number >= WCBPF_REGS_MAX || regs->state[number] == REG_UNKNOWN)
		return -EINVAL;
	if (regs->state[number] == REG_OUTSIDE)
		return -EFAULT;
	*ret = regs->v[number];
	return 0;
}

static int push_register(struct machine *m, uint64_t number, uint64_t offset)
{
	uint64_t v;
	int err = register_value(m->in->regs, number, &v);

	return err ? err : push(m, v + offset);
}

static int deref(struct machine *m, uint64_t size)
{
	if (!m->n || !size || size > 8)
		return -EINVAL;
	return copy_read(m->in->copy, m->stack[m->n - 1], size, &m->stack[m->n - 1]);
}

/* Shifts of 64 and more give 0 (or the sign), which C leaves undefined. */
static int two_operands(struct machine *m, uint8_t atom)
{
	uint64_t a, b, *to;

	if (m->n < 2)
		return -EINVAL;
	b = m->stack[--m->n];
	to = &m->stack[m->n - 1];
	a = *to;
	switch (atom) {
	case DW_OP_and: *to = a & b; return 0;
	case DW_OP_or: *to = a | b; return 0;
	case DW_OP_xor: *to = a ^ b; return 0;
	case DW_OP_plus: *to = a + b; return 0;
	case DW_OP_minus: *to = a - b; return 0;
	case DW_OP_mul: *to = a * b; return 0;
	case DW_OP_shl: *to = b < 64 ? a << b : 0; return 0;
	case DW_OP_shr: *to = b < 64 ? a >> b : 0; return 0;
	case DW_OP_shra: *to = (uint64_t)((int64_t)a >> (b < 64 ? b : 63)); return 0;
	case DW_OP_eq: *to = a == b; return 0;
	case DW_OP_ne: *to = a != b; return 0;
	case DW_OP_lt: *to = (int64_t)a < (int64_t)b; return 0;
	case DW_OP_le: *to = (int64_t)a <= (int64_t)b; return 0;
	case DW_OP_gt: *to = (int64_t)a > (int64_t)b; return 0;
	case DW_OP_ge: *to = (int64_t)a >= (int64_t)b; return 0;
	case DW_OP_mod:
		if (!b)
			return -EINVAL;
		*to = a % b;
		return 0;
	case DW_OP_div:
		if (!b || (a == (uint64_t)INT64_MIN && b == UINT64_MAX))
			return -EINVAL;
		*to = (uint64_t)((int64_t)a / (int64_t)b);
		return 0;
	}
	return -EINVAL;
}

static int one_operand(struct machine *m, const Dwarf_Op *op)
{
	uint64_t *to;

	if (!m->n)
		return -EINVAL;
	to = &m->stack[m->n - 1];
	switch (op->atom) {
	case DW_OP_deref: return deref(m, 8);
	case DW_OP_deref_size: return deref(m, op->number);
	case DW_OP_abs: *to = (int64_t)*to < 0 ? 0 - *to : *to; return 0;
	case DW_OP_neg: *to = 0 - *to; return 0;
	case DW_OP_not: *to = ~*to; return 0;
	case DW_OP_plus_uconst: *to += op->number; return 0;
	case DW_OP_drop: m->n--; return 0;
	}
	return -EINVAL;
}

/* DW_OP_dup is index 0, DW_OP_over 1. */
static int pick(struct machine *m, uint64_t index)
{
	return index < m->n ? push(m, m->stack[m->n - 1 - index]) : -EINVAL;
}

/* The top goes below the n - 1 others. */
static int rotate(struct machine *m, size_t n)
{
	uint64_t top;

	if (m->n < n)
		return -EINVAL;
	top = m->stack[m->n - 1];
	memmove(&m->stack[m->n - n + 1], &m->stack[m->n - n], (n - 1) * sizeof(top));
	m->stack[m->n - n] = top;
	return 0;
}

static int step(struct machine *m, const Dwarf_Op *op)
{
	uint8_t atom = op->atom;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		return push(m, atom - DW_OP_lit0);
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return push_register(m, atom - DW_OP_breg0, op->number);
	switch (atom) {
	case DW_OP_nop:
		return 0;
	case DW_OP_addr: case DW_OP_const1u: case DW_OP_const1s: case DW_OP_const2u: case DW_OP_const2s:
	case DW_OP_const4u: case DW_OP_const4s: case DW_OP_const8u: case DW_OP_const8s: case DW_OP_constu:
	case DW_OP_consts:
		return push(m, op->number);
	case DW_OP_bregx:
		return push_register(m, op->number, op->number2);
	case DW_OP_call_frame_cfa:
		return m->in->cfa ? push(m, *m->in->cfa) : -EINVAL;
	case DW_OP_dup:
		return pick(m, 0);
	case DW_OP_over:
		return pick(m, 1);
	case DW_OP_pick:
		return pick(m, op->number);
	case DW_OP_swap:
		return rotate(m, 2);
	case DW_OP_rot:
		return rotate(m, 3);
	case DW_OP_deref: case DW_OP_deref_size: case DW_OP_abs: case DW_OP_neg: case DW_OP_not:
	case DW_OP_plus_uconst: case DW_OP_drop:
		return one_operand(m, op);
	}
	return two_operands(m, atom);
}

/* Where skip and bra lead: an operation of that offset, or the end. */
static int jump(const Dwarf_Op *ops, size_t n, size_t from, size_t *ret)
{
	uint64_t to = ops[from].offset + 3 + (uint64_t)(int64_t)(int16_t)ops[from].number;

	for (size_t i = 0; i < n; i++) {
		if (ops[i].offset == to) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* A register as a place: its value is meant. */
static bool is_register(const Dwarf_Op *op, uint64_t *ret)
{
	if (op->atom == DW_OP_regx)
		*ret = op->number;
	else if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		*ret = op->atom - DW_OP_reg0;
	else
		return false;
	return true;
}

int expression_eval(const Dwarf_Op *ops, size_t n, const struct expression_input *in, uint64_t *ret,
		    bool *ret_is_value)
{
	struct machine m = { .in = in };
	bool is_value = false;
	uint64_t number;
	int err;

	if (n == 1 && is_register(&ops[0], &number)) {
		err = register_value(in->regs, number, ret);
		if (!err)
			*ret_is_value = true;
		return err;
	}
	for (size_t at = 0, steps = 0; at < n && !is_value; steps++) {
		const Dwarf_Op *op = &ops[at];
		bool jumps = op->atom == DW_OP_skip;

		if (steps == STEPS_MAX)
			return -EINVAL;
		if (op->atom == DW_OP_stack_value) {
			is_value = true;
		} else if (op->atom == DW_OP_bra) {
			if (!m.n)
				return -EINVAL;
			jumps = m.stack[--m.n] != 0;
		} else if (!jumps) {
			err = step(&m, op);
			if (err)
				return err;
		}
		if (!jumps)
			at++;
		else if (jump(ops, n, at, &at))
			return -EINVAL;
	}
	if (!m.n)
		return -EINVAL;
	*ret = m.stack[m.n - 1];
	*ret_is_value = is_value;
	return 0;
}
