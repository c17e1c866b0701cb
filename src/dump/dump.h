/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The wcprof dump, NDJSON schema 1, written and read (FORMATS: in man/wcbpf-dump.5). */
#include <stdio.h>

#include "model/model.h"
#include "util/json.h"

/*
 * Writes header and events of the model through sink. wcbpf: fills the header's
 * added "wcbpf" object between its braces (NULL: left out). 0 or -errno. The
 * words that waits need as string ids are added to m->strings.
 */
int dump_write(const struct model *m, void (*wcbpf)(void *arg, struct json *j), void *arg, json_sink sink,
	       void *sink_arg);

/*
 * The same for one of several dumps of a run: texts are those of the dumps before, with their ids, and then this one's
 * too. NULL: as dump_write().
 */
int dump_write_next(const struct model *m, struct strtab *texts, void (*wcbpf)(void *arg, struct json *j), void *arg,
		    json_sink sink, void *sink_arg);

/* The header's dropped_events: events over the cap and intervals that never became one. */
uint64_t dump_dropped_events(const struct model *m);

/* What could not be read, said once: the model holds all that could. */
struct dump_problem {
	size_t line;	 /* first bad line, 1 = header; 0: none */
	size_t bad_n;	 /* lines passed over */
	uint64_t announced_n; /* events that the headers tell of; 0: they don't */
	uint64_t missing_n;   /* of them, what could not be read */
	int64_t late_ns;      /* the last event ends so much after the dump's own time; no damage: the wall clock was set back */
	char message[160]; /* "" when all is well; else one line without a full stop */
};

/*
 * Reads a dump that wcbpf or the engine wrote (plain or gzip, by content).
 * Unknown events and keys are passed over. A truncated or damaged line ends
 * nothing: what is good is kept, problem tells. -EINVAL: header unusable
 * (problem says why), -errno. The header's integrity counters and
 * dropped_events go to m->integrity.
 */
int dump_read(const char *path, struct model **ret, struct dump_problem *ret_problem);

/* A choke point, as its recording tells. */
struct dump_point {
	char *name, *file;    /* "": not told */
	uint64_t hit_n;	      /* entries, exits and hits by others */
	uint64_t cost_ns;     /* by what one hit was measured to cost */
	bool detached;	      /* for that, at detached_ns since the recording's begin */
	int64_t detached_ns;
};

/* What a recording says about itself beside the model: malloc'd, NULL where it doesn't. */
struct dump_facts {
	char *version, *host, *kernel, *clock, *target, *options;
	char *command;	/* of record: the arguments joined by blanks, those that need it in quotes */
	char *capture_state;   /* of a summary: summary_written, tool_missing, tool_failed */
	char *caveat_message;  /* of a summary */
	bool has_exit_status;
	int exit_status;       /* as wait(2) gives it */
	bool is_wcbpf;	       /* the dump's header had the "wcbpf" object */
	uint64_t tracer_cpu_ns; /* of a summary: what recording cost, 0: not told */
	uint64_t user_stack_n; /* intervals that blocked and should have a user stack; 0: not told */
	uint64_t complete_user_stack_n; /* of them with a complete one */
	struct dump_point *points; /* of a summary all, costliest first; of a dump only those that were detached */
	size_t point_n;
	bool points_are_priced; /* they are of a summary */
	char **point_caveats;	/* of a summary, a line each: what was asked for and is missing */
	size_t point_caveat_n;
	uint64_t hit_ns, stepped_hit_ns, value_ns; /* of a summary: what a hit costs, single-stepped, and a value; 0: not told */
	double overhead_max;	/* of a summary: of a CPU; 0: no limit, or not told */
};

/* As dump_read(), with the header's "wcbpf" object; blank for a dump without. */
int dump_read_with(const char *path, struct model **ret, struct dump_facts *ret_facts,
		   struct dump_problem *ret_problem);
/*
 * Several dumps of one run, in any order: one epoch, growing string tables, flushed or not between them; what they
 * share is there once, counters are the latest's. Also -EINVAL if they are of different runs.
 */
int dump_read_merged(const char *const *paths, size_t n, struct model **ret, struct dump_facts *ret_facts,
		     struct dump_problem *ret_problem);
/*
 * The same of a Firefox Profiler profile, plain or gzip, as samply saves it: its samples with their CPU time, time off
 * the CPU as waits of reason other, kind off_cpu. Frames may be without names. dump_is_profile(): it looks like one.
 */
bool dump_is_profile(const char *path);
int dump_read_profile(const char *path, struct model **ret, struct dump_facts *ret_facts,
		      struct dump_problem *ret_problem);
/*
 * The readers want files, and JSON values one a line. *ret_fd: a copy of what is no such thing ("-": standard input,
 * pipes, indented JSON, several values on a line, a byte order mark), to be read as /proc/self/fd/N; -1: path serves as
 * it is. 0, -errno.
 */
int dump_spool(const char *path, int *ret_fd);
/* Fills what is still unknown from a recording's offcpu.summary.json. 0, -EINVAL: no such file's content, -errno. */
int dump_facts_from_summary(const char *path, struct dump_facts *facts);
void dump_facts_done(struct dump_facts *facts);
