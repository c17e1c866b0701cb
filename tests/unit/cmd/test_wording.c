/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/wording.h"
#include "util/cleanup.h"

Test(wording, count)
{
	cr_expect_str_eq(wording_count(0).text, "0");
	cr_expect_str_eq(wording_count(999).text, "999");
	cr_expect_str_eq(wording_count(1000).text, "1,000");
	cr_expect_str_eq(wording_count(123456).text, "123,456");
	cr_expect_str_eq(wording_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
}

Test(wording, counted)
{
	cr_expect_str_eq(wording_counted(1, "wait", NULL).text, "1 wait");
	cr_expect_str_eq(wording_counted(0, "wait", NULL).text, "0 waits");
	cr_expect_str_eq(wording_counted(2000, "process", "processes").text, "2,000 processes");
}

Test(wording, duration)
{
	cr_expect_str_eq(wording_duration(1500).text, "1.5 us");
	cr_expect_str_eq(wording_duration(12345678).text, "12.3 ms");
	cr_expect_str_eq(wording_duration(1250000000).text, "1.25 s");
	cr_expect_str_eq(wording_duration(80000000000).text, "80.0 s");
	cr_expect_str_eq(wording_duration(604900000000).text, "10 m 04 s");
	cr_expect_str_eq(wording_duration(7380ull * 1000000000).text, "2 h 03 m");
}

Test(wording, status)
{
	cr_expect_str_eq(wording_status(3 << 8).text, "exit 3");
	cr_expect_str_eq(wording_status(SIGSEGV | 0x80).text, "killed by SIGSEGV (core dumped)");
	cr_expect_str_eq(wording_status(SIGKILL).text, "killed by SIGKILL");
	cr_expect_str_eq(wording_status(SIGRTMIN).text, "killed by signal 34");
}

/* The shell, asked to print the words of what we quoted, gives the words back. */
Test(wording, command_survives_a_shell)
{
	static const char *const argv[] = {"printf", "%s\\0", "plain-1.2", "a b", "", "it's", "$HOME `x` \\ \"q\"", "*",
					   "~", "a\nb", "#x", NULL};
	_cleanup_(freep) char *text = wording_command(argv);
	FILE *f = popen(text, "r");
	char back[256] = "", *p = back;

	cr_assert_not_null(f);
	size_t n = fread(back, 1, sizeof(back) - 1, f);
	cr_expect_eq(pclose(f), 0);
	for (size_t i = 2; argv[i]; i++) {
		cr_assert_lt(p, back + n);
		cr_expect_str_eq(p, argv[i]);
		p += strlen(p) + 1;
	}
	cr_expect_eq(p, back + n);
}

static char *fitted(const char *text, unsigned columns)
{
	char *out = NULL;
	size_t n;
	FILE *f = open_memstream(&out, &n);

	cr_assert(f);
	wording_fit(f, text, columns);
	cr_assert(fclose(f) == 0);
	return out;
}

/* What follows a break stands below the line's text; nothing but blanks is lost. */
Test(wording, lines_that_fit)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{ "", "" },
		{ "short\n\nlines\n", "short\n\nlines\n" },
		{ "12345678901234567890\n", "12345678901234567890\n" },
		{ "1234567890 1234567890\n", "1234567890\n    1234567890\n" },
		{ "  12.0 s  one two three four\n", "  12.0 s  one two\n          three four\n" },
		{ "  1  a <- bb <- cccccccccccccccccccccccc <- d", "  1  a <- bb <-\n     cccccccccccccccccccccccc\n     <- d" },
		{ "\033[31mred words\033[0m of 20 is", "\033[31mred words\033[0m of 20 is" },
		{ "\033[31mred words\033[0m of 20 col", "\033[31mred words\033[0m of 20\n    col" },
		{ "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4 \xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc",
		  "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4 \xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_(freep) char *got = fitted(rows[i].text, strchr(rows[i].text, '\033') ? 18 : 20);

		cr_expect_str_eq(got, rows[i].expected, "%s: %s", rows[i].text, got);
	}
}

Test(wording, left_out)
{
	cr_expect(wording_has_option("-o x --only exec:sh", "--only"));
	cr_expect(wording_has_option("--only=exec:sh", "--only"));
	cr_expect_not(wording_has_option("-o x--only --onlyx", "--only"));
	cr_expect_str_eq(wording_left_out("-o x --only a:b"), "by --only");
	cr_expect_str_eq(wording_left_out("--listen 7007"), "while recording was off");
	cr_expect_str_eq(wording_left_out("--only a:b --listen 7007"), "by --only or while recording was off");
	cr_expect_str_eq(wording_left_out(NULL), "by --only or while recording was off");
}
