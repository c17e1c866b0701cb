/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * libdw gives the place of each register as a list of operations. The lists
 * that occur are few, so each register's is first brought to one of the forms
 * of struct place; what a rule is follows from the forms of the CFA, the return
 * address, rsp, rbp and rbx. Anything else is unsupported: a rule is right or
 * it is none.
 */
#include "unwind/rule.h"

#include <asm/sigcontext.h>
#include <dwarf.h>
#include <string.h>

#define OPS_N 3 /* dwarf_frame_register() wants room for the rules that it writes itself */

enum { DWARF_RBX = 3, DWARF_RDI = 5, DWARF_RBP = 6, DWARF_RSP = 7, DWARF_RA = 16 };

enum form {
	FORM_OTHER,
	FORM_UNDEFINED,
	FORM_SAME,
	FORM_AT_CFA,   /* the word at CFA + off */
	FORM_CFA,      /* CFA + off itself */
	FORM_AT_REG,   /* the word at reg + off */
	FORM_REG,      /* in reg */
};

struct place {
	enum form form;
	uint64_t reg;
	int64_t off;
};

const struct wcbpf_rule rule_unsupported = { .cfa = WCBPF_CFA_UNSUPPORTED };

bool rule_is_equal(const struct wcbpf_rule *a, const struct wcbpf_rule *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* A register plus a number, in any of its spellings. */
static bool is_register_plus(const Dwarf_Op *op, uint64_t *ret_reg, int64_t *ret_off)
{
	if (op->atom == DW_OP_bregx) {
		*ret_reg = op->number;
		*ret_off = (int64_t)op->number2;
		return true;
	}
	if (op->atom < DW_OP_breg0 || op->atom > DW_OP_breg31)
		return false;
	*ret_reg = op->atom - DW_OP_breg0;
	*ret_off = (int64_t)op->number;
	return true;
}

static struct place place_of_ops(const Dwarf_Op *ops, size_t n)
{
	struct place p = { FORM_OTHER };

	if (n == 1 && ops[0].atom == DW_OP_regx)
		return (struct place){ FORM_REG, ops[0].number, 0 };
	if (n && ops[0].atom == DW_OP_call_frame_cfa) {
		/* libdw puts the CFA, which an expression begins with, in front: most don't use it. */
		if (n == 2 && is_register_plus(&ops[1], &p.reg, &p.off)) {
			p.form = FORM_AT_REG;
			return p;
		}
		if (n >= 2 && ops[1].atom == DW_OP_plus_uconst) {
			p.off = (int64_t)ops[1].number;
			ops++;
			n--;
		}
		if (n == 1)
			p.form = FORM_AT_CFA;
		else if (n == 2 && ops[1].atom == DW_OP_stack_value)
			p.form = FORM_CFA;
	}
	return p;
}

static struct place place_of(Dwarf_Frame *frame, int reg)
{
	Dwarf_Op mem[OPS_N], *ops;
	size_t n;

	if (dwarf_frame_register(frame, reg, mem, &ops, &n))
		return (struct place){ FORM_OTHER };
	if (!n)
		return (struct place){ ops == mem ? FORM_UNDEFINED : FORM_SAME };
	return place_of_ops(ops, n);
}

/*
 * The CFA as linkers write it for the PLT, whose entries push twice:
 * rsp + off + (((rip & 15) >= threshold) << 3).
 */
static bool is_plt(const Dwarf_Op *ops, size_t n, int64_t *ret_off, int16_t *ret_threshold)
{
	static const uint8_t form[] = { DW_OP_lit15, DW_OP_and, 0, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	uint64_t sp, ip;
	int64_t zero;

	if (n != 2 + sizeof(form) || !is_register_plus(&ops[0], &sp, ret_off) || sp != DWARF_RSP ||
	    !is_register_plus(&ops[1], &ip, &zero) || ip != DWARF_RA || zero)
		return false;
	for (size_t i = 0; i < sizeof(form); i++)
		if (form[i] && ops[2 + i].atom != form[i])
			return false;
	if (ops[4].atom < DW_OP_lit0 || ops[4].atom > DW_OP_lit31)
		return false;
	*ret_threshold = (int16_t)(ops[4].atom - DW_OP_lit0);
	return true;
}

/* cfa and cfa_off, for the PLT bp_off too. */
static bool read_cfa(Dwarf_Frame *frame, struct wcbpf_rule *r)
{
	Dwarf_Op *ops;
	uint64_t reg;
	int64_t off;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) || !n)
		return false;
	if (n == 1 && is_register_plus(ops, &reg, &off) && (reg == DWARF_RSP || reg == DWARF_RBP || reg == DWARF_RBX))
		r->cfa = reg == DWARF_RSP ? WCBPF_CFA_SP : reg == DWARF_RBP ? WCBPF_CFA_BP : WCBPF_CFA_BX;
	else if (n == 2 && is_register_plus(ops, &reg, &off) && ops[1].atom == DW_OP_deref &&
		 (reg == DWARF_RSP || reg == DWARF_RBP))
		r->cfa = reg == DWARF_RSP ? WCBPF_CFA_SP_DEREF : WCBPF_CFA_BP_DEREF;
	else if (is_plt(ops, n, &off, &r->bp_off))
		r->cfa = WCBPF_CFA_PLT;
	else
		return false;
	r->cfa_off = (int32_t)off;
	return r->cfa_off == off;
}

