/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Parts of a register stand for it: who reads fewer bytes of it reads that part. */
#include "objfile/x86-registers.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static const char *const names[X86_REGISTER_N][4] = {
	{ "rax", "eax", "ax", "al" },	  { "rdx", "edx", "dx", "dl" },	    { "rcx", "ecx", "cx", "cl" },
	{ "rbx", "ebx", "bx", "bl" },	  { "rsi", "esi", "si", "sil" },    { "rdi", "edi", "di", "dil" },
	{ "rbp", "ebp", "bp", "bpl" },	  { "rsp", "esp", "sp", "spl" },    { "r8", "r8d", "r8w", "r8b" },
	{ "r9", "r9d", "r9w", "r9b" },	  { "r10", "r10d", "r10w", "r10b" }, { "r11", "r11d", "r11w", "r11b" },
	{ "r12", "r12d", "r12w", "r12b" }, { "r13", "r13d", "r13w", "r13b" }, { "r14", "r14d", "r14w", "r14b" },
	{ "r15", "r15d", "r15w", "r15b" },
};

int x86_register_number(const char *name, uint8_t *ret)
{
	for (uint8_t i = 0; i < X86_REGISTER_N; i++) {
		for (size_t k = 0; k < 4; k++) {
			if (!strcmp(names[i][k], name)) {
				*ret = i;
				return 0;
			}
		}
	}
	return -ENOENT;
}

const char *x86_register_name(uint8_t number)
{
	return number < X86_REGISTER_N ? names[number][0] : NULL;
}
