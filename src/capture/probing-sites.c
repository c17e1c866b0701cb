/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Numbers for points and sites, and what the programs are told of them. A
 * number is given once: events that are still on their way mean what they meant.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/internal.h"
#include "capture/probing-state.h"
#include "util/cleanup.h"
#include "util/vec.h"

#define EVENTS_MAX 200 /* a file's, in each process: closing one takes 0.1 s */

static const char *const runtime_names[] = {
	[WCBPF_SITE_GO_PARK] = "go/gopark",	  [WCBPF_SITE_GO_READY] = "go/ready",
	[WCBPF_SITE_GO_STATUS] = "go/casgstatus", [WCBPF_SITE_GO_EXECUTE] = "go/execute",
	[WCBPF_SITE_GO_BORN] = "go/newproc1",	  [WCBPF_SITE_GO_DEATH] = "go/gdestroy",
	[WCBPF_SITE_GO_NETREADY] = "go/netpollready",
};

/* 0: there is no number left. */
static int point_add(struct probing *p, struct probed_file *file, const char *name, bool runtime, uint32_t *ret)
{
	if (p->point_n >= WCBPF_POINTS_MAX) {
		*ret = 0;
		return 0;
	}
	if (VEC_RESERVE(p->points, p->point_cap, p->point_n + 1))
		return -ENOMEM;
	p->points[p->point_n] = (struct point){ .file = file, .name = name, .runtime = runtime };
	*ret = p->point_n++;
	return 0;
}

static int points_number(struct probing *p, struct probed_file *file)
{
	const struct probe_plan *plan = file->plan;

	file->points = calloc(plan->point_n + 1, sizeof(*file->points));
	if (!file->points)
		return -ENOMEM;
	for (size_t i = 0; i < plan->point_n; i++) {
		int err = point_add(p, file, plan->points[i].name, false, &file->points[i]);

		if (!err && file->points[i])
			p->points[file->points[i]].meaning = &plan->points[i];
		if (!err && file->points[i])
			err = p->o.point(p->o.arg, file->points[i], &plan->points[i]);
		if (err)
			return err;
	}
	return 0;
}

/* Points of the Go runtime, one a kind of site: they have no meaning but what they cost. */
static int runtime_point(struct probing *p, struct probed_file *file, const struct probe_site *s, uint32_t known[],
			 uint32_t *ret)
{
	uint8_t kind = s->wire.kind;
	int err = 0;

	if (kind >= sizeof(runtime_names) / sizeof(runtime_names[0]) || !runtime_names[kind]) {
		*ret = 0;
		return 0;
	}
	if (!known[kind])
		err = point_add(p, file, runtime_names[kind], true, &known[kind]);
	*ret = known[kind];
	return err;
}

static void layout_write(struct probing *p, struct probed_file *file)
{
	uint32_t layout = p->layout_n + 1u;

	if (!file->plan->has_layout)
		return;
	if (layout >= WCBPF_GO_LAYOUTS_MAX ||
	    bpf_map_update_elem(p->fds.go_layouts, &layout, &file->plan->layout, BPF_ANY)) {
		probing_tell(p, true, "%s: its goroutines are not followed: too many Go programs", file->path);
		return;
	}
	file->layout = ++p->layout_n;
}

static bool is_stepped(const struct probing *p, const struct probe_site *s)
{
	if (s->step == OBJFILE_STEP_NOP)
		return p->costs.nop_ns > 2 * p->costs.emulated_ns;
	return s->step == OBJFILE_STEP_SINGLE;
}

/* Those who wake do it on the thread's own stack, from which there is no way back to theirs before Go 1.21. */
static bool takes_stack(const struct probing *p, const struct probed_file *file, uint8_t kind)
{
	if (kind == WCBPF_SITE_GO_READY || kind == WCBPF_SITE_GO_STATUS)
		return p->o.waker_stacks && file->plan->layout.parent_goid;
	return kind == WCBPF_SITE_GO_PARK;
}

int site_write(struct probing *p, const struct probed_file *file, size_t i, uint32_t generation)
{
	const struct probe_site *s = &file->plan->sites[i];
	struct wcbpf_site w = s->wire;
	uint32_t number = file->first_site + i;

	w.point = file->site_points[i];
	w.generation = generation;
	w.layout = s->go ? file->layout : 0;
	if (is_stepped(p, s))
		w.flags |= WCBPF_SITE_STEPPED;
	if (p->park_stacks && takes_stack(p, file, w.kind))
		w.flags |= WCBPF_SITE_STACK;
	if (!p->o.stacks)
		w.flags &= ~WCBPF_SITE_STACK;
	if (s->condition != OBJFILE_ALWAYS) {
		w.flags |= WCBPF_SITE_IF;
		w.condition = s->condition;
	}
	if (file->off[i])
		w.kind = WCBPF_SITE_NONE;
	return bpf_map_update_elem(p->fds.sites, &number, &w, BPF_ANY) ? -errno : 0;
}

