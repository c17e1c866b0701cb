/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Rows: which one an interval belongs to, and the facts of its call that tell what it waited for. */
#include "assemble/state.h"

/* What an interval of that thread, whose name is the interval's by now, is to be counted with. 0, -ENOMEM. */
int assemble_row_key(struct assemble *a, uint32_t thread, const struct wcbpf_interval *e, struct row_key *ret,
		     uint32_t *ret_resource, uint32_t *ret_ident);
/* The row of that key, made if need be; resource: one of its resources, 0: none. 0, -ENOMEM. */
int assemble_row_index(struct assemble *a, const struct row_key *key, uint32_t resource, uint32_t *ret);

/* The value that the interval's call expected in its futex. False: it is no such call, or not known. */
bool assemble_futex_val(const struct wcbpf_interval *e, uint32_t *ret);
