/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * How fast each of several groups of ready strands runs on the CPUs that it may
 * use: as equal shares as that allows (max-min fair), nobody faster than one CPU.
 * Private to replay/.
 */
#include "replay/plan.h"

enum { CPUS_GROUPS = 6, CPUS_CACHE = 256 };

struct cpus {
	size_t group_n;
	double capacity[1 << CPUS_GROUPS]; /* of each set of groups: CPUs that any of them may use; infinite: unlimited */
	double alone[CPUS_CACHE]; /* rate of so many strands, if there is but one group */
	struct {
		uint32_t counts[CPUS_GROUPS];
		double rates[CPUS_GROUPS];
		bool known;
	} cache[CPUS_CACHE];
};

/* cpu_n 0: unlimited. as_one: affinity is left out. of_group: by the replay's groups, which of ours it is. */
void cpus_init(struct cpus *c, const struct replay *r, uint32_t cpu_n, bool as_one, uint32_t *of_group);
const double *cpus_rates_share(struct cpus *c, const uint32_t *counts);

/* Rates for so many ready strands of each group; of one without any, its rate is 1. */
static inline const double *cpus_rates(struct cpus *c, const uint32_t *counts)
{
	/* Almost always all strands may use all CPUs. */
	return c->group_n == 1 && counts[0] < CPUS_CACHE ? &c->alone[counts[0]] : cpus_rates_share(c, counts);
}
