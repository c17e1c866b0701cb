/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Sections of an ELF file by name. */
#include <gelf.h>

/* The first section of that name that has contents in the file, and its header. NULL: none. */
Elf_Scn *sections_find(Elf *elf, const char *name, GElf_Shdr *ret);
