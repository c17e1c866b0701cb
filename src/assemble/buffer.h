/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A text that grows and is used again. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "util/vec.h"

struct buffer {
	char *text; /* not NUL-terminated; may be NULL */
	size_t n, cap;
};

static inline int buffer_add(struct buffer *b, const char *text, size_t n)
{
	if (VEC_RESERVE(b->text, b->cap, b->n + n) < 0)
		return -ENOMEM;
	if (n)
		memcpy(b->text + b->n, text, n);
	b->n += n;
	return 0;
}
