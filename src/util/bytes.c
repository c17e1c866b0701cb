/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Every check is "n <= what is left", never "at + n <= end", which overflows
 * for the sizes that a damaged file claims.
 */
#include "util/bytes.h"

#include <errno.h>
#include <string.h>

struct bytes bytes_init(const void *data, size_t n)
{
	return (struct bytes){ .data = data, .n = n };
}

static int copy_out(struct bytes *b, void *ret, size_t n)
{
	if (n > bytes_left(b))
		return -EBADMSG;
	memcpy(ret, b->data + b->at, n);
	b->at += n;
	return 0;
}

int bytes_u8(struct bytes *b, uint8_t *ret)
{
	return copy_out(b, ret, sizeof(*ret));
}

int bytes_u16(struct bytes *b, uint16_t *ret)
{
	return copy_out(b, ret, sizeof(*ret));
}

int bytes_u32(struct bytes *b, uint32_t *ret)
{
	return copy_out(b, ret, sizeof(*ret));
}

int bytes_u64(struct bytes *b, uint64_t *ret)
{
	return copy_out(b, ret, sizeof(*ret));
}

/*
 * Length of the LEB128 number at the position and the bits it holds, the last
 * byte's sign bit copied up. Bits beyond 64 must repeat the fill, else the
 * value doesn't fit: fill is 0 for unsigned, the sign for signed.
 */
static int leb_read(struct bytes *b, bool is_signed, uint64_t *ret)
{
	uint64_t v = 0;
	size_t len = 0;
	uint8_t byte, fill;

	do {
		if (len >= bytes_left(b))
			return -EBADMSG;
		byte = b->data[b->at + len++];
	} while (byte & 0x80);
	fill = is_signed && (byte & 0x40) ? 0x7f : 0;
	for (size_t i = 0; i < len; i++) {
		uint8_t bits = b->data[b->at + i] & 0x7f;

		if (i < 9)
			v |= (uint64_t)bits << (7 * i);
		else if (i == 9 ? (bits & 0x7e) != (fill & 0x7e) : bits != fill)
			return -EBADMSG;
		else if (i == 9)
			v |= (uint64_t)(bits & 1) << 63;
	}
	/* A signed value's tenth byte holds bit 63, which must be its sign. */
	if (is_signed && len >= 10 && (v >> 63) != (fill & 1))
		return -EBADMSG;
	if (fill && len < 10)
		v |= UINT64_MAX << (7 * len);
	b->at += len;
	*ret = v;
	return 0;
}

int bytes_uleb(struct bytes *b, uint64_t *ret)
{
	return leb_read(b, false, ret);
}

int bytes_sleb(struct bytes *b, int64_t *ret)
{
	uint64_t v;
	int r = leb_read(b, true, &v);

	if (r < 0)
		return r;
	*ret = (int64_t)v;
	return 0;
}

int bytes_str(struct bytes *b, const char **ret)
{
	const uint8_t *s, *end;

	if (!bytes_left(b))
		return -EBADMSG;
	s = b->data + b->at;
	end = memchr(s, '\0', bytes_left(b));
	if (!end)
		return -EBADMSG;
	b->at += (size_t)(end - s) + 1;
	*ret = (const char *)s;
	return 0;
}

int bytes_mem(struct bytes *b, size_t n, const void **ret)
{
	if (n > bytes_left(b))
		return -EBADMSG;
	*ret = n ? b->data + b->at : NULL;
	b->at += n;
	return 0;
}

int bytes_sub(struct bytes *b, size_t n, struct bytes *ret)
{
	const void *data;
	int r = bytes_mem(b, n, &data);

	if (r < 0)
		return r;
	*ret = bytes_init(data, n);
	return 0;
}

int bytes_skip(struct bytes *b, size_t n)
{
	if (n > bytes_left(b))
		return -EBADMSG;
	b->at += n;
	return 0;
}

int bytes_seek(struct bytes *b, size_t at)
{
	if (at > b->n)
		return -EBADMSG;
	b->at = at;
	return 0;
}

int bytes_align(struct bytes *b, size_t align)
{
	return bytes_skip(b, -b->at & (align - 1));
}
