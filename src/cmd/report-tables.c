/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What the page and the JSON show of waits, computed once; neither of them sums anything. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report-ahead.h"
#include "cmd/report-replay.h"
#include "cmd/report-sections.h"
#include "util/cleanup.h"

#define LOSS(name, words) { #name, words, offsetof(struct model_integrity, name) }

/* dropped_events first: the page gives it a line of its own. */
static const struct loss_row {
	const char *key, *words;
	size_t offset;
} losses[] = {
	LOSS(dropped_events, "event(s) DROPPED over the event cap: they are in no table below"),
	LOSS(lost_ring_full, "interval(s) found no room in the ring buffer"),
	LOSS(lost_unprocessed, "interval(s) arrived and could not be used"),
	LOSS(lost_clock_back, "interval(s) ended before they began"),
	LOSS(lost_stack_bodies, "interval(s) whose stack was never delivered"),
	LOSS(failed_kernel_stacks, "kernel stack(s) could not be read"),
	LOSS(failed_user_stacks, "user stack(s) could not be read"),
	LOSS(mismatched_kernel_stacks, "kernel stack(s) were taken for others"),
	LOSS(lost_lifecycle, "fork, exec or exit event(s)"),
	LOSS(lost_futex_results, "result(s) of futex calls"),
	LOSS(lost_resources, "description(s) of waited-for files"),
	LOSS(lost_map_full, "thread(s) could not be followed"),
	LOSS(lost_recursion, "run(s) of a BPF program skipped by the kernel"),
	LOSS(lost_mappings, "record(s) of file mappings: names may be missing"),
	LOSS(unbalanced, "switch(es) without their counterpart"),
	LOSS(lost_samples, "sample(s) of running threads"),
	LOSS(failed_sample_stacks, "sample(s) of running threads without their stack"),
	LOSS(lost_ops, "hit(s) of choke points: ops may be missing, nested wrongly or end too late"),
	LOSS(lost_go_events, "event(s) of goroutines"),
	LOSS(lost_goroutines, "goroutine(s) could not be followed"),
	LOSS(detached_probes, "probe(s) detached for what they cost: later calls are missing"),
	LOSS(lost_waker_stacks, "stack(s) of wakers"),
	LOSS(lost_values, "value(s) of choke points"),
	LOSS(unlisted_goroutines, "goroutine(s) that were parked before the attach"),
};
_Static_assert(sizeof(losses) / sizeof(losses[0]) <= REPORT_LOSSES_MAX, "callers have room for all");

/* The stack of a thread that runs again is gone when its switch is noticed at last, and is missed for no other reason. */
static bool host_hid_them(const struct model_integrity *i)
{
	return i->failed_kernel_stacks && i->failed_kernel_stacks <= i->inferred_switches;
}

size_t report_losses(const struct model *m, struct report_loss ret[REPORT_LOSSES_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		uint64_t value = *(const uint64_t *)((const char *)&m->integrity + losses[i].offset);

		if (!value)
			continue;
		ret[n] = (struct report_loss){ losses[i].key, losses[i].words, value };
		if (losses[i].offset == offsetof(struct model_integrity, failed_kernel_stacks) &&
		    host_hid_them(&m->integrity))
			ret[n].words = "kernel stack(s): the host hid as many context switches from tracing";
		n++;
	}
	return n;
}

bool report_is_damaged(const struct report *r)
{
	return r->problem.message[0] || r->partial;
}

const char *report_damage(const struct report *r)
{
	return r->partial ? "the disk was full while it was written" :
	       r->problem.message[0] ? r->problem.message : NULL;
}

bool report_is_complete(const struct report *r)
{
	return model_is_complete(r->m) && !report_is_damaged(r);
}

static bool number_passes(const uint32_t *numbers, size_t n, uint32_t number)
{
	for (size_t i = 0; i < n; i++) {
		if (numbers[i] == number)
			return true;
	}
	return n == 0;
}

