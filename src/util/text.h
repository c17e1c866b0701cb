/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * A growing byte string for one line or stack at a time. The first failed
 * allocation sticks: appends after it do nothing and text_error() tells, so
 * that a writer checks once a line and not once a frame.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct text {
	char *bytes; /* NUL-terminated once anything was appended, else NULL */
	size_t n, cap;
	bool failed;
};

void text_done(struct text *t);
void text_clear(struct text *t); /* keeps the memory; an error stays */
void text_append(struct text *t, const char *s);
void text_append_n(struct text *t, const char *s, size_t n);
void text_appendf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *text_str(const struct text *t); /* "" when empty */
int text_error(const struct text *t);	    /* 0, -ENOMEM */

/* A string of its own, to be freed; NULL: no memory. (asprintf() leaves what a cleanup then frees undefined.) */
char *text_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *text_vformat(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));
