/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* From options to a file, for all three verbs. What it came to is told on stderr: stdout may be the file. */
#include "cmd/picture.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cmd/answer-json.h"
#include "cmd/cmd.h"
#include "cmd/verb.h"
#include "util/cleanup.h"
#include "util/json.h"
#include "util/log.h"
#include "util/vec.h"

int picture_set_input(void *config, const char *value, char **ret_why)
{
	struct report_options *o = &((struct picture_options *)config)->report;

	if (o->input_n)
		return options_refuse(ret_why, "%s: one recording at a time", value);
	if (VEC_RESERVE(o->inputs, o->input_cap, o->input_n + 1) < 0)
		return -ENOMEM;
	o->inputs[o->input_n++] = value;
	return 0;
}

int picture_set_output(void *config, const char *value, char **ret_why)
{
	if (!*value)
		return options_refuse(ret_why, "-o: an empty name");
	((struct picture_options *)config)->output = value;
	return 0;
}

int picture_set_view(void *config, const char *value, char **ret_why)
{
	struct picture_options *o = config;

	for (enum export_view v = 0; v < EXPORT_VIEW_MAX; v++) {
		if (strcmp(value, export_view_name(v)) == 0) {
			o->view = v;
			o->has_view = true;
			return 0;
		}
	}
	return options_refuse(ret_why, "--view %s: there are offcpu, offwake, wall, path and goroutines", value);
}

int picture_set_idle(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct picture_options *)config)->idle_too = true;
	return 0;
}

int picture_set_json(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct picture_options *)config)->json = true;
	return 0;
}

int picture_set_pid(void *config, const char *value, char **ret_why)
{
	struct report_options *o = &((struct picture_options *)config)->report;

	return options_set_ids("--pid", value, &o->pids, &o->pid_n, ret_why);
}

int picture_set_tid(void *config, const char *value, char **ret_why)
{
	struct report_options *o = &((struct picture_options *)config)->report;

	return options_set_ids("--tid", value, &o->tids, &o->tid_n, ret_why);
}

int picture_set_comm(void *config, const char *value, char **ret_why)
{
	(void)ret_why;
	((struct picture_options *)config)->report.comm = value;
	return 0;
}

int picture_set_symbols(void *config, const char *value, char **ret_why)
{
	return report_set_symbols(&((struct picture_options *)config)->report, value, ret_why);
}

int picture_set_debuginfod(void *config, const char *value, char **ret_why)
{
	return report_set_debuginfod(&((struct picture_options *)config)->report, value, ret_why);
}

/* Options may follow the operand. */
static int options_read(struct picture_options *o, const struct option_row *rows, int argc, char **argv, char **ret_why)
{
	while (argc > 1) {
		int rest, r = options_parse(rows, o, argc, argv, &rest, ret_why);

		if (r < 0 || rest >= argc)
			return r;
		r = picture_set_input(o, argv[rest], ret_why);
		if (r < 0)
			return r;
		argc -= rest;
		argv += rest;
	}
	return 0;
}

static const char *output_of(const struct picture_options *o)
{
	return o->output ? o->output : o->format->file;
}

static int options_check(const struct picture_options *o, char **ret_why)
{
	if (!o->format)
		return options_refuse(ret_why, "-f FORMAT is needed: perfetto, firefox, pprof, folded or otlp");
	if (o->json && strcmp(output_of(o), "-") == 0)
		return options_refuse(ret_why, "--json: standard output is the file (-o -)");
	return 0;
}

/* "12.3 MB" */
static void size_print(char ret[32], uint64_t bytes)
{
	if (bytes >= 1000000)
		snprintf(ret, 32, "%.1f MB", (double)bytes / 1e6);
	else if (bytes >= 1000)
		snprintf(ret, 32, "%.1f kB", (double)bytes / 1e3);
	else
		snprintf(ret, 32, "%" PRIu64 " bytes", bytes);
}

static void told_print(const struct picture_options *o, const struct export_told *told, uint64_t bytes)
{
	char size[32];

	if (log_level() < LOG_WARNING)
		return;
	size_print(size, bytes);
	fprintf(stderr, "wcbpf: %s: %s, %s", output_of(o), o->format->about, size);
	if (told->line_n)
		fprintf(stderr, "; %" PRIu64 " stacks of view %s, values in nanoseconds, %.3f s in all", told->line_n,
			export_view_name(o->view), (double)told->value_ns / 1e9);
	fputc('\n', stderr);
	if (told->hidden_ns)
		fprintf(stderr, "wcbpf: hidden as idle by design: %.3f thread-s (--all shows it)\n", (double)told->hidden_ns / 1e9);
	if (told->virtual_run_n)
		log_info("%" PRIu64 " times on a CPU have no place on a CPU of the host: they are on CPUs with numbers above",
			 told->virtual_run_n);
	if (told->untimed_n)
		log_info("%" PRIu64 " samples have no moment: they stand at the beginning of their thread", told->untimed_n);
}

