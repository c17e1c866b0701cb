/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What wakers were at when they woke, and which of those ops their waits were for. */
#include "assemble/state.h"

/* At the end, when waits and ops have their last times. 0, -ENOMEM. */
int assemble_wakers_finish(struct assemble *a);
