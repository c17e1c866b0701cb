/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Models to write and files to read, for the tests of dump/. */
#include "dump/dump.h"

/* Grows; a json_sink. */
struct text {
	char *s;
	size_t n, cap;
};
int text_sink(void *arg, const char *bytes, size_t n);

uint32_t str(struct model *m, const char *s);
/* One of everything; see fixture.c. Freed by the caller. */
struct model *fixture_model(void);
/* What dump_write() makes of it, NUL-terminated, freed by the caller. */
char *fixture_write(const struct model *m);
/* A file with this text, gzip if asked; path is static until the next call. */
const char *fixture_file(const char *text, size_t n, bool gzip);
/* Reads back text; the test fails if it can't. */
struct model *fixture_read(const char *text, struct dump_problem *ret_problem);
