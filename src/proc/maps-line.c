/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Parsed by hand: a process may have 65,530 mappings and sscanf takes a
 * microsecond each. Paths are raw bytes in which the kernel escapes the newline
 * only, as \012 (seq_file_path(m, file, "\n") in fs/proc/task_mmu.c).
 */
#include "proc/maps-line.h"

#include <errno.h>
#include <string.h>

struct cursor {
	const char *p, *end;
};

static bool take_number(struct cursor *c, unsigned int base, uint64_t *ret)
{
	uint64_t v = 0;
	const char *from = c->p;

	for (; c->p < c->end; c->p++) {
		char ch = *c->p;
		unsigned int d;

		if (ch >= '0' && ch <= '9')
			d = (unsigned int)(ch - '0');
		else if (base == 16 && ch >= 'a' && ch <= 'f')
			d = (unsigned int)(ch - 'a') + 10;
		else
			break;
		if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, d, &v))
			return false;
	}
	*ret = v;
	return c->p > from;
}

static bool take_char(struct cursor *c, char want)
{
	if (c->p == c->end || *c->p != want)
		return false;
	c->p++;
	return true;
}

static void unescape_newlines(char *s)
{
	char *out = s;

	while (*s) {
		if (!strncmp(s, "\\012", 4)) {
			*out++ = '\n';
			s += 4;
		} else {
			*out++ = *s++;
		}
	}
	*out = '\0';
}

void maps_name_trim(char *name)
{
	static const char mark[] = " (deleted)";
	size_t n = strlen(name), m = sizeof(mark) - 1;

	if (n > m && !strcmp(name + n - m, mark))
		name[n - m] = '\0';
}

int maps_line_parse(char *line, size_t n, struct maps_line *ret)
{
	struct cursor c = { line, line + n };
	struct maps_line l = { 0 };
	uint64_t maj, min;

	if (!take_number(&c, 16, &l.start) || !take_char(&c, '-') || !take_number(&c, 16, &l.end) ||
	    !take_char(&c, ' ') || c.end - c.p < 5)
		return -EBADMSG;
	l.exec = c.p[2] == 'x';
	c.p += 4;
	if (!take_char(&c, ' ') || !take_number(&c, 16, &l.pgoff) || !take_char(&c, ' ') ||
	    !take_number(&c, 16, &maj) || !take_char(&c, ':') || !take_number(&c, 16, &min) || !take_char(&c, ' ') ||
	    !take_number(&c, 10, &l.ino) || maj > UINT32_MAX || min > UINT32_MAX || l.start >= l.end)
		return -EBADMSG;
	l.maj = (uint32_t)maj;
	l.min = (uint32_t)min;
	while (c.p < c.end && *c.p == ' ')
		c.p++;
	l.name = line + (c.p - line);
	line[n] = '\0';
	unescape_newlines(l.name);
	if (l.ino)
		maps_name_trim(l.name);
	*ret = l;
	return 0;
}
