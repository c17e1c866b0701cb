/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A world, what was seen of it, and what the engines make of that. */
#include "twin.h"

struct rig {
	struct world w;
	struct model *m;
	struct replay *r;
	int64_t makespan_ns;
};

/* Runs w (which is the rig's from then on) and compiles what was seen. */
void rig_start(struct rig *x, const struct world *w);
void rig_stop(struct rig *x);
/* What-if of a function's time x factor. */
struct replay_outcome rig_ask(const struct rig *x, char function, double factor);
/* How long the world really takes then. */
int64_t rig_truth(const struct rig *x, char function, double factor);
/* A number of [low, high], the same each time for a seed. */
int64_t rig_pick(unsigned *seed, int64_t low, int64_t high);

#define US 1000ll
#define MS 1000000ll
