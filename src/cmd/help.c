/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The help is written from the tables, so that it can't tell of an option that isn't there. */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "util/log.h"

#define COLUMN 24 /* where the explanations begin */

void help_print(FILE *f)
{
	fputs("wcbpf: where programs spend their time off the CPU, from the kernel's own events\n"
	      "\n"
	      "usage: wcbpf COMMAND [OPTIONS] ...\n"
	      "\n",
	      f);
	for (const struct subcommand *c = cmd_subcommands; c->name; c++)
		fprintf(f, "  %-12s %s\n", c->name, c->summary);
	fputs("\n"
	      "  -h, --help     print this help\n"
	      "  -V, --version  print the version\n"
	      "\n"
	      "wcbpf help COMMAND tells the options of a command.\n",
	      f);
}

static void row_print(FILE *f, const struct option_row *row)
{
	char left[64];
	int n;

	if (row->short_name && row->long_name)
		n = snprintf(left, sizeof(left), "  -%c, --%s", row->short_name, row->long_name);
	else if (row->short_name)
		n = snprintf(left, sizeof(left), "  -%c", row->short_name);
	else
		n = snprintf(left, sizeof(left), "      --%s", row->long_name);
	if (row->arg)
		n += snprintf(left + n, sizeof(left) - (size_t)n, " %s", row->arg);
	/* two blanks at least between the two columns */
	if (n > COLUMN - 2)
		fprintf(f, "%s\n%*s%s\n", left, COLUMN, "", row->help);
	else
		fprintf(f, "%-*s%s\n", COLUMN, left, row->help);
}

void help_print_subcommand(FILE *f, const struct subcommand *c)
{
	fprintf(f, "usage: wcbpf %s%s%s%s\n%s\n", c->name, c->options && c->options->help ? " [OPTIONS]" : "",
		*c->operands ? " " : "", c->operands, c->summary);
	if (c->about)
		fprintf(f, "\n%s", c->about);
	if (!c->options)
		return;
	fputs("\n", f);
	for (const struct option_row *row = c->options; row->help; row++)
		row_print(f, row);
}

/* help, help COMMAND */
int cmd_help(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
		help_print(stdout);
		return 0;
	}
	const struct subcommand *c = cmd_subcommand_find(argv[1]);
	if (!c || argc > 2) {
		log_error("help %s: no such command ('wcbpf help' lists them)", argv[argc > 2 ? 2 : 1]);
		return EXIT_USAGE;
	}
	if (c->options) {
		help_print_subcommand(stdout, c);
		return 0;
	}
	/* it knows its options itself */
	char name[32], option[] = "-h", *args[] = {name, option, NULL};

	snprintf(name, sizeof(name), "%s", c->name);
	return c->run(2, args);
}
