/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What threads did on the CPU, as the sampling timer saw it. */
#include "assemble/state.h"

/* 0, -EBADMSG, -ENOMEM. */
int assemble_sample(struct assemble *a, const struct wcbpf_sample *e);
/* Counts the samples whose stacks never came; at the end. */
void assemble_samples_finish(struct assemble *a);
