/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "rig.h"
#include "util/cleanup.h"

static void expect_run(int code, const char *out, const char *err, const char *const *words)
{
	struct rig r;

	rig_init(&r);
	rig_run(&r, words);
	cr_expect_eq(r.code, code, "%s: %d", words[0] ? words[0] : "", r.code);
	if (out)
		cr_expect_not_null(strstr(r.out, out), "stdout: %s", r.out);
	else
		cr_expect_str_eq(r.out, "");
	if (err)
		cr_expect_not_null(strstr(r.err, err), "stderr: %s", r.err);
	else
		cr_expect_str_eq(r.err, "");
	rig_done(&r);
}
#define EXPECT_RUN(code, out, err, ...) expect_run(code, out, err, (const char *const[]){__VA_ARGS__, NULL})

Test(help, where_it_goes_and_how_it_exits)
{
	EXPECT_RUN(2, NULL, "usage: wcbpf COMMAND", NULL);
	EXPECT_RUN(0, "usage: wcbpf COMMAND", NULL, "-h");
	EXPECT_RUN(0, "usage: wcbpf COMMAND", NULL, "--help");
	EXPECT_RUN(0, "usage: wcbpf COMMAND", NULL, "help");
	EXPECT_RUN(0, "wcbpf " WCBPF_VERSION "\n", NULL, "-V");
	EXPECT_RUN(0, "wcbpf " WCBPF_VERSION "\n", NULL, "record", "-V");
	EXPECT_RUN(2, NULL, "recrod: no such command", "recrod");
	EXPECT_RUN(2, NULL, "help recrod: no such command", "help", "recrod");
	EXPECT_RUN(2, NULL, "--nope: no such option", "doctor", "--nope");
	EXPECT_RUN(2, NULL, "no operand", "doctor", "x");
	EXPECT_RUN(125, NULL, "--nope: no such option", "record", "--nope");
	EXPECT_RUN(0, "usage: wcbpf attach", NULL, "attach", "-h");
	EXPECT_RUN(0, "usage: wcbpf report", NULL, "help", "report");
	EXPECT_RUN(2, NULL, "no-such-folder", "report", "no-such-folder");
}

Test(help, every_option_of_every_table_is_told)
{
	for (const struct subcommand *c = cmd_subcommands; c->name; c++) {
		struct rig r;

		if (!c->options)
			continue;
		rig_init(&r);
		RIG_RUN(&r, "help", c->name);
		for (const struct option_row *row = c->options; row->help; row++) {
			char word[64];

			if (row->short_name) {
				snprintf(word, sizeof(word), "  -%c", row->short_name);
				cr_expect_not_null(strstr(r.out, word), "%s: %s", c->name, word);
			}
			if (row->long_name) {
				snprintf(word, sizeof(word), " --%s%s%s", row->long_name, row->arg ? " " : "",
					 row->arg ? row->arg : "");
				cr_expect_not_null(strstr(r.out, word), "%s: %s", c->name, word);
			}
			cr_expect_not_null(strstr(r.out, row->help), "%s: %s", c->name, row->help);
		}
		for (const char *line = r.out; *line; line += strcspn(line, "\n"), line += *line == '\n')
			cr_expect_leq(strcspn(line, "\n"), 100, "%s: wide: %.60s", c->name, line);
		rig_done(&r);
	}
}

Test(help, doctor)
{
	struct rig r;
	char pid[16];

	rig_init(&r);
	RIG_RUN(&r, "doctor");
	cr_expect_eq(r.code, 0);
	cr_expect_not_null(strstr(r.out, "degraded  tracefs"), "%s", r.out);
	cr_expect_not_null(strstr(r.out, "can record here; 1 degraded"), "%s", r.out);
	cr_expect_null(strchr(r.out, '\033'), "no colour into a file");
	RIG_RUN(&r, "doctor", "--color=always");
	cr_expect_not_null(strchr(r.out, '\033'));
	r.fake = "start=missing";
	snprintf(pid, sizeof(pid), "%d", getppid());
	RIG_RUN(&r, "doctor", "-p", pid);
	cr_expect_not_null(strstr(r.out, "can't record here as this user: 1 missing"), "%s", r.out);
	RIG_RUN(&r, "doctor", "-p", "2147483647");
	cr_expect_eq(r.code, 2);
	cr_expect_str_eq(r.err, "wcbpf: no process 2147483647\n");
	rig_done(&r);
}

