/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Which strand had which CPU when. Private to replay/. */
#include "replay/draft.h"

struct stretch {
	int64_t from_ns, to_ns;
	uint32_t strand;
	uint32_t cpu; /* number */
};
struct stretches {
	struct stretch *v; /* by CPU, then time */
	int64_t *before_ns; /* n + 1: sum of lengths of those before, of any CPU */
	size_t n;
	size_t *first; /* by CPU number, cpu_n + 1 */
	size_t cpu_n;
};

/* waits and first as of struct draft. cpu_n 0: the dump doesn't say. 0, -ENOMEM. */
int stretches_make(const struct replay *r, const uint32_t *waits, const size_t *first, struct stretches *ret);
void stretches_done(struct stretches *x);
/* The first of a CPU that ends after ns; the end of the CPU's if there is none. */
size_t stretches_find(const struct stretches *x, uint32_t cpu, int64_t ns);
/* Time within [from, to] in which any strand had that CPU. */
int64_t stretches_overlap(const struct stretches *x, uint32_t cpu, int64_t from_ns, int64_t to_ns);
