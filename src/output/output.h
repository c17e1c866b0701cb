/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The files of a recording: folder, one file a format, all by temporary file
 * and rename. One row of the registry (output.c) a format.
 */
#include <sys/types.h>

#include "model/model.h"
#include "util/cleanup.h"

enum output_mode { OUTPUT_TIME, OUTPUT_STACKS, OUTPUT_WALL };

/* What became of a choke point. */
struct output_point {
	const char *name, *file;
	uint64_t entry_n, exit_n;
	uint64_t other_n;   /* hits by who is not recorded */
	uint64_t stepped_n; /* of all hits: single-stepped */
	uint32_t value_n;   /* fetched at each entry */
	uint64_t cost_ns;
	bool detached;	    /* for what it cost, at detached_ns since the recording's begin */
	int64_t detached_ns;
};

/* Facts of a recording that the model doesn't know; strings owned by the caller, NULL where unknown. */
struct output_facts {
	enum output_mode mode;
	const char *version, *kernel, *host, *clock; /* clock: "CLOCK_MONOTONIC" */
	const char *const *command; /* NULL-terminated argv, NULL for attach */
	const char *target;	    /* "pid 123", "cgroup /x", "all" */
	const char *options;	    /* as given on the command line */
	bool has_exit_status;
	int exit_status; /* as wait(2) gives it */
	/* "" or NULL: the capture ran; else it could not: state tool_missing or tool_failed with this reason */
	const char *missing;	    /* -> tool_missing / tool_unavailable */
	const char *failed;	    /* -> tool_failed */
	const char *failed_kind;    /* permission_denied, ... */
	const char *no_rows_reason; /* why no row: nothing blocked, nothing matched, nothing readable */
	const char *const *diagnostics; /* NULL-terminated lines for offcpu.diagnostics.txt besides losses */
	uint64_t tracer_cpu_ns;	    /* user + system time of wcbpf */
	uint64_t bpf_run_n, bpf_run_ns; /* 0: kernel.bpf_stats_enabled was off */
	uint64_t interval_ns_per_run;
	uint64_t sample_run_n, sample_run_ns; /* of the runs, those of the sampling timers */
	uint32_t sample_hz_asked; /* mode wall: -F */
	bool has_points;	    /* choke points were asked for */
	const struct output_point *points;
	size_t point_n;
	const char *const *point_caveats; /* NULL-terminated: what was asked for and is missing */
	const char *const *point_notes;	  /* likewise what is good to know */
	uint64_t hit_ns, stepped_hit_ns, value_ns; /* what a hit costs, and a value more; 0: not measured */
	double overhead_max;	    /* of a CPU; 0: no limit */
	bool gzip;		    /* wcprof.ndjson.gz */
	bool live;		    /* dumps were made meanwhile: stop.ndjson.gz too */
	struct strtab *texts;	    /* of those dumps, see dump_write_next(); NULL: there was none */
};

/* The dump at stop, and until then the last checkpoint. */
#define OUTPUT_STOP_NAME "stop.ndjson.gz"

struct output_dir;

/*
 * Prepares DIR: made if absent; one that carries our marker becomes DIR.old
 * (an older DIR.old is removed if it carries the marker); an empty one is used;
 * any other is -ENOTEMPTY, as are ".", "..", "/" and a home; a link is -ELOOP; one
 * that another wcbpf records into is -EBUSY. Checks that files can be written.
 * uid/gid: owner of all files (-1: ours). On failure *ret_why is one malloc'd line.
 */
int output_dir_open(const char *path, uid_t uid, gid_t gid, struct output_dir **ret, char **ret_why);
/* NULL-safe, gives NULL. If nothing was ever written (output_write*), all is put back as it was before. */
struct output_dir *output_dir_free(struct output_dir *d);
DEFINE_CLEANUP(struct output_dir *, output_dir_free)
const char *output_dir_path(const struct output_dir *d);

enum output_state {
	OUTPUT_STATE_NONE,	/* no folder of wcbpf, as far as can be told */
	OUTPUT_STATE_RECORDING, /* wcbpf records into it */
	OUTPUT_STATE_OVER,	/* it did */
};
/* For who reads the folder: nobody is kept from anything. */
enum output_state output_dir_state(const char *path);

/*
 * Writes every file of the mode: wcprof.ndjson(.gz), offcpu.time.txt,
 * offcpu.stacks.txt or wall.folded.txt, offcpu.diagnostics.txt, offcpu.summary.json. What can be
 * written is written also when another fails. 0 (*ret_why NULL) or the first
 * -errno (with *ret_why: files and reasons, malloc'd). Of a dump that finds the
 * disk full what fits is kept as NAME.partial.
 */
int output_write(struct output_dir *d, const struct model *m, const struct output_facts *f, char **ret_why);
/* ---- while recording goes on: m is what it came to so far ---- */
/* The folder stays, whatever happens. Before the first of these. */
void output_keep(struct output_dir *d);
/* A dump into sink. 0 or -errno. */
int output_dump(const struct model *m, const struct output_facts *f,
		int (*sink)(void *arg, const char *bytes, size_t n), void *arg);
/* stop.ndjson.gz, in place of the one before. 0 or -errno. */
int output_stop_write(const struct output_dir *d, const struct model *m, const struct output_facts *f);
/* A file in the folder's file system, of no name, for reading and writing. 0 or -errno. */
int output_unnamed_open(const struct output_dir *d, int *ret_fd);

/*
 * Only diagnostics and summary, for a recording that could not run: m is NULL. -EEXIST, with *ret_why: a recording
 * would have to give way for it and replace is false; nothing is written, and output_dir_free() puts all back.
 */
int output_write_failure(struct output_dir *d, const struct output_facts *f, bool replace, char **ret_why);

/* A thread's name made safe for folded lines (wcbpf-output(5), ESCAPES). malloc'd, NULL: no memory. */
char *output_escape(const char *name);
