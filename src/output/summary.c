/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * offcpu.summary.json: the harness's ten keys first and in its order, then
 * what the recording was and where the time went. Written last, so that it
 * can tell how the other files fared. Lists have limits, each beside a count
 * of all, so that the file of a day's system-wide recording can still be
 * loaded; the totals count everything.
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "model/model.h"
#include "output/endings.h"
#include "output/integrity.h"
#include "output/job.h"
#include "output/points.h"
#include "output/recording.h"
#include "output/verdict.h"
#include "util/cleanup.h"

enum { ROWS_MAX = 200, THREADS_MAX = 10000, ROWS_BRIEF = 10, THREADS_BRIEF = 20 };

static void kv_text(struct json *j, const char *key, const struct text *t)
{
	json_kv_string(j, key, t->n ? text_str(t) : NULL);
}

/* As the harness joins them: folder, slash, name. */
static int kv_path(struct json *j, const char *key, const char *folder, const char *name)
{
	_cleanup_(text_done) struct text path = {0};

	text_appendf(&path, "%s/%s", folder, name);
	kv_text(j, key, &path);
	return text_error(&path);
}

static int write_paths(struct json *j, const struct output_job *job)
{
	int err = kv_path(j, "capture_path", job->folder, job->capture);

	if (!err)
		err = kv_path(j, "diagnostics_path", job->folder, job->diagnostics);
	if (!err)
		err = kv_path(j, "summary_path", job->folder, job->summary);
	return err;
}

static void write_integrity(struct json *j, const struct output_job *job, const struct verdict *v)
{
	json_begin_object(j);
	json_kv_string(j, "status", v->integrity);
	kv_text(j, "message", &v->message);
	if (job->m) {
		integrity_write_counters(j, job->m);
	} else {
		json_key(j, "lost_stack_trace_count");
		json_null(j);
	}
	json_end_object(j);
}

/* The harness's keys. */
static int write_lane(struct json *j, const struct output_job *job, const struct verdict *v)
{
	static const char *const modes[] = {[OUTPUT_TIME] = "time", [OUTPUT_STACKS] = "stacks", [OUTPUT_WALL] = "wall"};
	int err;

	json_kv_string(j, "kind", "offcpu_time");
	json_kv_string(j, "tool", "wcbpf");
	json_kv_string(j, "mode", modes[job->f->mode]);
	err = write_paths(j, job);
	if (err)
		return err;
	json_kv_string(j, "state", v->state);
	json_kv_string(j, "caveat_kind", v->caveat_kind);
	kv_text(j, "caveat_message", &v->caveat);
	json_key(j, "capture_integrity");
	write_integrity(j, job, v);
	return 0;
}

static void write_command(struct json *j, const struct output_facts *f)
{
	json_key(j, "command");
	if (f->command) {
		json_begin_array(j);
		for (const char *const *arg = f->command; *arg; arg++)
			json_string(j, *arg);
		json_end_array(j);
	} else {
		json_null(j);
	}
}

/* The status as wait(2) gives it and taken apart; null: the workload was not ours or is not known to have ended. */
static void write_exit(struct json *j, const struct output_facts *f)
{
	json_kv_int_or_null(j, "exit_status", f->has_exit_status, f->exit_status);
	json_kv_int_or_null(j, "exit_code", f->has_exit_status && WIFEXITED(f->exit_status), WEXITSTATUS(f->exit_status));
	json_kv_int_or_null(j, "exit_signal", f->has_exit_status && WIFSIGNALED(f->exit_status), WTERMSIG(f->exit_status));
}

static void write_window(struct json *j, const struct model *m)
{
	json_key(j, "window");
	json_begin_object(j);
	json_kv_int(j, "begin_unix_ns", m->epoch_unix_ns);
	json_kv_int(j, "end_unix_ns", m->epoch_unix_ns + m->end_ns);
	json_kv_int(j, "duration_ns", m->end_ns);
	json_end_object(j);
}

