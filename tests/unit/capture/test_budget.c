/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Prices and the budget, with counts of hits as the programs would have them on two CPUs. */
#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "capture/probing-state.h"

#define CPUS 2
#define SECOND 1000000000ull
#define HIT_NS 1000
#define STEPPED_NS 10000
#define VALUE_NS 100

enum { NONE, HOT, WARM, PARK, EXECUTE, POINTS };

static struct wcbpf_hits counts[POINTS][CPUS];
static char told[1000];
static unsigned int written_n, replaced_n, go_off_n;

/* ---- in place of libbpf and of the rest of the folder ---- */

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	(void)fd;
	memcpy(value, counts[*(const uint32_t *)key], sizeof(counts[0]));
	return 0;
}

void probing_tell(struct probing *p, bool caveat, const char *fmt, ...)
{
	va_list args;

	(void)p;
	cr_assert(caveat);
	va_start(args, fmt);
	vsnprintf(told + strlen(told), sizeof(told) - strlen(told), fmt, args);
	va_end(args);
}

int site_write(struct probing *p, const struct probed_file *file, size_t i, uint32_t generation)
{
	(void)p, (void)file, (void)i, (void)generation;
	written_n++;
	return 0;
}

int links_replace_due(struct probing *p)
{
	struct probed_file *file = p->points[HOT].file;

	replaced_n += file->replace_due;
	file->replace_due = false;
	return 0;
}

static void on_go_off(void *arg, uint64_t now_ns)
{
	(void)arg, (void)now_ns;
	go_off_n++;
}

/* ---- a recording of one file with a site a point ---- */

struct rig {
	struct wcbpf_rt rt;
	struct probe_site sites[POINTS - 1];
	uint32_t site_points[POINTS - 1];
	bool off[POINTS - 1];
	struct probe_plan plan;
	struct probed_file file;
	struct point points[POINTS];
	struct probing p;
};

static void rig_init(struct rig *r, double overhead_max)
{
	static const char *const names[POINTS] = { NULL, "hot", "warm", "go/gopark", "go/execute" };

	memset(r, 0, sizeof(*r));
	memset(counts, 0, sizeof(counts));
	told[0] = 0;
	written_n = replaced_n = go_off_n = 0;
	r->plan = (struct probe_plan){ .sites = r->sites, .site_n = POINTS - 1 };
	r->file = (struct probed_file){ .plan = &r->plan, .site_points = r->site_points, .off = r->off };
	for (uint32_t i = 1; i < POINTS; i++) {
		r->site_points[i - 1] = i;
		r->points[i] = (struct point){ .file = &r->file, .name = names[i], .runtime = i >= PARK };
	}
	r->p = (struct probing){ .o = { .overhead_max = overhead_max, .go_off = on_go_off },
				 .fds = { .cpu_n = CPUS, .rt = &r->rt }, .points = r->points, .point_n = POINTS,
				 .costs = { .emulated_ns = HIT_NS, .stepped_ns = STEPPED_NS, .value_ns = VALUE_NS },
				 .park_stacks = true, .looked_ns = SECOND, .spent_ns = -PROBING_SAVED_NS };
}

static void hit(int point, uint64_t n)
{
	counts[point][0].entry_n += n / 2;
	counts[point][1].entry_n += n - n / 2;
}

static void look(struct rig *r)
{
	cr_assert_eq(budget_look(&r->p, r->p.looked_ns + SECOND, true), 0);
}

Test(budget, costs)
{
	struct rig r;

	rig_init(&r, 0);
	r.points[HOT].value_n = 3;
	counts[HOT][0] = (struct wcbpf_hits){ .entry_n = 10, .exit_n = 8, .stepped_n = 8, .other_n = 2 };
	counts[HOT][1] = (struct wcbpf_hits){ .entry_n = 5, .exit_n = 5, .stepped_n = 5 };
	look(&r);
	/* 30 hits, of them 13 stepped, and 15 entries with three values */
	cr_assert_eq(r.points[HOT].cost_ns, 17 * HIT_NS + 13 * STEPPED_NS + 45 * VALUE_NS);
	look(&r); /* nothing since */
	cr_assert_eq(r.points[HOT].cost_ns, 17 * HIT_NS + 13 * STEPPED_NS + 45 * VALUE_NS);
	hit(HOT, 4);
	look(&r);
	cr_assert_eq(r.points[HOT].cost_ns, 21 * HIT_NS + 13 * STEPPED_NS + 57 * VALUE_NS);
	cr_assert_eq(r.points[HOT].last.entry_n, 19);
}

