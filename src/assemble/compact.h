/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Takes out what turned out not to be wanted. */
#include "assemble/state.h"

/* Last of all: indexes of ops and waits change. 0, -ENOMEM. */
int assemble_compact(struct assemble *a);
