/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Dumps while recording goes on. Finishing a model is for good, so it is done
 * in a forked copy, which has it for nothing: the loop stands still only while
 * the kernel copies page tables. The copy has no other threads; what they may
 * hold (names of functions being looked up) it leaves alone.
 */
#include <errno.h>

#include "assemble/assemble.h"
#include "capture/state.h"
#include "model/model.h"

int capture_switch(struct capture *c, bool on)
{
	return assemble_switch(c->assemble, on, bpf_now(c));
}

void capture_stacks(const struct capture *c, uint64_t *ret_taken_n, uint64_t *ret_done_n)
{
	resolve_progress(c->resolve, ret_taken_n, ret_done_n);
}

int capture_settle(struct capture *c)
{
	return assemble_settle(c->assemble);
}

int capture_flush(struct capture *c)
{
	return assemble_flush(c->assemble, bpf_now(c));
}

void capture_flush_drop(struct capture *c)
{
	assemble_flush_drop(c->assemble);
}

/* Those whose frames are still being looked up are not lost: a later dump has them. */
static int stacks_note(struct model *m)
{
	for (uint32_t i = 1; i < m->stack_n; i++) {
		if (!m->stacks[i].resolved && model_stack_set(m, i, "unresolved", NULL, 0) < 0)
			return -ENOMEM;
	}
	return 0;
}

void capture_account(struct capture *c)
{
	account_now(c);
}

int capture_snapshot(struct capture *c)
{
	if (stacks_note(c->model) < 0)
		return -ENOMEM;
	return assemble_snapshot(c->assemble, bpf_now(c));
}
