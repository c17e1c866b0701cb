/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The rules of wcprof's analyzer as one reads them: an op is worked through when its end is asked for. Recursive, slow. */
#include "model/model.h"

/* Makespan in ns with the own time of ops of one class (a string, 0: none) x factor. */
double wcprof_twin(const struct model *m, uint32_t class_id, double factor);
