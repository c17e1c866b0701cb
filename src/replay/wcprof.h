/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The rules of the analyzer that the dump's format comes from, for comparison. Private to replay/.
 *
 * - A wait for an op that is known ends when that op does. A wait for anything else, locks too, keeps its length.
 * - A wait whose time ran out, or that was cancelled, counts for nothing.
 * - CPUs are unlimited, and time in the run queue is the op's own time.
 * - Whatever was started and has ended is waited for at the end.
 */
#include "replay/plan.h"

/* The makespan of a scenario, -1: it is of a sort that those rules don't know. 0, -ENOMEM, -EINVAL. */
int wcprof_run(const struct replay *r, const struct replay_scenario *s, int64_t *ret);
