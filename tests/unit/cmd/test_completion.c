/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* zsh and fish themselves complete, from the scripts that are printed. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/launch.h"
#include "rig.h"
#include "util/cleanup.h"

static void file_write(const struct rig *r, const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", r->dir, name);
	_cleanup_(fclosep) FILE *f = fopen(path, "w");
	cr_assert(f && fputs(text, f) >= 0);
}

static void start(struct rig *r, const char *shell, const char *script)
{
	if (launch_find(shell, NULL) < 0)
		cr_skip_test("%s is not installed: its completion was not tried", shell);
	rig_init(r);
	RIG_RUN(r, "completion", shell);
	cr_assert_eq(r->code, 0);
	file_write(r, script, r->out);
	/* as the shells find no configuration of the user's own there, and a program to complete */
	cr_assert_eq(setenv("HOME", r->dir, 1), 0);
	cr_assert_eq(setenv("ZDOTDIR", r->dir, 1), 0);
	cr_assert_eq(setenv("TERM", "dumb", 1), 0);
	r->direct = true;
}

/* In the C locale's order, each word followed by a blank. */
static void expect_words(struct rig *r, const char *line, const char *expected)
{
	for (char *c = r->out; *c; c++)
		*c = *c == '\n' ? ' ' : *c;
	cr_expect_str_eq(r->out, expected, "%s: got %s%s", line, r->out, r->err);
}

static void fish_expect(struct rig *r, const char *line, const char *expected)
{
	RIG_RUN(r, "fish", "-c", "source ./c.fish; complete -C $argv[1] | cut -f 1 | LC_ALL=C sort -u", line);
	expect_words(r, line, expected);
}

/*
 * zsh completes only what is typed: its editor, on a terminal of its own, is
 * given the line and told to complete. What the functions offer it is noted.
 */
static const char zsh_editor[] =
	"autoload -Uz compinit && compinit -u -d ./zcompdump\n"
	"source ./c.zsh\n"
	"compadd() {\n"
	"	local -a hits\n"
	"	if (( ! ${@[(I)-[OAD]]} )); then\n"
	"		builtin compadd -A hits \"$@\"\n"
	"		(( $#hits )) && print -rl -- $hits >>hits\n"
	"	fi\n"
	"	builtin compadd \"$@\"\n"
	"}\n"
	"ask() {\n"
	"	BUFFER=$ASK CURSOR=$#ASK\n"
	"	zle complete-word\n"
	"	kill -KILL $$\n"
	"}\n"
	"zle -N zle-line-init ask\n";
static const char zsh_driver[] =
	"zmodload zsh/zpty\n"
	": >hits\n"
	"export ASK=$1\n"
	"zpty editor zsh -d -i\n"
	"while zpty -r editor line; do :; done\n"
	"LC_ALL=C sort -u hits\n";

static void zsh_expect(struct rig *r, const char *line, const char *expected)
{
	RIG_RUN(r, "timeout", "20", "zsh", "-fc", zsh_driver, "zsh", line);
	expect_words(r, line, expected);
}

Test(completion, fish, .timeout = 120)
{
	struct rig r;

	start(&r, "fish", "c.fish");
	fish_expect(&r, "wcbpf re", "record report ");
	fish_expect(&r, "wcbpf -", "--help --version -V -h ");
	fish_expect(&r, "wcbpf record --no-", "--no-args --no-inherit --no-symbols ");
	fish_expect(&r, "wcbpf record --mode ", "stacks time wall ");
	fish_expect(&r, "wcbpf attach --call-graph a", "auto ");
	fish_expect(&r, "wcbpf completion ", "bash fish zsh ");
	fish_expect(&r, "wcbpf help doc", "doctor ");
	fish_expect(&r, "wcbpf report c.f", "c.fish ");
	fish_expect(&r, "wcbpf record -- ls c.f", "c.fish ");
	fish_expect(&r, "wcbpf record -- timeou", "timeout ");
	/* words of the workload are none of ours */
	fish_expect(&r, "wcbpf record -- report --stri", "");
	fish_expect(&r, "wcbpf help record --mo", "");
	rig_done(&r);
}

Test(completion, zsh, .timeout = 300)
{
	struct rig r;

	start(&r, "zsh", "c.zsh");
	file_write(&r, ".zshrc", zsh_editor);
	zsh_expect(&r, "wcbpf re", "record report ");
	zsh_expect(&r, "wcbpf -", "--help --version -V -h ");
	zsh_expect(&r, "wcbpf record --no-", "--no-args --no-inherit --no-symbols ");
	zsh_expect(&r, "wcbpf record --mode ", "stacks time wall ");
	zsh_expect(&r, "wcbpf attach --call-graph a", "auto ");
	zsh_expect(&r, "wcbpf completion ", "bash fish zsh ");
	zsh_expect(&r, "wcbpf help doc", "doctor ");
	zsh_expect(&r, "wcbpf report c.z", "c.zsh ");
	zsh_expect(&r, "wcbpf record -- ls c.z", "c.zsh ");
	zsh_expect(&r, "wcbpf record -- timeou", "timeout ");
	zsh_expect(&r, "wcbpf record -d 3s timeou", "timeout ");
	zsh_expect(&r, "wcbpf record -- report --stri", "");
	zsh_expect(&r, "wcbpf help record --mo", "");
	rig_done(&r);
}
