/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The registry of formats and the walk over it. A file that can't be written
 * stops no other. The order is by worth: first the dump, which has everything,
 * then the capture that the harness is after, last the two small files that
 * tell how the others fared.
 *
 * A dump that found the disk full is taken away at once, so that these still
 * fit, the summary with short lists; only then is it written again as far as it
 * goes, under another name that says so. A capture that is large itself comes
 * behind it. Room for the two small files is kept meanwhile, by a file.
 */
#include "output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "output/dir.h"
#include "output/job.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/files.h"
#include "util/text.h"

enum file_id { FILE_CAPTURE, FILE_DUMP, FILE_STOP, FILE_DIAGNOSTICS, FILE_SUMMARY };
enum { MODE_TIME = 1 << OUTPUT_TIME, MODE_STACKS = 1 << OUTPUT_STACKS, MODE_WALL = 1 << OUTPUT_WALL, MODE_ANY = ~0 };

#define ROOM_NAME "room.tmp"
/* Files take whole blocks, and say a little more when others have failed. */
enum { SMALL_DISK_BYTES = 16 << 20, SMALL_CAPTURE_BYTES = 16 << 10, ROOM_SLACK_BYTES = 3 * 4096 };

struct format {
	enum file_id id;
	int modes;	 /* bits MODE_* */
	bool needs_model;
	const char *name;
	int (*write)(const struct output_job *job, json_sink sink, void *arg);
};

/* In the order of writing. */
static const struct format formats[] = {
	{FILE_DUMP, MODE_ANY, true, "wcprof.ndjson", dump_file_write},
	{FILE_STOP, MODE_ANY, true, OUTPUT_STOP_NAME, dump_file_write},
	{FILE_CAPTURE, MODE_TIME, true, "offcpu.time.txt", folded_write},
	{FILE_CAPTURE, MODE_STACKS, true, "offcpu.stacks.txt", stacks_write},
	{FILE_CAPTURE, MODE_WALL, true, "wall.folded.txt", folded_write},
	{FILE_DIAGNOSTICS, MODE_ANY, false, "offcpu.diagnostics.txt", diagnostics_write},
	{FILE_SUMMARY, MODE_ANY, false, "offcpu.summary.json", summary_write},
};

enum { FORMAT_N = sizeof(formats) / sizeof(formats[0]) };

static bool format_of_mode(const struct format *fmt, enum output_mode mode)
{
	return fmt->modes & 1 << mode;
}

static const char *format_name(const struct format *fmt, bool gzip)
{
	return fmt->id == FILE_DUMP && gzip ? "wcprof.ndjson.gz" : fmt->name;
}

static const char *name_of(enum file_id id, const struct output_facts *f)
{
	const char *name = "";

	for (size_t i = 0; i < FORMAT_N; i++) {
		if (formats[i].id == id && format_of_mode(&formats[i], f->mode))
			name = format_name(&formats[i], f->gzip);
	}
	return name;
}

static int job_init(struct output_job *job, struct output_dir *d, const struct model *m, const struct output_facts *f)
{
	int err;

	*job = (struct output_job){
		.m = m,
		.f = f,
		.folder = output_dir_path(d),
		.capture = name_of(FILE_CAPTURE, f),
		.dump = name_of(FILE_DUMP, f),
		.diagnostics = name_of(FILE_DIAGNOSTICS, f),
		.summary = name_of(FILE_SUMMARY, f),
	};
	if (!m)
		return 0;
	if (f->mode == OUTPUT_WALL) {
		err = analyze_wall(m, &job->pieces, &job->piece_n);
		if (!err)
			err = wall_tally(m, job->pieces, job->piece_n, &job->lines);
	} else {
		err = folded_tally(m, &job->lines);
	}
	if (err)
		return err;
	job->row_n = f->mode == OUTPUT_STACKS ? stacks_row_n(m) : job->lines.n;
	return 0;
}

static void job_done(struct output_job *job)
{
	tally_done(&job->lines);
	free(job->pieces);
}

