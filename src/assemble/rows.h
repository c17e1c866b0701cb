/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Rows: which one an interval belongs to, and the facts of its call that tell what it waited for. */
#include "assemble/state.h"

/* Row and ident of an interval of that thread, whose name is the interval's by now. 0, -ENOMEM. */
int assemble_row_of(struct assemble *a, uint32_t thread, const struct wcbpf_interval *e, uint32_t *ret_row,
		    uint32_t *ret_ident);

/* The value that the interval's call expected in its futex. False: it is no such call, or not known. */
bool assemble_futex_val(const struct wcbpf_interval *e, uint32_t *ret);
