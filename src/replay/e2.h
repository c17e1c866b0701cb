/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * E2: a simulation of one scenario, event by event. Private to replay/.
 *
 * Locks go to whoever comes: who is woken for one needs his latency until he
 * takes it, and may find it taken. CPUs are shared equally among those who may
 * use them and are ready. Tokens are as in E1.
 */
#include "replay/e1.h"

struct e2_result {
	int64_t makespan_ns; /* -1: it came to a stand where the recording did not, more often than could be helped */
	uint64_t forced_n;   /* waits that nothing would have ended */
};

/* times, begins: NULL, or by point: behind it, and by strand: when it began; NaN if that was not reached. 0, -ENOMEM. */
int e2_run(const struct replay *r, const struct weights *w, double *times, double *begins, struct e2_result *ret);
