/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Recordings of any size with the shape of real ones: a server's processes and threads, the same for a seed. */
#include "model/model.h"

/* A model with about so many events. 0, -ENOMEM. */
int generate(size_t event_n, unsigned seed, struct model **ret);
