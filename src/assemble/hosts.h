/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Executions of processes under an op that hosts them: what the kernel sees of them, as phases below it. */
#include "assemble/state.h"

/* The op hosts what is started inside. 0, -ENOMEM. */
int assemble_host_begin(struct assemble *a, uint32_t op);
/* A process was forked by a strand that was at from_op (0: at nothing). 0, -ENOMEM. */
int assemble_host_fork(struct assemble *a, uint32_t process, uint32_t from_op, uint64_t time_ns);
int assemble_host_exec(struct assemble *a, uint32_t process, const struct wcbpf_exec *e);
/* Makes the phases; not over: of those executions that have ended. 0, -ENOMEM. */
int assemble_hosts_finish(struct assemble *a, bool over);
/* What was flushed takes its phases with it: they were in that dump. */
void assemble_hosts_flush(struct assemble *a);
/* Marks the ops that are referred to. */
void assemble_hosts_mark(const struct assemble *a);
void assemble_hosts_free(struct assemble *a);
