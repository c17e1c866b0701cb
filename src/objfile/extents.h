/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Where functions begin and end, of those too that have no symbol: what .eh_frame says. */
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct extent {
	uint64_t start, end; /* st_value space; start < end */
	bool lands;	     /* exceptions have places in it that they make it go on at */
};

/* Sorted, without overlaps; malloc'd. None, if there is no .eh_frame or none that can be read, is no error. -ENOMEM. */
int extents_read(Elf *elf, struct extent **ret, size_t *ret_n);
