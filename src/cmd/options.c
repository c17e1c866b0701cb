/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The option parser. getopt_long() would need a second table and takes
 * abbreviations, which stop working when an option is added; so this walks the
 * rows itself.
 */
#include "cmd/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/log.h"
#include "util/parse.h"
#include "util/text.h"

int options_refuse(char **ret_why, const char *fmt, ...)
{
	va_list args;
	char *why = NULL;

	va_start(args, fmt);
	why = text_vformat(fmt, args);
	va_end(args);
	if (!why)
		return -ENOMEM;
	*ret_why = why;
	return -EINVAL;
}

int options_set_ids(const char *option, const char *value, uint32_t **ids, size_t *n, char **ret_why)
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

static const struct option_row *row_find_long(const struct option_row *rows, const char *name, size_t n)
{
	for (; rows->help; rows++)
		if (rows->long_name && strlen(rows->long_name) == n && strncmp(rows->long_name, name, n) == 0)
			return rows;
	return NULL;
}

static const struct option_row *row_find_short(const struct option_row *rows, char name)
{
	for (; rows->help; rows++)
		if (rows->short_name && rows->short_name == name)
			return rows;
	return NULL;
}

/* argv[*i] is "--name" or "--name=value"; *i moves on when the next word is the value. */
static int parse_long(const struct option_row *rows, void *config, int argc, char **argv, int *i, char **ret_why)
{
	const char *word = argv[*i] + 2;
	const char *value = strchr(word, '=');
	size_t n = value ? (size_t)(value - word) : strlen(word);
	const struct option_row *row = row_find_long(rows, word, n);

	if (!row)
		return options_refuse(ret_why, "--%.*s: no such option", (int)n, word);
	if (!row->arg) {
		if (value)
			return options_refuse(ret_why, "--%s takes no value", row->long_name);
		return row->set(config, NULL, ret_why);
	}
	if (value)
		return row->set(config, value + 1, ret_why);
	if (*i + 1 >= argc)
		return options_refuse(ret_why, "--%s needs a value: %s", row->long_name, row->arg);
	return row->set(config, argv[++*i], ret_why);
}

/* argv[*i] is "-x", "-xyz" (flags together) or "-xVALUE". */
static int parse_short(const struct option_row *rows, void *config, int argc, char **argv, int *i, char **ret_why)
{
	for (const char *p = argv[*i] + 1; *p; p++) {
		const struct option_row *row = row_find_short(rows, *p);
		int r;

		if (!row)
			return options_refuse(ret_why, "-%c: no such option", *p);
		if (row->arg) {
			if (p[1])
				return row->set(config, p + 1, ret_why);
			if (*i + 1 >= argc)
				return options_refuse(ret_why, "-%c needs a value: %s", *p, row->arg);
			return row->set(config, argv[++*i], ret_why);
		}
		r = row->set(config, NULL, ret_why);
		if (r < 0)
			return r;
	}
	return 0;
}

int options_parse(const struct option_row *rows, void *config, int argc, char **argv, int *ret_rest, char **ret_why)
{
	int i;

	for (i = 1; i < argc; i++) {
		int r;

		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		if (argv[i][0] != '-' || !argv[i][1])
			break;
		if (argv[i][1] == '-')
			r = parse_long(rows, config, argc, argv, &i, ret_why);
		else
			r = parse_short(rows, config, argc, argv, &i, ret_why);
		if (r < 0)
			return r;
	}
	*ret_rest = i;
	return 0;
}

int options_set_help(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct options_all *)config)->help = true;
	return 0;
}

int options_set_version(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct options_all *)config)->version = true;
	return 0;
}

int options_set_quiet(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct options_all *)config)->quiet = true;
	return 0;
}

int options_set_verbose(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct options_all *)config)->verbose++;
	return 0;
}

int options_set_color(void *config, const char *value, char **ret_why)
{
	struct options_all *o = config;

	if (strcmp(value, "auto") == 0)
		o->color = COLOR_AUTO;
	else if (strcmp(value, "always") == 0)
		o->color = COLOR_ALWAYS;
	else if (strcmp(value, "never") == 0)
		o->color = COLOR_NEVER;
	else
		return options_refuse(ret_why, "--color %s: there are auto, always and never", value);
	return 0;
}

void options_all_apply(const struct options_all *o)
{
	if (o->quiet)
		log_set_level(LOG_ERROR);
	else if (o->verbose)
		log_set_level(o->verbose > 1 ? LOG_DEBUG : LOG_INFO);
}

bool options_color_for(const struct options_all *o, int fd)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	if (o->color != COLOR_AUTO)
		return o->color == COLOR_ALWAYS;
	if (no_color && no_color[0])
		return false;
	return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

const struct option_row options_plain_rows[] = {OPTIONS_ALL_ROWS};
