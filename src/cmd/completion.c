/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Completion scripts for three shells, written from the tables of commands and options. */
#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/verb.h"
#include "util/cleanup.h"
#include "util/log.h"

static bool has_rows(const struct subcommand *c)
{
	return c->options && c->options->help;
}

/* "a|b|c" with blanks for the bars */
static void words_print(const char *words)
{
	for (; *words; words++)
		putchar(*words == '|' ? ' ' : *words);
}

static void command_names_print(void)
{
	for (const struct subcommand *c = cmd_subcommands; c->name; c++)
		printf("%s%s", c == cmd_subcommands ? "" : " ", c->name);
}

/* What may stand as an operand; NULL words are files. */
static void operand_words_print(const struct subcommand *c)
{
	if (*c->words)
		words_print(c->words);
	else
		command_names_print();
}

/* ---- bash ---- */

static void bash_option_names(const struct subcommand *c)
{
	for (const struct option_row *row = c->options; row->help; row++) {
		if (row->short_name)
			printf("-%c ", row->short_name);
		if (row->long_name)
			printf("--%s ", row->long_name);
	}
}

static void bash_case(const struct subcommand *c)
{
	printf("\t%s)\n", c->name);
	if (has_rows(c)) {
		printf("\t\tcase $prev in\n");
		for (const struct option_row *row = c->options; row->help; row++) {
			if (!row->choices)
				continue;
			printf("\t\t--%s) COMPREPLY=($(compgen -W '", row->long_name);
			words_print(row->choices);
			printf("' -- \"$cur\")); return ;;\n");
		}
		printf("\t\tesac\n\t\tif [[ $cur == -* ]]; then\n\t\t\tCOMPREPLY=($(compgen -W '");
		bash_option_names(c);
		printf("' -- \"$cur\"))\n\t\t\treturn\n\t\tfi\n");
	}
	if (c->words) {
		printf("\t\tCOMPREPLY=($(compgen -W '");
		operand_words_print(c);
		printf("' -- \"$cur\"))\n");
	} else {
		printf("\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n");
	}
	printf("\t\t;;\n");
}

static void bash_print(void)
{
	printf("_wcbpf() {\n"
	       "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} i\n"
	       "\tCOMPREPLY=()\n"
	       "\tif ((COMP_CWORD == 1)); then\n"
	       "\t\tCOMPREPLY=($(compgen -W '");
	command_names_print();
	printf(" -h --help -V --version' -- \"$cur\"))\n"
	       "\t\treturn\n"
	       "\tfi\n"
	       "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	       "\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then\n"
	       "\t\t\tCOMPREPLY=($(compgen -c -f -- \"$cur\"))\n"
	       "\t\t\treturn\n"
	       "\t\tfi\n"
	       "\tdone\n"
	       "\tcase ${COMP_WORDS[1]} in\n");
	for (const struct subcommand *c = cmd_subcommands; c->name; c++)
		bash_case(c);
	printf("\tesac\n"
	       "}\n"
	       "complete -o filenames -F _wcbpf wcbpf\n");
}

/* ---- zsh ---- */

/* Inside '...[here]' of _arguments, or '...:here' of _describe. */
static void zsh_text_print(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", stdout);
		else if (strchr("[]:\\", *text))
			putchar('\\');
		putchar(*text);
	}
}

static void zsh_row(const struct option_row *row)
{
	printf("\t\t\t");
	if (row->short_name && row->long_name)
		printf("'(-%c --%s)'{-%c,--%s}'[", row->short_name, row->long_name, row->short_name, row->long_name);
	else if (row->short_name)
		printf("'-%c[", row->short_name);
	else
		printf("'--%s[", row->long_name);
	zsh_text_print(row->help);
	printf("]");
	if (row->arg) {
		printf(":");
		zsh_text_print(row->arg);
		printf(":");
		if (row->choices) {
			printf("(");
			words_print(row->choices);
			printf(")");
		} else if (strcmp(row->arg, "DIR") == 0) {
			printf("_files -/");
		}
	}
	printf("' \\\n");
}

static void zsh_case(const struct subcommand *c)
{
	printf("\t%s)\n", c->name);
	/* _arguments is lost when "--" is the first of its words. */
	if (c->options == options_capture_rows)
		printf("\t\tlocal at=$words[(i)--]\n"
		       "\t\tif ((at < CURRENT)); then\n"
		       "\t\t\tshift at words\n"
		       "\t\t\t((CURRENT -= at))\n"
		       "\t\t\t_normal\n"
		       "\t\t\treturn\n"
		       "\t\tfi\n");
	printf("\t\t_arguments -s -S \\\n");
	if (has_rows(c))
		for (const struct option_row *row = c->options; row->help; row++)
			zsh_row(row);
	if (c->words) {
		printf("\t\t\t'1:word:(");
		operand_words_print(c);
		printf(")'\n");
	} else if (c->options == options_capture_rows) {
		printf("\t\t\t'*::command:_normal'\n");
	} else {
		printf("\t\t\t'*:file:_files'\n");
	}
	printf("\t\t;;\n");
}

