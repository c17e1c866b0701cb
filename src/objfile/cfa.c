/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Go's own tables for Go's code, for the rest .eh_frame as libdw reads it. */
#include "objfile/cfa.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>

#include "objfile/extents.h"
#include "objfile/x86-registers.h"
#include "util/cleanup.h"

struct cfa_rules {
	const struct objfile_go *go;
	Dwarf_CFI *cfi; /* NULL: none */
	struct extent *extents;
	size_t extent_n;
};

DEFINE_CLEANUP(struct cfa_rules *, cfa_rules_free)

struct cfa_rules *cfa_rules_free(struct cfa_rules *r)
{
	if (!r)
		return NULL;
	if (r->cfi)
		dwarf_cfi_end(r->cfi);
	free(r->extents);
	free(r);
	return NULL;
}

int cfa_rules_new(struct objfile *o, const struct objfile_go *go, struct cfa_rules **ret)
{
	_cleanup_(cfa_rules_freep) struct cfa_rules *r = calloc(1, sizeof(*r));
	int err = r ? extents_read(objfile_elf(o), &r->extents, &r->extent_n) : -ENOMEM;

	if (err)
		return err;
	r->go = go;
	r->cfi = dwarf_getcfi_elf(objfile_elf(o));
	*ret = TAKE_PTR(r);
	return 0;
}

static int go_cfa(const struct objfile_go *go, const struct objfile_go_function *f, uint64_t vaddr, struct cfa *ret)
{
	struct objfile_go_sp_walk walk;
	struct objfile_go_sp sp;
	int r = objfile_go_sp_begin(go, f, &walk);

	if (r)
		return -ENOENT;
	while ((r = objfile_go_sp_next(&walk, &sp)) == 1) {
		if (vaddr >= sp.end)
			continue;
		*ret = (struct cfa){ X86_RSP, sp.delta + 8 };
		return 0;
	}
	return -ENOENT;
}

static int eh_frame_cfa(Dwarf_CFI *cfi, uint64_t vaddr, struct cfa *ret)
{
	_cleanup_(freep) Dwarf_Frame *frame = NULL;
	struct cfa cfa;
	Dwarf_Op *ops;
	size_t n;

	if (!cfi || dwarf_cfi_addrframe(cfi, vaddr, &frame) || dwarf_frame_cfa(frame, &ops, &n) || n != 1)
		return -ENOENT;
	if (ops->atom >= DW_OP_breg0 && ops->atom <= DW_OP_breg31)
		cfa = (struct cfa){ (uint8_t)(ops->atom - DW_OP_breg0), (int32_t)ops->number };
	else if (ops->atom == DW_OP_bregx && ops->number < X86_REGISTER_N)
		cfa = (struct cfa){ (uint8_t)ops->number, (int32_t)ops->number2 };
	else
		return -ENOENT;
	*ret = cfa;
	return 0;
}

int cfa_at(struct cfa_rules *r, uint64_t vaddr, struct cfa *ret)
{
	struct objfile_go_function f;

	if (r->go && !objfile_go_function(r->go, vaddr, &f))
		return f.sp_write ? -ENOENT : go_cfa(r->go, &f, vaddr, ret);
	return eh_frame_cfa(r->cfi, vaddr, ret);
}

static const struct extent *find_extent(const struct cfa_rules *r, uint64_t vaddr)
{
	size_t lo = 0, hi = r->extent_n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->extents[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && vaddr < r->extents[lo - 1].end ? &r->extents[lo - 1] : NULL;
}

bool cfa_extent(const struct cfa_rules *r, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct extent *e = find_extent(r, vaddr);

	if (!e)
		return false;
	*ret_start = e->start;
	*ret_end = e->end;
	return true;
}

bool cfa_lands(const struct cfa_rules *r, uint64_t vaddr, bool other)
{
	const struct extent *e = find_extent(r, vaddr);

	return e ? e->lands : other;
}
