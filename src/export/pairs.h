/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Dense numbers, from 1 on, for pairs of numbers: equal pairs have one. Longer
 * keys are pairs of such numbers, so no key is ever compared by a hash alone.
 * Private to export/.
 */
#include <stdint.h>

#include "util/map.h"

struct pairs {
	struct map *numbers; /* made by the first call */
	uint32_t n;
};

void pairs_done(struct pairs *p);
/* The number of (a, b); *ret_new (may be NULL) tells whether it is new. 0, -ENOMEM. */
int pairs_intern(struct pairs *p, uint32_t a, uint32_t b, uint32_t *ret, bool *ret_new);
