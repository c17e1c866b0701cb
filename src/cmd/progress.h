/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The status line: one line of stderr, redrawn each second, gone at the end. */
#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"

struct progress {
	bool on;
	bool drawn;
	uint64_t drawn_ns; /* CLOCK_MONOTONIC of the last drawing */
};

/*
 * On when stderr is a terminal and nobody else writes there: without a
 * workload, or when the workload's output goes elsewhere.
 */
void progress_init(struct progress *p, bool workload);
/* True when it's time to draw again. */
bool progress_due(const struct progress *p, uint64_t now_ns);
void progress_draw(struct progress *p, const struct capture_status *status, uint64_t elapsed_ns, uint64_t now_ns);
void progress_clear(struct progress *p);
