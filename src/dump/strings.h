/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The string table as a dump shows it: strict UTF-8, each text once. Private to dump/. */
#include <stdint.h>

#include "util/strtab.h"

/*
 * Names may hold any bytes. Two that differ only in bytes a dump can't hold
 * become one text, so ids are numbered anew then. Texts keep their order, thus
 * an id stays valid while the table grows.
 */
struct dump_strings {
	const struct strtab *table; /* what to write */
	struct strtab *clean;	    /* owned; NULL: there is none, or earlier is in its place */
	struct strtab *earlier;	    /* the caller's: texts that have their ids already; NULL: none do */
	uint32_t *ids;		    /* new id by old; NULL: unchanged */
	size_t n;		    /* of the caller's table */
};

/* 0, -ENOMEM. The table must not grow before dump_strings_done(). */
int dump_strings_init(struct dump_strings *s, const struct strtab *table, struct strtab *earlier);
void dump_strings_done(struct dump_strings *s);
/* The id to write, 0 for one that is none. */
uint32_t dump_strings_id(const struct dump_strings *s, uint32_t id);
/* The text to write for an id of the caller's table. */
const char *dump_strings_text(const struct dump_strings *s, uint32_t id);
