/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The .debug_frame section of a file (Go programs have it instead of .eh_frame), without the rest of its debug data. */
#include <elfutils/libdw.h>

struct debug_frame;

/* Copies the section, so elf need not stay. -ENOENT: the file has none. -ENOMEM, -EBADMSG. */
int debug_frame_new(Elf *elf, struct debug_frame **ret);
struct debug_frame *debug_frame_free(struct debug_frame *d);
/* Owned by d. */
Dwarf_CFI *debug_frame_cfi(struct debug_frame *d);
/* The section's bytes, also d's. */
void debug_frame_section(const struct debug_frame *d, Elf_Data *ret);