static int64_t thread_residual_ns(const struct model_thread *t)
{
	return t->end_ns - t->begin_ns - (int64_t)(t->oncpu_ns + t->runnable_ns + t->blocked_ns + t->lost_ns);
}

/* Thread-nanoseconds by state: of the threads whose times are known. */
static void write_states(struct json *j, const struct model *m)
{
	uint64_t oncpu_ns = 0, runnable_ns = 0, blocked_ns = 0, lost_ns = 0;
	int64_t lifetime_ns = 0, residual_ns = 0;

	for (size_t i = 1; i < m->thread_n; i++) {
		const struct model_thread *t = &m->threads[i];

		if (!t->has_totals)
			continue;
		lifetime_ns += t->end_ns - t->begin_ns;
		oncpu_ns += t->oncpu_ns;
		runnable_ns += t->runnable_ns;
		blocked_ns += t->blocked_ns;
		lost_ns += t->lost_ns;
		residual_ns += thread_residual_ns(t);
	}
	json_key(j, "by_state");
	json_begin_object(j);
	json_kv_int(j, "lifetime_ns", lifetime_ns);
	json_kv_uint(j, "oncpu_ns", oncpu_ns);
	json_kv_uint(j, "runnable_ns", runnable_ns);
	json_kv_uint(j, "blocked_ns", blocked_ns);
	json_kv_uint(j, "lost_ns", lost_ns);
	json_kv_int(j, "residual_ns", residual_ns);
	json_end_object(j);
}

static void write_reasons(struct json *j, const struct model *m)
{
	struct {
		uint64_t count, blocked_ns, runnable_ns;
	} sums[REASON_MAX] = {0};

	for (size_t i = 1; i < m->row_n; i++) {
		const struct model_row *r = &m->rows[i];
		enum wait_reason reason = r->reason < REASON_MAX ? r->reason : REASON_OTHER;

		/* Goroutines that don't run keep no thread from running. */
		if (r->parked)
			continue;
		sums[reason].count += r->count;
		sums[reason].blocked_ns += r->blocked_ns;
		sums[reason].runnable_ns += r->runnable_ns;
	}
	json_key(j, "by_reason");
	json_begin_object(j);
	for (int reason = 0; reason < REASON_MAX; reason++) {
		if (!sums[reason].count)
			continue;
		json_key(j, wait_reason_name((enum wait_reason)reason));
		json_begin_object(j);
		json_kv_uint(j, "count", sums[reason].count);
		json_kv_uint(j, "blocked_ns", sums[reason].blocked_ns);
		json_kv_uint(j, "runnable_ns", sums[reason].runnable_ns);
		json_end_object(j);
	}
	json_end_object(j);
}

static void write_thread(struct json *j, const struct model *m, const struct model_thread *t)
{
	json_begin_object(j);
	json_kv_uint(j, "pid", t->pid);
	json_kv_uint(j, "tid", t->tid);
	json_kv_string(j, "comm", strtab_str(m->strings, t->comm_id));
	json_kv_int(j, "begin_ns", t->begin_ns);
	json_kv_int(j, "end_ns", t->end_ns);
	json_kv_uint(j, "clipped", t->clipped);
	json_kv_bool(j, "accounted", t->has_totals);
	if (t->has_totals) {
		json_kv_int(j, "lifetime_ns", t->end_ns - t->begin_ns);
		json_kv_uint(j, "oncpu_ns", t->oncpu_ns);
		json_kv_uint(j, "runnable_ns", t->runnable_ns);
		json_kv_uint(j, "blocked_ns", t->blocked_ns);
		json_kv_uint(j, "lost_ns", t->lost_ns);
		json_kv_uint_nz(j, "left_out_ns", t->left_out_ns);
		json_kv_int(j, "residual_ns", thread_residual_ns(t));
		json_kv_uint(j, "intervals", t->interval_n);
		json_kv_uint(j, "lost_intervals", t->lost_n);
		json_kv_uint(j, "below_min_intervals", t->below_min_n);
		json_kv_uint(j, "voluntary_switches", t->voluntary_n);
		json_kv_uint(j, "involuntary_switches", t->involuntary_n);
	}
	if (m->sample_hz)
		json_kv_uint(j, "samples", t->sample_n);
	json_end_object(j);
}

