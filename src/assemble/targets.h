/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What each wait waited for, when everything is known: its target op, its ident, its lock's owner. */
#include "assemble/state.h"

/* For all waits; rows have their kinds, processes their keys. 0, -ENOMEM. */
int assemble_targets(struct assemble *a);