static int file_open(const struct output_dir *d, const struct format *fmt, bool gzip, struct files_writer **ret)
{
	struct files_writer_options o;

	dir_file_options(d, &o);
	if (fmt->id == FILE_STOP || (fmt->id == FILE_DUMP && gzip))
		o.gzip_level = DUMP_GZIP_LEVEL;
	return files_writer_new(dir_fd(d), format_name(fmt, gzip), &o, ret);
}

static int file_write(const struct output_dir *d, const struct output_job *job, const struct format *fmt)
{
	_cleanup_(files_writer_freep) struct files_writer *w = NULL;
	int err = file_open(d, fmt, job->f->gzip, &w);

	if (!err)
		err = fmt->write(job, files_writer_write, w);
	return err ? err : files_writer_commit(w);
}

/* Not a byte may have fitted: then there is no such file. */
static bool partial_is_there(const struct output_dir *d, const char *name)
{
	_cleanup_(freep) char *partial = NULL;
	struct stat st;

	partial = text_format("%s.partial", name);
	if (!partial)
		return false;
	if (fstatat(dir_fd(d), partial, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (st.st_size)
		return true;
	unlinkat(dir_fd(d), partial, 0);
	return false;
}

/* Writes what fits of a file for which there was no room. True if something is kept, as NAME.partial. */
static bool file_salvage(const struct output_dir *d, const struct output_job *job, const struct format *fmt)
{
	_cleanup_(files_writer_freep) struct files_writer *w = NULL;

	if (file_open(d, fmt, job->f->gzip, &w))
		return false;
	/* Expected to fail, as it did before. Should there be room now, the whole file is the better one. */
	if (!fmt->write(job, files_writer_write, w) && !files_writer_commit(w))
		return false;
	return files_writer_bytes(w) && !files_writer_salvage(w) && partial_is_there(d, job->dump);
}

static void job_note(struct output_job *job, enum file_id id, int err)
{
	if (id == FILE_CAPTURE)
		job->capture_error = err;
	else if (id == FILE_DUMP)
		job->dump_error = err;
	else if (id == FILE_DIAGNOSTICS)
		job->diagnostics_error = err;
}

static bool disk_is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EFBIG;
}

/* One line of the failures, in the order of writing. */
static char *why(const struct output_dir *d, const struct output_job *job, const int errors[], bool salvaged)
{
	_cleanup_(text_done) struct text t = {0};

	for (size_t i = 0; i < FORMAT_N; i++) {
		const char *name = format_name(&formats[i], job->f->gzip);

		if (errors[i])
			text_appendf(&t, "%s%s/%s: %s", t.n ? "; " : "", output_dir_path(d), name,
				     strerror(-errors[i]));
	}
	if (salvaged)
		text_appendf(&t, "; what fits of the dump is kept as %s.partial", job->dump);
	return text_error(&t) ? NULL : TAKE_PTR(t.bytes);
}

/* ---- a disk that is nearly full ---- */

static int bytes_count(void *arg, const char *bytes, size_t n)
{
	uint64_t *sum = arg;

	(void)bytes;
	*sum += n;
	return 0;
}

/* Bytes of the mode's file, as it is now; 0: there is none, or no memory. */
static uint64_t file_bytes(const struct output_job *job, enum file_id id)
{
	uint64_t n = 0;

	for (size_t i = 0; i < FORMAT_N; i++) {
		const struct format *fmt = &formats[i];

		if (fmt->id == id && format_of_mode(fmt, job->f->mode) && (job->m || !fmt->needs_model) &&
		    fmt->write(job, bytes_count, &n))
			n = 0;
	}
	return n;
}

static bool disk_is_small(const struct output_dir *d)
{
	struct statvfs st;

	return !fstatvfs(dir_fd(d), &st) && (uint64_t)st.f_bavail * st.f_bsize < SMALL_DISK_BYTES;
}

/* Room for the two small files, until room_free(). */
static void room_keep(const struct output_dir *d, const struct output_job *job)
{
	struct output_job brief = *job;
	_cleanup_(closep) int fd = openat(dir_fd(d), ROOM_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	brief.brief = true;
	if (fd < 0)
		return;
	/* What doesn't fit now won't later. */
	if (posix_fallocate(fd, 0, (off_t)(file_bytes(&brief, FILE_SUMMARY) + file_bytes(&brief, FILE_DIAGNOSTICS) +
					   ROOM_SLACK_BYTES)))
		unlinkat(dir_fd(d), ROOM_NAME, 0);
}

static void room_free(const struct output_dir *d)
{
	unlinkat(dir_fd(d), ROOM_NAME, 0);
}

/* ---- the walk ---- */

struct walk {
	struct output_dir *d;
	struct output_job *job;
	int errors[FORMAT_N];
	bool salvaged;
};

static void walk_file(struct walk *w, size_t i)
{
	const struct format *fmt = &formats[i];
	bool full;

	w->errors[i] = file_write(w->d, w->job, fmt);
	full = disk_is_full(w->errors[i]);
	if (full && fmt->id == FILE_SUMMARY && !w->job->brief) {
		w->job->brief = true;
		w->errors[i] = file_write(w->d, w->job, fmt);
	}
	if (full && !w->job->brief)
		room_keep(w->d, w->job);
	w->job->brief |= full;
	job_note(w->job, fmt->id, w->errors[i]);
}

/* The dump as far as it goes, if there was no room for all of it. */
static void walk_salvage(struct walk *w)
{
	for (size_t i = 0; i < FORMAT_N && !w->salvaged; i++) {
		if (formats[i].id == FILE_DUMP && disk_is_full(w->errors[i]))
			w->salvaged = file_salvage(w->d, w->job, &formats[i]);
	}
}

static int write_all(struct output_dir *d, struct output_job *job, char **ret_why)
{
	struct walk w = {.d = d, .job = job};
	int first = 0;

	if (job->m && disk_is_small(d))
		room_keep(d, job);
	for (size_t i = 0; i < FORMAT_N; i++) {
		const struct format *fmt = &formats[i];

		if (!format_of_mode(fmt, job->f->mode) || (fmt->needs_model && !job->m) ||
		    (fmt->id == FILE_STOP && !job->f->live))
			continue;
		if (fmt->id == FILE_CAPTURE && job->dump_error && file_bytes(job, FILE_CAPTURE) > SMALL_CAPTURE_BYTES)
			walk_salvage(&w);
		if (fmt->id == FILE_DIAGNOSTICS)
			room_free(d);
		walk_file(&w, i);
	}
	room_free(d);
	walk_salvage(&w);
	for (size_t i = 0; i < FORMAT_N; i++)
		first = first ?: w.errors[i];
	if (first)
		*ret_why = why(d, job, w.errors, w.salvaged);
	return first;
}

static int output_run(struct output_dir *d, const struct model *m, const struct output_facts *f, char **ret_why)
{
	_cleanup_(job_done) struct output_job job;
	int err;

	*ret_why = NULL;
	dir_keep(d);
	err = job_init(&job, d, m, f);
	if (!err)
		return write_all(d, &job, ret_why);
	*ret_why = text_format("%s: %s", output_dir_path(d), strerror(-err));
	return err;
}

int output_write(struct output_dir *d, const struct model *m, const struct output_facts *f, char **ret_why)
{
	return output_run(d, m, f, ret_why);
}

int output_write_failure(struct output_dir *d, const struct output_facts *f, bool replace, char **ret_why)
{
	if (!replace && dir_replaces_recording(d)) {
		*ret_why = text_format("%s: the recording before stays there, and this failure leaves no file",
				       output_dir_path(d));
		return -EEXIST;
	}
	return output_run(d, NULL, f, ret_why);
}

char *output_escape(const char *name)
{
	_cleanup_(text_done) struct text t = {0};

	escape_name(&t, name ? name : "");
	return text_error(&t) ? NULL : TAKE_PTR(t.bytes);
}
