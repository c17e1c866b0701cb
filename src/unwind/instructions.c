/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Two things that running instructions by libdw doesn't tell. It gives the same
 * answer, "undefined", for a register that was declared so and for rbx when
 * nothing was said of it. And it makes room for each register number and each
 * remembered state that a file invents, up to gigabytes.
 *
 * Instructions and operands: DWARF 5, section 7.24, and the GNU ones.
 */
#include "unwind/instructions.h"

#include <dwarf.h>

#include "util/bytes.h"

#define RBX 3
#define REGISTER_MAX 127 /* x86_64 has numbers up to 125 */
#define REMEMBERED_MAX 256

/* r: register, u, s: LEB128, b: block, 1, 2, 4, 8: bytes. NULL: unknown, or one whose operand depends on the CIE. */
static const char *const operands[0x40] = {
	[DW_CFA_nop] = "",
	[DW_CFA_advance_loc1] = "1",
	[DW_CFA_advance_loc2] = "2",
	[DW_CFA_advance_loc4] = "4",
	[DW_CFA_MIPS_advance_loc8] = "8",
	[DW_CFA_offset_extended] = "ru",
	[DW_CFA_restore_extended] = "r",
	[DW_CFA_undefined] = "r",
	[DW_CFA_same_value] = "r",
	[DW_CFA_register] = "rr",
	[DW_CFA_remember_state] = "",
	[DW_CFA_restore_state] = "",
	[DW_CFA_def_cfa] = "ru",
	[DW_CFA_def_cfa_register] = "r",
	[DW_CFA_def_cfa_offset] = "u",
	[DW_CFA_def_cfa_expression] = "b",
	[DW_CFA_expression] = "rb",
	[DW_CFA_offset_extended_sf] = "rs",
	[DW_CFA_def_cfa_sf] = "rs",
	[DW_CFA_def_cfa_offset_sf] = "s",
	[DW_CFA_val_offset] = "ru",
	[DW_CFA_val_offset_sf] = "rs",
	[DW_CFA_val_expression] = "rb",
	[DW_CFA_GNU_args_size] = "u",
	[DW_CFA_GNU_negative_offset_extended] = "ru",
};

/* *reg becomes the largest register named. */
static int skip_operand(struct bytes *b, char kind, uint64_t *reg)
{
	uint64_t u = 0;
	int64_t s;
	int err;

	switch (kind) {
	case 's':
		return bytes_sleb(b, &s);
	case 'r': case 'u': case 'b':
		err = bytes_uleb(b, &u);
		if (kind == 'r' && u > *reg)
			*reg = u;
		return err || kind != 'b' ? err : bytes_skip(b, u);
	}
	return bytes_skip(b, (size_t)(kind - '0'));
}

struct instructions instructions_scan(const uint8_t *from, size_t n)
{
	const struct instructions unknown = { .undefines_bx = true, .is_harmless = true };
	struct instructions found = { .is_harmless = true };
	struct bytes b = bytes_init(from, n);
	int remembered = 0;
	uint8_t op;

	while (!bytes_u8(&b, &op)) {
		/* The two high bits, if any is set, are the instruction: DW_CFA_offset alone has an operand then. */
		const char *kinds = !(op & 0xc0) ? operands[op] : (op & 0xc0) == DW_CFA_offset ? "u" : "";
		uint64_t reg = 0;

		if (!kinds)
			return unknown;
		for (; *kinds; kinds++)
			if (skip_operand(&b, *kinds, &reg))
				return unknown;
		if (op == DW_CFA_undefined && reg == RBX)
			found.undefines_bx = true;
		remembered += (op == DW_CFA_remember_state) - (op == DW_CFA_restore_state);
		if (reg > REGISTER_MAX || remembered > REMEMBERED_MAX)
			return (struct instructions){ .undefines_bx = true };
	}
	return found;
}
