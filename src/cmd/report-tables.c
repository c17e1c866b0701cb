/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What the page and the JSON show, computed once; neither of them sums anything. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report.h"
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
};
_Static_assert(sizeof(losses) / sizeof(losses[0]) <= REPORT_LOSSES_MAX, "callers have room for all");

size_t report_losses(const struct model *m, struct report_loss ret[REPORT_LOSSES_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		uint64_t value = *(const uint64_t *)((const char *)&m->integrity + losses[i].offset);

		if (value)
			ret[n++] = (struct report_loss){ losses[i].key, losses[i].words, value };
	}
	return n;
}

bool report_is_complete(const struct report *r)
{
	return model_is_complete(r->m) && !r->problem.message[0] && !r->partial;
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

static int threads_list(struct report *r)
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

static int group(struct report *r, enum analyze_by by, const struct analyze_filter *f, struct analyze_table *ret)
{
	int e = analyze_group_filtered(r->m, by, f, ret);

	if (e == 0)
		unblocked_drop(ret);
	return e;
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

static int idle_tables_make(struct report *r, struct analyze_filter f)
{
	f.idle = ANALYZE_IDLE_ONLY;
	if (group(r, ANALYZE_BY_RESOURCE, &f, &r->idle_resources) < 0 ||
	    group(r, ANALYZE_BY_WAKER, &f, &r->idle_wakers) < 0 ||
	    group(r, ANALYZE_BY_CALLER, &f, &r->idle_callers) < 0 ||
	    group(r, ANALYZE_BY_OP_CLASS, &f, &r->idle_ops) < 0)
		return -ENOMEM;
	return 0;
}

static unsigned sections_of(const struct report *r)
{
	unsigned sections = 1u << SECTION_WALL | 1u << SECTION_REASONS | 1u << SECTION_RESOURCES | 1u << SECTION_WAKERS;

	if (r->o->sections)
		return r->o->sections;
	/* A dump of the engine has neither threads nor stacks; what waited is an op there. */
	return sections | (r->m->stack_n > 1 ? 1u << SECTION_STACKS : 0) |
	       (r->m->sample_n > 1 ? 1u << SECTION_ONCPU : 0) |
	       (r->m->thread_n > 1 ? 1u << SECTION_OPEN : 1u << SECTION_OPS);
}

static int functions_list(struct report *r, const struct analyze_filter *f)
{
	int e = analyze_functions(r->m, f, &r->functions, &r->function_n);

	for (size_t i = 0; i < r->function_n; i++) {
		r->sampled_ns += r->functions[i].ns;
		r->sample_n += r->functions[i].count;
	}
	return e;
}

int report_tables_make(struct report *r)
{
	struct analyze_filter f = {
		.pids = r->o->pids, .pid_n = r->o->pid_n, .tids = r->o->tids, .tid_n = r->o->tid_n, .comm = r->o->comm,
	};

	r->sections = sections_of(r);
	if (analyze_time_filtered(r->m, &f, &r->time) < 0 ||
	    analyze_group_filtered(r->m, ANALYZE_BY_KIND, &f, &r->kinds) < 0 || threads_list(r) < 0 ||
	    functions_list(r, &f) < 0)
		return -ENOMEM;
	r->idle_listed = !r->o->everything && nearly_all_is_idle(r);
	f.idle = r->o->everything || r->idle_listed ? ANALYZE_IDLE_TOO : ANALYZE_IDLE_NOT;
	if (analyze_open_waits(r->m, &f, &r->open, &r->open_n) < 0)
		return -ENOMEM;
	if (r->idle_listed && idle_tables_make(r, f) < 0)
		return -ENOMEM;
	f.idle = r->o->everything ? ANALYZE_IDLE_TOO : ANALYZE_IDLE_NOT;
	if (group(r, ANALYZE_BY_RESOURCE, &f, &r->resources) < 0 || group(r, ANALYZE_BY_WAKER, &f, &r->wakers) < 0 ||
	    group(r, ANALYZE_BY_CALLER, &f, &r->callers) < 0 || group(r, ANALYZE_BY_STACK, &f, &r->stacks) < 0 ||
	    group(r, ANALYZE_BY_OP_CLASS, &f, &r->ops) < 0)
		return -ENOMEM;
	return 0;
}
