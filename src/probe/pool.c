/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Blocks in a list, the newest first; what doesn't fit the newest gets a block of its own size or the usual one. */
#include "probe/pool.h"

#include <stdarg.h>
#include <stdalign.h>
#include <stdint.h>
#include <string.h>
#include <errno.h>

#define BLOCK_BYTES 4096

struct block {
	struct block *next;
	size_t used, size;
	alignas(max_align_t) char data[];
};

struct probe_pool {
	struct block *blocks;
};

int pool_new(struct probe_pool **ret)
{
	struct probe_pool *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	*ret = p;
	return 0;
}

struct probe_pool *pool_free(struct probe_pool *p)
{
	if (!p)
		return NULL;
	for (struct block *b = p->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(p);
	return NULL;
}

void *pool_alloc(struct probe_pool *p, size_t n)
{
	struct block *b = p->blocks;
	size_t align = alignof(max_align_t), size;
	void *at;

	if (n > SIZE_MAX / 2)
		return NULL;
	n = (n + align - 1) & ~(align - 1);
	if (!b || b->size - b->used < n) {
		size = n > BLOCK_BYTES ? n : BLOCK_BYTES;
		b = calloc(1, sizeof(*b) + size);
		if (!b)
			return NULL;
		b->size = size;
		b->next = p->blocks;
		p->blocks = b;
	}
	at = b->data + b->used;
	b->used += n;
	return at;
}

char *pool_copy(struct probe_pool *p, const char *s, size_t n)
{
	char *copy = pool_alloc(p, n + 1);

	if (copy)
		memcpy(copy, s, n);
	return copy;
}

char *pool_string(struct probe_pool *p, const char *s)
{
	return pool_copy(p, s, strlen(s));
}

char *pool_printf(struct probe_pool *p, const char *fmt, ...)
{
	va_list ap, again;
	char *s = NULL;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n >= 0)
		s = pool_alloc(p, (size_t)n + 1);
	if (s)
		vsnprintf(s, (size_t)n + 1, fmt, again);
	va_end(again);
	return s;
}
