/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * libdw finds the rules for an address but can't say which addresses have
 * rules. It splits the section into entries, though, and the two addresses at
 * an entry's beginning are all that is decoded here (their encoding is said in
 * the entry's CIE; layout: LSB, "Exception Frames"). The sorted table in
 * .eh_frame_hdr is no substitute: it lacks the ends, and some files lack it.
 */
#include "unwind/fdes.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "unwind/instructions.h"
#include "util/bytes.h"
#include "util/map.h"
#include "util/vec.h"

#define ENCODING_UNKNOWN 0x100u
#define CIE_BX_UNDEFINED 0x200u
#define CIE_HARMFUL 0x400u
#define CIE_SIZED 0x800u /* FDEs have augmentation data, its length first */

struct reader {
	struct fdes_section s;
	struct map *cies; /* offset -> encoding of addresses, ENCODING_UNKNOWN, CIE_* */
	struct fdes *fdes;
	size_t cap;
};

struct fdes *fdes_free(struct fdes *f)
{
	if (!f)
		return NULL;
	free(f->v);
	free(f);
	return NULL;
}

static int read_signed(struct bytes *b, uint8_t format, uint64_t *ret)
{
	uint16_t u16;
	uint32_t u32;
	int64_t sleb;
	int err;

	switch (format) {
	case DW_EH_PE_sdata2:
		err = bytes_u16(b, &u16);
		if (!err)
			*ret = (uint64_t)(int16_t)u16;
		return err;
	case DW_EH_PE_sdata4:
		err = bytes_u32(b, &u32);
		if (!err)
			*ret = (uint64_t)(int32_t)u32;
		return err;
	case DW_EH_PE_sdata8:
		return bytes_u64(b, ret);
	case DW_EH_PE_sleb128:
		err = bytes_sleb(b, &sleb);
		if (!err)
			*ret = (uint64_t)sleb;
		return err;
	}
	return -ENOTSUP;
}

/* A number as DW_EH_PE_* say; what it is relative to is the caller's. */
static int read_number(struct bytes *b, uint8_t encoding, uint64_t *ret)
{
	uint8_t format = encoding & 0xf;
	uint16_t u16;
	uint32_t u32;
	int err;

	switch (format) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
		return bytes_u64(b, ret);
	case DW_EH_PE_udata2:
		err = bytes_u16(b, &u16);
		if (!err)
			*ret = u16;
		return err;
	case DW_EH_PE_udata4:
		err = bytes_u32(b, &u32);
		if (!err)
			*ret = u32;
		return err;
	case DW_EH_PE_uleb128:
		return bytes_uleb(b, ret);
	}
	return read_signed(b, format, ret);
}

/* How a CIE says that its FDEs' addresses are encoded: 'R' of the augmentation. */
static uint32_t cie_encoding(const Dwarf_CIE *cie)
{
	struct bytes b = bytes_init(cie->augmentation_data, cie->augmentation_data_size);
	const char *a = cie->augmentation;
	uint8_t byte;
	uint64_t ignored;

	for (; *a; a++) {
		switch (*a) {
		case 'z': case 'S': case 'B':
			break;
		case 'L':
			if (bytes_skip(&b, 1))
				return ENCODING_UNKNOWN;
			break;
		case 'P':
			if (bytes_u8(&b, &byte) || read_number(&b, byte, &ignored))
				return ENCODING_UNKNOWN;
			break;
		case 'R':
			return bytes_u8(&b, &byte) ? ENCODING_UNKNOWN : byte;
		default:
			return ENCODING_UNKNOWN;
		}
	}
	return DW_EH_PE_absptr;
}

static struct instructions scan(const uint8_t *from, const uint8_t *to)
{
	return instructions_scan(from, to > from ? (size_t)(to - from) : 0);
}

static int cie_add(struct reader *r, uint64_t offset, const Dwarf_CIE *cie, uint64_t *ret)
{
	struct instructions found = scan(cie->initial_instructions, cie->initial_instructions_end);
	uint64_t v = cie_encoding(cie);
	int err;

	if (found.undefines_bx)
		v |= CIE_BX_UNDEFINED;
	if (!found.is_harmless)
		v |= CIE_HARMFUL;
	if (*cie->augmentation == 'z')
		v |= CIE_SIZED;
	err = map_put(r->cies, offset, v);
	if (!err)
		*ret = v;
	return err;
}

