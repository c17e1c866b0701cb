/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/condition.h"
#include "cmd/report.h"
#include "util/cleanup.h"
#include "util/parse.h"
#include "util/vec.h"

static int input_add(struct report_options *o, const char *path)
{
	if (VEC_RESERVE(o->inputs, o->input_cap, o->input_n + 1) < 0)
		return -ENOMEM;
	o->inputs[o->input_n++] = path;
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
		o->sections = SECTIONS_ALL;
		return 0;
	}
	for (unsigned i = 0; i < SECTION_MAX; i++) {
		if (strcmp(value, report_section_name((enum report_section)i)) == 0) {
			o->sections |= SECTION_BIT(i);
			return 0;
		}
	}
	return options_refuse(ret_why, "--section %s: there are "
#define X(id, name) name ", "
			      REPORT_SECTIONS(X)
#undef X
			      "and all", value);
}

static int set_pid(void *config, const char *value, char **ret_why)
{
	struct report_options *o = config;

	return options_set_ids("--pid", value, &o->pids, &o->pid_n, ret_why);
}

static int set_tid(void *config, const char *value, char **ret_why)
{
	struct report_options *o = config;

	return options_set_ids("--tid", value, &o->tids, &o->tid_n, ret_why);
}

static int set_comm(void *config, const char *value, char **ret_why)
{
	(void)ret_why;
	((struct report_options *)config)->comm = value;
	return 0;
}

static int word_add(const char ***words, size_t *n, size_t *cap, const char *word)
{
	if (VEC_RESERVE(*words, *cap, *n + 1) < 0)
		return -ENOMEM;
	(*words)[(*n)++] = word;
	return 0;
}

static int set_class(void *config, const char *value, char **ret_why)
{
	struct report_options *o = config;

	(void)ret_why;
	return word_add(&o->classes, &o->class_n, &o->class_cap, value);
}

static int set_client(void *config, const char *value, char **ret_why)
{
	struct report_options *o = config;

	(void)ret_why;
	return word_add(&o->clients, &o->client_n, &o->client_cap, value);
}

/* "START,STOP"; either may be left out. */
static int set_time(void *config, const char *value, char **ret_why)
{
	struct report_options *o = config;
	const char *comma = strchr(value, ',');
	_cleanup_(freep) char *start = comma ? strndup(value, (size_t)(comma - value)) : NULL;
	uint64_t from_ns = 0, to_ns = INT64_MAX;

	if (comma && !start)
		return -ENOMEM;
	if (!comma || (*start && parse_duration_ns(start, &from_ns) < 0) ||
	    (comma[1] && parse_duration_ns(comma + 1, &to_ns) < 0) || from_ns >= to_ns)
		return options_refuse(ret_why,
				      "--time %s: not a START,STOP (2s,3.5s; times since the recording began)", value);
	o->from_ns = (int64_t)from_ns;
	o->to_ns = (int64_t)to_ns;
	o->has_time = true;
	return 0;
}

static int set_regex(const char *option, const char *value, const char **ret, char **ret_why)
{
	char why[128];
	regex_t re;
	int e = regcomp(&re, value, REG_EXTENDED | REG_NOSUB);

	if (e != 0) {
		regerror(e, &re, why, sizeof(why));
		return options_refuse(ret_why, "%s %s: %s", option, value, why);
	}
	regfree(&re);
	*ret = value;
	return 0;
}

static int set_below(void *config, const char *value, char **ret_why)
{
	struct report_options *o = config;
	int e = set_regex("--below", value, &o->below, ret_why);

	/* Asked for alone it is the question itself. */
	if (e == 0)
		o->sections |= SECTION_BIT(SECTION_BELOW);
	return e;
}

static int set_skip(void *config, const char *value, char **ret_why)
{
	return set_regex("--skip", value, &((struct report_options *)config)->skip, ret_why);
}

static int set_binary(void *config, const char *value, char **ret_why)
{
	(void)ret_why;
	((struct report_options *)config)->binary = value;
	return 0;
}

static int set_fail_if(void *config, const char *value, char **ret_why)
{
	struct report_options *o = config;

	return conditions_parse(&o->conditions, value, ret_why);
}

static int set_events(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct report_options *)config)->events = true;
	return 0;
}

int report_set_symbols(void *config, const char *value, char **ret_why)
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

int report_set_debuginfod(void *config, const char *value, char **ret_why)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	(void)value;
	if (!urls || !urls[strspn(urls, " ")])
		return options_refuse(ret_why,
				      "--debuginfod: DEBUGINFOD_URLS names no server to ask (sudo doesn't pass it on)");
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

