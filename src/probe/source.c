/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* A profile is mended faster when all its errors are told at once. */
#include "probe/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/vec.h"

void complaints_done(struct complaints *c)
{
	free(c->text);
	*c = (struct complaints){0};
}

const char *source_place(struct source *s)
{
	return s->line ? pool_printf(s->pool, "%s:%u", s->name, s->line) : s->name;
}

static int complaints_add(struct complaints *c, const char *line, size_t n)
{
	if (VEC_RESERVE(c->text, c->cap, c->n + n + 2) < 0)
		return -ENOMEM;
	if (c->n)
		c->text[c->n++] = '\n';
	memcpy(c->text + c->n, line, n + 1);
	c->n += n;
	return 0;
}

int source_refuse(struct source *s, const char *fmt, ...)
{
	_cleanup_(freep) char *line = NULL;
	_cleanup_(freep) char *message = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&message, fmt, ap);
	va_end(ap);
	if (n < 0) {
		message = NULL;
		return -ENOMEM;
	}
	n = s->line ? asprintf(&line, "%s:%u: %s", s->name, s->line, message)
		    : asprintf(&line, "%s: %s", s->name, message);
	if (n < 0) {
		line = NULL;
		return -ENOMEM;
	}
	return complaints_add(s->complaints, line, (size_t)n) < 0 ? -ENOMEM : -EINVAL;
}
