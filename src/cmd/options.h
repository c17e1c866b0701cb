/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Options of the command line: tables of rows, one parser. The help text, the
 * completions and the check against the man pages walk the same rows.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/capture.h"
#include "output/output.h"
#include "probe/probe.h"

/*
 * One option. set() puts value (NULL for a flag) into the config, or gives
 * -EINVAL with *ret_why: one malloc'd line that begins with the option as the user knows it.
 */
struct option_row {
	char short_name;	/* 0: none */
	const char *long_name;	/* NULL: none */
	const char *arg;	/* what the help calls its value; NULL: a flag */
	const char *choices;	/* "time|stacks": for the completions; NULL: free */
	const char *help;	/* one line; NULL in the blank row that ends a table */
	int (*set)(void *config, const char *value, char **ret_why);
};

/*
 * Parses argv[1..]. Stops at "--" or at the first word that is no option:
 * *ret_rest is the index of the first operand (argc: none). -h and -V are rows
 * like the others. 0; -EINVAL with *ret_why, -ENOMEM.
 */
int options_parse(const struct option_row *rows, void *config, int argc, char **argv, int *ret_rest, char **ret_why);
/* -EINVAL with a formatted *ret_why; -ENOMEM. */
int options_refuse(char **ret_why, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A list of numbers in place of *ids, which is freed. 0; -EINVAL with *ret_why that begins with option; -ENOMEM. */
int options_set_ids(const char *option, const char *value, uint32_t **ids, size_t *n, char **ret_why);

enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* What every command takes. First member of every command's config, so that the rows can be shared. */
struct options_all {
	bool help, version;
	bool quiet;
	unsigned verbose; /* times -v was given */
	enum color_when color;
};
int options_set_help(void *config, const char *value, char **ret_why);
int options_set_version(void *config, const char *value, char **ret_why);
int options_set_quiet(void *config, const char *value, char **ret_why);
int options_set_verbose(void *config, const char *value, char **ret_why);
int options_set_color(void *config, const char *value, char **ret_why);
/* Sets the log level by -q and -v. */
void options_all_apply(const struct options_all *o);
/* Colour for what is written to fd? NO_COLOR and dumb terminals are obeyed under auto. */
bool options_color_for(const struct options_all *o, int fd);

#define OPTIONS_ALL_ROWS                                                                                            \
	{'q', NULL, NULL, NULL, "print errors only", options_set_quiet},                                            \
	{'v', NULL, NULL, NULL, "say more; -vv: for debugging wcbpf", options_set_verbose},                        \
	{0, "color", "WHEN", "auto|always|never", "colour: auto (default), always or never", options_set_color},    \
	{'h', "help", NULL, NULL, "print this help", options_set_help},                                             \
	{'V', "version", NULL, NULL, "print the version", options_set_version},                                     \
	{0}

/* CAPTURE: the options of record and attach. Strings point into argv. */
struct capture_config {
	struct options_all all;
	bool has_scope;		  /* one of -p -t -G -a was given */
	enum capture_scope scope;
	uint32_t *ids;		  /* of -p or -t as given, owned */
	size_t id_n;
	const char *cgroup;	  /* -G as given */
	const char *out_path;
	bool out_named; /* -o was given: whoever did looks there for what became of it */
	const char *user;	  /* --user, NULL: as we run */
	uint64_t duration_ns;	  /* 0: until the end */
	uint64_t delay_ns;
	uint64_t min_ns;
	enum output_mode mode;
	uint32_t sample_hz;	  /* mode wall */
	bool has_sample_hz;	  /* -F was given */
	enum capture_kernel_stacks kernel_stacks;
	enum wcbpf_ustack user_stacks;
	bool waker_stacks;
	bool copies;		  /* --call-graph auto: copied stacks where tables are missing */
	bool call_graph_dwarf;	  /* given as dwarf, which elsewhere means copied stacks */
	bool inherit, keep_args, symbols, gzip, strict;
	bool dry_run;
	struct probe_set *probes; /* --probes and -e, owned; NULL: none were asked for */
	double overhead_max;	  /* of a CPU; 0: no limit */
	const char *only;
	size_t event_cap;
	const char *listen;	  /* --listen, NULL: no endpoint */
	bool starts_off;	  /* --start-off */
	bool has_checkpoint;	  /* --checkpoint was given */
	uint64_t checkpoint_ns;	  /* 0: none are made */
};
#define OPTIONS_CHECKPOINT_DEFAULT_NS 30000000000ull
/* Dumps are made while recording goes on: by the endpoint, or as checkpoints. */
bool capture_config_is_live(const struct capture_config *c);
#define OPTIONS_EVENT_CAP_DEFAULT (4u << 20)
#define OPTIONS_SAMPLE_HZ_DEFAULT 99u /* not in step with what ticks 100 or 1000 times a second */
#define OPTIONS_SAMPLE_HZ_MAX 10000u
#define OPTIONS_OVERHEAD_DEFAULT 0.05
#define OPTIONS_EVENT_CAP_MAX (256u << 20)

/* The tables of the commands. */
extern const struct option_row options_capture_rows[]; /* config: struct capture_config */
extern const struct option_row options_report_rows[];  /* config: struct report_options */
extern const struct option_row options_diff_rows[];    /* the same */
extern const struct option_row options_explain_rows[]; /* the same */
extern const struct option_row options_whatif_rows[];  /* the same */
extern const struct option_row options_flamegraph_rows[], options_timeline_rows[], options_export_rows[]; /* config: struct picture_options */
extern const struct option_row options_doctor_rows[];
extern const struct option_row options_probes_rows[];
extern const struct option_row options_plain_rows[];   /* config: struct options_all */

void capture_config_init(struct capture_config *c);
void capture_config_done(struct capture_config *c);
