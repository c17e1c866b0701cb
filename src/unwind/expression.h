/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The DWARF expressions that call frame information uses. */
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/registers.h"

struct expression_input {
	const struct registers *regs; /* of the frame that is left */
	const struct copy *copy;
	const uint64_t *cfa; /* NULL: not known yet */
};

/*
 * Evaluates ops. *ret_is_value: *ret is the value itself, else the address it
 * is stored at (for a CFA's expression that address is the CFA).
 * -EFAULT: needs memory or a register outside the copy. -EINVAL: needs a
 * register that is not known, or can't be evaluated.
 */
int expression_eval(const Dwarf_Op *ops, size_t n, const struct expression_input *in, uint64_t *ret,
		    bool *ret_is_value);
