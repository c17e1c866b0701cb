/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * One bounded reader for all untrusted bytes: ELF sections, notes, events. A
 * read past the end is -EBADMSG, and neither the position nor the output
 * changes. Integers are in the host's byte order and need no alignment.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
	const uint8_t *data; /* not owned; must outlive the reader and every *ret pointer */
	size_t n;
	size_t at; /* <= n */
};

struct bytes bytes_init(const void *data, size_t n);
static inline size_t bytes_left(const struct bytes *b)
{
	return b->n - b->at;
}

int bytes_u8(struct bytes *b, uint8_t *ret);
int bytes_u16(struct bytes *b, uint16_t *ret);
int bytes_u32(struct bytes *b, uint32_t *ret);
int bytes_u64(struct bytes *b, uint64_t *ret);
/* LEB128 as in DWARF; -EBADMSG also for a value that doesn't fit 64 bits. */
int bytes_uleb(struct bytes *b, uint64_t *ret);
int bytes_sleb(struct bytes *b, int64_t *ret);
/* A string that ends in NUL within the bytes; the position goes past the NUL. */
int bytes_str(struct bytes *b, const char **ret);
/* n bytes in place. */
int bytes_mem(struct bytes *b, size_t n, const void **ret);
/* n bytes as a reader of their own. */
int bytes_sub(struct bytes *b, size_t n, struct bytes *ret);
int bytes_skip(struct bytes *b, size_t n);
/* To an absolute position; the end itself is allowed. */
int bytes_seek(struct bytes *b, size_t at);
/* To the next multiple of align (a power of two) from the start of data. */
int bytes_align(struct bytes *b, size_t align);
