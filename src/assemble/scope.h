/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* --only: which work is recorded. */
#include "assemble/strand.h"

enum scope_verdict { SCOPE_NO, SCOPE_YES, SCOPE_LATER };

/* Of assemble_options.only. 0, -EINVAL (no such kind, or no class), -ENOMEM. */
int assemble_scope_new(const char *only, struct scope **ret);
struct scope *assemble_scope_free(struct scope *s);

/* Does an op that this point begins match? LATER: its class or names come with its exit. 0, -ENOMEM. */
int assemble_scope_ask(struct assemble *a, const struct point *p, const struct hit_values *v, enum scope_verdict *ret);
/* Does the op, which has its names? */
bool assemble_scope_has(const struct assemble *a, uint32_t op);

/* Is what happens on the strand now recorded? s NULL: nothing is open on it, thread tells whose it is. */
bool assemble_in_scope(const struct assemble *a, const struct strand *s, uint32_t thread);
