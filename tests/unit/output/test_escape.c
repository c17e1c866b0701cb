/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Escaped names, checked by an unescaper written from the man page and by the line's grammar. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <regex.h>
#include <string.h>

#include "output/output.h"
#include "util/cleanup.h"
#include "util/escape.h"

/* What a reader does: \\ is a backslash, \xHH a byte. */
static void unescape(const char *s, char *ret)
{
	while (*s) {
		unsigned byte;

		if (*s != '\\') {
			*ret++ = *s++;
		} else if (s[1] == '\\') {
			*ret++ = '\\';
			s += 2;
		} else {
			cr_assert_eq(s[1], 'x');
			cr_assert_eq(sscanf(s + 2, "%2x", &byte), 1);
			*ret++ = (char)byte;
			s += 4;
		}
	}
	*ret = '\0';
}

static char *frame(const char *name)
{
	struct text t = {0};

	escape_frame(&t, name);
	cr_assert_eq(text_error(&t), 0);
	return t.bytes;
}

static void expect(char *(*escape)(const char *), const char *name, const char *escaped)
{
	_cleanup_(freep) char *s = escape(name);

	cr_expect_str_eq(s, escaped);
}

/* One thread, one frame: the line must read back as these two. */
static void expect_line(const char *comm, const char *inner)
{
	_cleanup_(freep) char *line = NULL;
	regex_t grammar;

	cr_assert(asprintf(&line, "%s;%s 42", comm, inner) > 0);
	cr_assert_eq(regcomp(&grammar, "^[^;\n]+(;[^;\n]+)* [0-9]+$", REG_EXTENDED | REG_NOSUB), 0);
	cr_expect_eq(regexec(&grammar, line, 0, NULL, 0), 0, "not a folded line: %s", line);
	regfree(&grammar);
	cr_expect_eq(strchr(line, ';') - line, (ptrdiff_t)strlen(comm));
	cr_expect_null(strchr(strchr(line, ';') + 1, ';'));
}

/* flamegraph.pl's pattern for a line that has two values; such a line would be misread. */
static void expect_one_value(const char *inner)
{
	_cleanup_(freep) char *line = NULL;
	regex_t two;

	cr_assert(asprintf(&line, "comm;%s 42", inner) > 0);
	cr_assert_eq(regcomp(&two, "[[:space:]][0-9]+(\\.[0-9]*)?[[:space:]]+[0-9]+$", REG_EXTENDED | REG_NOSUB), 0);
	cr_expect_eq(regexec(&two, line, 0, NULL, 0), REG_NOMATCH, "two values: %s", line);
	regfree(&two);
}

Test(output_escape, every_byte)
{
	for (int byte = 1; byte <= 0xff; byte++) {
		char name[] = {'a', (char)byte, 'b', '\0'}, back[16];
		_cleanup_(freep) char *comm = output_escape(name);
		_cleanup_(freep) char *inner = frame(name);

		expect_line(comm, inner);
		for (const char *p = comm; *p; p++)
			cr_expect_geq((unsigned char)*p, 0x20, "byte %#x stays a control byte", byte);
		unescape(comm, back);
		cr_expect_str_eq(back, byte < 0x80 ? name : "a\xef\xbf\xbd" "b", "byte %#x", byte);
		unescape(inner, back);
		cr_expect_str_eq(back, byte < 0x80 ? name : "a\xef\xbf\xbd" "b", "byte %#x", byte);
	}
}

Test(output_escape, every_byte_alone)
{
	for (int byte = 1; byte <= 0xff; byte++) {
		char name[] = {(char)byte, '\0'}, back[16];
		_cleanup_(freep) char *comm = output_escape(name);
		_cleanup_(freep) char *inner = frame(name);

		expect_line(comm, inner);
		unescape(inner, back);
		cr_expect_str_eq(back, byte < 0x80 ? name : "\xef\xbf\xbd", "byte %#x", byte);
		/* Readers trim: nothing that they would trim is at an end. */
		cr_expect_null(strchr(" \t\r\n\v\f", comm[0]));
	}
}

Test(output_escape, readable)
{
	expect(output_escape, "n 12", "n 12");
	expect(output_escape, "a;b c", "a\\x3bb c");
	expect(output_escape, "[x 0]", "[x 0]");
	expect(output_escape, "two\nlines", "two\\x0alines");
	expect(output_escape, "back\\slash", "back\\\\slash");
	expect(output_escape, " edge ", "\\x20edge\\x20");
	expect(output_escape, "  ", "\\x20\\x20");
	expect(output_escape, "", "[unnamed]");
	expect(output_escape, NULL, "[unnamed]");
	expect(frame, "Foo::operator()(int, char) const", "Foo::operator()(int, char) const");
	expect(frame, "operator[](unsigned long)", "operator[](unsigned long)");
	expect(frame, "std::map<int, std::vector<char> >::find", "std::map<int, std::vector<char> >::find");
}

Test(output_escape, frames_reserve_brackets)
{
	expect(frame, "[unknown]", "\\x5bunknown]");
	expect(frame, "]: 7", "\\x5d:\\x207");
	expect(frame, "@offcpu_kernel[", "\\x40offcpu_kernel[");
}

Test(output_escape, frames_end_in_no_number)
{
	const char *names[] = {"n 12", "n 12 13", "n 1.5", "n 1.", "x 0", " 7", "7", "7 8 9", "a\t5", "v 1.2.3"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		_cleanup_(freep) char *inner = frame(names[i]);

		expect_one_value(inner);
		expect_line("comm", inner);
	}
	expect(frame, "n 12", "n\\x2012");
	expect(frame, "n 12x", "n 12x");
}

Test(output_escape, utf8)
{
	/* PR_SET_NAME cuts Cyrillic in the middle of a letter. */
	expect(output_escape, "\xd0\xbf\xd1\x80\xd0", "\xd0\xbf\xd1\x80\xef\xbf\xbd");
	expect(output_escape, "\xf0\x9f\x90\x9d", "\xf0\x9f\x90\x9d");
	expect(output_escape, "\xc0\xbb", "\xef\xbf\xbd\xef\xbf\xbd");		     /* overlong ';' */
	expect(output_escape, "\xe0\x80\xbb", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* likewise */
	expect(output_escape, "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* surrogate */
	expect(output_escape, "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	/* Python's splitlines() and others end lines here. */
	expect(output_escape, "a\xc2\x85z", "a\\xc2\\x85z");
	expect(output_escape, "a\xe2\x80\xa8z", "a\\xe2\\x80\\xa8z");
	expect(output_escape, "a\xe2\x80\xa9z", "a\\xe2\\x80\\xa9z");
}

Test(output_escape, diagnostics_lines_keep_their_text)
{
	_cleanup_(text_done) struct text t = {0};

	escape_line(&t, "open: /a;b [x] \\ \xff\n2");
	cr_assert_str_eq(text_str(&t), "open: /a;b [x] \\ \xef\xbf\xbd\\x0a" "2");
}
