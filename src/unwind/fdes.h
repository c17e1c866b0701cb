/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Which code a section of call frame information speaks of. */
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/cleanup.h"

/* The entry (frame description entry) of one stretch of code, [start, end). */
struct fde {
	uint64_t start, end;
	uint32_t index;	   /* in the section */
	uint32_t bytes;	   /* of its instructions, which each look-up runs */
	bool bx_undefined; /* it says that rbx is lost, somewhere */
	bool is_harmful;   /* not to be run: libdw would take huge memory */
};

struct fdes {
	struct fde *v; /* by start, then index; they may overlap */
	size_t n;
};

/* What libdw is asked about, and the same bytes. */
struct fdes_section {
	const unsigned char *ident; /* of the ELF file */
	Elf_Data data;
	uint64_t vaddr;
	bool is_eh; /* .eh_frame, not .debug_frame */
};

/* Those before the section's end mark, or damage that hides where the next one is. 0 (perhaps none), -ENOMEM. */
int fdes_read(const struct fdes_section *s, struct fdes **ret);
struct fdes *fdes_free(struct fdes *f);
DEFINE_CLEANUP(struct fdes *, fdes_free)
