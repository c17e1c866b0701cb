/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What the hits cost: their number times what one was measured to cost at the
 * start. Looked at every now and then; if together they take more of a CPU than
 * is allowed, the hottest goes, and so on until the rest is within the budget. A
 * burst is allowed what was saved before, and a little to begin with. The
 * probes of Go's runtime go together, for goroutines followed by half would be
 * wrong; before that, they stop taking stacks.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "capture/internal.h"
#include "capture/probing-state.h"
#include "util/cleanup.h"

#define LOOK_NS 500000000ull

static int hits_read(const struct probing *p, uint32_t point, struct wcbpf_hits *each, struct wcbpf_hits *ret)
{
	struct wcbpf_hits sum = { 0 };

	if (bpf_map_lookup_elem(p->fds.hits, &point, each))
		return -errno;
	for (uint32_t cpu = 0; cpu < p->fds.cpu_n; cpu++) {
		sum.entry_n += each[cpu].entry_n;
		sum.exit_n += each[cpu].exit_n;
		sum.stepped_n += each[cpu].stepped_n;
		sum.other_n += each[cpu].other_n;
	}
	*ret = sum;
	return 0;
}

static uint64_t cost_of(const struct probing *p, const struct point *point, const struct wcbpf_hits *a,
			const struct wcbpf_hits *b)
{
	uint64_t n = b->entry_n - a->entry_n + b->exit_n - a->exit_n + b->other_n - a->other_n;
	uint64_t stepped = b->stepped_n - a->stepped_n;

	if (stepped > n)
		stepped = n;
	return (n - stepped) * p->costs.emulated_ns + stepped * p->costs.stepped_ns +
	       (b->entry_n - a->entry_n) * point->value_n * p->costs.value_ns;
}

/* Turns sites off: for the programs at once, and their breakpoints go with the links. */
static int sites_off(struct probing *p, struct probed_file *file, uint32_t point)
{
	for (size_t i = 0; i < file->plan->site_n; i++) {
		if (file->site_points[i] != point || file->off[i])
			continue;
		file->off[i] = file->replace_due = true;
		if (site_write(p, file, i, file->generation))
			return -EIO;
	}
	return 0;
}

/* All of a kind of point: goroutines that are followed in one program only would do no harm, but one rule is enough. */
static int runtime_off(struct probing *p, uint64_t now_ns)
{
	int err = 0;

	p->go_off = true;
	p->fds.rt->go_off = 1;
	p->o.go_off(p->o.arg, now_ns);
	for (size_t i = 1; i < p->point_n && !err; i++) {
		if (!p->points[i].runtime || p->points[i].detached_ns)
			continue;
		p->points[i].detached_ns = now_ns;
		err = sites_off(p, p->points[i].file, i);
	}
	return err;
}

/* 0, -errno. */
static int point_detach(struct probing *p, uint32_t hottest, uint64_t cost_ns, uint64_t total_ns, uint64_t window_ns,
			uint64_t now_ns)
{
	struct point *point = &p->points[hottest];
	double percent = 100.0 * cost_ns / window_ns;
	int err;

	if (point->runtime && p->park_stacks) {
		p->park_stacks = false;
		probing_tell(p, true, "probes take more than --max-overhead allows (%s %.1f%% of a CPU): goroutines' stacks are "
			     "no longer taken", point->name, percent);
		for (size_t i = 1; i < p->point_n; i++)
			for (size_t k = 0; p->points[i].runtime && k < p->points[i].file->plan->site_n; k++)
				if (p->points[i].file->site_points[k] == i && !p->points[i].file->off[k])
					site_write(p, p->points[i].file, k, p->points[i].file->generation);
		return 0;
	}
	if (point->runtime) {
		probing_tell(p, true, "the probes of the Go runtime were detached: they took %.1f%% of a CPU, more than "
			     "--max-overhead allows; goroutines are followed no more", percent);
		err = runtime_off(p, now_ns);
	} else {
		probing_tell(p, true, "all probes took %.1f%% of a CPU, more than --max-overhead allows: the costliest, %s (%.1f%%), "
			     "was detached; its later calls are missing", 100.0 * total_ns / window_ns, point->name, percent);
		point->detached_ns = now_ns;
		err = sites_off(p, point->file, hottest);
	}
	return err;
}

static int budget_keep(struct probing *p, uint64_t *costs, uint64_t total_ns, uint64_t window_ns, uint64_t now_ns)
{
	uint64_t allowed_ns = p->o.overhead_max * window_ns;
	int err = 0;

	while (!err && total_ns > allowed_ns) {
		uint32_t hottest = 0;
		bool stacks = p->park_stacks;

		for (size_t i = 1; i < p->point_n; i++)
			if (!p->points[i].detached_ns && costs[i] > (hottest ? costs[hottest] : 0))
				hottest = i;
		if (!hottest)
			break;
		err = point_detach(p, hottest, costs[hottest], total_ns, window_ns, now_ns);
		if (stacks != p->park_stacks)
			break; /* what that saves is seen at the next look */
		for (size_t i = 1; i < p->point_n; i++)
			if (p->points[i].detached_ns) {
				total_ns -= costs[i] < total_ns ? costs[i] : total_ns;
				costs[i] = 0;
			}
	}
	return err ? err : links_replace_due(p);
}

int budget_look(struct probing *p, uint64_t now_ns, bool keep)
{
	_cleanup_(freep) struct wcbpf_hits *each = calloc(p->fds.cpu_n, sizeof(*each));
	_cleanup_(freep) uint64_t *costs = calloc(p->point_n, sizeof(*costs));
	uint64_t total_ns = 0, window_ns = now_ns - p->looked_ns;

	if (!each || !costs)
		return -ENOMEM;
	if (keep && window_ns < LOOK_NS)
		return 0;
	for (size_t i = 1; i < p->point_n; i++) {
		struct wcbpf_hits now;

		if (hits_read(p, i, each, &now))
			continue;
		costs[i] = cost_of(p, &p->points[i], &p->points[i].last, &now);
		p->points[i].last = now;
		p->points[i].cost_ns += costs[i];
		total_ns += costs[i];
	}
	p->looked_ns = now_ns;
	if (!keep || p->o.overhead_max <= 0 || window_ns < LOOK_NS)
		return 0;
	p->spent_ns += (int64_t)total_ns - (int64_t)(p->o.overhead_max * window_ns);
	if (p->spent_ns < -PROBING_SAVED_NS)
		p->spent_ns = -PROBING_SAVED_NS;
	if (p->spent_ns <= 0)
		return 0;
	p->spent_ns = 0;
	return budget_keep(p, costs, total_ns, window_ns, now_ns);
}