/*
 * Which points of the plan can have all of their sites, for an entry without its exits is worth nothing: there are
 * numbers for the first room of them, and a perf event each for the first EVENTS_MAX where it takes one.
 */
static int points_fit(const struct probing *p, const struct probe_plan *plan, size_t room, bool **ret)
{
	_cleanup_(freep) size_t *site_n = calloc(plan->point_n + 1, sizeof(*site_n));
	bool *fits = calloc(plan->point_n + 1, sizeof(*fits));
	size_t events = 0;

	if (!site_n || !fits) {
		free(fits);
		return -ENOMEM;
	}
	memset(fits, true, plan->point_n);
	for (size_t i = 0; i < plan->site_n; i++) {
		uint32_t point = plan->sites[i].point;

		events += point == PROBE_NO_POINT;
		if (point >= plan->point_n)
			continue;
		site_n[point]++;
		fits[point] = fits[point] && i < room;
	}
	for (size_t i = 0; i < plan->point_n && p->o.how != SITES_MULTI; i++) {
		fits[i] = fits[i] && events + site_n[i] <= EVENTS_MAX;
		events += fits[i] ? site_n[i] : 0;
	}
	*ret = fits;
	return 0;
}

static void left_out_tell(struct probing *p, const struct probed_file *file, size_t many, size_t impossible)
{
	if (many && p->o.how == SITES_MULTI)
		probing_tell(p, true, "%s: %zu of %zu addresses are not probed: they are too many: name fewer functions",
			     file->path, many, file->plan->site_n);
	else if (many)
		probing_tell(p, true, "%s: %zu of %zu addresses are not probed: this kernel (before 6.6) has an event for each, "
			     "and to close more than %d would take minutes: name fewer functions",
			     file->path, many, file->plan->site_n, EVENTS_MAX);
	if (impossible)
		probing_tell(p, true, "%s: %zu of %zu addresses are not probed: this kernel can't", file->path, impossible,
			     file->plan->site_n);
}

static int site_fill(struct probing *p, struct probed_file *file, size_t i, uint32_t runtime[], size_t *impossible)
{
	const struct probe_site *s = &file->plan->sites[i];
	bool go = s->point == PROBE_NO_POINT;
	int err = go ? runtime_point(p, file, s, runtime, &file->site_points[i]) : 0;

	if (err)
		return err;
	if (!go && s->point < file->plan->point_n)
		file->site_points[i] = file->points[s->point];
	file->off[i] = !file->site_points[i] || (go && (!file->layout || p->go_off)) ||
		       (s->return_probe && p->o.how == SITES_ADDRESS); /* their address is the caller's */
	*impossible += file->off[i];
	if (file->off[i])
		return 0;
	p->points[file->site_points[i]].value_n += s->wire.fetch_n;
	return site_write(p, file, i, file->generation) ? -EIO : 0;
}

static int sites_fill(struct probing *p, struct probed_file *file)
{
	const struct probe_plan *plan = file->plan;
	uint32_t runtime[sizeof(runtime_names) / sizeof(runtime_names[0])] = { 0 };
	size_t room = WCBPF_SITES_MAX - p->site_n, many = 0, impossible = 0;
	_cleanup_(freep) bool *fits = NULL;
	int err = points_fit(p, plan, room, &fits);

	file->first_site = p->site_n;
	for (size_t i = 0; i < plan->site_n && !err; i++) {
		const struct probe_site *s = &plan->sites[i];

		if (i >= room || (s->point < plan->point_n && !fits[s->point])) {
			file->off[i] = true;
			many++;
			continue;
		}
		err = site_fill(p, file, i, runtime, &impossible);
	}
	if (err)
		return err;
	p->site_n += plan->site_n < room ? plan->site_n : room;
	left_out_tell(p, file, many, impossible);
	return 0;
}

int sites_number(struct probing *p, struct probed_file *file)
{
	int err;

	for (size_t i = 0; i < file->plan->note_n; i++)
		probing_tell(p, file->plan->notes[i].severity == PROBE_CAVEAT, "%s", file->plan->notes[i].text);
	file->generation = 1;
	file->off = calloc(file->plan->site_n + 1, sizeof(*file->off));
	file->site_points = calloc(file->plan->site_n + 1, sizeof(*file->site_points));
	if (!file->off || !file->site_points)
		return -ENOMEM;
	layout_write(p, file);
	err = points_number(p, file);
	return err ? err : sites_fill(p, file);
}