Test(help, doctor_json)
{
	struct json_object *o, *checks, *v;
	struct rig r;

	rig_init(&r);
	RIG_RUN(&r, "doctor", "--json");
	cr_expect_eq(r.code, 0);
	o = json_tokener_parse(r.out);
	cr_assert_not_null(o, "%s", r.out);
	cr_expect(json_object_object_get_ex(o, "schema_version", &v) && json_object_get_int(v) == 1);
	cr_expect(json_object_object_get_ex(o, "usable", &v) && json_object_get_boolean(v));
	cr_assert(json_object_object_get_ex(o, "checks", &checks));
	cr_assert_eq(json_object_array_length(checks), 2);
	cr_assert(json_object_object_get_ex(json_object_array_get_idx(checks, 1), "detail", &v));
	cr_expect_str_eq(json_object_get_string(v), "not mounted: \"results\" unknown");
	json_object_put(o);
	rig_done(&r);
}

/* bash itself completes, from the script that was printed. */
static void expect_completes(struct rig *r, const char *line, const char *word, const char *expected)
{
	char script[512];

	snprintf(script, sizeof(script),
		 "source ./c.bash; COMP_WORDS=(%s '%s'); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _wcbpf; "
		 "echo \"${COMPREPLY[*]}\"", line, word);
	r->direct = true;
	RIG_RUN(r, "bash", "-c", script);
	r->direct = false;
	r->out[strcspn(r->out, "\n")] = '\0';
	cr_expect_str_eq(r->out, expected, "%s %s: %s %s", line, word, r->out, r->err);
}

Test(completion, bash)
{
	struct rig r;
	char path[128];

	rig_init(&r);
	RIG_RUN(&r, "completion", "bash");
	cr_assert_eq(r.code, 0);
	snprintf(path, sizeof(path), "%s/c.bash", r.dir);
	{
		_cleanup_(fclosep) FILE *f = fopen(path, "w");
		cr_assert(f && fputs(r.out, f) >= 0);
	}
	expect_completes(&r, "wcbpf", "re", "record report");
	expect_completes(&r, "wcbpf", "-V", "-V");
	expect_completes(&r, "wcbpf record", "--no-", "--no-inherit --no-args --no-symbols");
	expect_completes(&r, "wcbpf record --mode", "", "wall time stacks");
	expect_completes(&r, "wcbpf attach --call-graph", "a", "auto");
	expect_completes(&r, "wcbpf completion", "", "bash zsh fish");
	expect_completes(&r, "wcbpf help", "doc", "doctor");
	expect_completes(&r, "wcbpf report", "c.b", "c.bash");
	expect_completes(&r, "wcbpf record -- ls", "c.b", "c.bash");
	rig_done(&r);
}

/* How one shell's script spells an option. */
static void expect_named(const char *script, const struct option_row *row, const char *short_format,
			 const char *long_format)
{
	char word[64];

	if (row->short_name) {
		snprintf(word, sizeof(word), "%s%c", short_format, row->short_name);
		cr_expect_not_null(strstr(script, word), "%s", word);
	}
	if (row->long_name) {
		snprintf(word, sizeof(word), "%s%s", long_format, row->long_name);
		cr_expect_not_null(strstr(script, word), "%s", word);
	}
}

/* These shells are seldom at hand: each option must at least be named. */
Test(completion, zsh_and_fish_name_every_option)
{
	struct rig zsh, fish;

	rig_init(&zsh);
	rig_init(&fish);
	RIG_RUN(&zsh, "completion", "zsh");
	RIG_RUN(&fish, "completion", "fish");
	cr_assert(zsh.code == 0 && fish.code == 0);
	for (const struct option_row *row = options_capture_rows; row->help; row++) {
		expect_named(zsh.out, row, "-", "--");
		expect_named(fish.out, row, " -s ", " -l ");
	}
	rig_done(&zsh);
	rig_done(&fish);
}

Test(completion, unknown_shell)
{
	EXPECT_RUN(2, NULL, "bash, zsh or fish", "completion");
	EXPECT_RUN(2, NULL, "bash, zsh or fish", "completion", "tcsh");
	EXPECT_RUN(2, NULL, "bash, zsh or fish", "completion", "bash", "zsh");
}
