/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Where an argument is at a function's first instruction. A list of places by
 * address is true there; a place that is said to hold everywhere is what code
 * without optimization stores the argument to, later: of those only what the
 * caller has put on the stack is already there.
 */
#include <dwarf.h>

#include "objfile/types.h"
#include "objfile/x86-registers.h"
#include "util/bytes.h"

static bool is_list(Dwarf_Attribute *attr)
{
	switch (dwarf_whatform(attr)) {
	case DW_FORM_sec_offset: case DW_FORM_loclistx: case DW_FORM_data4: case DW_FORM_data8:
		return true;
	}
	return false;
}

static bool register_of(const Dwarf_Op *op, uint8_t *ret)
{
	if (op->atom >= DW_OP_reg0 && op->atom < DW_OP_reg0 + X86_REGISTER_N)
		*ret = (uint8_t)(op->atom - DW_OP_reg0);
	else if (op->atom == DW_OP_regx && op->number < X86_REGISTER_N)
		*ret = (uint8_t)op->number;
	else
		return false;
	return true;
}

static bool frame_offset_of(const Dwarf_Op *op, int64_t *ret)
{
	if (op->atom != DW_OP_fbreg && op->atom != DW_OP_call_frame_cfa)
		return false;
	*ret = op->atom == DW_OP_fbreg ? (int64_t)op->number : 0;
	return *ret >= 0;
}

/*
 * Piece by piece, in registers or side by side on the caller's stack, each with how much of the value it has; what no
 * operation stands before is nowhere.
 */
static bool read_pieces(const Dwarf_Op *ops, size_t n, struct place *ret)
{
	uint32_t off = 0;
	size_t in_registers = 0, in_frame = 0;
	int64_t at;

	*ret = (struct place){ .sort = PLACE_REGISTERS };
	for (size_t i = 0; i < n; i++) {
		struct piece p = { .off = off, .lost = true };
		size_t first = i;

		while (i < n && ops[i].atom != DW_OP_piece)
			i++;
		if (i == n || ops[i].number > UINT16_MAX || ret->n == LEAVES_MAX)
			return false;
		p.size = (uint32_t)ops[i].number;
		if (i == first + 1 && register_of(&ops[first], &p.reg)) {
			p.lost = false;
			in_registers++;
		} else if (i == first + 1 && frame_offset_of(&ops[first], &at)) {
			if (!in_frame)
				ret->at = at - off;
			in_frame += at == ret->at + off;
		}
		off += p.size;
		ret->v[ret->n++] = p;
	}
	if (in_frame == ret->n)
		ret->sort = PLACE_CFA;
	return in_registers || in_frame == ret->n;
}

static bool read_one(const Dwarf_Op *op, struct place *ret)
{
	uint8_t reg;

	*ret = (struct place){ .sort = PLACE_POINTER };
	if (register_of(op, &reg)) {
		*ret = (struct place){ .sort = PLACE_REGISTERS, .n = 1 };
		ret->v[0] = (struct piece){ .size = 8, .reg = reg };
	} else if (op->atom == DW_OP_fbreg || op->atom == DW_OP_call_frame_cfa) {
		*ret = (struct place){ .sort = PLACE_CFA };
		return frame_offset_of(op, &ret->at);
	} else if (op->atom >= DW_OP_breg0 && op->atom < DW_OP_breg0 + X86_REGISTER_N) {
		ret->reg = (uint8_t)(op->atom - DW_OP_breg0);
		ret->at = (int64_t)op->number;
		return ret->reg != X86_RSP && ret->reg != X86_RBP;
	} else {
		return false;
	}
	return true;
}

/*
 * The one operation that an attribute consists of. Go up to 1.24 writes it in a form that DWARF 4 has for constants, and
 * libdw keeps to the standard.
 */
static bool single_op(Dwarf_Attribute *attr, Dwarf_Op *ret)
{
	Dwarf_Block block;
	Dwarf_Op *ops;
	struct bytes b;
	int64_t number = 0;
	size_t n;

	if (!dwarf_getlocation(attr, &ops, &n)) {
		if (n == 1)
			*ret = *ops;
		return n == 1;
	}
	if (dwarf_formblock(attr, &block))
		return false;
	b = bytes_init(block.data, block.length);
	if (bytes_u8(&b, &ret->atom) || (ret->atom == DW_OP_fbreg && bytes_sleb(&b, &number)) || bytes_left(&b))
		return false;
	ret->number = (Dwarf_Word)number;
	return ret->atom == DW_OP_fbreg || ret->atom == DW_OP_call_frame_cfa;
}

/* The frame base must be CFA for offsets from it to be such. */
static bool counts_from_cfa(Dwarf_Die *function)
{
	Dwarf_Attribute attr;
	Dwarf_Op op;

	return dwarf_attr_integrate(function, DW_AT_frame_base, &attr) && single_op(&attr, &op) &&
	       op.atom == DW_OP_call_frame_cfa;
}

enum location location_at(Dwarf_Die *variable, Dwarf_Die *function, uint64_t vaddr, struct place *ret)
{
	Dwarf_Attribute attr;
	struct place p;
	Dwarf_Op *ops, op;
	size_t n;
	bool list, known;

	if (!dwarf_attr(variable, DW_AT_location, &attr))
		return LOCATION_UNKNOWN;
	list = is_list(&attr);
	if (!list) {
		known = single_op(&attr, &op) && read_one(&op, &p) &&
			(p.sort == PLACE_CFA || p.sort == PLACE_REGISTERS);
	} else {
		if (dwarf_getlocation_addr(&attr, vaddr, &ops, &n, 1) != 1 || !n)
			return LOCATION_GONE;
		known = n == 1 ? read_one(ops, &p) : ops[n - 1].atom == DW_OP_piece && read_pieces(ops, n, &p);
	}
	if (known && p.sort == PLACE_CFA && !counts_from_cfa(function))
		known = false;
	if (known)
		*ret = p;
	return known ? LOCATION_KNOWN : LOCATION_UNKNOWN;
}
