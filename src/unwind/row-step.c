/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The kinds of rule that rows without call frame information behind them have
 * (go-rows.c); the others come from .eh_frame, and libdw reads that itself.
 */
#include "unwind/row-step.h"

#include <asm/sigcontext.h>
#include <errno.h>
#include <stddef.h>

#define REG_BX 3
#define REG_BP 6

/* A word of memory as the caller's register. */
static void load(const struct copy *copy, uint64_t addr, struct registers *caller, int reg)
{
	caller->state[reg] = copy_read(copy, addr, 8, &caller->v[reg]) ? REG_OUTSIDE : REG_KNOWN;
}

/* Where the frame begins. -EFAULT: that's beyond the copy. -EINVAL: it can't be told. */
static int cfa_find(const struct wcbpf_rule *rule, const struct registers *regs, uint64_t *ret)
{
	int base = rule->cfa == WCBPF_CFA_SP ? REG_SP : REG_BP;
	uint64_t cfa;

	if (rule->cfa != WCBPF_CFA_SP && rule->cfa != WCBPF_CFA_BP && rule->cfa != WCBPF_CFA_BP_SWITCH)
		return -EINVAL;
	if (regs->state[base] != REG_KNOWN)
		return regs->state[base] == REG_OUTSIDE ? -EFAULT : -EINVAL;
	cfa = regs->v[base] + (uint64_t)(int64_t)rule->cfa_off;
	if (rule->cfa != WCBPF_CFA_BP_SWITCH && cfa <= regs->v[REG_SP])
		return -EINVAL;
	*ret = cfa;
	return 0;
}

static void restore_from_signal(uint64_t context, const struct copy *copy, struct registers *caller)
{
	load(copy, context + offsetof(struct sigcontext, rip), caller, REG_IP);
	load(copy, context + offsetof(struct sigcontext, rsp), caller, REG_SP);
	load(copy, context + offsetof(struct sigcontext, rbp), caller, REG_BP);
	load(copy, context + offsetof(struct sigcontext, rbx), caller, REG_BX);
}

static void restore(const struct wcbpf_rule *rule, uint64_t cfa, const struct copy *copy, const struct registers *regs,
		    struct registers *caller)
{
	load(copy, cfa - 8, caller, REG_IP);
	caller->v[REG_SP] = cfa;
	caller->state[REG_SP] = REG_KNOWN;
	if (rule->bp == WCBPF_SAVED_CFA) {
		load(copy, cfa + (uint64_t)(int64_t)rule->bp_off, caller, REG_BP);
	} else if (rule->bp == WCBPF_SAVED_SAME) {
		caller->v[REG_BP] = regs->v[REG_BP];
		caller->state[REG_BP] = regs->state[REG_BP];
	}
	if (rule->bx == WCBPF_SAVED_SAME) {
		caller->v[REG_BX] = regs->v[REG_BX];
		caller->state[REG_BX] = regs->state[REG_BX];
	}
}

int row_step(const struct wcbpf_rule *rule, const struct copy *copy, struct registers *regs, bool *ret_signal,
	     enum unwind_end *ret_end)
{
	struct registers caller = { 0 }; /* none is known */
	uint64_t cfa;
	int err;

	*ret_signal = rule->cfa == WCBPF_CFA_SIGNAL;
	*ret_end = UNWIND_NO_RULE;
	if (rule->cfa == WCBPF_CFA_STOP) {
		*ret_end = UNWIND_COMPLETE;
		return 0;
	}
	if (*ret_signal) {
		restore_from_signal(regs->v[REG_SP] + (uint64_t)(int64_t)rule->cfa_off, copy, &caller);
	} else {
		err = cfa_find(rule, regs, &cfa);
		if (err == -EFAULT)
			*ret_end = UNWIND_OUT_OF_COPY;
		if (err)
			return 0;
		restore(rule, cfa, copy, regs, &caller);
	}
	if (caller.state[REG_IP] != REG_KNOWN || caller.state[REG_SP] != REG_KNOWN) {
		*ret_end = UNWIND_OUT_OF_COPY;
		return 0;
	}
	if (!caller.v[REG_IP])
		return 0;
	*regs = caller;
	return 1;
}
