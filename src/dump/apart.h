/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Some lines of a dump read apart from the others, by any thread, and put to the others later. Private to dump/. */
#include "dump/lines.h"
#include "dump/reader.h"

struct apart {
	struct lines_part part;
	struct reader r; /* its own model has only what these lines told */
	size_t line_n;	 /* blank ones too */
	/* Lines that the reader of all must read itself. */
	struct later {
		struct line line;
		size_t number; /* from 0 on */
	} *later;
	size_t later_n, later_cap;
	struct dump_problem problem; /* line: from 1 on */
	const char *why;	     /* of its first bad line */
	bool again;		     /* what it came to is of no use: the reader of all must read all of it */
};

/* Blank first. */
int apart_init(struct apart *a);
void apart_done(struct apart *a);
/* Reads a->part, of a dump whose header `of` has read; that changes nothing meanwhile but its model. 0, -ENOMEM. */
int apart_read(struct apart *a, const struct reader *of, struct fields *f);
/* To `of` what was read, as if it had read the lines itself now, the first of them line number. 0, -ENOMEM. */
int apart_merge(struct apart *a, struct reader *of, struct fields *f, size_t number);
