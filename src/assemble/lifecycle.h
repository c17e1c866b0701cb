/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Fork, exec, exit and totals events -> processes, threads, ops and links. All give 0, -ENOMEM or -EBADMSG. */
#include "assemble/state.h"

int assemble_fork(struct assemble *a, const struct wcbpf_fork *e);
int assemble_exec(struct assemble *a, const struct wcbpf_exec *e);
int assemble_exit(struct assemble *a, const struct wcbpf_exit *e);
int assemble_totals(struct assemble *a, const struct wcbpf_thread_totals *e);
