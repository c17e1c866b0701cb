/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A jump that leaves a function's code is one of two things. Compilers put
 * unlikely code elsewhere (foo.cold, or without a name in a stripped file): a
 * part of the function, whose returns are its. Or the last thing that a
 * function does is to call another: then that one returns to its caller.
 *
 * They are told apart by the frame. Where a function begins CFA is rsp + 8; a
 * part is entered with what the function has pushed. If it has pushed nothing,
 * a part is known by its name, or by jumping back into the middle of the
 * function; or it never returns, and neither does the function then. One that
 * does none of this is as good as a function.
 *
 * A jump to the middle of another function is neither: the returns there are
 * those of its callers too.
 */
#include <errno.h>
#include <string.h>

#include "objfile/flow.h"
#include "objfile/why.h"
#include "util/cleanup.h"

#define PART_LOOK_MAX 4096 /* bytes of what may be a part */

/* Where the code at vaddr begins and ends, as far as anything tells. */
struct place {
	uint64_t start, end;
	const char *name; /* NULL: no symbol */
	bool go;	  /* by Go's tables, which know no parts */
};

static bool find_place(struct objfile_code *c, uint64_t vaddr, struct place *ret)
{
	struct objfile_go_function f;
	struct objfile_symbol symbol;

	if (c->go && !objfile_go_function(c->go, vaddr, &f)) {
		*ret = (struct place){ f.start, f.end, f.name, true };
		return true;
	}
	*ret = (struct place){ 0 };
	if (!objfile_symbol(c->o, vaddr, &symbol))
		*ret = (struct place){ symbol.value, symbol.value + symbol.size, symbol.name, false };
	/* A symbol without a size, or a stub among many. */
	if (ret->name && ret->start == vaddr && ret->end > vaddr)
		return true;
	if (cfa_extent(c->rules, vaddr, &ret->start, &ret->end))
		return true;
	return ret->name != NULL;
}

static bool is_cold_name(const char *name)
{
	const char *at = name ? strstr(name, ".cold") : NULL;

	return at && (at[5] == '\0' || at[5] == '.');
}

/* Does the code there jump into the middle of the function, or end without ever leaving to anywhere? */
static bool comes_back(const struct flow *f, const struct place *p)
{
	_cleanup_(freep) uint8_t *bytes = NULL;
	size_t n = p->end - p->start < PART_LOOK_MAX ? p->end - p->start : PART_LOOK_MAX;
	bool leaves = n < p->end - p->start;
	struct insn_full i;

	bytes = malloc(n + 1);
	if (!bytes || objfile_read_vaddr(f->c->o, p->start, bytes, n))
		return false;
	for (size_t at = 0; at < n; at += i.brief.len) {
		const struct flow_part *part;

		if (insn_decode(bytes + at, n - at, p->start + at, &i))
			return false;
		leaves |= i.brief.flow == FLOW_RETURN || i.brief.flow == FLOW_INDIRECT;
		if (i.brief.flow != FLOW_JUMP && i.brief.flow != FLOW_BRANCH)
			continue;
		part = flow_part_of(f, i.brief.target);
		if (part && i.brief.target != part->start)
			return true;
		leaves |= i.brief.target < p->start || i.brief.target >= p->end;
	}
	return !leaves;
}

/* A stub of the procedure linkage table that isn't known by a name. */
static bool is_stub(struct objfile_code *c, uint64_t vaddr)
{
	uint8_t bytes[16];
	struct insn_full i;

	if (objfile_read_vaddr(c->o, vaddr, bytes, sizeof(bytes)) || insn_decode(bytes, sizeof(bytes), vaddr, &i))
		return false;
	if (insn_is_endbr64(&i) &&
	    insn_decode(bytes + i.brief.len, sizeof(bytes) - i.brief.len, vaddr + i.brief.len, &i))
		return false;
	return i.brief.flow == FLOW_INDIRECT && i.operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       i.operands[0].mem.base == ZYDIS_REGISTER_RIP;
}

/*
 * Does a jump to the middle of some code lead to a part of the function? It does if it takes more of a frame along
 * than a function begins with, or if that code comes back; not if a symbol says whose it is.
 */
static bool is_cold_entry(const struct flow *f, const struct insn *from, const struct place *p)
{
	struct cfa here, there;

	if (p->go || p->end <= p->start || (p->name && !is_cold_name(p->name)))
		return false;
	if (cfa_at(f->c->rules, from->vaddr, &here) || cfa_at(f->c->rules, from->target, &there) ||
	    here.reg != there.reg || here.off != there.off)
		return false;
	return is_cold_name(p->name) || !cfa_is_at_entry(&here) || comes_back(f, p);
}

int jump_sort_direct(const struct flow *f, const struct insn *i, enum jump_sort *ret, uint64_t *ret_start,
		     uint64_t *ret_end, struct objfile_why *ret_why)
{
	struct objfile_code *c = f->c;
	struct place p;
	struct cfa at_target;

	if (flow_part_of(f, i->target)) {
		*ret = JUMP_INSIDE;
		return 0;
	}
	if (!find_place(c, i->target, &p)) {
		if (!is_stub(c, i->target))
			return why(ret_why, -ENOTSUP, "it jumps to 0x%llx, and nothing tells whose code that is",
				   (unsigned long long)i->target);
		p = (struct place){ .start = i->target };
	}
	if (p.start != i->target && is_cold_entry(f, i, &p)) {
		*ret = JUMP_PART;
		*ret_start = p.start;
		*ret_end = p.end;
		return 0;
	}
	if (p.start != i->target) {
		if (!is_stub(c, i->target))
			return why(ret_why, -ENOTSUP, "it jumps to the middle of %s (0x%llx)",
				   p.name ? p.name : "another function", (unsigned long long)i->target);
		p.start = i->target;
		p.end = 0;
	}
	*ret = JUMP_TAIL;
	if (p.end > p.start && !p.go &&
	    (is_cold_name(p.name) || (!cfa_at(c->rules, p.start, &at_target) && !cfa_is_at_entry(&at_target)) ||
	     comes_back(f, &p))) {
		*ret = JUMP_PART;
		*ret_start = p.start;
		*ret_end = p.end;
	}
	return 0;
}

int jump_sort_indirect(const struct flow *f, size_t index, enum jump_sort *ret, struct objfile_why *ret_why)
{
	const struct insn *i = &f->v[index];
	enum table_sort table = table_look(f, index);
	struct cfa cfa;
	bool known = !cfa_at(f->c->rules, i->vaddr, &cfa);

	if (table == TABLE_INSIDE || (known && !cfa_is_at_entry(&cfa))) {
		*ret = JUMP_INSIDE;
		return 0;
	}
	if (table == TABLE_UNKNOWN || (table == TABLE_NONE && !known))
		return why(ret_why, -ENOTSUP, "the jump at 0x%llx may leave it or not: its targets can't be seen",
			   (unsigned long long)i->vaddr);
	*ret = JUMP_TAIL;
	return 0;
}
