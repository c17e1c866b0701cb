/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Lengths only, from the opcode maps of the Intel manual (volume 2, appendix
 * A; VEX and EVEX: chapter 2). Of the operands nothing matters but the two
 * forms that name code: relative branches, and lea from the instruction
 * pointer. Looking for their bytes without knowing where instructions begin
 * would take constants for branches and could not see the short ones at all.
 */
#include "objfile/x86.h"

#include <errno.h>
#include <stdbool.h>

#include "util/bytes.h"

#define LEN_MAX 15

/* What follows an opcode. */
enum {
	M = 1,	    /* ModRM, with what belongs to it */
	I8 = 2,
	I16 = 4,
	IZ = 8,	    /* 4 bytes, 2 with an operand size prefix */
	REL8 = 16,
	REL32 = 32,
	BAD = 64,
	OTHER = 128, /* by hand */
};

#define EIGHT(x) x, x, x, x, x, x, x, x
#define ALU M, M, M, M, I8, IZ, BAD, BAD

static const uint8_t one_byte[256] = {
	ALU, ALU, ALU, ALU, ALU, ALU, ALU, ALU,
	/* 40 */ EIGHT(BAD), EIGHT(BAD), EIGHT(0), EIGHT(0),
	/* 60 */ BAD, BAD, BAD, M, BAD, BAD, BAD, BAD, IZ, M | IZ, I8, M | I8, 0, 0, 0, 0,
	/* 70 */ EIGHT(REL8), EIGHT(REL8),
	/* 80 */ M | I8, M | IZ, BAD, M | I8, M, M, M, M, EIGHT(M),
	/* 90 */ EIGHT(0), 0, 0, BAD, 0, 0, 0, 0, 0,
	/* a0 */ OTHER, OTHER, OTHER, OTHER, 0, 0, 0, 0, I8, IZ, 0, 0, 0, 0, 0, 0,
	/* b0 */ EIGHT(I8), EIGHT(OTHER),
	/* c0 */ M | I8, M | I8, I16, 0, BAD, BAD, M | I8, M | IZ, I8 | I16, 0, I16, 0, 0, I8, BAD, 0,
	/* d0 */ M, M, M, M, BAD, BAD, BAD, 0, EIGHT(M),
	/* e0 */ REL8, REL8, REL8, REL8, I8, I8, I8, I8, REL32, REL32, BAD, REL8, 0, 0, 0, 0,
	/* f0 */ BAD, 0, BAD, BAD, 0, 0, OTHER, OTHER, 0, 0, 0, 0, 0, 0, M, M,
};

static const uint8_t two_byte[256] = {
	/* 00 */ M, M, M, M, BAD, 0, 0, 0, 0, 0, BAD, 0, BAD, M, 0, M | I8, EIGHT(M), EIGHT(M),
	/* 20 */ M, M, M, M, BAD, BAD, BAD, BAD, EIGHT(M),
	/* 30 */ 0, 0, 0, 0, 0, 0, BAD, 0, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD,
	/* 40 */ EIGHT(M), EIGHT(M), EIGHT(M), EIGHT(M), EIGHT(M), EIGHT(M),
	/* 70 */ M | I8, M | I8, M | I8, M | I8, M, M, M, 0, EIGHT(M),
	/* 80 */ EIGHT(REL32), EIGHT(REL32), EIGHT(M), EIGHT(M),
	/* a0 */ 0, 0, 0, M, M | I8, M, BAD, BAD, 0, 0, 0, M, M | I8, M, M, M,
	/* b0 */ EIGHT(M), M, M, M | I8, M, M, M, M, M,
	/* c0 */ M, M, M | I8, M, M | I8, M | I8, M | I8, M, EIGHT(0),
	/* d0 */ EIGHT(M), EIGHT(M), EIGHT(M), EIGHT(M), EIGHT(M), EIGHT(M),
};

struct prefixes {
	bool operand_16, address_32, wide; /* 66, 67, REX.W */
};

static bool read_prefix(uint8_t byte, struct prefixes *p)
{
	switch (byte) {
	case 0x66:
		p->operand_16 = true;
		return true;
	case 0x67:
		p->address_32 = true;
		return true;
	case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65: case 0xf0: case 0xf2: case 0xf3:
		return true;
	}
	return false;
}

/* *ret_modrm as it is; *ret_displacement only if it is relative to the instruction pointer, else 0. */
static int read_modrm(struct bytes *b, uint8_t *ret_modrm, int32_t *ret_displacement)
{
	uint8_t modrm, sib = 0;
	uint32_t displacement = 0;
	bool relative;
	int err = bytes_u8(b, &modrm);

	if (err)
		return err;
	*ret_modrm = modrm;
	*ret_displacement = 0;
	if (modrm >> 6 == 3)
		return 0;
	relative = (modrm & 0xc7) == 5;
	if ((modrm & 7) == 4)
		err = bytes_u8(b, &sib);
	if (!err && modrm >> 6 == 1)
		err = bytes_skip(b, 1);
	else if (!err && (modrm >> 6 == 2 || relative || (modrm >> 6 == 0 && (modrm & 7) == 4 && (sib & 7) == 5)))
		err = bytes_u32(b, &displacement);
	if (!err && relative)
		*ret_displacement = (int32_t)displacement;
	return err;
}

