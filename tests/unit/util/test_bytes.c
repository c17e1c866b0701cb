/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "util/bytes.h"

#include <criterion/criterion.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

/* A heap copy of exactly n bytes: the sanitizer sees one byte too far. */
static uint8_t *exact(const void *data, size_t n)
{
	uint8_t *p = malloc(n ? n : 1);

	memcpy(p, data, n);
	return p;
}

Test(bytes, reads_integers_unaligned)
{
	static const uint8_t raw[] = { 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
				       0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f };
	_cleanup_(freep) uint8_t *data = exact(raw, sizeof(raw));
	struct bytes b = bytes_init(data, sizeof(raw));
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	cr_assert_eq(bytes_u8(&b, &u8), 0);
	cr_assert_eq(u8, 1);
	cr_assert_eq(bytes_u16(&b, &u16), 0);
	cr_assert_eq(le16toh(u16), 0x0302);
	cr_assert_eq(bytes_u32(&b, &u32), 0);
	cr_assert_eq(le32toh(u32), 0x07060504);
	cr_assert_eq(bytes_u64(&b, &u64), 0);
	cr_assert_eq(le64toh(u64), 0x0f0e0d0c0b0a0908);
	cr_assert_eq(bytes_left(&b), 0);
}

Test(bytes, fails_without_moving)
{
	static const uint8_t raw[] = { 1, 2, 3, 4, 5, 6, 7 };
	_cleanup_(freep) uint8_t *data = exact(raw, sizeof(raw));
	struct bytes b = bytes_init(data, sizeof(raw)), sub = { 0 };
	const char *s = NULL;
	const void *p = NULL;
	uint64_t u64 = 9;
	uint32_t u32 = 9;

	cr_assert_eq(bytes_u64(&b, &u64), -EBADMSG);
	cr_assert_eq(u64, 9);
	cr_assert_eq(bytes_skip(&b, 4), 0);
	cr_assert_eq(bytes_u32(&b, &u32), -EBADMSG);
	cr_assert_eq(u32, 9);
	cr_assert_eq(bytes_str(&b, &s), -EBADMSG);
	cr_assert_null(s);
	/* Sizes that would overflow at + n. */
	cr_assert_eq(bytes_skip(&b, SIZE_MAX), -EBADMSG);
	cr_assert_eq(bytes_mem(&b, SIZE_MAX - 2, &p), -EBADMSG);
	cr_assert_eq(bytes_sub(&b, 4, &sub), -EBADMSG);
	cr_assert_eq(bytes_seek(&b, 8), -EBADMSG);
	cr_assert_null(p);
	cr_assert_eq(b.at, 4);
	cr_assert_eq(bytes_seek(&b, 7), 0);
	cr_assert_eq(bytes_str(&b, &s), -EBADMSG);
	cr_assert_eq(bytes_align(&b, 4), -EBADMSG);
	cr_assert_eq(b.at, 7);
}

Test(bytes, reads_strings_and_parts)
{
	_cleanup_(freep) uint8_t *data = exact("ab\0\0xyz\0w", 9);
	struct bytes b = bytes_init(data, 9), sub;
	const char *s;
	const void *p;

	cr_assert_eq(bytes_str(&b, &s), 0);
	cr_assert_str_eq(s, "ab");
	cr_assert_eq(bytes_str(&b, &s), 0);
	cr_assert_str_eq(s, "");
	cr_assert_eq(bytes_align(&b, 4), 0);
	cr_assert_eq(b.at, 4);
	cr_assert_eq(bytes_sub(&b, 3, &sub), 0);
	cr_assert_eq(bytes_str(&sub, &s), -EBADMSG);
	cr_assert_eq(bytes_mem(&sub, 3, &p), 0);
	cr_assert_eq(memcmp(p, "xyz", 3), 0);
	cr_assert_eq(b.at, 7);
	cr_assert_eq(bytes_align(&b, 8), 0);
	cr_assert_eq(b.at, 8);
	cr_assert_eq(bytes_left(&b), 1);
}

Test(bytes, survives_nothing_at_all)
{
	struct bytes b = bytes_init(NULL, 0);
	const void *p;
	const char *s;
	uint64_t u64;
	uint8_t u8;

	cr_assert_eq(bytes_u8(&b, &u8), -EBADMSG);
	cr_assert_eq(bytes_uleb(&b, &u64), -EBADMSG);
	cr_assert_eq(bytes_str(&b, &s), -EBADMSG);
	cr_assert_eq(bytes_mem(&b, 0, &p), 0);
	cr_assert_eq(bytes_skip(&b, 0), 0);
}

/* The examples of DWARF 5, tables 7.7 and 7.8, and the limits of 64 bits. */
Test(bytes, leb128)
{
	static const struct {
		const char *raw;
		size_t n;
		int r;
		uint64_t value;
	} u[] = {
		{ "\x02", 1, 0, 2 },
		{ "\x7f", 1, 0, 127 },
		{ "\x80\x01", 2, 0, 128 },
		{ "\x81\x01", 2, 0, 129 },
		{ "\x39\x64", 1, 0, 57 },
		{ "\xb9\x64", 2, 0, 12857 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, 0, UINT64_MAX },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x03", 10, -EBADMSG, 0 },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, -EBADMSG, 0 },
		{ "\x85\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, 0, 5 },
		{ "\x80\x80", 2, -EBADMSG, 0 },
	};
	static const struct {
		const char *raw;
		size_t n;
		int r;
		int64_t value;
	} s[] = {
		{ "\x02", 1, 0, 2 },
		{ "\x7e", 1, 0, -2 },
		{ "\xff\x00", 2, 0, 127 },
		{ "\x81\x7f", 2, 0, -127 },
		{ "\x80\x01", 2, 0, 128 },
		{ "\x80\x7f", 2, 0, -128 },
		{ "\x81\x01", 2, 0, 129 },
		{ "\xff\x7e", 2, 0, -129 },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10, 0, INT64_MIN },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", 10, 0, INT64_MAX },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, -EBADMSG, 0 },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7e", 10, -EBADMSG, 0 },
		{ "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11, 0, -2 },
		{ "\xff", 1, -EBADMSG, 0 },
	};

	for (size_t i = 0; i < sizeof(u) / sizeof(u[0]); i++) {
		_cleanup_(freep) uint8_t *data = exact(u[i].raw, u[i].n);
		struct bytes b = bytes_init(data, u[i].n);
		uint64_t v = 0;

		cr_expect_eq(bytes_uleb(&b, &v), u[i].r, "unsigned %zu", i);
		cr_expect_eq(v, u[i].value, "unsigned %zu gave %lu", i, (unsigned long)v);
		cr_expect_eq(b.at, u[i].r ? 0 : u[i].n, "unsigned %zu", i);
	}
	for (size_t i = 0; i < sizeof(s) / sizeof(s[0]); i++) {
		_cleanup_(freep) uint8_t *data = exact(s[i].raw, s[i].n);
		struct bytes b = bytes_init(data, s[i].n);
		int64_t v = 0;

		cr_expect_eq(bytes_sleb(&b, &v), s[i].r, "signed %zu", i);
		cr_expect_eq(v, s[i].value, "signed %zu gave %ld", i, (long)v);
		cr_expect_eq(b.at, s[i].r ? 0 : s[i].n, "signed %zu", i);
	}
}