/* The CIE at an offset, which may come later in the section. */
static int cie_get(struct reader *r, uint64_t offset, uint64_t *ret)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	if (map_get(r->cies, offset, ret))
		return 0;
	if (dwarf_next_cfi(r->s.ident, &r->s.data, r->s.is_eh, offset, &next, &entry) || !dwarf_cfi_cie_p(&entry)) {
		*ret = ENCODING_UNKNOWN;
		return 0;
	}
	return cie_add(r, offset, &entry.cie, ret);
}

/* An entry whose addresses we can't read is left out. */
static int fde_add(struct reader *r, const Dwarf_FDE *entry)
{
	const uint8_t *data = r->s.data.d_buf;
	struct bytes b = bytes_init(data, (size_t)(entry->end - data));
	struct fde fde = { .index = (uint32_t)r->fdes->n };
	uint64_t cie, length, skip, base = 0;
	struct instructions found;
	int err = cie_get(r, entry->CIE_pointer, &cie);

	if (err)
		return err;
	if (cie & ENCODING_UNKNOWN || cie & DW_EH_PE_indirect || bytes_seek(&b, (size_t)(entry->start - data)))
		return 0;
	if ((cie & 0x70) == DW_EH_PE_pcrel)
		base = r->s.vaddr + b.at;
	else if (cie & 0x70)
		return 0;
	if (read_number(&b, (uint8_t)cie, &fde.start) || read_number(&b, (uint8_t)cie & 0xf, &length))
		return 0;
	if (cie & CIE_SIZED && (bytes_uleb(&b, &skip) || bytes_skip(&b, skip)))
		return 0;
	fde.start += base;
	fde.end = fde.start + length;
	/* Of functions that the linker dropped, .debug_frame keeps the entries, at 0. */
	if (!fde.start || fde.end <= fde.start)
		return 0;
	fde.bytes = (uint32_t)bytes_left(&b);
	found = scan(data + b.at, entry->end);
	fde.bx_undefined = found.undefines_bx || cie & CIE_BX_UNDEFINED;
	fde.is_harmful = !found.is_harmless || cie & CIE_HARMFUL;
	if (VEC_RESERVE(r->fdes->v, r->cap, r->fdes->n + 1))
		return -ENOMEM;
	r->fdes->v[r->fdes->n++] = fde;
	return 0;
}

static int read_entries(struct reader *r)
{
	for (Dwarf_Off at = 0, next; at < r->s.data.d_size; at = next) {
		Dwarf_CFI_Entry entry;
		uint64_t ignored;
		int err = 0;

		next = at;
		if (dwarf_next_cfi(r->s.ident, &r->s.data, r->s.is_eh, at, &next, &entry)) {
			if (next <= at)
				break; /* no way over it; or four zero bytes, which end the section */
			continue;
		}
		if (dwarf_cfi_cie_p(&entry))
			err = cie_add(r, at, &entry.cie, &ignored);
		else
			err = fde_add(r, &entry.fde);
		if (err)
			return err;
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct fde *f = a, *g = b;

	if (f->start != g->start)
		return f->start < g->start ? -1 : 1;
	return f->index < g->index ? -1 : f->index > g->index;
}

int fdes_read(const struct fdes_section *s, struct fdes **ret)
{
	_cleanup_(fdes_freep) struct fdes *fdes = calloc(1, sizeof(*fdes));
	_cleanup_(map_freep) struct map *cies = NULL;
	struct reader r = { .s = *s, .fdes = fdes };
	int err;

	if (!fdes)
		return -ENOMEM;
	err = map_new(&cies);
	r.cies = cies;
	if (!err && s->data.d_buf)
		err = read_entries(&r);
	if (err)
		return err;
	if (fdes->n)
		qsort(fdes->v, fdes->n, sizeof(*fdes->v), by_start);
	*ret = TAKE_PTR(fdes);
	return 0;
}
