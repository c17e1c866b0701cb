/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * A recording for other programs to show: files of their formats, and pictures
 * of our own that need nothing but a browser. Pure writers over the model, one
 * source file a format, one registry row each (export.c).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "util/json.h"

/* What a flame graph, or folded lines, are made of.. */
enum export_view {
	EXPORT_OFFCPU,	/* blocked time, by the stack that waited */
	EXPORT_OFFWAKE, /* the same, and above it who ended the wait, from the waking point down */
	EXPORT_WALL,	/* all of the threads' lives: on the CPU by samples, runnable, blocked */
	EXPORT_PATH,	/* the critical path */
	EXPORT_GOROUTINES, /* what goroutines were parked for, by their stacks; time of no thread, and in no other view */
	EXPORT_VIEW_MAX,
};
/* "offcpu", ...; NULL for none. */
const char *export_view_name(enum export_view view);
/* What the values are, for people: "blocked time". */
const char *export_view_about(enum export_view view);

/* A stretch of the critical path; in time order, not overlapping. */
enum export_path_state { EXPORT_PATH_ONCPU, EXPORT_PATH_RUNNABLE, EXPORT_PATH_BLOCKED, EXPORT_PATH_UNKNOWN };
struct export_stretch {
	int64_t start_ns, end_ns;
	uint32_t thread, op, wait; /* indexes, 0: none */
	uint8_t state;		   /* enum export_path_state */
	bool jumped;		   /* the path came from another thread here */
};

/* Strings are the caller's, NULL where unknown. */
struct export_job {
	const struct model *m;
	/* By index of the model's vectors, what is to be shown; NULL: all of them. */
	const bool *threads, *waits, *ops;
	const struct export_stretch *path; /* NULL: not computed */
	size_t path_n;
	enum export_view view; /* of folded and flamegraph; of pprof only whether it is GOROUTINES */
	bool idle_too; /* pictures: also waits that are idle by design */
	const char *name; /* of the recording: its command, target or file */
	const char *version, *host, *kernel;
};

/* What a writer has to say beside its file. */
struct export_told {
	uint64_t pruned_n, pruned_ns; /* flamegraph: frames too narrow to draw; their time, each counted with what is above */
	uint64_t hidden_ns;	/* pictures: time of waits that are idle by design */
	uint64_t value_ns, line_n; /* folded, flamegraph: sum of all values; folded: lines */
	uint64_t virtual_run_n; /* perfetto: times on a CPU whose number is not known, or was another's then */
	uint64_t untimed_n;	/* firefox, timeline: samples without a moment */
};

typedef int (*export_write_fn)(const struct export_job *job, json_sink sink, void *arg, struct export_told *told);

struct export_format {
	const char *name;	/* of -f */
	const char *file;	/* default file name */
	const char *about;	/* one line for people, no full stop */
	bool binary;		/* nothing for a terminal */
	bool gzip;		/* the file is what write gives, compressed */
	bool path;		/* shows the critical path if there is one, whatever the view */
	export_write_fn write;	/* 0 or -errno; -ENODATA: the recording has nothing of that */
};
/* Ends with a row whose name is NULL. */
extern const struct export_format export_formats[];
const struct export_format *export_format_find(const char *name); /* NULL: there is none */

/* The pictures, rows of the same sort. */
extern const struct export_format export_flamegraph, export_timeline;

/* Runs f->write, compressing if that is due. told is filled as far as it came. 0 or -errno. */
int export_write(const struct export_format *f, const struct export_job *job, json_sink sink, void *arg,
		 struct export_told *ret_told);