static void zsh_print(void)
{
	printf("#compdef wcbpf\n"
	       "_wcbpf() {\n"
	       "\tif ((CURRENT == 2)); then\n"
	       "\t\tif [[ $PREFIX == -* ]]; then\n"
	       "\t\t\tcompadd -- -h --help -V --version\n"
	       "\t\t\treturn\n"
	       "\t\tfi\n"
	       "\t\tlocal -a commands\n"
	       "\t\tcommands=(\n");
	for (const struct subcommand *c = cmd_subcommands; c->name; c++) {
		printf("\t\t\t'%s:", c->name);
		zsh_text_print(c->summary);
		printf("'\n");
	}
	printf("\t\t)\n"
	       "\t\t_describe command commands\n"
	       "\t\treturn\n"
	       "\tfi\n"
	       "\tlocal verb=$words[2]\n"
	       "\tshift words\n"
	       "\t((CURRENT--))\n"
	       "\tcase $verb in\n");
	for (const struct subcommand *c = cmd_subcommands; c->name; c++)
		zsh_case(c);
	printf("\tesac\n"
	       "}\n"
	       "if [[ $funcstack[1] == _wcbpf ]]; then\n"
	       "\t_wcbpf \"$@\"\n"
	       "else\n"
	       "\tcompdef _wcbpf wcbpf\n"
	       "fi\n");
}

/* ---- fish ---- */

static void fish_text_print(const char *text)
{
	putchar('\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('\'');
}

static void fish_row(const struct subcommand *c, const struct option_row *row)
{
	printf("complete -c wcbpf -n '__wcbpf_verb %s'", c->name);
	if (row->short_name)
		printf(" -s %c", row->short_name);
	if (row->long_name)
		printf(" -l %s", row->long_name);
	if (row->choices) {
		printf(" -x -a '");
		words_print(row->choices);
		printf("'");
	} else if (row->arg) {
		printf(" -r");
	}
	printf(" -d ");
	fish_text_print(row->help);
	printf("\n");
}

/* The verb is the second word, no other: a workload may have any name. Behind "--" its own completions hold. */
static void fish_functions_print(void)
{
	printf("function __wcbpf_verb\n"
	       "\tset -l words (commandline -opc)\n"
	       "\ttest (count $words) -gt 1; and test \"$words[2]\" = $argv[1]; and not contains -- -- $words\n"
	       "end\n"
	       "function __wcbpf_behind\n"
	       "\tset -l words (commandline -opc)\n"
	       "\ttest (count $words) -gt 1; and contains -- \"$words[2]\" record attach; and contains -- -- $words\n"
	       "end\n"
	       "function __wcbpf_workload\n"
	       "\tset -l words (commandline -opc)\n"
	       "\tset -l at (contains -i -- -- $words)\n"
	       "\tcomplete -C (string join -- ' ' (string escape -- $words[(math $at + 1)..-1]) (commandline -ct))\n"
	       "end\n"
	       "complete -c wcbpf -n __wcbpf_behind -f -a '(__wcbpf_workload)'\n"
	       "complete -c wcbpf -n __fish_use_subcommand -f -s h -l help -d 'print a summary'\n"
	       "complete -c wcbpf -n __fish_use_subcommand -f -s V -l version -d 'print the version'\n");
}

static void fish_print(void)
{
	fish_functions_print();
	for (const struct subcommand *c = cmd_subcommands; c->name; c++) {
		printf("complete -c wcbpf -n __fish_use_subcommand -f -a %s -d ", c->name);
		fish_text_print(c->summary);
		printf("\n");
		if (has_rows(c))
			for (const struct option_row *row = c->options; row->help; row++)
				fish_row(c, row);
		if (c->words) {
			printf("complete -c wcbpf -n '__wcbpf_verb %s' -f -a '", c->name);
			operand_words_print(c);
			printf("'\n");
		}
	}
}

static const struct {
	const char *name;
	void (*print)(void);
} shells[] = {{"bash", bash_print}, {"zsh", zsh_print}, {"fish", fish_print}};

int cmd_completion(int argc, char **argv)
{
	struct options_all all = {0};
	_cleanup_(freep) char *why = NULL;
	int status, rest, r = options_parse(options_plain_rows, &all, argc, argv, &rest, &why);

	if (verb_settle("completion", r, why, &all, EXIT_USAGE, &status))
		return status;
	if (rest == argc - 1)
		for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
			if (strcmp(argv[rest], shells[i].name) == 0) {
				shells[i].print();
				return 0;
			}
	log_error("completion for which shell? bash, zsh or fish");
	return EXIT_USAGE;
}
