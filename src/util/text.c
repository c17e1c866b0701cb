/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Lines are built in one buffer that lives as long as the file being written:
 * a recording has some hundred thousand of them and each has some hundred
 * pieces, so neither an allocation a line nor a stdio lock a piece is wanted.
 */
#include "util/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_done(struct text *t)
{
	free(t->bytes);
	*t = (struct text){0};
}

void text_clear(struct text *t)
{
	t->n = 0;
	if (t->bytes)
		t->bytes[0] = '\0';
}

/* Makes room for n more bytes and the NUL. */
static bool reserve(struct text *t, size_t n)
{
	size_t cap = t->cap ? t->cap : 256;
	char *bytes;

	if (t->failed)
		return false;
	if (n < t->cap - t->n)
		return true;
	while (cap - t->n <= n) {
		if (__builtin_mul_overflow(cap, 2, &cap)) {
			t->failed = true;
			return false;
		}
	}
	bytes = realloc(t->bytes, cap);
	if (!bytes) {
		t->failed = true;
		return false;
	}
	t->bytes = bytes;
	t->cap = cap;
	return true;
}

void text_append_n(struct text *t, const char *s, size_t n)
{
	if (!reserve(t, n))
		return;
	memcpy(t->bytes + t->n, s, n);
	t->n += n;
	t->bytes[t->n] = '\0';
}

void text_append(struct text *t, const char *s)
{
	text_append_n(t, s, strlen(s));
}

void text_appendf(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0) {
		t->failed = true;
		return;
	}
	if (!reserve(t, (size_t)n))
		return;
	va_start(ap, fmt);
	vsnprintf(t->bytes + t->n, (size_t)n + 1, fmt, ap);
	va_end(ap);
	t->n += (size_t)n;
}

const char *text_str(const struct text *t)
{
	return t->bytes ? t->bytes : "";
}

int text_error(const struct text *t)
{
	return t->failed ? -ENOMEM : 0;
}

char *text_vformat(const char *fmt, va_list ap)
{
	char *text;

	return vasprintf(&text, fmt, ap) < 0 ? NULL : text;
}

char *text_format(const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = text_vformat(fmt, ap);
	va_end(ap);
	return text;
}
