/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The wire format (protobuf.dev, "Encoding") is a few lines, so neither a
 * library nor a compiler of schemas is worth depending on. A message's length
 * stands before it and is not known until its end: the message is moved by the
 * one to five bytes that the length takes, which costs less than the room that
 * would be kept free for it. Messages are small; only the outermost are not,
 * and those have no length.
 */
#include "export/proto.h"

#include <string.h>

#include "util/escape.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2 };
enum { VARINT_MAX = 10 };

static size_t varint_put(uint8_t out[VARINT_MAX], uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		out[n++] = (uint8_t)(v | 0x80);
	out[n++] = (uint8_t)v;
	return n;
}

void proto_varint(struct text *t, uint64_t v)
{
	uint8_t bytes[VARINT_MAX];

	text_append_n(t, (const char *)bytes, varint_put(bytes, v));
}

static void tag(struct text *t, unsigned field, unsigned wire)
{
	proto_varint(t, (uint64_t)field << 3 | wire);
}

void proto_uint(struct text *t, unsigned field, uint64_t v)
{
	tag(t, field, WIRE_VARINT);
	proto_varint(t, v);
}

void proto_int(struct text *t, unsigned field, int64_t v)
{
	proto_uint(t, field, (uint64_t)v);
}

void proto_fixed64(struct text *t, unsigned field, uint64_t v)
{
	char bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (char)(v >> 8 * i);
	tag(t, field, WIRE_FIXED64);
	text_append_n(t, bytes, sizeof(bytes));
}

void proto_bytes(struct text *t, unsigned field, const void *bytes, size_t n)
{
	tag(t, field, WIRE_LENGTH);
	proto_varint(t, n);
	text_append_n(t, bytes, n);
}

void proto_string(struct text *t, unsigned field, const char *s)
{
	size_t at = proto_begin(t, field);

	escape_utf8(t, s);
	proto_end(t, at);
}

size_t proto_begin(struct text *t, unsigned field)
{
	tag(t, field, WIRE_LENGTH);
	return t->n;
}

void proto_end(struct text *t, size_t begin)
{
	uint8_t length[VARINT_MAX];
	size_t n = t->failed ? 0 : t->n - begin, length_n = varint_put(length, n);

	/* Makes room; a failed append leaves all as it was, and what is written is of no use then. */
	text_append_n(t, (const char *)length, length_n);
	if (t->failed)
		return;
	memmove(t->bytes + begin + length_n, t->bytes + begin, n);
	memcpy(t->bytes + begin, length, length_n);
}
