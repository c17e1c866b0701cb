/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The names by which waits and other points of a process find an op. */
#include "assemble/state.h"

/* Both of the key in a->text. put: 0, -ENOMEM; the key is the last op's that took it. find: 0 if it is nobody's. */
int assemble_key_put(struct assemble *a, uint32_t process, uint32_t op);
uint32_t assemble_key_find(const struct assemble *a, uint32_t process);
