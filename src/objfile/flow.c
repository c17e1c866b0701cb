/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A function is read from one end to the other, not along its jumps: code that
 * only a jump table or an exception leads to has exits too. That what is read
 * so are instructions is checked by the jumps: each that stays in the function
 * must lead to where an instruction was found to begin.
 *
 * What nothing leads to and no jump of unknown target could reach isn't
 * probed: a breakpoint there could only hit data between the code.
 */
#include "objfile/flow.h"

#include <errno.h>
#include <string.h>

#include "objfile/why.h"
#include "util/cleanup.h"
#include "util/vec.h"

#define PART_MAX (4u << 20)

void flow_done(struct flow *f)
{
	for (size_t i = 0; i < f->part_n; i++)
		free(f->parts[i].bytes);
	free(f->v);
	*f = (struct flow){ 0 };
}

static bool is_zero(const uint8_t *p, size_t n)
{
	while (n && !*p) {
		p++;
		n--;
	}
	return !n;
}

static int decode_part(struct flow *f, struct flow_part *part, struct objfile_why *ret_why)
{
	size_t n = part->end - part->start;
	struct insn_full i;

	part->first = f->n;
	for (size_t at = 0; at < n; at += i.brief.len) {
		if (insn_decode(part->bytes + at, n - at, part->start + at, &i)) {
			if (is_zero(part->bytes + at, n - at))
				break;
			return why(ret_why, -ENOTSUP, "the bytes at 0x%llx in it are no instruction",
				   (unsigned long long)(part->start + at));
		}
		if (VEC_RESERVE(f->v, f->cap, f->n + 1) < 0)
			return -ENOMEM;
		f->v[f->n++] = i.brief;
		part->n++;
	}
	return part->n ? 0 : why(ret_why, -ENOTSUP, "it has no code");
}

int flow_add_part(struct flow *f, uint64_t start, uint64_t end, struct objfile_why *ret_why)
{
	struct flow_part part = { .start = start, .end = end };
	int err;

	if (f->part_n == FLOW_PARTS_MAX)
		return why(ret_why, -ENOTSUP, "its code lies in more than %d pieces", FLOW_PARTS_MAX);
	if (end <= start || end - start > PART_MAX)
		return why(ret_why, -ENOTSUP, "its code is %s", end <= start ? "empty" : "too long");
	part.bytes = malloc(end - start);
	if (!part.bytes)
		return -ENOMEM;
	err = objfile_read_vaddr(f->c->o, start, part.bytes, end - start);
	if (err == -EBADMSG)
		why(ret_why, err, "its code (0x%llx to 0x%llx) isn't in the file", (unsigned long long)start,
		    (unsigned long long)end);
	if (!err)
		err = decode_part(f, &part, ret_why);
	/* What lies before is enough for an entry. */
	if (err == -ENOTSUP && !f->part_n && part.n) {
		part.end = f->v[f->n - 1].vaddr + f->v[f->n - 1].len;
		f->parts[f->part_n++] = part;
		return err;
	}
	if (err) {
		f->n -= part.n;
		free(part.bytes);
		return err;
	}
	f->parts[f->part_n++] = part;
	return 0;
}

const struct flow_part *flow_part_of(const struct flow *f, uint64_t vaddr)
{
	for (size_t i = 0; i < f->part_n; i++)
		if (vaddr >= f->parts[i].start && vaddr < f->parts[i].end)
			return &f->parts[i];
	return NULL;
}

bool flow_index(const struct flow *f, uint64_t vaddr, size_t *ret)
{
	const struct flow_part *part = flow_part_of(f, vaddr);
	size_t lo, hi;

	if (!part)
		return false;
	lo = part->first;
	hi = part->first + part->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->v[mid].vaddr <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == part->first || vaddr - f->v[lo - 1].vaddr > f->v[lo - 1].prefix_n)
		return false;
	*ret = lo - 1;
	return true;
}

static bool jumps(const struct insn *i)
{
	return i->flow == FLOW_JUMP || i->flow == FLOW_BRANCH;
}

int flow_check(const struct flow *f, struct objfile_why *ret_why)
{
	size_t unused;

	for (size_t i = 0; i < f->n; i++) {
		const struct insn *insn = &f->v[i];

		if (jumps(insn) && flow_part_of(f, insn->target) && !flow_index(f, insn->target, &unused))
			return why(ret_why, -ENOTSUP,
				   "there is data between its instructions: a jump leads to the middle of one (0x%llx)",
				   (unsigned long long)insn->target);
	}
	return 0;
}

