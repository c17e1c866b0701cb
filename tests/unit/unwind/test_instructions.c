/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Call frame instructions, encoded by hand from the DWARF 5 standard, section 7.24. */
#include <criterion/criterion.h>
#include <string.h>

#include "unwind/instructions.h"

#define SCAN(...) instructions_scan((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))
#define UNDEFINES(want, ...) cr_assert_eq(SCAN(__VA_ARGS__).undefines_bx, want)
#define HARMLESS(want, ...) cr_assert_eq(SCAN(__VA_ARGS__).is_harmless, want)

Test(instructions, undefined_rbx)
{
	UNDEFINES(true, 0x07, 3);
	UNDEFINES(true, 0x07, 0x83, 0x00); /* 3 in two bytes */
	UNDEFINES(true, 0x0c, 7, 8, 0x90, 1, 0x42, 0x07, 3, 0x41, 0xc3);
	UNDEFINES(false, 0x07, 16);
	UNDEFINES(false, 0x08, 3);
	UNDEFINES(false, 0, 0, 0);
	cr_assert_not(instructions_scan(NULL, 0).undefines_bx);
}

/* The two bytes 7 and 3 as operands of each instruction that has room for them. */
Test(instructions, operands_are_none)
{
	UNDEFINES(false, 0x02, 0x07, 0x03, 0, 0);	    /* advance_loc1, advance_loc2 */
	UNDEFINES(false, 0x03, 0x07, 0x03);		    /* advance_loc2 */
	UNDEFINES(false, 0x04, 0x07, 0x03, 0x07, 0x03);	    /* advance_loc4 */
	UNDEFINES(false, 0x1d, 7, 3, 7, 3, 7, 3, 7, 3);	    /* MIPS_advance_loc8 */
	UNDEFINES(false, 0x0e, 0xb8, 0x07, 0x03, 1, 1);	    /* def_cfa_offset 952, advance_loc2 */
	UNDEFINES(false, 0x0c, 7, 3);			    /* def_cfa */
	UNDEFINES(false, 0x0f, 4, 0x07, 3, 0x07, 3);	    /* def_cfa_expression */
	UNDEFINES(false, 0x10, 6, 2, 0x07, 3);		    /* expression */
	UNDEFINES(false, 0x16, 6, 2, 0x07, 3);		    /* val_expression */
	UNDEFINES(false, 0x05, 7, 3);			    /* offset_extended */
	UNDEFINES(false, 0x11, 7, 3);			    /* offset_extended_sf */
	UNDEFINES(false, 0x12, 7, 3);			    /* def_cfa_sf */
	UNDEFINES(false, 0x14, 7, 3);			    /* val_offset */
	UNDEFINES(false, 0x15, 7, 3);			    /* val_offset_sf */
	UNDEFINES(false, 0x09, 7, 3);			    /* register */
	UNDEFINES(false, 0x2f, 7, 3);			    /* GNU_negative_offset_extended */
	UNDEFINES(false, 0x06, 7, 0x08, 3);		    /* restore_extended, same_value */
	UNDEFINES(false, 0x13, 7, 0x2e, 3);		    /* def_cfa_offset_sf, GNU_args_size */
	UNDEFINES(false, 0x0d, 7, 0x08, 3);		    /* def_cfa_register */
	UNDEFINES(false, 0x83, 7, 0x08, 3);		    /* offset of rbx */
	UNDEFINES(false, 0xc3, 0x47, 0x0a, 0x0b, 0x08, 3);  /* restore, advance_loc, remember, restore state */
}

Test(instructions, unreadable)
{
	UNDEFINES(true, 0x3f);
	UNDEFINES(true, 0x01, 0, 0, 0, 0, 0, 0, 0, 0); /* set_loc */
	UNDEFINES(true, 0x0e);
	UNDEFINES(true, 0x0e, 0x80);
	UNDEFINES(true, 0x0f, 9, 1, 2);
	UNDEFINES(true, 0x04, 1, 2, 3);
	HARMLESS(true, 0x3f);
}

Test(instructions, harm)
{
	uint8_t many[600];

	HARMLESS(true, 0x08, 125);
	HARMLESS(false, 0x08, 0x80, 0x01);
	HARMLESS(false, 0x05, 0xff, 0xff, 0xff, 0xff, 0x0f, 1);
	HARMLESS(false, 0x09, 1, 0xff, 0xff, 0xff, 0x0f);
	HARMLESS(true, 0x0e, 0xff, 0xff, 0xff, 0xff, 0x0f); /* an offset may be large */
	memset(many, 0x0a, sizeof(many));
	cr_assert_not(instructions_scan(many, sizeof(many)).is_harmless);
	for (size_t i = 1; i < sizeof(many); i += 2)
		many[i] = 0x0b;
	cr_assert(instructions_scan(many, sizeof(many)).is_harmless);
}
