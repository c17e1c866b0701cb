/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * One table a counter, so that the summary, the dump's header, the caveat and
 * the diagnostics name the same losses. A counter that is new in struct
 * model_integrity needs one row here; the assert below asks for it.
 */
#include "output/integrity.h"

#include <inttypes.h>
#include <stddef.h>

#include "dump/dump.h"

enum counter_sort {
	PLAIN,	     /* no loss */
	STACK_TRACE, /* counts in lost_stack_trace_count */
	OTHER,	     /* a loss of something else */
};

struct counter {
	const char *key;
	size_t offset;
	enum counter_sort sort;
	const char *words; /* what follows the number; only of losses */
};

#define COUNTER(name, sort, words) {#name, offsetof(struct model_integrity, name), sort, words}

static const struct counter counters[] = {
	COUNTER(attempted, PLAIN, NULL),
	COUNTER(recorded, PLAIN, NULL),
	COUNTER(below_min, PLAIN, NULL),
	COUNTER(lost_ring_full, STACK_TRACE, "interval(s) found no room in the ring buffer"),
	COUNTER(lost_unprocessed, STACK_TRACE, "interval(s) arrived and could not be used"),
	COUNTER(lost_clock_back, STACK_TRACE, "interval(s) ended before they began and were discarded"),
	COUNTER(lost_stack_bodies, STACK_TRACE, "interval(s) whose stack was never delivered"),
	COUNTER(failed_kernel_stacks, STACK_TRACE, "interval(s) whose kernel stack could not be read"),
	COUNTER(failed_user_stacks, STACK_TRACE, "interval(s) whose user stack could not be read"),
	COUNTER(mismatched_kernel_stacks, OTHER, "kernel stack(s) were taken for others, as a comparison showed"),
	COUNTER(repeated_stack_losses, PLAIN, NULL),
	COUNTER(lost_lifecycle, OTHER, "fork, exec or exit event(s) lost"),
	COUNTER(lost_futex_results, OTHER, "result(s) of futex calls lost"),
	COUNTER(lost_resources, OTHER, "description(s) of waited-for files lost"),
	COUNTER(lost_map_full, OTHER, "thread(s) could not be followed: table full"),
	COUNTER(lost_recursion, OTHER, "run(s) of a BPF program skipped by the kernel"),
	COUNTER(lost_mappings, OTHER, "record(s) of file mappings lost: names may be missing"),
	COUNTER(unmatched_wakes, PLAIN, NULL),
	COUNTER(inferred_switches, PLAIN, NULL),
	COUNTER(unbalanced, OTHER, "switch(es) to or from a CPU without their counterpart"),
	COUNTER(dropped_events, OTHER, "event(s) over the event cap left out of the dump; totals count them"),
	COUNTER(truncated_stacks, PLAIN, NULL),
	COUNTER(samples, PLAIN, NULL),
	COUNTER(recorded_samples, PLAIN, NULL),
	COUNTER(lost_samples, OTHER, "sample(s) of running threads lost"),
	COUNTER(failed_sample_stacks, OTHER, "sample(s) of running threads without their stack"),
	COUNTER(out_of_scope, PLAIN, NULL),
	COUNTER(ops, PLAIN, NULL),
	COUNTER(recorded_ops, PLAIN, NULL),
	COUNTER(lost_ops, OTHER, "hit(s) of choke points lost: ops may be missing, nested wrongly or end too late"),
	COUNTER(unmatched_exits, PLAIN, NULL),
	COUNTER(unwound_ops, PLAIN, NULL),
	COUNTER(lost_go_events, OTHER, "event(s) of goroutines lost"),
	COUNTER(lost_goroutines, OTHER, "goroutine(s) could not be followed: table full"),
	COUNTER(detached_probes, OTHER, "probe(s) detached for what they cost (--max-overhead): later calls are missing"),
	COUNTER(lost_waker_stacks, OTHER, "stack(s) of wakers lost"),
	COUNTER(lost_values, OTHER, "value(s) of choke points could not be read: what they name is missing"),
	COUNTER(unlisted_goroutines, OTHER, "goroutine(s) that were parked before the attach left out"),
};

enum { COUNTER_N = sizeof(counters) / sizeof(counters[0]) };
_Static_assert(COUNTER_N * sizeof(uint64_t) == sizeof(struct model_integrity), "a counter has no row");

static uint64_t value(const struct model *m, const struct counter *c)
{
	return *(const uint64_t *)((const char *)&m->integrity + c->offset);
}

void integrity_write_counters(struct json *j, const struct model *m)
{
	json_kv_uint(j, "lost_stack_trace_count", model_lost_stack_traces(m));
	for (size_t i = 0; i < COUNTER_N; i++)
		json_kv_uint(j, counters[i].key, value(m, &counters[i]));
	json_kv_uint(j, "dump_dropped_events", dump_dropped_events(m));
}

/* The causes of one sort, each after its separator; first: before the first of them. */
static void append_causes(struct text *t, const struct model *m, enum counter_sort sort, const char *first,
			  const char *next)
{
	const char *separator = first;

	for (size_t i = 0; i < COUNTER_N; i++) {
		const struct counter *c = &counters[i];

		if (c->sort != sort || !value(m, c))
			continue;
		text_appendf(t, "%s%" PRIu64 " %s", separator, value(m, c), c->words);
		separator = next;
	}
}

void integrity_append_message(struct text *t, const struct model *m)
{
	uint64_t lost = model_lost_stack_traces(m);

	if (lost) {
		text_appendf(t, "%" PRIu64 " stack trace(s) lost", lost);
		append_causes(t, m, STACK_TRACE, ": ", ", ");
	}
	append_causes(t, m, OTHER, lost ? "; " : "", "; ");
}

void integrity_append_lines(struct text *t, const struct model *m)
{
	uint64_t lost = model_lost_stack_traces(m);

	if (lost)
		text_appendf(t, "WARNING: %" PRIu64 " stack traces lost and could not be displayed.\n", lost);
	for (size_t i = 0; i < COUNTER_N; i++) {
		const struct counter *c = &counters[i];

		if (c->sort != PLAIN && value(m, c))
			text_appendf(t, "%s: %" PRIu64 " %s\n", c->key, value(m, c), c->words);
	}
}
