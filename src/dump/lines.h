/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The lines of a file, plain or gzip by content. Private to dump/. */
#include <stdbool.h>
#include <stddef.h>

struct lines;

enum { LINES_SLACK = 16 };

/* -errno of opening, -EISDIR, -ENOMEM. */
int lines_open(const char *path, struct lines **ret);
struct lines *lines_close(struct lines *l); /* NULL-safe, gives NULL */

struct line {
	char *text;   /* writable, valid until the next call; text[n] is writable too, LINES_SLACK bytes from there readable */
	size_t n;     /* newline not included */
	bool ended;   /* false: the file stopped in the middle of it */
	bool dropped; /* longer than any sane line: text is only its last part */
};

/* 1 and the next line; 0 at the end; -ENOMEM, -EIO. */
int lines_next(struct lines *l, struct line *ret);

/* Many lines at once, for somebody else to read. */
struct lines_part {
	char *text; /* owned by who has the part; blank before the first call */
	size_t cap;
	size_t n;   /* each line with its newline, but the last of the file may be without */
	bool dropped; /* the first line is the last part of one longer than any sane line */
};
/* 1 and what comes next, some hundred KB; 0 at the end; -ENOMEM, -EIO. */
int lines_part_next(struct lines *l, struct lines_part *part);
/* The next line of a part, from *at on, which moves behind it. False at its end. */
bool lines_part_line(const struct lines_part *part, size_t *at, struct line *ret);

/* Why the file ended early (a cut or damaged gzip stream, a read error); NULL: it didn't. */
const char *lines_damage(const struct lines *l);