static int told_json(const struct picture_options *o, const struct export_told *told, uint64_t bytes)
{
	_cleanup_(json_freep) struct json *j = NULL;
	int err = answer_json_begin(stdout, "wcbpf_export", &j);

	if (err)
		return err;
	json_kv_string(j, "version", WCBPF_VERSION);
	json_kv_string(j, "format", o->format->name);
	json_kv_string(j, "file", output_of(o));
	json_kv_uint(j, "bytes", bytes);
	json_kv_uint(j, "value_ns", told->value_ns);
	json_kv_uint(j, "stacks", told->line_n);
	json_kv_uint(j, "hidden_ns", told->hidden_ns);
	json_kv_uint(j, "pruned_frames", told->pruned_n);
	json_kv_uint(j, "pruned_ns", told->pruned_ns);
	json_kv_uint(j, "virtual_runs", told->virtual_run_n);
	json_kv_uint(j, "untimed_samples", told->untimed_n);
	return answer_json_end(j);
}

/* Why there is nothing of what was asked for. */
static const char *nothing(const struct picture_options *o)
{
	switch (o->view) {
	case EXPORT_WALL:
		return "the recording has neither threads' lives nor ops, which the view wall is made of; try --view offcpu";
	case EXPORT_GOROUTINES:
		return "no goroutine was recorded (record --probes finds them in Go programs)";
	case EXPORT_PATH:
		return "no critical path can be found in the recording";
	default:
		return "the recording has no blocked time to show (--all shows also what is idle by design)";
	}
}

/* A picture is worth having without it; only where it is all that was asked for is its lack an error. */
static int path_find(const struct picture_options *o, const struct model *m, struct export_stretch **ret, size_t *ret_n)
{
	bool asked = o->view == EXPORT_PATH && !o->format->path;
	int err;

	if (!asked && !o->format->path)
		return 0;
	err = picture_path_make(m, ret, ret_n);
	if (err < 0)
		log_warning("the critical path could not be found: %s", strerror(-err));
	return asked ? err : 0;
}

static int write_all(struct picture_options *o, struct report *r)
{
	_cleanup_(freep) struct export_stretch *path = NULL;
	_cleanup_(picture_file_freep) struct picture_file *file = NULL;
	_cleanup_(picture_pick_done) struct picture_pick pick = { 0 };
	_cleanup_(freep) char *why = NULL;
	struct export_told told = { 0 };
	struct export_job job = { .m = r->m, .view = o->view, .idle_too = o->idle_too,
				  .version = r->facts.version, .host = r->facts.host, .kernel = r->facts.kernel };
	int err = picture_pick_make(r->m, &o->report, &pick);

	if (!err)
		err = path_find(o, r->m, &path, &job.path_n);
	job.path = path;
	job.threads = pick.threads;
	job.ops = pick.ops;
	job.waits = pick.waits;
	job.name = r->facts.command ? r->facts.command : r->facts.target ? r->facts.target : r->path;
	if (err < 0) {
		log_error("%s", strerror(-err));
		return EXIT_USAGE;
	}
	err = picture_file_open(output_of(o), o->format->binary, &file, &why);
	if (err < 0) {
		log_error("%s", why ? why : strerror(-err));
		/* A terminal is refused: that is what was asked for, not what went wrong. */
		return err == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
	}
	err = export_write(o->format, &job, picture_file_write, file, &told);
	if (err == -ENODATA) {
		log_error("%s", nothing(o));
		return EXIT_USAGE;
	}
	if (!err)
		err = picture_file_commit(file);
	/* A reader that has seen enough (| head) is no failure. */
	if (err == -EPIPE)
		return 0;
	if (!err && o->json)
		err = told_json(o, &told, picture_file_bytes(file));
	if (err) {
		log_error("%s could not be written: %s", output_of(o), strerror(-err));
		return EXIT_FAILURE;
	}
	if (!o->json)
		told_print(o, &told, picture_file_bytes(file));
	return 0;
}

/* A dump of the engine: its ops are all there is to see. */
static bool is_of_ops(const struct model *m)
{
	return m->thread_n <= 1 && m->op_n > 1;
}

static int load_and_write(struct picture_options *o)
{
	_cleanup_(report_done) struct report r = { 0 };
	_cleanup_(freep) char *why = NULL;
	int err = report_load(&r, &o->report, &why);

	if (err < 0) {
		log_error("%s", why ? why : strerror(-err));
		return EXIT_USAGE;
	}
	if (r.problem.message[0])
		log_warning("%s: %s", r.path, r.problem.message);
	if (!o->has_view)
		o->view = r.m->sample_n > 1 || (o->format == &export_flamegraph && is_of_ops(r.m)) ? EXPORT_WALL : EXPORT_OFFCPU;
	return write_all(o, &r);
}

int picture_run(const char *verb, const struct option_row *rows, struct picture_options *o, int argc, char **argv)
{
	_cleanup_(freep) char *why = NULL;
	int err = options_read(o, rows, argc, argv, &why), status;

	if (err >= 0 && !o->all.help && !o->all.version)
		err = options_check(o, &why);
	if (!verb_settle(verb, err, why, &o->all, EXIT_USAGE, &status))
		status = load_and_write(o);
	report_options_done(&o->report);
	return status;
}