/* Which part of a recording. */
#define FILTER_ROWS                                                                                                 \
	{0, "pid", "PID,...", NULL, "only these processes", set_pid},                                               \
	{0, "tid", "TID,...", NULL, "only these threads", set_tid},                                                 \
	{0, "comm", "NAME", NULL, "only threads of this name", set_comm},                                           \
	{0, "class", "CLASS", NULL, "only ops of this class and what is below them; may be repeated", set_class},   \
	{0, "client", "CLIENT", NULL, "only ops of this client and what is below them; may be repeated", set_client}, \
	{0, "time", "START,STOP", NULL, "only this part of the recording: 2s,3.5s", set_time}
#define SYMBOL_ROWS                                                                                                 \
	{0, "symbols", "DIR", NULL, "names for frames without, from (debug) files in DIR", report_set_symbols},            \
	{0, "debuginfod", NULL, NULL, "the same, fetched from the servers in DEBUGINFOD_URLS", report_set_debuginfod}
#define PRINT_ROWS                                                                                                  \
	{0, "json", NULL, NULL, "print JSON", set_json}

const struct option_row options_report_rows[] = {
	{'i', NULL, "DIR|DUMP", NULL, "read this, too; the same as an operand (default: ./wcbpf.out)", set_input},
	{0, "all", NULL, NULL, "list also what is idle by design, and no longer the largest only", set_all},
	{0, "top", "N", NULL, "lines a table (default: 1 to 4; all with --section, --all, --json)", set_top},
	{0, "section", "NAME",
#define X(id, name) name "|"
	 REPORT_SECTIONS(X)
#undef X
	 "all",
	 "only this section (the man page lists them) or all; may be repeated", set_section},
	FILTER_ROWS,
	{0, "binary", "NAME", NULL, "the program's own file, for own and nearest", set_binary},
	{0, "below", "REGEX", NULL, "time below functions that match, by who called them", set_below},
	{0, "skip", "REGEX", NULL, "callers that only pass on, for --below", set_skip},
	{0, "events", NULL, NULL, "print the events as JSON lines, names resolved", set_events},
	{0, "fail-if", "EXPR", NULL, "exit with 1 if it holds: 'lock > 10%, p99:CLASS >= 50ms'", set_fail_if},
	SYMBOL_ROWS,
	PRINT_ROWS,
	{0, "no-pager", NULL, NULL, "don't page a long report on a terminal", set_no_pager},
	OPTIONS_ALL_ROWS,
};

const struct option_row options_diff_rows[] = {
	{0, "all", NULL, NULL, "all lines, and all numbers of each class", set_all},
	{0, "top", "N", NULL, "lines a table (default: 8)", set_top},
	FILTER_ROWS,
	{0, "fail-if", "EXPR", NULL, "exit with 1 if it holds: 'makespan > +5%, lock > 10%'", set_fail_if},
	SYMBOL_ROWS,
	PRINT_ROWS,
	OPTIONS_ALL_ROWS,
};

const struct option_row options_explain_rows[] = {
	{0, "all", NULL, NULL, "all lines, and the stack of each wait", set_all},
	{0, "top", "N", NULL, "lines a table", set_top},
	SYMBOL_ROWS,
	PRINT_ROWS,
	OPTIONS_ALL_ROWS,
};

static int set_engine(void *config, const char *value, char **ret_why)
{
	if (strcmp(value, "e1") != 0 && strcmp(value, "e2") != 0 && strcmp(value, "wcprof") != 0)
		return options_refuse(ret_why, "--engine %s: there are e1, e2 and wcprof", value);
	((struct report_options *)config)->engine = value;
	return 0;
}

const struct option_row options_whatif_rows[] = {
	{0, "engine", "NAME", "e1|e2|wcprof", "answer by this engine alone (e1: recorded order, e2: simulation)",
	 set_engine},
	{0, "time", "START,STOP", NULL, "only this part of the recording: 2s,3.5s", set_time},
	SYMBOL_ROWS,
	PRINT_ROWS,
	OPTIONS_ALL_ROWS,
};

int report_options_parse(struct report_options *o, const struct option_row *rows, int argc, char **argv, char **ret_why)
{
	while (argc > 1) {
		int rest, r = options_parse(rows, o, argc, argv, &rest, ret_why);
		bool operands_only = rest > 1 && r == 0 && strcmp(argv[rest - 1], "--") == 0;

		if (r < 0)
			return r;
		for (; operands_only && rest < argc; rest++) {
			if (input_add(o, argv[rest]) < 0)
				return -ENOMEM;
		}
		if (rest >= argc)
			return 0;
		/* The operand stands where the parser expects the command's name. */
		if (input_add(o, argv[rest]) < 0)
			return -ENOMEM;
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
	free(o->classes);
	free(o->clients);
	free(o->inputs);
	conditions_done(&o->conditions);
}
