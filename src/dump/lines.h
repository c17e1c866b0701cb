/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The lines of a file, plain or gzip by content. Private to dump/. */
#include <stdbool.h>
#include <stddef.h>

struct lines;

/* -errno of opening, -EISDIR, -ENOMEM. */
int lines_open(const char *path, struct lines **ret);
struct lines *lines_close(struct lines *l); /* NULL-safe, gives NULL */

struct line {
	char *text;   /* writable, valid until the next call; text[n] is writable too */
	size_t n;     /* newline not included */
	bool ended;   /* false: the file stopped in the middle of it */
	bool dropped; /* longer than any sane line: text is only its last part */
};

/* 1 and the next line; 0 at the end; -ENOMEM, -EIO. */
int lines_next(struct lines *l, struct line *ret);
/* Why the file ended early (a cut or damaged gzip stream, a read error); NULL: it didn't. */
const char *lines_damage(const struct lines *l);