/* Where the caller's rbp or rbx is: enum wcbpf_saved, *ret_off only changed if that needs it. */
static uint8_t read_saved(struct place p, const struct wcbpf_rule *r, int16_t *ret_off)
{
	uint8_t saved = WCBPF_SAVED_CFA;

	if (p.form == FORM_SAME)
		return WCBPF_SAVED_SAME;
	if (p.form == FORM_AT_REG && p.reg == DWARF_RBP)
		saved = WCBPF_SAVED_BP;
	else if (p.form == FORM_AT_REG && p.reg == DWARF_RSP && r->cfa == WCBPF_CFA_SP)
		p.off -= r->cfa_off;
	else if (p.form != FORM_AT_CFA)
		return WCBPF_SAVED_LOST;
	if (p.off < INT16_MIN || p.off > INT16_MAX)
		return WCBPF_SAVED_LOST;
	*ret_off = (int16_t)p.off;
	return saved;
}

/*
 * The frame that the kernel made for a signal handler: rules that find the
 * registers in a struct sigcontext (asm/sigcontext.h), the same one for all
 * that we need.
 */
static bool read_signal(Dwarf_Frame *frame, struct place ra, struct place sp, const struct wcbpf_rule *cfa,
			struct wcbpf_rule *ret)
{
	struct place bp = place_of(frame, DWARF_RBP), bx = place_of(frame, DWARF_RBX);
	int64_t base = ra.off - (int64_t)offsetof(struct sigcontext, rip);

	/* The stack pointer is the CFA if nothing is said of it. */
	if (sp.form == FORM_CFA && !sp.off && cfa->cfa == WCBPF_CFA_SP_DEREF)
		sp = (struct place){ FORM_AT_REG, DWARF_RSP, cfa->cfa_off };
	if (ra.form != FORM_AT_REG || sp.form != FORM_AT_REG || bp.form != FORM_AT_REG || bx.form != FORM_AT_REG)
		return false;
	if (ra.reg != DWARF_RSP || sp.reg != DWARF_RSP || bp.reg != DWARF_RSP || bx.reg != DWARF_RSP)
		return false;
	if (sp.off - base != (int64_t)offsetof(struct sigcontext, rsp) ||
	    bp.off - base != (int64_t)offsetof(struct sigcontext, rbp) ||
	    bx.off - base != (int64_t)offsetof(struct sigcontext, rbx) || base < INT32_MIN || base > INT32_MAX)
		return false;
	*ret = (struct wcbpf_rule){ .cfa = WCBPF_CFA_SIGNAL, .cfa_off = (int32_t)base };
	return true;
}

static bool read_ordinary(Dwarf_Frame *frame, bool bx_undefined, struct place ra, struct place sp,
			  struct wcbpf_rule *r)
{
	struct place bp = place_of(frame, DWARF_RBP), bx = place_of(frame, DWARF_RBX);

	/* libdw (0.188) has the registers that a callee keeps wrong: it lists rax where rbx is meant. */
	if (bx.form == FORM_UNDEFINED && !bx_undefined)
		bx.form = FORM_SAME;
	if (sp.form != FORM_CFA || sp.off)
		return false;
	if (ra.form == FORM_REG && ra.reg == DWARF_RDI && r->cfa == WCBPF_CFA_SP)
		r->cfa = WCBPF_CFA_SP_RA_DI;
	else if (ra.form != FORM_AT_CFA || ra.off != -8)
		return false;
	if (r->cfa == WCBPF_CFA_PLT && bp.form != FORM_SAME)
		return false; /* bp_off is taken */
	r->bp = read_saved(bp, r, &r->bp_off);
	r->bx = read_saved(bx, r, &r->bx_off);
	return true;
}

void rule_read(Dwarf_Frame *frame, bool bx_undefined, struct wcbpf_rule *ret)
{
	struct wcbpf_rule r = { 0 };
	struct place ra, sp;
	bool is_signal, ok;

	*ret = rule_unsupported;
	if (dwarf_frame_info(frame, NULL, NULL, &is_signal) != DWARF_RA)
		return;
	ra = place_of(frame, DWARF_RA);
	if (ra.form == FORM_UNDEFINED) {
		*ret = (struct wcbpf_rule){ .cfa = WCBPF_CFA_STOP };
		return;
	}
	if (!read_cfa(frame, &r))
		return;
	sp = place_of(frame, DWARF_RSP);
	ok = is_signal ? read_signal(frame, ra, sp, &r, &r) : read_ordinary(frame, bx_undefined, ra, sp, &r);
	if (ok)
		*ret = r;
}
