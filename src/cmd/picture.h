/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What export, flamegraph and timeline share: options, loading, where the file goes. Private to them and picture*.c. */
#include "cmd/options.h"
#include "cmd/report.h"
#include "export/export.h"

/* Strings point into argv. */
struct picture_options {
	struct options_all all; /* first: its rows are shared */
	struct report_options report; /* filters and symbols, as report takes them */
	const struct export_format *format; /* export: NULL until -f is given */
	const char *output;	/* -o; NULL: the format's own name, "-": stdout */
	bool has_view;
	enum export_view view;
	bool idle_too, json;
};

int picture_set_input(void *config, const char *value, char **ret_why);
int picture_set_output(void *config, const char *value, char **ret_why);
int picture_set_view(void *config, const char *value, char **ret_why);
int picture_set_idle(void *config, const char *value, char **ret_why);
int picture_set_json(void *config, const char *value, char **ret_why);
int picture_set_pid(void *config, const char *value, char **ret_why);
int picture_set_tid(void *config, const char *value, char **ret_why);
int picture_set_comm(void *config, const char *value, char **ret_why);
int picture_set_symbols(void *config, const char *value, char **ret_why);
int picture_set_debuginfod(void *config, const char *value, char **ret_why);

#define PICTURE_VIEWS "offcpu|offwake|wall|path|goroutines"
#define PICTURE_ROW_VIEW                                                                                          \
	{0, "view", "VIEW", PICTURE_VIEWS, "blocked time, also by who ended it, all time, the critical path, goroutines", \
	 picture_set_view}
#define PICTURE_ROWS                                                                                              \
	{'i', NULL, "DIR|DUMP", NULL, "read this; the same as the operand (default: ./wcbpf.out)", picture_set_input},  \
	{0, "pid", "PID,...", NULL, "only these processes", picture_set_pid},                                          \
	{0, "tid", "TID,...", NULL, "only these threads", picture_set_tid},                                            \
	{0, "comm", "NAME", NULL, "only threads of this name", picture_set_comm},                                      \
	{0, "symbols", "DIR", NULL, "names for frames without, from (debug) files in DIR", picture_set_symbols},      \
	{0, "debuginfod", NULL, NULL, "the same, fetched from the servers in DEBUGINFOD_URLS", picture_set_debuginfod}, \
	{0, "json", NULL, NULL, "tell what was written as JSON", picture_set_json},                                   \
	OPTIONS_ALL_ROWS

/* All of a verb behind its rows: gives the exit code. o: what the rows' setters fill, blank but for a fixed format. */
int picture_run(const char *verb, const struct option_row *rows, struct picture_options *o, int argc, char **argv);

/* ---- picture-file.c: where the bytes go ---- */

struct picture_file;

/*
 * path "-": stdout. A file is written under a temporary name until it is whole; what is no regular file is written to
 * directly. binary: refused for a terminal. 0; -errno with *ret_why, one malloc'd line.
 */
int picture_file_open(const char *path, bool binary, struct picture_file **ret, char **ret_why);
int picture_file_write(void *file, const char *bytes, size_t n); /* a json_sink */
uint64_t picture_file_bytes(const struct picture_file *f);
int picture_file_commit(struct picture_file *f);	  /* 0 or the first -errno. Call once; then only free. */
/* NULL-safe, gives NULL; nothing stays if it was not committed. */
struct picture_file *picture_file_free(struct picture_file *f);
DEFINE_CLEANUP(struct picture_file *, picture_file_free)

/* ---- picture-path.c: the critical path ---- */

/* malloc'd. 0, -ENOMEM, -E2BIG: too many waits. */
int picture_path_make(const struct model *m, struct export_stretch **ret, size_t *ret_n);

/* ---- picture-pick.c: what passes the filters ---- */

struct picture_pick {
	bool *threads, *ops, *waits; /* NULL: all */
};
int picture_pick_make(const struct model *m, const struct report_options *o, struct picture_pick *ret); /* 0, -ENOMEM */
void picture_pick_done(struct picture_pick *p);
