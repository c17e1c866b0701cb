/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Expressions worked out by hand from the DWARF 5 standard, section 2.5. */
#include <criterion/criterion.h>
#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "unwind/expression.h"

#define RUN(...) run((const Dwarf_Op[]){ __VA_ARGS__ }, sizeof((const Dwarf_Op[]){ __VA_ARGS__ }) / sizeof(Dwarf_Op))
#define LIT(n) { .atom = DW_OP_lit0 + (n) }
#define CONST(n) { .atom = DW_OP_constu, .number = (uint64_t)(n) }
#define OP(name) { .atom = DW_OP_##name }

static uint64_t value;
static bool is_value;

static int run(const Dwarf_Op *ops, size_t n)
{
	static const uint8_t bytes[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 0xff };
	static const uint64_t cfa = 5000;
	const struct copy copy = { 1000, bytes, sizeof(bytes) };
	struct registers regs;
	struct expression_input in = { &regs, &copy, &cfa };

	for (size_t i = 0; i < WCBPF_REGS_MAX; i++) {
		regs.v[i] = 1000 * (i + 1);
		regs.state[i] = REG_KNOWN;
	}
	regs.state[2] = REG_UNKNOWN;
	regs.state[3] = REG_OUTSIDE;
	value = 77;
	is_value = false;
	return expression_eval(ops, n, &in, &value, &is_value);
}

#define GIVES(want, ...)                                                              \
	do {                                                                          \
		cr_assert_eq(RUN(__VA_ARGS__), 0);                                    \
		cr_assert_eq(value, (uint64_t)(want), "%lx", (unsigned long)value);   \
	} while (0)
#define FAILS(err, ...)                                                               \
	do {                                                                          \
		cr_assert_eq(RUN(__VA_ARGS__), err);                                  \
		cr_assert_eq(value, 77);                                              \
	} while (0)

Test(expression, arithmetic)
{
	GIVES(31, LIT(31));
	GIVES(7, CONST(3), LIT(4), OP(plus));
	GIVES(-1, LIT(3), LIT(4), OP(minus));
	GIVES(12, LIT(3), LIT(4), OP(mul));
	GIVES(-3, CONST(-7), LIT(2), OP(div));
	GIVES(1, CONST(7), LIT(2), OP(mod));
	GIVES(0xf0, CONST(0xff), CONST(0xf), OP(xor));
	GIVES(3, CONST(7), LIT(3), OP(and));
	GIVES(15, LIT(7), LIT(8), OP(or));
	GIVES(48, LIT(3), LIT(4), OP(shl));
	GIVES(0, LIT(3), CONST(64), OP(shl));
	GIVES(1ull << 60, CONST(1ull << 63), LIT(3), OP(shr));
	GIVES(-1, CONST(1ull << 63), CONST(99), OP(shra));
	GIVES(5, CONST(-5), OP(abs));
	GIVES(-5, LIT(5), OP(neg));
	GIVES(~5ull, LIT(5), OP(not));
	GIVES(105, LIT(5), { .atom = DW_OP_plus_uconst, .number = 100 });
	/* Comparisons are signed. */
	GIVES(1, CONST(-1), LIT(0), OP(lt));
	GIVES(0, CONST(-1), LIT(0), OP(ge));
	GIVES(1, LIT(4), LIT(4), OP(le));
	GIVES(1, LIT(4), LIT(4), OP(eq));
	GIVES(0, LIT(4), LIT(4), OP(ne));
	GIVES(1, LIT(5), LIT(4), OP(gt));
}

Test(expression, stack)
{
	GIVES(10, LIT(5), OP(dup), OP(plus));
	GIVES(3, LIT(3), LIT(9), OP(drop));
	GIVES(3, LIT(3), LIT(9), OP(over));
	GIVES(6, LIT(3), LIT(9), OP(swap), OP(minus));
	GIVES(1, LIT(1), LIT(2), LIT(3), { .atom = DW_OP_pick, .number = 2 });
	/* 1 2 3 becomes 3 1 2. */
	GIVES(2, LIT(1), LIT(2), LIT(3), OP(rot));
	GIVES(1, LIT(1), LIT(2), LIT(3), OP(rot), OP(drop));
	GIVES(3, LIT(1), LIT(2), LIT(3), OP(rot), OP(drop), OP(drop));
	GIVES(4, LIT(4), OP(nop));
}

