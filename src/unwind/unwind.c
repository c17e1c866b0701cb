/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * From a frame's registers to its caller's, by the rules for its address, until
 * the rules say that there is no caller. A saved register that lies beyond the
 * copy is no failure before somebody needs it: most callers never need the
 * callee-saved registers back, only the stack pointer.
 */
#include "unwind/unwind.h"

#include <errno.h>
#include <string.h>

#include "unwind/expression.h"
#include "unwind/object.h"
#include "unwind/registers.h"
#include "unwind/row-step.h"
#include "util/cleanup.h"

#define EXPRESSION_OPS_N 3 /* dwarf_frame_register() wants room for the rules that it writes itself */

struct unwind {
	const struct proc_maps *maps;
	struct objects *objects;
};

DEFINE_CLEANUP(struct unwind *, unwind_free)

int unwind_new(const struct proc_maps *maps, struct unwind **ret)
{
	_cleanup_(unwind_freep) struct unwind *u = calloc(1, sizeof(*u));
	int err;

	if (!u)
		return -ENOMEM;
	u->maps = maps;
	err = objects_new(&u->objects);
	if (err)
		return err;
	*ret = TAKE_PTR(u);
	return 0;
}

struct unwind *unwind_free(struct unwind *u)
{
	if (!u)
		return NULL;
	objects_free(u->objects);
	free(u);
	return NULL;
}

/* The caller's register r by its rule, a state for it in any case. */
static void restore(Dwarf_Frame *frame, int r, const struct expression_input *in, struct registers *caller)
{
	Dwarf_Op mem[EXPRESSION_OPS_N], *ops;
	size_t n;
	bool is_value;
	uint64_t v;
	int err;

	caller->state[r] = REG_UNKNOWN;
	if (dwarf_frame_register(frame, r, mem, &ops, &n))
		return;
	if (!n && ops == mem)
		return; /* undefined */
	if (!n) {
		caller->state[r] = in->regs->state[r]; /* the same */
		caller->v[r] = in->regs->v[r];
		return;
	}
	err = expression_eval(ops, n, in, &v, &is_value);
	if (!err && !is_value)
		err = copy_read(in->copy, v, 8, &v);
	if (err) {
		caller->state[r] = err == -EFAULT ? REG_OUTSIDE : REG_UNKNOWN;
		return;
	}
	caller->state[r] = REG_KNOWN;
	caller->v[r] = v;
}

static int frame_cfa(Dwarf_Frame *frame, const struct expression_input *in, uint64_t *ret)
{
	bool is_value;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) || !n)
		return -EINVAL;
	return expression_eval(ops, n, in, ret, &is_value);
}

/* Does the rule say that there is no caller, as opposed to one we can't find? */
static bool is_outermost(Dwarf_Frame *frame, int return_address_reg)
{
	Dwarf_Op mem[EXPRESSION_OPS_N], *ops;
	size_t n;

	return !dwarf_frame_register(frame, return_address_reg, mem, &ops, &n) && !n && ops == mem;
}

/*
 * From regs to the caller's. *ret_signal: this frame is the one that the kernel
 * made for a signal handler. 1: there is a caller, else *ret_end says why not.
 */
static int step(Dwarf_Frame *frame, const struct copy *copy, bool innermost, struct registers *regs, bool *ret_signal,
		enum unwind_end *ret_end)
{
	uint64_t cfa;
	struct expression_input in = { .regs = regs, .copy = copy };
	struct registers caller = { 0 };
	int ra = dwarf_frame_info(frame, NULL, NULL, ret_signal), err;

	*ret_end = UNWIND_NO_RULE;
	if (ra < 0 || ra >= WCBPF_REGS_MAX)
		return 0;
	if (is_outermost(frame, ra)) {
		*ret_end = UNWIND_COMPLETE;
		return 0;
	}
	err = frame_cfa(frame, &in, &cfa);
	if (err == -EFAULT)
		*ret_end = UNWIND_OUT_OF_COPY;
	if (err)
		return 0;
	/*
	 * Stacks grow down; only a signal may have been taken on another one. The
	 * innermost frame may be empty: vfork keeps its return address in a register.
	 */
	if (!*ret_signal && cfa < regs->v[REG_SP] + !innermost)
		return 0;
	in.cfa = &cfa;
	for (int r = 0; r < WCBPF_REGS_MAX; r++)
		restore(frame, r, &in, &caller);
	if (!*ret_signal) {
		caller.v[REG_SP] = cfa;
		caller.state[REG_SP] = REG_KNOWN;
	}
	if (caller.state[ra] == REG_OUTSIDE || caller.state[REG_SP] == REG_OUTSIDE)
		*ret_end = UNWIND_OUT_OF_COPY;
	if (caller.state[ra] != REG_KNOWN || caller.state[REG_SP] != REG_KNOWN)
		return 0;
	if (!caller.v[ra]) {
		*ret_end = UNWIND_COMPLETE;
		return 0;
	}
	caller.v[REG_IP] = caller.v[ra];
	caller.state[REG_IP] = REG_KNOWN;
	*regs = caller;
	return 1;
}

int unwind_copy(struct unwind *u, const struct unwind_input *in, uint64_t *ret, size_t ret_max, size_t *ret_n,
		enum unwind_end *ret_end)
{
	const struct copy copy = { in->regs[REG_SP], in->stack, in->stack_n };
	struct registers regs;
	enum unwind_end end = UNWIND_LIMIT;
	bool exact = true; /* ip is what runs next, not what was called from */
	size_t n = 0;

	memcpy(regs.v, in->regs, sizeof(regs.v));
	memset(regs.state, REG_KNOWN, sizeof(regs.state));
	while (n < ret_max) {
		uint64_t ip = regs.v[REG_IP], lookup = ip - !exact;
		_cleanup_(freep) Dwarf_Frame *frame = NULL;
		const struct wcbpf_rule *row = NULL;
		struct proc_mapping map;
		int err;

		ret[n++] = ip;
		end = UNWIND_NO_RULE;
		if (!proc_maps_lookup(u->maps, in->pid, in->time_ns, lookup, &map))
			break;
		err = objects_frame(u->objects, &map, lookup, &frame, &row);
		if (err == -ENOMEM)
			return err;
		if (err == -ECHILD)
			end = UNWIND_COMPLETE;
		if (err == -ENOENT && regs.state[REG_BP] == REG_KNOWN && !regs.v[REG_BP])
			end = UNWIND_MARKED;
		if (err || !(row ? row_step(row, &copy, &regs, &exact, &end) :
				   step(frame, &copy, n == 1, &regs, &exact, &end)))
			break;
		end = UNWIND_LIMIT;
	}
	*ret_n = n;
	*ret_end = end;
	return 0;
}
