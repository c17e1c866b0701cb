/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Instructions of x86_64 as Zydis tells them, and what of them probes need to know. */
#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objfile/objfile.h"

enum insn_flow {
	FLOW_NEXT,     /* goes on behind it */
	FLOW_CALL,     /* too, when the function that it calls returns */
	FLOW_RETURN,
	FLOW_JUMP,     /* to target */
	FLOW_BRANCH,   /* to target if the condition holds */
	FLOW_INDIRECT, /* jumps to what a register or memory has */
	FLOW_END,      /* nowhere: ud2, hlt, int3 */
};

/* What is kept of each instruction of a function. */
struct insn {
	uint64_t vaddr, target; /* target: of a direct jump, branch or call, else 0 */
	uint8_t len;
	uint8_t prefix_n; /* bytes in front of the opcode that some jump past (lock) */
	uint8_t flow;	  /* enum insn_flow */
	int8_t condition; /* of a FLOW_BRANCH, 0 to 15; -1: none that is in the flags (jrcxz, loop) */
	bool reached;
	bool filler; /* nop or zeros */
};

/* With all its operands. */
struct insn_full {
	struct insn brief;
	const uint8_t *bytes;
	ZydisDecodedInstruction raw;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

/* The instruction at bytes, of which n are there. -EBADMSG: none, or cut off. */
int insn_decode(const uint8_t *bytes, size_t n, uint64_t vaddr, struct insn_full *ret);
/* General registers that it writes, bits by DWARF number; all of them for a call. */
uint32_t insn_writes(const struct insn_full *i);
/* How many bytes it takes the stack pointer down. False: it sets it in another way. */
bool insn_stack_delta(const struct insn_full *i, int32_t *ret);
/* DWARF number of the general register that r is or is part of; false: it is none. */
bool insn_register(ZydisRegister r, uint8_t *ret);
bool insn_is_endbr64(const struct insn_full *i);
/* Can the kernel put a breakpoint there, and then how does it go on? */
bool insn_can_be_probed(const struct insn_full *i);
enum objfile_step insn_step(const struct insn_full *i);
void insn_text(const struct insn_full *i, char *ret, size_t n);