/* Longest-lived first; then in the order they were first seen, which is the order of the pointers. */
static int by_lifetime(const void *pa, const void *pb)
{
	const struct model_thread *a = *(const struct model_thread *const *)pa;
	const struct model_thread *b = *(const struct model_thread *const *)pb;
	int64_t life_a_ns = a->end_ns - a->begin_ns, life_b_ns = b->end_ns - b->begin_ns;

	if (life_a_ns != life_b_ns)
		return life_a_ns > life_b_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int write_threads(struct json *j, const struct model *m, size_t n_max)
{
	_cleanup_(freep) const struct model_thread **threads = calloc(m->thread_n, sizeof(*threads));
	size_t n = 0;

	if (!threads)
		return -ENOMEM;
	for (size_t i = 1; i < m->thread_n; i++) {
		if (!m->threads[i].goid)
			threads[n++] = &m->threads[i];
	}
	qsort(threads, n, sizeof(*threads), by_lifetime);
	json_kv_uint(j, "thread_count", n);
	json_kv_uint_nz(j, "goroutine_count", m->goroutine_n);
	json_key(j, "threads");
	json_begin_array(j);
	for (size_t i = 0; i < n && i < n_max; i++)
		write_thread(j, m, threads[i]);
	json_end_array(j);
	return 0;
}

static void write_stack(struct json *j, const struct model *m, uint32_t stack, struct text *name)
{
	for (size_t i = model_stack_entry_n(m, stack); i > 0; i--) {
		text_clear(name);
		model_stack_entry_append(name, m, stack, i - 1, ENTRY_EXACT);
		json_string(j, text_str(name));
	}
}

struct line {
	uint32_t comm_id, ustack, kstack;
	const char *leaf; /* a word at the end, or NULL */
};

static struct line line_of(const struct output_job *job, const struct tally_entry *e)
{
	const struct model_row *r;

	if (job->pieces) {
		const struct analyze_piece *p = &job->pieces[e->row];

		return (struct line){p->comm_id, p->ustack, p->kstack, wall_leaf(p->state)};
	}
	r = &job->m->rows[e->row];
	return (struct line){r->comm_id, r->ustack, r->kstack, r->ustack || r->kstack ? NULL : "[no stack]"};
}

/* Rows are the folded lines, so both files show the same sums; but names are exact here, JSON can hold them. */
static int write_rows(struct json *j, const struct output_job *job)
{
	_cleanup_(freep) struct tally_entry *top = NULL;
	_cleanup_(text_done) struct text name = {0};
	double total_ns = (double)job->lines.total_ns;
	size_t n;
	int err = tally_top(&job->lines, job->brief ? ROWS_BRIEF : ROWS_MAX, &top, &n);

	if (err)
		return err;
	json_kv_uint(j, "row_count", job->lines.n);
	json_kv_uint(j, "total_us", job->lines.total_us);
	json_key(j, "rows");
	json_begin_array(j);
	for (size_t i = 0; i < n; i++) {
		const struct line line = line_of(job, &top[i]);

		json_begin_object(j);
		json_key(j, "stack");
		json_begin_array(j);
		json_string(j, strtab_str(job->m->strings, line.comm_id));
		write_stack(j, job->m, line.ustack, &name);
		write_stack(j, job->m, line.kstack, &name);
		if (line.leaf)
			json_string(j, line.leaf);
		json_end_array(j);
		json_kv_uint(j, "value_us", top[i].us);
		json_kv_uint(j, "count", top[i].count);
		json_key(j, "share");
		json_double(j, (double)top[i].ns / total_ns, 6);
		json_end_object(j);
	}
	json_end_array(j);
	return text_error(&name);
}

/* All threads' lifetimes and what became of them: of mode wall's pieces, before rounding. */
static void write_wall(struct json *j, const struct output_job *job)
{
	static const char *const keys[ANALYZE_STATE_MAX] = {
		[ANALYZE_ONCPU] = "oncpu_sampled_ns", [ANALYZE_ONCPU_UNSAMPLED] = "oncpu_unsampled_ns",
		[ANALYZE_RUNNABLE] = "runnable_ns",   [ANALYZE_BLOCKED] = "blocked_ns",
		[ANALYZE_BELOW_MIN] = "below_min_ns", [ANALYZE_LOST] = "lost_ns",
		[ANALYZE_UNACCOUNTED] = "unaccounted_ns", [ANALYZE_LEFT_OUT] = "left_out_ns",
	};
	uint64_t sums_ns[ANALYZE_STATE_MAX] = {0};
	int64_t lifetime_ns = 0;

	for (size_t i = 1; i < job->m->thread_n; i++)
		lifetime_ns += job->m->threads[i].goid ? 0 :
			       job->m->threads[i].end_ns - job->m->threads[i].begin_ns;
	for (size_t i = 0; i < job->piece_n; i++)
		sums_ns[job->pieces[i].state] += job->pieces[i].ns;
	json_key(j, "wall");
	json_begin_object(j);
	json_kv_int(j, "lifetime_ns", lifetime_ns);
	for (int state = 0; state < ANALYZE_STATE_MAX; state++)
		json_kv_uint(j, keys[state], sums_ns[state]);
	json_end_object(j);
	json_key(j, "sampling");
	json_begin_object(j);
	json_kv_uint(j, "hz", job->m->sample_hz);
	json_kv_uint(j, "hz_asked", job->f->sample_hz_asked);
	json_kv_uint(j, "samples", job->m->integrity.recorded_samples);
	json_end_object(j);
}

/* null: kernel.bpf_stats_enabled was off, nothing was measured. */
static void kv_measured(struct json *j, const char *key, uint64_t v, bool measured)
{
	json_kv_uint_or_null(j, key, measured, v);
}

static void write_tracer(struct json *j, const struct output_facts *f)
{
	json_key(j, "tracer");
	json_begin_object(j);
	json_kv_uint(j, "cpu_ns", f->tracer_cpu_ns);
	kv_measured(j, "bpf_run_n", f->bpf_run_n, f->bpf_run_n > 0);
	kv_measured(j, "bpf_run_ns", f->bpf_run_ns, f->bpf_run_n > 0);
	kv_measured(j, "interval_ns_per_run", f->interval_ns_per_run, f->interval_ns_per_run > 0);
	if (f->mode == OUTPUT_WALL) {
		kv_measured(j, "sample_run_n", f->sample_run_n, f->bpf_run_n > 0);
		kv_measured(j, "sample_run_ns", f->sample_run_ns, f->bpf_run_n > 0);
	}
	json_end_object(j);
}

static int write_model(struct json *j, const struct output_job *job)
{
	int err;

	write_window(j, job->m);
	json_key(j, "totals");
	json_begin_object(j);
	write_states(j, job->m);
	write_reasons(j, job->m);
	json_end_object(j);
	err = endings_write(j, job->m);
	if (err)
		return err;
	if (job->f->mode == OUTPUT_WALL)
		write_wall(j, job);
	err = write_threads(j, job->m, job->brief ? THREADS_BRIEF : THREADS_MAX);
	return err ? err : write_rows(j, job);
}

int summary_write(const struct output_job *job, json_sink sink, void *arg)
{
	_cleanup_(verdict_done) struct verdict v = {0};
	_cleanup_(json_freep) struct json *j = NULL;
	int err = verdict_init(&v, job);

	if (!err)
		err = json_new(sink, arg, JSON_INDENTED, &j);
	if (err)
		return err;
	json_begin_object(j);
	err = write_lane(j, job, &v);
	if (err)
		return err;
	recording_write_facts(j, job->f);
	write_command(j, job->f);
	write_exit(j, job->f);
	if (job->m) {
		err = write_model(j, job);
		if (err)
			return err;
	}
	points_write(j, job->f);
	write_tracer(j, job->f);
	json_end_object(j);
	json_newline(j);
	return json_flush(j);
}
