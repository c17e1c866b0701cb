/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The function symbols of one ELF file, sorted for lookups. */
#include <gelf.h>
#include <stdint.h>

#include "objfile/objfile.h"

struct symbols;

/* Of .symtab and .dynsym. Names stay in the Elf's own data, so elf must outlive it. A damaged table is an empty one. */
int symbols_new(Elf *elf, struct symbols **ret);
struct symbols *symbols_free(struct symbols *s);
/* The innermost function that covers vaddr. -ENOENT. */
int symbols_find(const struct symbols *s, uint64_t vaddr, struct objfile_symbol *ret);
