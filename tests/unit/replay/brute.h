/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Longest path over a model's waits and wakes, by relaxing every edge until nothing changes. */
#include "model/model.h"

/* When a thread ends, delays with that user stack x factor; stack 0: none. */
double brute_end(const struct model *m, uint32_t thread, uint32_t stack, double factor);
/* The same if all that was given up lasted as long as it might, whoever ended meanwhile. */
double brute_end_of_limits(const struct model *m, uint32_t thread, uint32_t stack, double factor);
