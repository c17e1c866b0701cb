/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Where an x86_64 instruction ends, and which address in the program it names. */
#include <stddef.h>
#include <stdint.h>

enum x86_sort {
	X86_OTHER,
	X86_BRANCH,  /* direct call, jump or conditional jump */
	X86_ADDRESS, /* lea of an address relative to the instruction pointer */
};

struct x86_insn {
	uint32_t len;	/* 1 to 15 */
	enum x86_sort sort;
	int64_t target; /* of those two, relative to the instruction's first byte */
};

/* The instruction at code, of which n bytes are there. -EBADMSG: none in 64-bit mode, or cut off. */
int x86_decode(const uint8_t *code, size_t n, struct x86_insn *ret);
