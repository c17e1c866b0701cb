/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A breakpoint costs half a microsecond where the kernel emulates the
 * instruction, and up to twenty times that where it must run a copy of it. So
 * the best of the function's first instructions is taken: all of those up to
 * the first that makes something else happen in some calls, or loses what is
 * to be read.
 *
 * One that is run again in the same call would count it again: a loop that
 * begins where the function does, or Go's growth of the stack, which starts
 * over. The latter happens once in a while and costs who counts a look at the
 * frame; in Go code up to 1.20 all cheap places are such.
 */
#include <errno.h>

#include "objfile/flow.h"
#include "objfile/why.h"
#include "objfile/x86-registers.h"

#define LOOK_MAX 24
#define GROWTH_MAX 24

/* Where the stack pointer is not to be known, no frame can be told. */
struct candidate {
	size_t index;
	struct cfa cfa;
	int rank; /* lower is better */
	bool repeats;
};

/* Does what a branch leads to only come back to the function's beginning, as where Go has its stack grown? */
static bool comes_back(const struct flow *f, size_t branch)
{
	size_t at;

	if (!flow_index(f, f->v[branch].target, &at))
		return false;
	for (size_t n = 0; n < GROWTH_MAX && at < f->n; n++, at++) {
		const struct insn *i = &f->v[at];

		if (i->flow == FLOW_JUMP)
			return i->target >= f->v[0].vaddr && i->target <= f->v[branch].vaddr;
		if (i->flow != FLOW_NEXT && i->flow != FLOW_CALL)
			return false;
	}
	return false;
}

static bool goes_on(const struct flow *f, size_t index)
{
	switch (f->v[index].flow) {
	case FLOW_NEXT:
		return true;
	case FLOW_BRANCH:
		return comes_back(f, index);
	}
	return false;
}

/*
 * Where a function is left it is not to be entered: which of two probes of one instruction comes first is the kernel's
 * affair.
 */
static bool leaves(const struct flow *f, size_t index)
{
	const struct insn *i = &f->v[index];

	if (i->flow == FLOW_JUMP || i->flow == FLOW_BRANCH)
		return !flow_part_of(f, i->target);
	return i->flow == FLOW_RETURN || i->flow == FLOW_INDIRECT;
}

static int rank_of(const struct flow *f, size_t index, const struct insn_full *i, bool repeats)
{
	enum objfile_step step = insn_step(i);
	bool rarely = f->c->go != NULL;

	if (leaves(f, index))
		return 20 + step;
	/* Outside of Go what repeats is a loop. */
	if (repeats && !rarely)
		return 10 + step;
	return 2 * step + repeats;
}

int entry_choose(const struct flow *f, uint32_t needs, struct objfile_spot *ret, struct objfile_why *ret_why)
{
	struct candidate best = { .rank = 100 };
	struct cfa cfa = { X86_RSP, 8 };
	uint32_t lost = 0;
	bool grown = false;
	int err;

	for (size_t at = 0; at < f->parts[0].n && at < LOOK_MAX && !(lost & needs); at++) {
		struct insn_full i;
		int32_t delta;

		err = flow_full(f, at, &i);
		if (err)
			return err;
		if (insn_can_be_probed(&i) && !insn_is_endbr64(&i)) {
			int repeats = flow_repeats(f, at, grown), rank;

			if (repeats < 0)
				return repeats;
			rank = rank_of(f, at, &i, repeats);
			if (rank < best.rank)
				best = (struct candidate){ at, cfa, rank, repeats };
		}
		if (!best.rank || !goes_on(f, at) || !insn_stack_delta(&i, &delta))
			break;
		/* Past Go's check of the stack only a call to it leads back, and calls that never return seem to. */
		grown |= f->c->go && f->v[at].flow == FLOW_BRANCH;
		cfa.off += delta;
		lost |= insn_writes(&i);
	}
	if (best.rank == 100)
		return why(ret_why, -ENOTSUP, "the kernel can't probe any of its first instructions");
	err = flow_spot(f, best.index, &best.cfa, ret);
	if (!err)
		ret->repeats = best.repeats;
	return err;
}
