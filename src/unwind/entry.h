/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Where a program, or the dynamic linker, begins: code that nobody has called. */
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

/* The first instructions there often come without rules: this many bytes at most. */
#define ENTRY_BYTES_MAX 128

/*
 * False for a library: linkers give some an entry point too, the start of their
 * code, which is a function like others.
 */
bool entry_find(Elf *elf, uint64_t *ret_vaddr);
