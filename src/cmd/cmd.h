/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The subcommands of wcbpf: one table, which main, the help and the completions walk. */
#include <stdio.h>

struct option_row;

enum {
	EXIT_USAGE = 2,	      /* usage or bad input, of a command that doesn't capture */
	EXIT_OWN_FAILURE = 125, /* usage or our own failure under record and attach */
	EXIT_CANNOT_RUN = 126,
	EXIT_NOT_FOUND = 127,
};

struct subcommand {
	const char *name;
	const char *operands; /* after the options, as the usage line shows them */
	const char *summary;  /* one line, no full stop */
	const char *about;    /* lines of help between the usage and the options; NULL: none */
	const struct option_row *options; /* ends with a blank row; NULL: the command prints its own help */
	const char *words;    /* operands to complete, "bash|zsh|fish"; "" commands' names; NULL: files */
	int (*run)(int argc, char **argv); /* argv[0] is the name; gives the exit code */
};

/* Ends with a row whose name is NULL. */
extern const struct subcommand cmd_subcommands[];
const struct subcommand *cmd_subcommand_find(const char *name); /* NULL: there is none */

/* All of wcbpf but main() itself. */
int cmd_main(int argc, char **argv);

int cmd_record(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_whatif(int argc, char **argv);
int cmd_flamegraph(int argc, char **argv);
int cmd_timeline(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_probes(int argc, char **argv);
int cmd_completion(int argc, char **argv);
int cmd_help(int argc, char **argv);

/* The overview of all commands, or one command's page. */
void help_print(FILE *f);
void help_print_subcommand(FILE *f, const struct subcommand *c);
