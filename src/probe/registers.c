/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Registers of x86_64 by the names that the kernel's fetch arguments use (di),
 * that assemblers use (rdi, edi, dil), to DWARF numbers (System V ABI, figure 3.36).
 */
#include <errno.h>
#include <string.h>

#include "probe/expression.h"

static const struct {
	const char *names[5]; /* the kernel's; of 8, 4, 2 bytes where the last is another word than the first; of 1 */
} registers[] = {
	{{"ax", "rax", "eax", "", "al"}},      {{"dx", "rdx", "edx", "", "dl"}},
	{{"cx", "rcx", "ecx", "", "cl"}},      {{"bx", "rbx", "ebx", "", "bl"}},
	{{"si", "rsi", "esi", "", "sil"}},     {{"di", "rdi", "edi", "", "dil"}},
	{{"bp", "rbp", "ebp", "", "bpl"}},     {{"sp", "rsp", "esp", "", "spl"}},
	{{"r8", "", "r8d", "r8w", "r8b"}},     {{"r9", "", "r9d", "r9w", "r9b"}},
	{{"r10", "", "r10d", "r10w", "r10b"}}, {{"r11", "", "r11d", "r11w", "r11b"}},
	{{"r12", "", "r12d", "r12w", "r12b"}}, {{"r13", "", "r13d", "r13w", "r13b"}},
	{{"r14", "", "r14d", "r14w", "r14b"}}, {{"r15", "", "r15d", "r15w", "r15b"}},
};
static const uint8_t part_bytes[] = {8, 8, 4, 2, 1};

int expr_register(const char *name, size_t n, uint8_t *ret, uint8_t *ret_bytes)
{
	for (size_t i = 0; n && i < sizeof(registers) / sizeof(*registers); i++)
		for (size_t k = 0; k < sizeof(part_bytes); k++)
			if (strlen(registers[i].names[k]) == n && !memcmp(registers[i].names[k], name, n)) {
				*ret = (uint8_t)i;
				*ret_bytes = part_bytes[k];
				return 0;
			}
	return -ENOENT;
}

const char *expr_register_name(uint8_t number)
{
	return number < sizeof(registers) / sizeof(*registers) ? registers[number].names[0] : NULL;
}
