/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The wire format against the examples of its documentation (protobuf.dev, "Encoding"), and a decoder written here. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "export/proto.h"

static void expect(struct text *t, const char *bytes, size_t n)
{
	cr_assert_eq(text_error(t), 0);
	cr_assert_eq(t->n, n);
	cr_assert_eq(memcmp(t->bytes, bytes, n), 0);
	text_done(t);
}
#define EXPECT(t, s) expect(t, s, sizeof(s) - 1)

Test(proto, documented)
{
	struct text t = { 0 };
	size_t at;

	proto_uint(&t, 1, 150); /* message Test1 { optional int32 a = 1; } */
	EXPECT(&t, "\x08\x96\x01");
	proto_string(&t, 2, "testing"); /* message Test2 { optional string b = 2; } */
	EXPECT(&t, "\x12\x07testing");
	at = proto_begin(&t, 3); /* message Test3 { optional Test1 c = 3; } */
	proto_uint(&t, 1, 150);
	proto_end(&t, at);
	EXPECT(&t, "\x1a\x03\x08\x96\x01");
	at = proto_begin(&t, 6); /* message Test5 { repeated int32 f = 6 [packed=true]; } */
	proto_varint(&t, 3);
	proto_varint(&t, 270);
	proto_varint(&t, 86942);
	proto_end(&t, at);
	EXPECT(&t, "\x32\x06\x03\x8e\x02\x9e\xa7\x05");
	proto_int(&t, 1, -2); /* "ten bytes long" */
	EXPECT(&t, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

Test(proto, fixed)
{
	struct text t = { 0 };

	proto_fixed64(&t, 47, 0x0102030405060708u);
	EXPECT(&t, "\xf9\x02\x08\x07\x06\x05\x04\x03\x02\x01");
}

static uint64_t varint(const unsigned char **p)
{
	uint64_t v = 0;
	unsigned shift = 0;

	do
		v |= (uint64_t)(**p & 127) << shift, shift += 7;
	while (*(*p)++ & 128);
	return v;
}

Test(proto, edges)
{
	for (unsigned shift = 0; shift < 64; shift++) {
		for (int by = -1; by <= 1; by++) {
			uint64_t v = (UINT64_C(1) << shift) + (uint64_t)by;
			struct text t = { 0 };
			const unsigned char *p;

			proto_uint(&t, 536870911, v); /* the greatest field number */
			p = (const unsigned char *)t.bytes;
			cr_assert_eq(varint(&p), (uint64_t)536870911 << 3);
			cr_assert_eq(varint(&p), v);
			cr_assert_eq((size_t)(p - (const unsigned char *)t.bytes), t.n);
			text_done(&t);
		}
	}
}

/* Lengths of one, two and three bytes, within each other. */
Test(proto, nested)
{
	static const size_t sizes[] = { 0, 1, 127, 128, 16383, 16384, 100000 };
	char *bytes = calloc(1, 100000);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct text t = { 0 };
		const unsigned char *p;
		size_t outer = proto_begin(&t, 1), inner;

		proto_uint(&t, 2, 5);
		inner = proto_begin(&t, 3);
		proto_bytes(&t, 4, bytes, sizes[i]);
		proto_end(&t, inner);
		proto_uint(&t, 5, 6);
		proto_end(&t, outer);
		p = (const unsigned char *)t.bytes;
		cr_assert_eq(varint(&p), 1 << 3 | 2);
		cr_assert_eq(varint(&p), t.n - (size_t)(p - (const unsigned char *)t.bytes));
		cr_assert_eq(varint(&p), 2 << 3);
		cr_assert_eq(varint(&p), 5);
		cr_assert_eq(varint(&p), 3 << 3 | 2);
		cr_assert_geq(varint(&p), sizes[i] + 2);
		cr_assert_eq(varint(&p), 4 << 3 | 2);
		cr_assert_eq(varint(&p), sizes[i]);
		p += sizes[i];
		cr_assert_eq(varint(&p), 5 << 3);
		cr_assert_eq(varint(&p), 6);
		cr_assert_eq((size_t)(p - (const unsigned char *)t.bytes), t.n);
		text_done(&t);
	}
	free(bytes);
}

Test(proto, strings_are_utf8)
{
	struct text t = { 0 };

	proto_string(&t, 1, "a\xff\xc3\xa9");
	EXPECT(&t, "\x0a\x06" "a\xef\xbf\xbd\xc3\xa9");
}
