/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Dumps while recording goes on. Finishing a model is for good, so it is done
 * in a forked copy, which has it for nothing: the loop stands still only while
 * the kernel copies page tables. The copy has no other threads; what they may
 * hold (names of functions being looked up) it leaves alone.
 *
 * What waits at that moment tells of it only when its wait is over; for a
 * program that hangs that is never. So the kernel is asked, twice: first that
 * the stacks of these waits get their frames, then, just before the copy is
 * made, for the waits. They are in the copy alone. When they have ended they
 * come again, whole, in a later dump; who merges takes the longer of two.
 */
#include <errno.h>

#include "assemble/assemble.h"
#include "capture/probing.h"
#include "capture/programs.h"
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

int capture_open_look(struct capture *c)
{
	int err;

	c->open_n = 0;
	c->open_ns = bpf_now(c);
	err = programs_look(c->programs, c->open_ns, feed_open, c);
	if (!err && c->probing && !probing_go_is_off(c->probing))
		err = programs_goroutines_close(c->programs, 0, 0, c->open_ns, WCBPF_GO_OPEN_AT_END, feed_open, c);
	if (err)
		c->open_n = 0;
	return err;
}

/* Only the copy's model gets them: here they are still to come. */
static int open_assemble(struct capture *c)
{
	for (size_t at = 0; at < c->open_n;) {
		const struct wcbpf_head *e = (const void *)(c->open + at);

		if (assemble_event(c->assemble, e) == -ENOMEM)
			return -ENOMEM;
		at += e->size;
	}
	return 0;
}

int capture_account(struct capture *c)
{
	int err = open_assemble(c);

	account_now(c);
	return err;
}

int capture_snapshot(struct capture *c)
{
	if (stacks_note(c->model) < 0)
		return -ENOMEM;
	return assemble_snapshot(c->assemble, c->open_ns ?: bpf_now(c));
}
