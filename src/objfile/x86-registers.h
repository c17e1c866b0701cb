/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* x86_64's general registers by their DWARF numbers (System V ABI, figure 3.36). */
#include <stdint.h>

enum x86_register {
	X86_RAX, X86_RDX, X86_RCX, X86_RBX, X86_RSI, X86_RDI, X86_RBP, X86_RSP,
	X86_R8, X86_R9, X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15,
	X86_RIP,
};
#define X86_REGISTER_N 16 /* of general ones */

/* By a name without %, of any width ("rax", "ax", "r8d", "al"); not of the second byte ("ah"). -ENOENT. */
int x86_register_number(const char *name, uint8_t *ret);
/* "rax"; NULL: none of them. */
const char *x86_register_name(uint8_t number);
