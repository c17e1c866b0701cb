/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The points that a simulation has to stop at, close together. Private to replay/.
 * Between two of them a strand computes; most points say nothing to anybody.
 */
#include "replay/plan.h"

struct step {
	uint32_t object; /* token; of locks the lock */
	uint32_t lat_ns;
	uint32_t wait_ns; /* of DELAY */
	uint32_t point : 28; /* POINTS_MAX */
	uint32_t what : 4;   /* enum point_what */
};

/* all: every point is one. no_runqueue: nobody waits for a CPU. 0, -ENOMEM. */
int steps_make(const struct replay *r, bool all, bool no_runqueue, struct steps *ret);
void steps_done(struct steps *s);
/* What is computed before each, tags so many times as long (NULL: as recorded); ret: steps->n. */
void steps_cpu(const struct replay *r, const struct steps *s, const float *times, double *ret);
