/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Folded lines and map text have no quoting of their own, so a byte that their
 * readers take for structure is written as \xHH, the backslash as \\. What
 * merely looks odd stays: C++ names keep their spaces, parentheses and
 * brackets. Several readers trim lines or end them at more than '\n': hence
 * the rules beyond ';' and newline. Frames obey two more, because one may be
 * the last of its line: flamegraph.pl takes a number after a space at the end
 * for a second value; and brackets at a frame's start are our own words
 * ("[unknown]"). A thread's name comes first and always as itself.
 */
#include "util/escape.h"

#include <stdint.h>
#include <string.h>


#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/*
 * Decodes the character at s (NUL-terminated). Its length in bytes, 0 when the
 * bytes are not UTF-8 (RFC 3629: no overlong forms, no surrogates, no more
 * than U+10FFFF). A NUL ends no sequence: it is no continuation byte.
 */
static size_t utf8_decode(const char *s, uint32_t *ret)
{
	const uint8_t *b = (const uint8_t *)s;
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t c;
	size_t n;

	if (b[0] < 0x80) {
		*ret = b[0];
		return 1;
	}
	if (b[0] >= 0xc2 && b[0] <= 0xdf)
		n = 2;
	else if (b[0] >= 0xe0 && b[0] <= 0xef)
		n = 3;
	else if (b[0] >= 0xf0 && b[0] <= 0xf4)
		n = 4;
	else
		return 0;
	c = b[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((b[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (b[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return n;
}

/* Control characters and what some reader takes for the end of a line (U+0085, U+2028, U+2029). */
static bool breaks_line(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x2028 || c == 0x2029;
}

static void append_hex(struct text *t, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		text_appendf(t, "\\x%02x", (uint8_t)s[i]);
}

/* The last space of name, if all after it reads as a number; else NULL. */
static const char *space_before_number(const char *name)
{
	const char *space = strrchr(name, ' ');

	if (!space || space[1] < '0' || space[1] > '9')
		return NULL;
	return space[1 + strspn(space + 1, "0123456789.")] == '\0' ? space : NULL;
}

/* Bytes from s on that every rule leaves alone; most names are nothing else. */
static size_t plain_n(const char *s)
{
	size_t n = 0;

	while (s[n] > ' ' && s[n] < 0x7f && s[n] != ';' && s[n] != '\\')
		n++;
	return n;
}

/* number: a space to be escaped although it is inside, or NULL; lead: an ASCII set not wanted as the first byte. */
static void escape(struct text *t, const char *name, const char *number, const char *lead)
{
	size_t lead_n = strspn(name, " "), len = strlen(name);
	size_t tail = len; /* where trailing spaces begin */
	uint32_t c = 0;

	if (!*name) {
		text_append(t, "[unnamed]");
		return;
	}
	while (tail > lead_n && name[tail - 1] == ' ')
		tail--;
	for (size_t i = 0, n; i < len; i += n) {
		const char *s = name + i;

		n = i ? plain_n(s) : 0;
		if (n) {
			text_append_n(t, s, n);
			continue;
		}
		n = utf8_decode(s, &c);
		if (!n) {
			n = 1;
			text_append(t, REPLACEMENT);
		} else if (breaks_line(c) || c == ';' || (i == 0 && strchr(lead, *s)) ||
			   (c == ' ' && (i < lead_n || i >= tail || s == number))) {
			append_hex(t, s, n);
		} else if (c == '\\') {
			text_append(t, "\\\\");
		} else {
			text_append_n(t, s, n);
		}
	}
}

void escape_name(struct text *t, const char *name)
{
	escape(t, name, NULL, "");
}

void escape_frame(struct text *t, const char *name)
{
	escape(t, name, space_before_number(name), "[]@");
}

void escape_line(struct text *t, const char *line)
{
	uint32_t c = 0;

	for (size_t n; *line; line += n) {
		n = utf8_decode(line, &c);
		if (!n) {
			n = 1;
			text_append(t, REPLACEMENT);
		} else if (breaks_line(c)) {
			append_hex(t, line, n);
		} else {
			text_append_n(t, line, n);
		}
	}
}

void escape_utf8(struct text *t, const char *s)
{
	uint32_t c;

	while (*s) {
		size_t n = 0;

		while (s[n] && !(s[n] & 0x80))
			n++;
		if (!n)
			n = utf8_decode(s, &c);
		if (n)
			text_append_n(t, s, n);
		else
			text_append(t, REPLACEMENT);
		s += n ? n : 1;
	}
}

/* What XML 1.0 has no way to say (2.2, Char), and C1 controls, which it discourages. */
static bool xml_has(uint32_t c)
{
	return c >= 0x20 && !(c >= 0x7f && c <= 0x9f) && c != 0xfffe && c != 0xffff;
}

void escape_xml(struct text *t, const char *s)
{
	uint32_t c = 0;

	for (size_t n; *s; s += n) {
		n = utf8_decode(s, &c);
		if (!n) {
			n = 1;
			text_append(t, REPLACEMENT);
		} else if (c == '&') {
			text_append(t, "&amp;");
		} else if (c == '<') {
			text_append(t, "&lt;");
		} else if (c == '>') {
			text_append(t, "&gt;");
		} else if (c == '"') {
			text_append(t, "&quot;");
		} else if (c == '\'') {
			text_append(t, "&#39;");
		} else if (!xml_has(c)) {
			append_hex(t, s, n);
		} else {
			text_append_n(t, s, n);
		}
	}
}
