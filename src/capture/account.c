/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What a recording has lost, and what is worth saying of it: numbers of the programs and the tables. */
#include <stdio.h>

#include "assemble/assemble.h"
#include "capture/probing.h"
#include "capture/programs.h"
#include "capture/reread.h"
#include "capture/skeletons.h"
#include "capture/state.h"
#include "capture/tables.h"
#include "model/model.h"
#include "util/log.h"

static void integrity_fill(struct capture *c)
{
	struct model_integrity *i = &c->model->integrity;
	uint64_t n[WCBPF_CNT_MAX];

	programs_counts(c->programs, n);
	i->attempted += n[WCBPF_CNT_INTERVALS];
	i->below_min = n[WCBPF_CNT_BELOW_MIN];
	i->lost_ring_full = n[WCBPF_CNT_LOST_RING_FULL];
	i->lost_clock_back += n[WCBPF_CNT_CLOCK_BACK];
	i->lost_lifecycle = n[WCBPF_CNT_LOST_LIFECYCLE];
	i->lost_futex_results = n[WCBPF_CNT_LOST_FUTEX_RESULT];
	i->lost_resources = n[WCBPF_CNT_LOST_RESOURCE_BODY];
	i->lost_map_full = n[WCBPF_CNT_THREADS_FULL];
	i->lost_recursion = programs_misses(c->programs);
	i->unmatched_wakes = n[WCBPF_CNT_WAKE_UNSEEN];
	i->inferred_switches = n[WCBPF_CNT_INFERRED];
	i->unbalanced = n[WCBPF_CNT_UNBALANCED];
	i->samples = n[WCBPF_CNT_SAMPLES] - assemble_samples_off(c->assemble);
	i->lost_samples += n[WCBPF_CNT_LOST_SAMPLES];
	i->ops = n[WCBPF_CNT_OPS];
	i->lost_ops += n[WCBPF_CNT_LOST_OPS];
	i->lost_go_events += n[WCBPF_CNT_LOST_GO_EVENTS];
	i->lost_goroutines = n[WCBPF_CNT_GOROUTINES_FULL];
	i->mismatched_kernel_stacks = n[WCBPF_CNT_SKELETON_WRONG];
}

/* Each was told when it happened; here it counts. */
static void detached_count(struct capture *c)
{
	const struct probing_point *all;
	size_t n = 0;

	if (!c->probing)
		return;
	all = probing_points(c->probing, &n);
	for (size_t i = 0; i < n; i++)
		c->model->integrity.detached_probes += all[i].detached_ns != 0;
}

/* Which CPU lost what: a line for each that did. */
static void losses_by_cpu(struct capture *c)
{
	static const struct {
		enum wcbpf_counter counter;
		const char *what;
	} losses[] = {
		{ WCBPF_CNT_LOST_RING_FULL, "intervals (ring full)" },
		{ WCBPF_CNT_LOST_STACK_BODY, "stack bodies (ring full)" },
		{ WCBPF_CNT_LOST_RESOURCE_BODY, "names of files (ring full)" },
		{ WCBPF_CNT_LOST_LIFECYCLE, "fork, exec or exit events (ring full)" },
		{ WCBPF_CNT_LOST_FUTEX_RESULT, "results of futex calls (ring full)" },
		{ WCBPF_CNT_THREADS_FULL, "threads (map full)" },
		{ WCBPF_CNT_CLOCK_BACK, "intervals (clock gone back)" },
		{ WCBPF_CNT_UNBALANCED, "intervals (switch-out not seen)" },
		{ WCBPF_CNT_LOST_SAMPLES, "samples (ring full)" },
		{ WCBPF_CNT_LOST_OPS, "hits of choke points (ring full)" },
		{ WCBPF_CNT_LOST_GO_EVENTS, "events of goroutines (ring full)" },
		{ WCBPF_CNT_GOROUTINES_FULL, "goroutines (map full)" },
		{ WCBPF_CNT_SKELETON_WRONG, "kernel stacks to others (--kernel-stacks walk avoids that)" },
	};
	uint64_t n[WCBPF_CNT_MAX];
	char line[200];

	for (uint32_t cpu = 0; programs_counts_of_cpu(c->programs, cpu, n); cpu++)
		for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
			if (!n[losses[i].counter])
				continue;
			snprintf(line, sizeof(line), "CPU %u lost %llu %s", cpu,
				 (unsigned long long)n[losses[i].counter], losses[i].what);
			capture_line_add(c, line);
		}
}

static void skeletons_tell(struct capture *c)
{
	uint64_t n[WCBPF_CNT_MAX];

	if (!c->skeletons)
		return;
	programs_counts(c->programs, n);
	log_debug("kernel stacks: %zu skeletons gave %llu, of which %llu were walked as well, %llu of them others",
		  skeletons_n(c->skeletons), (unsigned long long)n[WCBPF_CNT_SKELETON_HITS],
		  (unsigned long long)n[WCBPF_CNT_SKELETON_CHECKS], (unsigned long long)n[WCBPF_CNT_SKELETON_WRONG]);
}

/* Whoever has ended before it could be asked may have mapped something on a CPU that was not listened to yet. */
static void cpus_tell(struct capture *c)
{
	if (c->cpu_came && (c->ended_unread || reread_gone(c->reread)))
		capture_line_add(c, "a CPU came while recording: names may be missing of processes that ended just then");
}

static void tables_tell(struct capture *c)
{
	struct tables_stats s;

	if (!c->tables)
		return;
	tables_stats(c->tables, &s);
	log_debug("unwind tables: %zu files, %llu bytes, %u rules, %zu rows can't be expressed, made in %llu ms", s.file_n,
		  (unsigned long long)s.bytes, s.rule_n, s.unsupported_n, (unsigned long long)s.build_ns / 1000000);
	if (s.full_n)
		capture_line_add(c, "the unwind tables were full: some user stacks are copied, or follow frame pointers alone");
}

static void notes_tell(struct capture *c)
{
	const char *const *notes;
	size_t n = resolve_notes(c->resolve, &notes);

	for (size_t i = 0; i < n; i++)
		capture_line_add(c, notes[i]);
}

void account_names(struct capture *c)
{
	c->model->integrity.lost_mappings += reread_lost(c->reread) + (c->mappings ? mappings_lost(c->mappings) : 0);
	cpus_tell(c);
	notes_tell(c);
}

/* A thread that is known to have begun has times, if its end, or the recording's, has come. */
void account_untold(struct capture *c)
{
	size_t n = assemble_threads_untold(c->assemble);

	if (n > c->model->integrity.lost_lifecycle)
		c->model->integrity.lost_lifecycle = n;
}

void account_now(struct capture *c)
{
	struct model_integrity *i = &c->model->integrity;

	integrity_fill(c);
	i->attempted = i->recorded + i->below_min + i->out_of_scope + i->lost_ring_full + i->lost_unprocessed +
		       i->lost_clock_back;
	i->samples = i->recorded_samples + i->lost_samples;
	i->ops = i->recorded_ops + i->lost_ops;
}

void account_close(struct capture *c)
{
	integrity_fill(c);
	detached_count(c);
	losses_by_cpu(c);
	tables_tell(c);
	skeletons_tell(c);
}
