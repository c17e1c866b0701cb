/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Stacks that read the same are the same. Private to analyze/. */
#include "model/model.h"

/*
 * For each stack the first one with the same frames by name (by file and
 * address where there is no name); 0 for those without frames. ret is malloc'd. 0, -ENOMEM.
 */
int stacks_fold(const struct model *m, uint32_t **ret);
