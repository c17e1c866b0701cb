/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "cmd/options.h"
#include "util/cleanup.h"
#include "util/log.h"

struct parsed {
	struct capture_config c;
	int r, rest;
	char *why;
};

static struct parsed parse(const char *const *words)
{
	struct parsed p = {.rest = -1};
	char *argv[24] = {(char *)(uintptr_t) "record"};
	int argc = 1;

	for (; words[argc - 1]; argc++)
		argv[argc] = (char *)(uintptr_t)words[argc - 1];
	capture_config_init(&p.c);
	p.r = options_parse(options_capture_rows, &p.c, argc, argv, &p.rest, &p.why);
	return p;
}
#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static void parsed_done(struct parsed *p)
{
	capture_config_done(&p->c);
	free(p->why);
}

Test(options, defaults)
{
	_cleanup_(parsed_done) struct parsed p = PARSE("--", "true");

	cr_assert_eq(p.r, 0);
	cr_expect_eq(p.rest, 2);
	cr_expect_str_eq(p.c.out_path, "wcbpf.out");
	cr_expect_eq(p.c.mode, OUTPUT_WALL);
	cr_expect_eq(p.c.sample_hz, 99);
	cr_expect_eq(p.c.event_cap, 4194304);
	cr_expect(p.c.inherit && p.c.keep_args && p.c.symbols && p.c.user_stacks == WCBPF_USTACK_TABLES && p.c.copies);
	cr_expect(!p.c.has_scope && !p.c.strict && !p.c.gzip && !p.c.duration_ns && !p.c.delay_ns && !p.c.min_ns);
}

Test(options, every_option_sets_its_field)
{
	_cleanup_(parsed_done) struct parsed p =
		PARSE("-o", "x", "-d1.5", "--delay=250ms", "-m", "10us", "--mode", "stacks", "--call-graph=none",
		      "--no-inherit", "--user", "joe", "--event-cap", "1000", "--no-args", "--no-symbols", "--gzip",
		      "--strict", "-q", "-F", "1000", "make", "-j2");

	cr_assert_eq(p.r, 0, "%s", p.why);
	cr_expect_eq(p.rest, 22, "%d", p.rest);
	cr_expect_str_eq(p.c.out_path, "x");
	cr_expect_eq(p.c.duration_ns, 1500000000);
	cr_expect_eq(p.c.delay_ns, 250000000);
	cr_expect_eq(p.c.min_ns, 10000);
	cr_expect_eq(p.c.mode, OUTPUT_STACKS);
	cr_expect_str_eq(p.c.user, "joe");
	cr_expect_eq(p.c.event_cap, 1000);
	cr_expect(!p.c.inherit && !p.c.keep_args && !p.c.symbols && p.c.user_stacks == WCBPF_USTACK_NONE);
	cr_expect(p.c.gzip && p.c.strict && p.c.all.quiet);
	cr_expect_eq(p.c.sample_hz, 1000);
}

