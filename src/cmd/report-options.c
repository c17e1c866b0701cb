/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/report.h"
#include "util/parse.h"
#include "util/vec.h"

static const char *const section_names[SECTION_MAX] = {
	[SECTION_WALL] = "wall",	   [SECTION_ONCPU] = "oncpu",	  [SECTION_REASONS] = "reasons",
	[SECTION_RESOURCES] = "resources", [SECTION_OPEN] = "open",	  [SECTION_WAKERS] = "wakers",
	[SECTION_STACKS] = "stacks",	   [SECTION_THREADS] = "threads", [SECTION_OPS] = "ops",
};

static int input_add(struct report_options *o, const char *path)
{
	if (o->input)
		o->another = path;
	else
		o->input = path;
	return 0;
}

static int set_input(void *config, const char *value, char **ret_why)
{
	(void)ret_why;
	return input_add(config, value);
}

static int set_all(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct report_options *)config)->everything = true;
	return 0;
}

static int set_top(void *config, const char *value, char **ret_why)
{
	uint32_t top;

	if (parse_u32(value, &top) < 0 || !top)
		return options_refuse(ret_why, "--top %s: not a number from 1 on", value);
	((struct report_options *)config)->top = top;
	return 0;
}

static int set_section(void *config, const char *value, char **ret_why)
{
	struct report_options *o = config;

	if (strcmp(value, "all") == 0) {
		o->sections = (1u << SECTION_MAX) - 1;
		return 0;
	}
	for (unsigned i = 0; i < SECTION_MAX; i++) {
		if (strcmp(value, section_names[i]) == 0) {
			o->sections |= 1u << i;
			return 0;
		}
	}
	return options_refuse(ret_why, "--section %s: there are wall, oncpu, reasons, resources, open, wakers, stacks, "
			      "threads, ops and all", value);
}

static int set_ids(const char *option, const char *value, uint32_t **ids, size_t *n, char **ret_why)
{
	uint32_t *list;
	int r = parse_u32_list(value, &list, n);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return options_refuse(ret_why, "%s %s: not a list of numbers", option, value);
	free(*ids);
	*ids = list;
	return 0;
}

static int set_pid(void *config, const char *value, char **ret_why)
{
	struct report_options *o = config;

	return set_ids("--pid", value, &o->pids, &o->pid_n, ret_why);
}

static int set_tid(void *config, const char *value, char **ret_why)
{
	struct report_options *o = config;

	return set_ids("--tid", value, &o->tids, &o->tid_n, ret_why);
}

static int set_comm(void *config, const char *value, char **ret_why)
{
	(void)ret_why;
	((struct report_options *)config)->comm = value;
	return 0;
}

static int set_symbols(void *config, const char *value, char **ret_why)
{
	struct report_options *o = config;
	struct stat st;

	if (stat(value, &st) < 0)
		return options_refuse(ret_why, "--symbols %s: %m", value);
	if (!S_ISDIR(st.st_mode))
		return options_refuse(ret_why, "--symbols %s: no folder", value);
	if (VEC_RESERVE(o->symbols, o->symbols_cap, o->symbols_n + 1) < 0)
		return -ENOMEM;
	o->symbols[o->symbols_n++] = value;
	return 0;
}

static int set_debuginfod(void *config, const char *value, char **ret_why)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	(void)value;
	if (!urls || !urls[strspn(urls, " ")])
		return options_refuse(ret_why, "--debuginfod: DEBUGINFOD_URLS names no server to ask (sudo doesn't pass it on)");
	((struct report_options *)config)->debuginfod = true;
	return 0;
}

static int set_json(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct report_options *)config)->json = true;
	return 0;
}

static int set_no_pager(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct report_options *)config)->no_pager = true;
	return 0;
}

const struct option_row options_report_rows[] = {
	{'i', NULL, "DIR|DUMP", NULL, "read this; the same as the operand (default: ./wcbpf.out)", set_input},
	{0, "all", NULL, NULL, "list also what is idle by design, and no longer the largest only", set_all},
	{0, "top", "N", NULL, "lines a table (default: 3 to 6; all with --section, --all, --json)", set_top},
	{0, "section", "NAME", "wall|reasons|resources|open|wakers|stacks|threads|ops|all",
	 "only this section, or all; may be repeated", set_section},
	{0, "pid", "PID,...", NULL, "only these processes", set_pid},
	{0, "tid", "TID,...", NULL, "only these threads", set_tid},
	{0, "comm", "NAME", NULL, "only threads of this name", set_comm},
	{0, "symbols", "DIR", NULL, "names for frames without, from (debug) files in DIR", set_symbols},
	{0, "debuginfod", NULL, NULL, "the same, fetched from the servers in DEBUGINFOD_URLS", set_debuginfod},
	{0, "json", NULL, NULL, "print JSON", set_json},
	{0, "no-pager", NULL, NULL, "don't page a long report on a terminal", set_no_pager},
	OPTIONS_ALL_ROWS,
};

int report_options_parse(struct report_options *o, int argc, char **argv, char **ret_why)
{
	while (argc > 1) {
		int rest, r = options_parse(options_report_rows, o, argc, argv, &rest, ret_why);
		bool operands_only = rest > 1 && r == 0 && strcmp(argv[rest - 1], "--") == 0;

		if (r < 0)
			return r;
		if (operands_only) {
			while (rest < argc)
				input_add(o, argv[rest++]);
		}
		if (rest >= argc)
			return 0;
		/* The operand stands where the parser expects the command's name. */
		input_add(o, argv[rest]);
		argc -= rest;
		argv += rest;
	}
	return 0;
}

void report_options_done(struct report_options *o)
{
	free(o->pids);
	free(o->tids);
	free(o->symbols);
}
