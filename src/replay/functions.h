/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Which functions a tag's time lies below. Private to replay/.
 *
 * A delay: all of its stack. Computing: those of its samples by their share; a tag with too few of them has those
 * of its op on threads of its name, or of all threads of its name.
 */
#include "replay/emit.h"

struct function {
	uint32_t module, name_id;
};
struct functions {
	struct function *v;
	size_t n, cap;
	struct map *index; /* module << 32 | name -> v */
};

/* One function's share of a tag. */
struct function_share {
	uint32_t function, tag;
	float share;
};
struct function_shares {
	struct function_share *v;
	size_t n, cap;
};

/* Sorts the hits. 0, -ENOMEM. */
int functions_share(struct replay *r, struct emit_samples *samples, struct functions *f, struct function_shares *ret);
void replay_functions_done(struct functions *f);