Test(options, call_graph)
{
	static const struct {
		const char *word;
		enum wcbpf_ustack how;
		bool copies, noted;
	} cases[] = {
		{"auto", WCBPF_USTACK_TABLES, true, false},	{"fp", WCBPF_USTACK_FP, false, false},
		{"none", WCBPF_USTACK_NONE, false, false},	{"ehframe", WCBPF_USTACK_TABLES, false, false},
		{"dwarf", WCBPF_USTACK_TABLES, false, true},	{"copy", WCBPF_USTACK_COPY, true, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(parsed_done) struct parsed p = PARSE("--call-graph", cases[i].word, "true");

		cr_assert_eq(p.r, 0, "%s", p.why);
		cr_expect(p.c.user_stacks == cases[i].how && p.c.copies == cases[i].copies, "%s", cases[i].word);
		cr_expect_eq(p.c.call_graph_dwarf, cases[i].noted, "%s", cases[i].word);
	}
	/* the last one counts */
	_cleanup_(parsed_done) struct parsed p = PARSE("--call-graph", "dwarf", "--call-graph", "fp", "true");
	cr_expect(p.r == 0 && p.c.user_stacks == WCBPF_USTACK_FP && !p.c.copies && !p.c.call_graph_dwarf);
}

Test(options, flags_together_and_attached_values)
{
	_cleanup_(parsed_done) struct parsed p = PARSE("-vvqaoDIR", "--color=never");

	cr_assert_eq(p.r, 0);
	cr_expect_eq(p.c.all.verbose, 2);
	cr_expect(p.c.all.quiet);
	cr_expect_eq(p.c.scope, CAPTURE_ALL);
	cr_expect_str_eq(p.c.out_path, "DIR");
	cr_expect_eq(p.c.all.color, COLOR_NEVER);
}

Test(options, options_after_the_command_are_its_own)
{
	_cleanup_(parsed_done) struct parsed p = PARSE("-q", "ls", "-d", "--nonsense");

	cr_assert_eq(p.r, 0);
	cr_expect_eq(p.rest, 2);
	cr_expect_eq(p.c.duration_ns, 0);
}

Test(options, a_lone_dash_is_an_operand)
{
	_cleanup_(parsed_done) struct parsed p = PARSE("-", "x");

	cr_assert_eq(p.r, 0);
	cr_expect_eq(p.rest, 1);
}

Test(options, ids_add_up)
{
	_cleanup_(parsed_done) struct parsed p = PARSE("-p", "3,1", "-p2");

	cr_assert_eq(p.r, 0);
	cr_assert_eq(p.c.id_n, 3);
	cr_expect_eq(p.c.ids[0], 3);
	cr_expect_eq(p.c.ids[1], 1);
	cr_expect_eq(p.c.ids[2], 2);
}

/* Each refused with a line that begins with the option at fault and holds the second word. */
Test(options, refused)
{
	static const struct {
		const char *words[4], *begins, *holds;
	} cases[] = {
		{{"--nonsense"}, "--nonsense", "no such option"},
		{{"--dur", "3"}, "--dur", "no such option"}, /* no abbreviations */
		{{"-Z"}, "-Z", "no such option"},
		{{"-qZ"}, "-Z", "no such option"},
		{{"-d"}, "-d", "needs a value"},
		{{"--duration"}, "--duration", "TIME"},
		{{"--gzip=yes"}, "--gzip", "no value"},
		{{"-d", "soon"}, "-d soon", "not a time"},
		{{"-d", "-1"}, "-d -1", "not a time"},
		{{"-d", "0"}, "-d 0", "nothing"},
		{{"-d", "400d"}, "-d 400d", "not a time"},
		{{"-d", "9000h"}, "-d 9000h", "year"},
		{{"-d", "99999999999999999999"}, "-d 99999999999999999999", "year"},
		{{"-m", "1x"}, "-m 1x", "not a time"},
		{{"-D", ""}, "-D", "not a time"},
		{{"--mode", "walls"}, "--mode walls", "time, stacks and wall"},
		{{"-F", "0"}, "-F 0", "least"},
		{{"-F", "10001"}, "-F 10001", "most"},
		{{"--freq", "99Hz"}, "-F 99Hz", "not a number"},
		{{"-F", "-1"}, "-F -1", "not a number"},
		{{"--call-graph", "lbr"}, "--call-graph lbr", "auto, fp"},
		{{"--event-cap", "0"}, "--event-cap 0", "least"},
		{{"--event-cap", "1e6"}, "--event-cap 1e6", "not a number"},
		{{"--event-cap", "99999999999"}, "--event-cap 99999999999", "most"},
		{{"--color", "pink"}, "--color pink", "auto, always and never"},
		{{"-o", ""}, "-o", "empty"},
		{{"--user", ""}, "--user", "empty"},
		{{"-G", ""}, "-G", "empty"},
		{{"-p", "abc"}, "-p abc", "not a process id"},
		{{"-p", "-1"}, "-p -1", "not a process id"},
		{{"-p", "0"}, "-p 0", "no process id"},
		{{"-p", "1,"}, "-p 1,", "not a process id"},
		{{"-p", "4294967295"}, "-p 4294967295", "2147483647"},
		{{"-p", "99999999999"}, "-p 99999999999", "not a process id"},
		{{"-t", "x"}, "-t x", "not a thread id"},
		{{"-p1", "-t2"}, "-p and -t", "one target"},
		{{"-a", "-G", "x"}, "-a and -G", "one target"},
		{{"-G", "x", "-Gy"}, "-G y", "one cgroup"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(parsed_done) struct parsed p = parse(cases[i].words);

		cr_assert_eq(p.r, -EINVAL, "case %zu: %d", i, p.r);
		cr_assert_not_null(p.why);
		cr_expect_eq(strncmp(p.why, cases[i].begins, strlen(cases[i].begins)), 0, "%s", p.why);
		cr_expect_not_null(strstr(p.why, cases[i].holds), "%s", p.why);
		cr_expect_null(strchr(p.why, '\n'));
		cr_expect_eq(p.rest, -1, "output touched on failure");
	}
}

static void rows_check(const struct option_row *rows)
{
	for (const struct option_row *a = rows; a->help; a++) {
		cr_expect(a->short_name || a->long_name);
		cr_expect_not_null(a->set);
		cr_expect(!a->choices || a->arg, "choices without a value");
		cr_expect(!a->choices || a->long_name, "the bash completion goes by the long name");
		for (const struct option_row *b = a + 1; b->help; b++) {
			cr_expect(!a->short_name || a->short_name != b->short_name, "-%c twice", a->short_name);
			cr_expect(!a->long_name || !b->long_name || strcmp(a->long_name, b->long_name), "--%s twice",
				  a->long_name);
		}
	}
}

Test(options, tables_are_sound)
{
	rows_check(options_capture_rows);
	rows_check(options_doctor_rows);
	rows_check(options_plain_rows);
}

/* Every word offered as a choice is taken, and nothing else is. */
Test(options, choices_are_what_is_accepted)
{
	for (const struct option_row *row = options_capture_rows; row->help; row++) {
		if (!row->choices)
			continue;
		for (const char *p = row->choices; *p; p += strcspn(p, "|"), p += *p == '|') {
			char word[32];
			struct parsed q = {0};

			snprintf(word, sizeof(word), "%.*s", (int)strcspn(p, "|"), p);
			capture_config_init(&q.c);
			cr_expect_eq(row->set(&q.c, word, &q.why), 0, "--%s %s", row->long_name, word);
			word[strlen(word) - 1] = '\0';
			cr_expect_eq(row->set(&q.c, word, &q.why), -EINVAL, "--%s %s", row->long_name, word);
			parsed_done(&q);
		}
	}
}

Test(options, log_level)
{
	struct options_all quiet = {.quiet = true, .verbose = 2}, loud = {.verbose = 1}, louder = {.verbose = 3};

	options_all_apply(&loud);
	cr_expect_eq(log_level(), LOG_INFO);
	options_all_apply(&louder);
	cr_expect_eq(log_level(), LOG_DEBUG);
	options_all_apply(&quiet);
	cr_expect_eq(log_level(), LOG_ERROR);
}

Test(options, color)
{
	struct options_all o = {.color = COLOR_ALWAYS};
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	setenv("TERM", "xterm", 1);
	setenv("NO_COLOR", "1", 1);
	cr_expect(options_color_for(&o, fds[1]), "asked for: NO_COLOR is about auto");
	o.color = COLOR_AUTO;
	cr_expect_not(options_color_for(&o, fds[1]));
	unsetenv("NO_COLOR");
	cr_expect_not(options_color_for(&o, fds[1]), "a pipe is no terminal");
	o.color = COLOR_NEVER;
	cr_expect_not(options_color_for(&o, fds[1]));
}
