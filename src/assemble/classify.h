/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Why the intervals of a row waited, and for what kind of thing. */
#include "assemble/state.h"

/* Sets a row's reason and kind, by its call, state, resource and stacks, which have names by now. 0, -ENOMEM. */
int assemble_row_classify(struct assemble *a, uint32_t row);
