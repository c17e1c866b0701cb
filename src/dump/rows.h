/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Rows found by what makes them one: stacks, names, syscall, state, reason. Private to dump/. */
#include "model/model.h"

struct rows {
	struct model_row *items; /* in the order of adding */
	size_t n, cap;
	uint32_t *slots; /* open addressing: index + 1, 0 is free */
	size_t slot_n;	 /* a power of two, or 0 */
};

/* The index of the row with key's identity, added with zero totals if new. 0, -ENOMEM. */
int rows_intern(struct rows *r, const struct model_row *key, uint32_t *ret);
/* Keeps the memory. */
void rows_clear(struct rows *r);
void rows_done(struct rows *r);
