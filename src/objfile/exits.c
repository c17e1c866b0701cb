/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Exits are what ends a call for good: returns, and jumps to other functions.
 * Calls that never return are none, whatever comes after them is simply never
 * run. They are known only if all are: one that was missed would make an
 * operation last until its caller ends. So what can't be decided fails, with
 * the place that it failed at.
 *
 * A conditional jump to another function is an exit only when it is taken. It
 * is told with its condition, for who probes it can see the flags.
 */
#include <errno.h>
#include <string.h>

#include "objfile/flow.h"
#include "objfile/why.h"
#include "objfile/x86-registers.h"
#include "util/cleanup.h"
#include "util/vec.h"

#define EXITS_MAX 4096

struct exits {
	struct objfile_exit *v;
	size_t n, cap;
};

static void exits_done(struct exits *e)
{
	free(e->v);
}

/* Parts that jumps of part at lead to. */
static int add_parts_of(struct flow *f, size_t at, struct objfile_why *ret_why)
{
	size_t first = f->parts[at].first, n = f->parts[at].n;

	for (size_t i = first; i < first + n; i++) {
		struct insn insn = f->v[i];
		enum jump_sort sort;
		uint64_t start, end;
		int err;

		if (insn.flow != FLOW_JUMP && insn.flow != FLOW_BRANCH)
			continue;
		err = jump_sort_direct(f, &insn, &sort, &start, &end, ret_why);
		if (!err && sort == JUMP_PART)
			err = flow_add_part(f, start, end, ret_why);
		if (err)
			return err;
	}
	return 0;
}

static int add_parts(struct flow *f, struct objfile_why *ret_why)
{
	int err = 0;

	for (size_t at = 0; !err && at < f->part_n; at++)
		err = add_parts_of(f, at, ret_why);
	return err;
}

/* Sets computed, so before flow_reach(). */
static int look_at_indirect(struct flow *f, struct objfile_why *ret_why)
{
	for (size_t i = 0; i < f->n; i++) {
		enum jump_sort sort;
		int err;

		if (f->v[i].flow != FLOW_INDIRECT)
			continue;
		err = jump_sort_indirect(f, i, &sort, ret_why);
		if (err)
			return err;
		if (sort == JUMP_INSIDE)
			f->computed = true;
	}
	return 0;
}

/* Code that a part has at its end and that isn't left there goes on in whatever is behind it. */
static int check_ends(const struct flow *f, struct objfile_why *ret_why)
{
	for (size_t p = 0; p < f->part_n; p++) {
		const struct flow_part *part = &f->parts[p];
		size_t last = part->first + part->n;

		while (last > part->first && f->v[last - 1].filler)
			last--;
		if (last == part->first)
			return why(ret_why, -ENOTSUP, "it is filled with nops only");
		if (f->v[last - 1].reached &&
		    (f->v[last - 1].flow == FLOW_NEXT || f->v[last - 1].flow == FLOW_BRANCH))
			return why(ret_why, -ENOTSUP, "it goes on, at 0x%llx, into what lies behind it",
				   (unsigned long long)f->v[last - 1].vaddr);
	}
	return 0;
}

static int add_exit(struct exits *e, const struct flow *f, size_t index, bool tail, struct objfile_why *ret_why)
{
	const struct insn *i = &f->v[index];
	struct cfa cfa = { X86_RSP, 8 }, stated;
	struct objfile_exit exit = { .tail = tail, .condition = OBJFILE_ALWAYS };
	struct insn_full full;
	int err = flow_full(f, index, &full);

	if (err)
		return err;
	if (e->n == EXITS_MAX)
		return why(ret_why, -ENOTSUP, "it has more than %d exits", EXITS_MAX);
	if (!insn_can_be_probed(&full))
		return why(ret_why, -ENOTSUP, "the kernel can't probe the exit at 0x%llx", (unsigned long long)i->vaddr);
	if (i->flow == FLOW_BRANCH) {
		if (i->condition == OBJFILE_ALWAYS)
			return why(ret_why, -ENOTSUP, "the conditional jump at 0x%llx leaves it",
				   (unsigned long long)i->vaddr);
		exit.condition = i->condition;
	}
	exit.target = tail ? i->target : 0;
	/* A jump may leave when not all is popped, to code that does that. */
	if (tail && !cfa_at(f->c->rules, i->vaddr, &stated))
		cfa = stated;
	err = flow_spot(f, index, &cfa, &exit.at);
	if (!err)
		err = VEC_RESERVE(e->v, e->cap, e->n + 1);
	if (!err)
		e->v[e->n++] = exit;
	return err;
}

static int add_exits(struct exits *e, const struct flow *f, struct objfile_why *ret_why)
{
	int err = 0;

	for (size_t i = 0; !err && i < f->n; i++) {
		const struct insn *insn = &f->v[i];
		enum jump_sort sort = JUMP_INSIDE;
		uint64_t start, end;

		if (!insn->reached)
			continue;
		if (insn->flow == FLOW_INDIRECT)
			err = jump_sort_indirect(f, i, &sort, ret_why);
		else if (insn->flow == FLOW_JUMP || insn->flow == FLOW_BRANCH)
			err = jump_sort_direct(f, insn, &sort, &start, &end, ret_why);
		if (!err && (sort == JUMP_TAIL || insn->flow == FLOW_RETURN))
			err = add_exit(e, f, i, sort == JUMP_TAIL, ret_why);
	}
	return err;
}

static int by_vaddr(const void *pa, const void *pb)
{
	const struct objfile_exit *a = pa, *b = pb;

	return a->at.vaddr < b->at.vaddr ? -1 : a->at.vaddr > b->at.vaddr;
}

int exits_find(struct flow *f, struct objfile_exit **ret, size_t *ret_n, struct objfile_why *ret_why)
{
	_cleanup_(exits_done) struct exits e = { 0 };
	int err = add_parts(f, ret_why);

	if (!err)
		err = flow_check(f, ret_why);
	if (!err)
		err = look_at_indirect(f, ret_why);
	if (!err)
		err = flow_reach(f);
	if (!err)
		err = check_ends(f, ret_why);
	if (!err)
		err = add_exits(&e, f, ret_why);
	if (err)
		return err;
	if (e.n)
		qsort(e.v, e.n, sizeof(*e.v), by_vaddr);
	*ret_n = e.n;
	*ret = TAKE_PTR(e.v);
	return 0;
}
