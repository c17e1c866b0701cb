/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Intervals -> waits and row totals. */
#include "assemble/state.h"

/* 0, -ENOMEM, -EBADMSG (no thread). What can't be used is counted. */
int assemble_interval(struct assemble *a, const struct wcbpf_interval *e);
/* A futex call of that thread returned. 0, -ENOMEM. */
int assemble_futex_result(struct assemble *a, const struct wcbpf_futex_result *e);
/* Moves a thread's pending wait into the model, if there is one and place for it. 0, -ENOMEM. */
int assemble_wait_flush(struct assemble *a, uint32_t thread);
/* The thread died at time_ns, killed with its process: if that cut its last wait short, says so in the wait. */
void assemble_wait_killed(struct assemble *a, uint32_t thread, uint64_t time_ns);
