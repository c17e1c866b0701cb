/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "replay/cpus.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(const uint64_t *mask)
{
	uint32_t n = 0;

	for (size_t i = 0; i < CPU_NUMBERS / 64; i++)
		n += (uint32_t)__builtin_popcountll(mask[i]);
	return n;
}

static double capacity_of(const struct cpu_group *const *groups, size_t n, size_t set, uint32_t cpu_n)
{
	uint64_t mask[CPU_NUMBERS / 64] = { 0 };
	double bound;

	for (size_t g = 0; g < n; g++) {
		if (!(set >> g & 1))
			continue;
		if (groups[g]->any)
			return cpu_n ? (double)cpu_n : INFINITY;
		for (size_t i = 0; i < CPU_NUMBERS / 64; i++)
			mask[i] |= groups[g]->mask[i];
	}
	bound = (double)bits_of(mask);
	return cpu_n && bound > (double)cpu_n ? (double)cpu_n : bound;
}

static double alone(const struct cpus *c, uint32_t n)
{
	return (double)n > c->capacity[1] ? c->capacity[1] / (double)n : 1;
}

void cpus_init(struct cpus *c, const struct replay *r, uint32_t cpu_n, bool as_one, uint32_t *of_group)
{
	static const struct cpu_group all = { .any = true };
	const struct cpu_group *groups[CPUS_GROUPS] = { &all };

	memset(c, 0, sizeof(*c));
	c->group_n = 1;
	for (size_t i = 0; i < r->group_n; i++) {
		of_group[i] = 0;
		/* More sets of CPUs than these are rare; the strands of the rest may use all. */
		if (as_one || r->groups[i].any || c->group_n == CPUS_GROUPS)
			continue;
		of_group[i] = (uint32_t)c->group_n;
		groups[c->group_n++] = &r->groups[i];
	}
	for (size_t set = 1; set < (size_t)1 << c->group_n; set++)
		c->capacity[set] = capacity_of(groups, c->group_n, set, cpu_n);
	for (uint32_t n = 0; n < CPUS_CACHE; n++)
		c->alone[n] = alone(c, n);
}

/* The set of groups that first has no more to share out when all that are not settled get more alike; and how much each has then. */
static double tightest(const struct cpus *c, const uint32_t *counts, const double *rates, unsigned settled, size_t *ret)
{
	double least = INFINITY;

	for (size_t set = 1; set < (size_t)1 << c->group_n; set++) {
		double left = c->capacity[set], sharers = 0;

		for (size_t g = 0; g < c->group_n; g++) {
			if (!(set >> g & 1))
				continue;
			if (settled >> g & 1)
				left -= rates[g] * counts[g];
			else
				sharers += counts[g];
		}
		if (sharers > 0 && left / sharers < least) {
			least = left / sharers;
			*ret = set;
		}
	}
	return least;
}

static void rates_find(const struct cpus *c, const uint32_t *counts, double *rates)
{
	unsigned settled = 0, all = (1u << c->group_n) - 1;

	for (size_t g = 0; g < c->group_n; g++) {
		rates[g] = 1;
		settled |= counts[g] ? 0 : 1u << g;
	}
	while (settled != all) {
		size_t set = 0;
		double level = tightest(c, counts, rates, settled, &set);

		if (level >= 1)
			return;
		for (size_t g = 0; g < c->group_n; g++) {
			if ((set >> g & 1) && !(settled >> g & 1))
				rates[g] = level > 1e-9 ? level : 1e-9;
		}
		settled |= (unsigned)set;
	}
}

const double *cpus_rates_share(struct cpus *c, const uint32_t *counts)
{
	uint32_t h = 0;

	if (c->group_n == 1) {
		c->cache[0].rates[0] = alone(c, counts[0]);
		return c->cache[0].rates;
	}
	for (size_t g = 0; g < c->group_n; g++)
		h = (h ^ counts[g]) * 0x9e3779b1u;
	h = (h >> 16) % CPUS_CACHE;
	if (!c->cache[h].known || memcmp(c->cache[h].counts, counts, sizeof(*counts) * c->group_n) != 0) {
		memcpy(c->cache[h].counts, counts, sizeof(*counts) * c->group_n);
		rates_find(c, counts, c->cache[h].rates);
		c->cache[h].known = true;
	}
	return c->cache[h].rates;
}