static int thread_compare(const void *a, const void *b, void *arg)
{
	const struct model *m = arg;
	const struct model_thread *x = &m->threads[*(const uint32_t *)a], *y = &m->threads[*(const uint32_t *)b];

	if (x->oncpu_ns != y->oncpu_ns)
		return x->oncpu_ns > y->oncpu_ns ? -1 : 1;
	if (x->blocked_ns != y->blocked_ns)
		return x->blocked_ns > y->blocked_ns ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

int report_threads_make(struct report *r)
{
	const struct report_options *o = r->o;

	r->threads = calloc(r->m->thread_n, sizeof(*r->threads));
	if (!r->threads)
		return -ENOMEM;
	for (size_t i = 1; i < r->m->thread_n; i++) {
		const struct model_thread *t = &r->m->threads[i];

		if (!t->goid && number_passes(o->pids, o->pid_n, t->pid) && number_passes(o->tids, o->tid_n, t->tid) &&
		    (!o->comm || strcmp(o->comm, strtab_str(r->m->strings, t->comm_id)) == 0))
			r->threads[r->thread_n++] = (uint32_t)i;
	}
	qsort_r(r->threads, r->thread_n, sizeof(*r->threads), thread_compare, r->m);
	return 0;
}

/* Preempted stretches have their place among the reasons; in tables of waits they would be lines of 0 s. */
static void unblocked_drop(struct analyze_table *t)
{
	while (t->n && !t->entries[t->n - 1].blocked_ns)
		t->n--;
}

int report_group_count(struct report *r, enum analyze_by by)
{
	struct analyze_filter f = r->filter;

	if (r->counted[by].is_there)
		return 0;
	if (by != ANALYZE_BY_KIND)
		f.idle = r->o->everything ? ANALYZE_IDLE_TOO : ANALYZE_IDLE_NOT;
	if (analyze_group_count(r->m, by, &f, &r->counted[by].table) < 0)
		return -ENOMEM;
	r->counted[by].is_there = true;
	return 0;
}

static int group_take(struct report *r, enum analyze_by by, struct analyze_table *ret)
{
	if (report_group_count(r, by) < 0 || analyze_group_name(r->m, by, &r->counted[by].table) < 0)
		return -ENOMEM;
	*ret = r->counted[by].table;
	r->counted[by].table = (struct analyze_table){ 0 };
	r->counted[by].is_there = false;
	return 0;
}

/* A table and, where the page lists those too, the one of what is idle by design. */
static int group(struct report *r, enum analyze_by by, struct analyze_table *ret, struct analyze_table *ret_idle)
{
	struct analyze_filter f = r->filter;

	if (group_take(r, by, ret) < 0)
		return -ENOMEM;
	unblocked_drop(ret);
	if (!r->idle_listed || !ret_idle)
		return 0;
	f.idle = ANALYZE_IDLE_ONLY;
	if (analyze_group_filtered(r->m, by, &f, ret_idle) < 0)
		return -ENOMEM;
	unblocked_drop(ret_idle);
	return 0;
}

int report_resources_make(struct report *r)
{
	return group(r, ANALYZE_BY_RESOURCE, &r->resources, &r->idle_resources);
}

int report_wakers_make(struct report *r)
{
	return group(r, ANALYZE_BY_WAKER, &r->wakers, &r->idle_wakers);
}

int report_stacks_make(struct report *r)
{
	int e = group(r, ANALYZE_BY_CALLER, &r->callers, &r->idle_callers);

	return e < 0 ? e : group(r, ANALYZE_BY_STACK, &r->stacks, NULL);
}

int report_ops_make(struct report *r)
{
	return group(r, ANALYZE_BY_OP_CLASS, &r->ops, &r->idle_ops);
}

int report_oncpu_make(struct report *r)
{
	int e = analyze_functions(r->m, &r->filter, &r->functions, &r->function_n);

	for (size_t i = 0; i < r->function_n; i++) {
		r->sampled_ns += r->functions[i].ns;
		r->sample_n += r->functions[i].count;
	}
	return e;
}

bool report_is_filtered(const struct report *r)
{
	return r->picked.threads;
}

/* Of some ops only no thread is asked for as a whole. */
bool report_thread_passes(const struct report *r, uint32_t thread)
{
	return !report_is_filtered(r) || r->picked.threads[thread];
}

bool report_stretch_passes(const struct report *r, const struct replay_stretch *s)
{
	bool by_op = r->filter.class_n || r->filter.client_n;

	return !report_is_filtered(r) || (s->thread && !by_op ? r->picked.threads[s->thread] : r->picked.ops[s->op]);
}

void report_unfiltered_print(const struct page *p, const char *what)
{
	if (report_is_filtered(p->r))
		fprintf(p->f, "  %s of the whole recording, whatever the filter\n", what);
}

static int picked_make(struct report *r)
{
	const struct analyze_filter *f = &r->filter;

	return f->pid_n || f->tid_n || f->comm || f->class_n || f->client_n ? analyze_pick(r->m, f, &r->picked) : 0;
}

/* A page without the idle waits would be empty, or show only crumbs. */
static bool nearly_all_is_idle(const struct report *r)
{
	uint64_t idle_ns = 0, blocked_ns = 0;

	for (size_t i = 0; i < r->kinds.n; i++) {
		idle_ns += r->kinds.entries[i].idle_ns;
		blocked_ns += r->kinds.entries[i].blocked_ns;
	}
	return blocked_ns && blocked_ns - idle_ns < blocked_ns / 20;
}

/*
 * A critical path leads to the end of what was done; of a window on a server it would lead to the window's end. One
 * through a dump that lacks waits would take them for work.
 */
static bool path_is_asked(struct report *r)
{
	/* What still waits has not come to its end. */
	report_health_find(r);
	return (r->facts.has_exit_status || !r->health.open_wait_n) && !report_is_damaged(r) &&
	       !dump_dropped_events(r->m) && report_replay_need(r) == 0 && r->replay_facts.makespan_ns > 0 &&
	       !(r->replay_facts.missing & REPLAY_OPEN) && !report_is_filtered(r);
}

/* A dump of the engine has no stacks. Goroutines that wait for work would be most of the stacks and wakers. */
uint64_t report_wait_tables(const struct report *r)
{
	if (r->m->goroutine_n)
		return SECTION_BIT(SECTION_RESOURCES);
	return SECTION_BIT(SECTION_RESOURCES) | SECTION_BIT(SECTION_WAKERS) |
	       (r->m->stack_n > 1 ? SECTION_BIT(SECTION_STACKS) : 0);
}

static uint64_t sections_of(struct report *r)
{
	uint64_t sections;

	if (r->o->sections)
		return r->o->sections;
	/* Programs pick what they want themselves: without --section all are there. */
	if (r->o->json)
		return SECTIONS_ALL;
	if (r->profile)
		return SECTION_BIT(SECTION_WALL) | SECTION_BIT(SECTION_LIBRARY) | SECTION_BIT(SECTION_SELF) |
		       SECTION_BIT(SECTION_INCLUSIVE) | SECTION_BIT(SECTION_NEAREST);
	sections = SECTION_BIT(SECTION_WALL) | SECTION_BIT(SECTION_TAIL) | SECTION_BIT(SECTION_LOCKS) |
		   report_wait_tables(r);
	if (path_is_asked(r))
		sections |= SECTION_BIT(SECTION_PATH) | SECTION_BIT(SECTION_WHATIF);
	/* A dump of the engine has no threads; what waited is an op there. */
	return sections | (r->m->sample_n > 1 ? SECTION_BIT(SECTION_ONCPU) : 0) |
	       (r->m->thread_n > 1 ? SECTION_BIT(SECTION_OPEN) :
				     SECTION_BIT(SECTION_CLASSES) | SECTION_BIT(SECTION_OPS));
}

int report_tables_make(struct report *r)
{
	if (picked_make(r) < 0 || analyze_time_filtered(r->m, &r->filter, &r->time) < 0 || report_ahead_compile(r) < 0 ||
	    group_take(r, ANALYZE_BY_KIND, &r->kinds) < 0)
		return -ENOMEM;
	r->sections = sections_of(r);
	/* Where a path says what it came to, who was parked meanwhile is no news. */
	r->idle_listed = !r->o->everything && nearly_all_is_idle(r) &&
			 (r->o->sections || r->o->json || !(r->sections & SECTION_BIT(SECTION_PATH)));
	if (report_ahead_sections(r) < 0)
		return -ENOMEM;
	for (unsigned i = 0; i < SECTION_MAX; i++) {
		if (r->sections >> i & 1 && report_section_make(r, (enum report_section)i) < 0)
			return -ENOMEM;
	}
	return 0;
}
