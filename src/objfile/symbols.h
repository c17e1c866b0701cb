/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The function symbols of one program or library, sorted for lookups. */
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objfile/objfile.h"

struct symbols;

/*
 * Of .symtab and .dynsym of files that all describe one: itself, its debug file, its mini debug information; NULLs are
 * left out. Names are copied: the files aren't needed afterwards. A damaged table is an empty one.
 */
int symbols_new(Elf *const *elfs, size_t n, struct symbols **ret);
struct symbols *symbols_free(struct symbols *s);
/* The innermost function that covers vaddr. -ENOENT. */
int symbols_find(const struct symbols *s, uint64_t vaddr, struct objfile_symbol *ret);
/* Are there static functions among them? */
bool symbols_static_known(const struct symbols *s);
size_t symbols_bytes(const struct symbols *s);
/* Does the file have a .symtab with contents? */
bool symbols_has_symtab(Elf *elf);