Test(budget, looks_are_not_too_near)
{
	struct rig r;

	rig_init(&r, 0.05);
	hit(HOT, 1000000);
	cr_assert_eq(budget_look(&r.p, r.p.looked_ns + SECOND / 10, true), 0);
	cr_assert_eq(r.points[HOT].cost_ns, 0);
	cr_assert_eq(budget_look(&r.p, r.p.looked_ns + SECOND / 10, false), 0); /* the last one */
	cr_assert_eq(r.points[HOT].cost_ns, 1000000ull * HIT_NS);
	cr_assert_eq(r.points[HOT].detached_ns, 0);
}

Test(budget, no_limit)
{
	struct rig r;

	rig_init(&r, 0);
	for (int i = 0; i < 5; i++) {
		hit(HOT, 1000000);
		look(&r);
	}
	cr_assert_eq(r.points[HOT].detached_ns, 0);
	cr_assert_str_empty(told);
}

Test(budget, the_hottest_goes)
{
	struct rig r;

	rig_init(&r, 0.10);
	hit(HOT, 300000);  /* 30% */
	hit(WARM, 90000);  /* 9% */
	look(&r);
	cr_assert_eq(r.points[HOT].detached_ns, r.p.looked_ns);
	cr_assert_eq(r.points[WARM].detached_ns, 0);
	cr_assert(r.off[HOT - 1] && !r.off[WARM - 1]);
	cr_assert_eq(replaced_n, 1);
	cr_assert(strstr(told, "hot") && strstr(told, "30.0%"), "%s", told);
	for (int i = 0; i < 5; i++) {
		hit(WARM, 90000);
		look(&r);
	}
	cr_assert_eq(r.points[WARM].detached_ns, 0);
	cr_assert_eq(replaced_n, 1);
}

Test(budget, several_go)
{
	struct rig r;

	rig_init(&r, 0.05);
	hit(HOT, 300000);
	hit(WARM, 90000);
	look(&r);
	cr_assert(r.points[HOT].detached_ns && r.points[WARM].detached_ns);
	cr_assert_eq(replaced_n, 1); /* in one go */
}

Test(budget, a_burst_may_use_what_was_saved)
{
	struct rig r;

	rig_init(&r, 0.05);
	hit(HOT, 120000); /* 120 ms, and 50 are allowed */
	look(&r);
	cr_assert_eq(r.points[HOT].detached_ns, 0);
	hit(HOT, 120000); /* again: now it is 40 ms too much */
	look(&r);
	cr_assert_neq(r.points[HOT].detached_ns, 0);
	rig_init(&r, 0.05);
	for (int i = 0; i < 20; i++)
		look(&r); /* nothing is saved beyond the start's */
	hit(HOT, 160000);
	look(&r);
	cr_assert_neq(r.points[HOT].detached_ns, 0);
}

Test(budget, go_stops_taking_stacks_and_then_goes_as_a_whole)
{
	struct rig r;

	rig_init(&r, 0.05);
	hit(PARK, 200000);
	hit(EXECUTE, 100000);
	look(&r);
	cr_assert_not(r.p.park_stacks);
	cr_assert_eq(written_n, 2); /* both of the runtime's sites, anew */
	cr_assert_eq(r.points[PARK].detached_ns, 0);
	hit(PARK, 200000);
	hit(EXECUTE, 100000);
	look(&r);
	cr_assert(r.points[PARK].detached_ns && r.points[EXECUTE].detached_ns);
	cr_assert_eq(r.points[HOT].detached_ns, 0);
	cr_assert_eq(go_off_n, 1);
	cr_assert(r.p.go_off && r.rt.go_off);
	cr_assert(r.off[PARK - 1] && r.off[EXECUTE - 1] && !r.off[HOT - 1]);
}