static int read_relative(struct bytes *b, uint8_t form, struct x86_insn *insn)
{
	uint32_t far = 0;
	uint8_t near = 0;
	int err = form & REL8 ? bytes_u8(b, &near) : bytes_u32(b, &far);

	insn->sort = X86_BRANCH;
	insn->target = form & REL8 ? (int8_t)near : (int32_t)far;
	return err;
}

static size_t immediate_len(uint8_t form, const struct prefixes *p)
{
	size_t n = 0;

	if (form & I8)
		n += 1;
	if (form & I16)
		n += 2;
	if (form & IZ)
		n += p->operand_16 && !p->wide ? 2 : 4;
	return n;
}

/* The opcodes whose length depends on more than themselves. */
static size_t odd_immediate_len(uint8_t opcode, uint8_t modrm, const struct prefixes *p)
{
	if (opcode >= 0xa0 && opcode <= 0xa3)
		return p->address_32 ? 4 : 8;
	if (opcode >= 0xb8 && opcode <= 0xbf)
		return p->wide ? 8 : immediate_len(IZ, p);
	if (modrm & 0x30) /* f6, f7: only test has an immediate */
		return 0;
	return opcode == 0xf6 ? 1 : immediate_len(IZ, p);
}

/* XOP is told from pop by what would be a register number: its maps begin at 8. */
static bool is_vector_prefix(uint8_t opcode, const struct bytes *b)
{
	return opcode == 0xc4 || opcode == 0xc5 || opcode == 0x62 ||
	       (opcode == 0x8f && bytes_left(b) && (b->data[b->at] & 0x1f) >= 8);
}

/*
 * After a VEX, EVEX or (AMD) XOP prefix: opcode map 1 is two_byte without
 * branches, maps 3 and 8 have an immediate always, map 10 one of 4 bytes.
 */
static int read_vector(struct bytes *b, uint8_t prefix)
{
	uint8_t first, map = 1, opcode, modrm, form = M;
	int32_t displacement;
	int err = bytes_u8(b, &first);

	if (!err && (prefix == 0xc4 || prefix == 0x8f))
		err = bytes_skip(b, 1);
	else if (!err && prefix == 0x62)
		err = bytes_skip(b, 2);
	if (prefix != 0xc5)
		map = first & (prefix == 0x62 ? 7 : 0x1f);
	if (!err)
		err = bytes_u8(b, &opcode);
	if (err)
		return err;
	if (map == 1)
		form = two_byte[opcode] & (M | I8);
	if (map == 3 || map == 8)
		form |= I8;
	if (map == 10)
		form |= IZ;
	if (form & M)
		err = read_modrm(b, &modrm, &displacement);
	return err ? err : bytes_skip(b, immediate_len(form, &(struct prefixes){ 0 }));
}

/* The form of an opcode after 0f; *opcode becomes its last byte. */
static int read_two_byte(struct bytes *b, uint8_t *opcode, uint8_t *ret_form)
{
	int err = bytes_u8(b, opcode);
	uint8_t escape = *opcode;

	if (!err && (escape == 0x38 || escape == 0x3a))
		err = bytes_u8(b, opcode);
	if (!err)
		*ret_form = escape == 0x38 ? M : escape == 0x3a ? M | I8 : two_byte[escape];
	return err;
}

static int read_operands(struct bytes *b, uint8_t opcode, uint8_t form, bool is_one_byte, const struct prefixes *p,
			 struct x86_insn *insn)
{
	int32_t displacement = 0;
	uint8_t modrm = 0;
	int err = 0;

	if (form == BAD)
		return -EBADMSG;
	if (form & M || (form == OTHER && opcode >= 0xf6))
		err = read_modrm(b, &modrm, &displacement);
	if (!err && form & (REL8 | REL32))
		return read_relative(b, form, insn);
	if (!err && is_one_byte && opcode == 0x8d && (modrm & 0xc7) == 5) {
		insn->sort = X86_ADDRESS;
		insn->target = displacement;
	}
	if (err)
		return err;
	return bytes_skip(b, form == OTHER ? odd_immediate_len(opcode, modrm, p) : immediate_len(form, p));
}

int x86_decode(const uint8_t *code, size_t n, struct x86_insn *ret)
{
	struct bytes b = bytes_init(code, n < LEN_MAX ? n : LEN_MAX);
	struct x86_insn insn = { 0 };
	struct prefixes p = { 0 };
	bool is_one_byte = true;
	uint8_t opcode, form;
	int err;

	do
		err = bytes_u8(&b, &opcode);
	while (!err && read_prefix(opcode, &p));
	if (!err && (opcode & 0xf0) == 0x40) {
		p.wide = opcode & 8;
		err = bytes_u8(&b, &opcode);
	}
	if (err)
		return err;
	if (is_vector_prefix(opcode, &b)) {
		err = read_vector(&b, opcode);
	} else {
		form = one_byte[opcode];
		is_one_byte = opcode != 0x0f;
		if (!is_one_byte)
			err = read_two_byte(&b, &opcode, &form);
		if (!err)
			err = read_operands(&b, opcode, form, is_one_byte, &p, &insn);
	}
	if (err)
		return err;
	insn.len = (uint32_t)b.at;
	if (insn.sort != X86_OTHER)
		insn.target += insn.len;
	*ret = insn;
	return 0;
}
