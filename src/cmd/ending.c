/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Integrity before anything else, and the command to go on with last. Level
 * "warning" is what is shown by default and what -q takes away.
 */
#include "cmd/ending.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/wording.h"
#include "util/cleanup.h"
#include "util/log.h"
#include "util/text.h"

/* The log prints no control characters, so with colour the line goes its own way. No word of it is the target's. */
static void word_print(const struct ending *e, bool good, const char *what, const char *word, const char *rest)
{
	if (!e->color)
		log_warning("%s %s: %s", what, word, rest);
	else if (log_level() >= LOG_WARNING)
		fprintf(stderr, "wcbpf: %s %s%s\033[0m: %s\n", what, good ? "\033[1;32m" : "\033[1;31m", word, rest);
}

static void integrity_print(const struct ending *e)
{
	const struct model *m = e->model;
	const struct model_integrity *i = &m->integrity;
	_cleanup_(freep) char *text = NULL;
	/* What was to be recorded: neither while it was off nor beside --only. */
	const struct wording intervals = wording_counted(i->attempted - i->out_of_scope, "interval", NULL);
	char rest[256], left_out[128] = "";
	size_t size;

	if (e->files_failed)
		word_print(e, false, "files", "INCOMPLETE", "not everything that was recorded could be written");
	if (i->out_of_scope)
		snprintf(left_out, sizeof(left_out), "; %s left out %s", wording_count(i->out_of_scope).text,
			 wording_left_out(e->options));
	if (model_is_complete(m)) {
		snprintf(rest, sizeof(rest), "nothing lost of %s%s%s", intervals.text,
			 e->files_failed ? " while recording" : "", left_out);
		/* Half the files are not a complete capture, however well the recording went. */
		if (e->files_failed)
			log_warning("%s", rest);
		else
			word_print(e, true, "capture", "COMPLETE", rest);
		return;
	}
	FILE *f = open_memstream(&text, &size);
	if (!f)
		return;
	const struct {
		uint64_t n;
		const char *what;
	} losses[] = {
		{i->lost_ring_full, "interval(s) lost (ring full)"},
		{i->lost_unprocessed + i->lost_clock_back, "interval(s) unusable"},
		{i->lost_stack_bodies + i->failed_kernel_stacks + i->failed_user_stacks, "interval(s) lack a stack"},
		{i->mismatched_kernel_stacks, "kernel stack(s) taken for others"},
		{i->dropped_events, "event(s) over --event-cap (totals are right)"},
		{i->lost_map_full, "thread(s) not followed"},
		{i->lost_lifecycle, "start(s) or end(s) of threads lost"},
		{i->lost_recursion, "run(s) skipped by the kernel"},
		{i->lost_samples + i->failed_sample_stacks, "sample(s) lost or without stack"},
		{i->lost_futex_results + i->lost_resources + i->lost_mappings, "detail(s) lost"},
		{i->unbalanced, "switch(es) not seen"},
		{i->lost_ops, "hit(s) of choke points lost"},
		{i->lost_go_events, "event(s) of goroutines lost"},
		{i->lost_goroutines, "goroutine(s) not followed"},
		{i->detached_probes, "probe(s) detached (--max-overhead)"},
		{i->lost_waker_stacks, "stack(s) of wakers lost"},
		{i->lost_values, "value(s) of choke points not readable"},
		{i->unlisted_goroutines, "goroutine(s) parked before the attach left out"},
	};
	for (size_t k = 0; k < sizeof(losses) / sizeof(losses[0]); k++)
		if (losses[k].n)
			fprintf(f, "%s %s, ", wording_count(losses[k].n).text, losses[k].what);
	fprintf(f, "of %s%s; offcpu.summary.json has every counter", intervals.text, left_out);
	if (fclose(f) != 0)
		return;
	word_print(e, false, "capture", "PARTIAL", text);
}

static size_t open_process_count(const struct model *m)
{
	size_t n = 0;

	for (size_t i = 1; i < m->op_n; i++)
		n += m->ops[i].kind == OP_EXEC && m->ops[i].open;
	return n;
}

static bool anything_blocked(const struct model *m)
{
	for (size_t i = 1; i < m->row_n; i++) {
		if (m->rows[i].blocked_ns)
			return true;
	}
	return false;
}

static bool is_there(const struct ending *e, const char *name)
{
	_cleanup_(freep) char *path = text_format("%s/%s", e->out_path, name);

	if (!path)
		return false;
	return access(path, F_OK) == 0;
}

/* Of a disk without room there may be nothing that a report could read. */
static void next_print(const struct ending *e)
{
	const char *folder = strcmp(e->out_path, "wcbpf.out") ? e->out_path : "";

	if (e->files_failed && !is_there(e, "wcprof.ndjson") && !is_there(e, "wcprof.ndjson.gz") &&
	    !is_there(e, "offcpu.summary.json"))
		log_warning("nothing in %s can be read: make room, or name a folder on another disk (-o), and record again",
			    e->out_path);
	else
		log_warning("files in %s   next: wcbpf report%s%s", e->out_path, *folder ? " " : "", folder);
}

void ending_print(const struct ending *e)
{
	const struct model *m = e->model;
	size_t open = open_process_count(m);
	char how[80] = "";

	if (e->has_status)
		snprintf(how, sizeof(how), "  %s", wording_status(e->status).text);
	log_warning("%s%s%s%s%s  %s  %s, %s, %s", e->what, how, e->reason ? "  (" : "",
		    e->reason ? e->reason : "", e->reason ? ")" : "", wording_duration((uint64_t)m->end_ns).text,
		    wording_counted(m->wait_n - 1, "wait", NULL).text,
		    wording_counted(m->thread_n - m->goroutine_n - 1, "thread", NULL).text,
		    wording_counted(m->process_n - 1, "process", "processes").text);
	if (!anything_blocked(m))
		log_warning("%s", e->no_rows_reason);
	integrity_print(e);
	if (e->has_status && open)
		log_warning("%s that it started live on: open in the dump",
			    wording_counted(open, "process", "processes").text);
	next_print(e);
	if (e->waits)
		log_warning("the workload (pid %d) runs on and is waited for; Ctrl-C again: don't wait",
			    e->workload_pid);
}
