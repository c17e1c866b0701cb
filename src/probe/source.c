/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* A profile is mended faster when all its errors are told at once. */
#include "probe/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/text.h"
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

	va_start(ap, fmt);
	message = text_vformat(fmt, ap);
	va_end(ap);
	if (!message)
		return -ENOMEM;
	line = s->line ? text_format("%s:%u: %s", s->name, s->line, message) : text_format("%s: %s", s->name, message);
	if (!line)
		return -ENOMEM;
	return complaints_add(s->complaints, line, strlen(line)) < 0 ? -ENOMEM : -EINVAL;
}