Test(expression, registers_and_memory)
{
	GIVES(992, { .atom = DW_OP_breg0, .number = (uint64_t)-8 });
	GIVES(17008, { .atom = DW_OP_bregx, .number = 16, .number2 = 8 });
	GIVES(5000, OP(call_frame_cfa));
	cr_assert_not(is_value);
	GIVES(0x0807060504030201, CONST(1000), OP(deref));
	GIVES(0x0403, CONST(1002), { .atom = DW_OP_deref_size, .number = 2 });
	GIVES(0xff, CONST(1008), { .atom = DW_OP_deref_size, .number = 1 });
	GIVES(8000, { .atom = DW_OP_reg7 });
	cr_assert(is_value);
	GIVES(4, LIT(4), OP(stack_value));
	cr_assert(is_value);
	FAILS(-EFAULT, CONST(999), OP(deref));
	FAILS(-EFAULT, CONST(1009), OP(deref));
	FAILS(-EFAULT, CONST(-1), OP(deref));
	FAILS(-EFAULT, { .atom = DW_OP_breg3 });
	FAILS(-EFAULT, { .atom = DW_OP_reg3 });
	FAILS(-EINVAL, { .atom = DW_OP_breg2 });
	FAILS(-EINVAL, { .atom = DW_OP_bregx, .number = 17 });
	FAILS(-EINVAL, { .atom = DW_OP_regx, .number = 1ull << 63 });
	FAILS(-EINVAL, CONST(1000), { .atom = DW_OP_deref_size, .number = 9 });
}

/* Offsets are those of the encoding: lit is 1 byte, bra and skip are 3. */
Test(expression, jumps)
{
	GIVES(7, { .atom = DW_OP_lit1, .offset = 0 }, { .atom = DW_OP_bra, .number = 3, .offset = 1 },
	      { .atom = DW_OP_lit5, .offset = 4 }, { .atom = DW_OP_skip, .number = 1, .offset = 5 },
	      { .atom = DW_OP_lit7, .offset = 7 }, { .atom = DW_OP_nop, .offset = 9 });
	GIVES(5, { .atom = DW_OP_lit0, .offset = 0 }, { .atom = DW_OP_bra, .number = 4, .offset = 1 },
	      { .atom = DW_OP_lit5, .offset = 4 }, { .atom = DW_OP_skip, .number = 1, .offset = 5 },
	      { .atom = DW_OP_lit7, .offset = 8 }, { .atom = DW_OP_nop, .offset = 9 });
	/* Round and round. */
	FAILS(-EINVAL, { .atom = DW_OP_lit0, .offset = 0 }, { .atom = DW_OP_skip, .number = (uint64_t)-3, .offset = 1 });
	FAILS(-EINVAL, { .atom = DW_OP_lit0, .offset = 0 }, { .atom = DW_OP_skip, .number = 1, .offset = 1 });
	FAILS(-EINVAL, { .atom = DW_OP_bra, .number = 0, .offset = 0 });
}

/* As linkers write it for the PLT: CFA = rsp + 8 + ((rip & 15) >= 11) * 8. */
Test(expression, plt)
{
	GIVES(8008, { .atom = DW_OP_breg7, .number = 8 }, { .atom = DW_OP_breg16, .number = 0 }, LIT(15), OP(and), LIT(11),
	      OP(ge), LIT(3), OP(shl), OP(plus));
	GIVES(8016, { .atom = DW_OP_breg7, .number = 8 }, { .atom = DW_OP_breg16, .number = 3 }, LIT(15), OP(and), LIT(11),
	      OP(ge), LIT(3), OP(shl), OP(plus));
}

Test(expression, bad_ones)
{
	Dwarf_Op many[100];

	FAILS(-EINVAL, OP(plus));
	FAILS(-EINVAL, LIT(1), OP(plus));
	FAILS(-EINVAL, OP(deref));
	FAILS(-EINVAL, OP(drop));
	FAILS(-EINVAL, LIT(1), OP(drop));
	FAILS(-EINVAL, LIT(1), LIT(2), OP(rot));
	FAILS(-EINVAL, LIT(1), { .atom = DW_OP_pick, .number = 1 });
	FAILS(-EINVAL, LIT(1), LIT(0), OP(div));
	FAILS(-EINVAL, LIT(1), LIT(0), OP(mod));
	FAILS(-EINVAL, CONST(INT64_MIN), CONST(-1), OP(div));
	FAILS(-EINVAL, LIT(1), OP(fbreg));
	FAILS(-EINVAL, LIT(1), { .atom = 0xff });
	memset(many, 0, sizeof(many));
	for (size_t i = 0; i < 100; i++)
		many[i].atom = DW_OP_lit1;
	cr_assert_eq(run(many, 64), 0);
	cr_assert_eq(run(many, 65), -EINVAL);
	cr_assert_eq(run(many, 0), -EINVAL);
}
