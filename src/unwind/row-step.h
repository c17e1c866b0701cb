/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A frame's caller by a row of the tables, as the BPF programs find it. */
#include <stdbool.h>

#include "unwind/registers.h"

/*
 * From regs to the caller's. *ret_signal: this frame is the one that the kernel
 * made for a signal handler. 1: there is a caller, else *ret_end says why not.
 */
int row_step(const struct wcbpf_rule *rule, const struct copy *copy, struct registers *regs, bool *ret_signal,
	     enum unwind_end *ret_end);