int flow_full(const struct flow *f, size_t index, struct insn_full *ret)
{
	const struct flow_part *part = flow_part_of(f, f->v[index].vaddr);
	uint64_t at = f->v[index].vaddr - part->start;

	return insn_decode(part->bytes + at, part->end - part->start - at, f->v[index].vaddr, ret);
}

int flow_spot(const struct flow *f, size_t index, const struct cfa *cfa, struct objfile_spot *ret)
{
	struct objfile_spot spot = { .cfa_reg = cfa->reg, .cfa_off = cfa->off, .branch = f->v[index].condition };
	struct insn_full i;
	int err = flow_full(f, index, &i);

	if (err)
		return err;
	spot.vaddr = i.brief.vaddr;
	spot.len = i.brief.len;
	spot.step = insn_step(&i);
	insn_text(&i, spot.text, sizeof(spot.text));
	*ret = spot;
	return 0;
}

/* Instructions that are still to be followed. */
struct todo {
	size_t *v;
	size_t n;
	bool *seen; /* of f->v */
};

static void todo_done(struct todo *t)
{
	free(t->v);
	free(t->seen);
}

static int todo_init(struct todo *t, size_t n)
{
	t->v = malloc((n + 1) * sizeof(*t->v));
	t->seen = calloc(n + 1, sizeof(*t->seen));
	return t->v && t->seen ? 0 : -ENOMEM;
}

static void todo_add(struct todo *t, size_t index)
{
	if (t->seen[index])
		return;
	t->seen[index] = true;
	t->v[t->n++] = index;
}

static void add_next(const struct flow *f, struct todo *t, size_t index)
{
	const struct insn *i = &f->v[index];
	const struct flow_part *part = flow_part_of(f, i->vaddr);
	size_t to;

	if (jumps(i) && flow_index(f, i->target, &to))
		todo_add(t, to);
	if ((i->flow == FLOW_NEXT || i->flow == FLOW_CALL || i->flow == FLOW_BRANCH) &&
	    index + 1 < part->first + part->n)
		todo_add(t, index + 1);
}

int flow_reach(struct flow *f)
{
	_cleanup_(todo_done) struct todo t = { 0 };
	int err = todo_init(&t, f->n);
	size_t landing;

	if (err)
		return err;
	if (f->n)
		todo_add(&t, 0);
	if (f->landing && flow_index(f, f->landing, &landing))
		todo_add(&t, landing);
	while (t.n)
		add_next(f, &t, t.v[--t.n]);
	for (size_t p = 0; p < f->part_n; p++) {
		const struct flow_part *part = &f->parts[p];
		bool all = f->computed || cfa_lands(f->c->rules, part->start, f->c->lands);

		for (size_t i = part->first; i < part->first + part->n; i++)
			f->v[i].reached = t.seen[i] || all;
	}
	return 0;
}

static void add_target(void *arg, size_t to)
{
	todo_add(arg, to);
}

/*
 * Where the jump at from may lead. If that can't be seen, it is not to the first instructions, up to index, when they
 * have another frame. False: even that isn't known.
 */
static bool add_targets(const struct flow *f, struct todo *t, size_t from, size_t index)
{
	struct cfa here, there;

	if (!table_targets(f, from, add_target, t))
		return true;
	if (cfa_at(f->c->rules, f->v[from].vaddr, &here) || cfa_at(f->c->rules, f->v[index].vaddr, &there) ||
	    (here.reg == there.reg && here.off == there.off))
		return false;
	for (size_t i = index + 1; i < f->n; i++)
		todo_add(t, i);
	return true;
}

int flow_repeats(const struct flow *f, size_t index, bool grown)
{
	_cleanup_(todo_done) struct todo t = { 0 };
	int err = todo_init(&t, f->n);

	if (err)
		return err;
	t.seen[0] = grown;
	add_next(f, &t, index);
	if (f->v[index].flow == FLOW_INDIRECT && f->computed && !add_targets(f, &t, index, index))
		return 1;
	while (t.n && !t.seen[index]) {
		size_t at = t.v[--t.n];

		if (f->v[at].flow == FLOW_INDIRECT && f->computed && !add_targets(f, &t, at, index))
			return 1;
		add_next(f, &t, at);
	}
	return t.seen[index];
}
