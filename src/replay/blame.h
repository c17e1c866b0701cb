/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Who held up which wait. Private to replay/. */
#include "replay/plan.h"
#include "util/map.h"

struct blamer {
	const struct replay *r;
	struct map *locks; /* ident -> lock */
	uint32_t *thread_of_op; /* 0: it is no thread's */
};

int blamer_init(struct blamer *b, const struct replay *r); /* 0, -ENOMEM */
void blamer_done(struct blamer *b);
/* The lock that it waited for, whose holders are known; NULL. */
const struct lock *blamer_lock(const struct blamer *b, uint32_t wait);

/* Pieces of one wait in time order, appended to *v from *n on; they lie from its start to its wake. 0, -ENOMEM. */
int blamer_split(const struct blamer *b, uint32_t wait, struct replay_piece **v, size_t *n, size_t *cap);
