/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "util/json.h"

#include <criterion/criterion.h>
#include <errno.h>
/* Its typedef has the name of one of our functions. */
#define json_bool json_c_bool
#include <json-c/json.h>
#undef json_bool
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

struct sink {
	char *text;
	size_t n;
	int error;
	int calls;
};

static int sink_take(void *arg, const char *bytes, size_t n)
{
	struct sink *s = arg;

	s->calls++;
	if (s->error)
		return s->error;
	s->text = realloc(s->text, s->n + n + 1);
	memcpy(s->text + s->n, bytes, n);
	s->n += n;
	s->text[s->n] = '\0';
	return 0;
}

static void sink_done(struct sink *s)
{
	free(s->text);
}

#define SETUP(style)                                       \
	_cleanup_(sink_done) struct sink out = { 0 };      \
	_cleanup_(json_freep) struct json *j = NULL;       \
	cr_assert_eq(json_new(sink_take, &out, style, &j), 0)

static void fill_example(struct json *j)
{
	json_begin_object(j);
	json_kv_string(j, "s", "x");
	json_kv_string(j, "none", NULL);
	json_kv_int(j, "min", INT64_MIN);
	json_kv_uint(j, "max", UINT64_MAX);
	json_kv_bool(j, "yes", true);
	json_key(j, "list");
	json_begin_array(j);
	json_int(j, -1);
	json_begin_object(j);
	json_end_object(j);
	json_begin_array(j);
	json_end_array(j);
	json_bool(j, false);
	json_end_array(j);
	json_key(j, "d");
	json_double(j, 1.25, 1);
	json_end_object(j);
}

Test(json, compact)
{
	SETUP(JSON_COMPACT);

	fill_example(j);
	json_newline(j);
	json_begin_array(j);
	json_end_array(j);
	json_newline(j);
	cr_assert_eq(json_flush(j), 0);
	cr_assert_str_eq(out.text, "{\"s\":\"x\",\"none\":null,\"min\":-9223372036854775808,"
				   "\"max\":18446744073709551615,\"yes\":true,"
				   "\"list\":[-1,{},[],false],\"d\":1.2}\n[]\n");
}

Test(json, indented)
{
	SETUP(JSON_INDENTED);

	fill_example(j);
	cr_assert_eq(json_flush(j), 0);
	cr_assert_str_eq(out.text, "{\n"
				   "  \"s\": \"x\",\n"
				   "  \"none\": null,\n"
				   "  \"min\": -9223372036854775808,\n"
				   "  \"max\": 18446744073709551615,\n"
				   "  \"yes\": true,\n"
				   "  \"list\": [\n"
				   "    -1,\n"
				   "    {},\n"
				   "    [],\n"
				   "    false\n"
				   "  ],\n"
				   "  \"d\": 1.2\n"
				   "}");
}

Test(json, leaves_out_what_is_zero)
{
	SETUP(JSON_COMPACT);

	json_begin_object(j);
	json_kv_int_nz(j, "a", 0);
	json_kv_uint_nz(j, "b", 0);
	json_kv_string_nz(j, "c", "");
	json_kv_string_nz(j, "d", NULL);
	json_kv_int_nz(j, "e", -1);
	json_kv_uint_nz(j, "f", 1);
	json_kv_string_nz(j, "g", "x");
	json_end_object(j);
	cr_assert_eq(json_flush(j), 0);
	cr_assert_str_eq(out.text, "{\"e\":-1,\"f\":1,\"g\":\"x\"}");
}

Test(json, null_is_what_is_not_known)
{
	SETUP(JSON_COMPACT);

	json_begin_object(j);
	json_kv_int_or_null(j, "a", true, 0);
	json_kv_int_or_null(j, "b", true, -7);
	json_kv_int_or_null(j, "c", false, -7);
	json_kv_uint_or_null(j, "d", true, UINT64_MAX);
	json_kv_uint_or_null(j, "e", false, 7);
	json_end_object(j);
	cr_assert_eq(json_flush(j), 0);
	cr_assert_str_eq(out.text, "{\"a\":0,\"b\":-7,\"c\":null,\"d\":18446744073709551615,\"e\":null}");
}

Test(json, to_a_stream)
{
	_cleanup_(json_freep) struct json *j = NULL;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n), *full = fopen("/dev/full", "w");

	cr_assert_eq(json_new(json_to_stream, f, JSON_COMPACT, &j), 0);
	json_string(j, "x");
	cr_assert_eq(json_flush(j), 0);
	fclose(f);
	cr_assert_str_eq(text, "\"x\"");
	free(text);

	cr_assert_not_null(full);
	setvbuf(full, NULL, _IONBF, 0);
	cr_assert_eq(json_to_stream(full, "x", 1), -ENOSPC);
	fclose(full);
}

Test(json, doubles)
{
	SETUP(JSON_COMPACT);

	json_begin_array(j);
	json_double(j, NAN, 2);
	json_double(j, INFINITY, 2);
	json_double(j, 0.1, 3);
	json_double(j, -2.0, 0);
	json_double(j, 1e300, 0);
	json_end_array(j);
	cr_assert_eq(json_flush(j), 0);
	cr_assert_eq(strncmp(out.text, "[null,null,0.100,-2,1", 21), 0);
	cr_assert_eq(out.n, strlen("[null,null,0.100,-2,") + 301 + 1);
}

/* Expected bytes: WHATWG's and Unicode's "maximal subpart" practice, as Python's errors="replace" does it. */
Test(json, replaces_what_is_not_utf8)
{
	static const struct {
		const char *in, *want;
	} rows[] = {
		{ "plain", "plain" },
		{ "\xd0\x9f\xe2\x82\xac\xf0\x9f\x98\x80", "\xd0\x9f\xe2\x82\xac\xf0\x9f\x98\x80" },
		/* The example of the Unicode standard, table 3-8. */
		{ "a\xf1\x80\x80\xe1\x80\xc2" "b\x80" "c\x80\xbf" "d", "a???b?c??d" },
		{ "\xc0\xaf", "??" },		     /* overlong */
		{ "\xe0\x80\xaf", "???" },	     /* overlong */
		{ "\xf0\x80\x80\xaf", "????" },	     /* overlong */
		{ "\xed\xa0\x80", "???" },	     /* surrogate */
		{ "\xf4\x90\x80\x80", "????" },	     /* above U+10FFFF */
		{ "\xf5\xff", "??" },
		{ "\xd0", "?" },		     /* cut at the end, as a 15-byte comm is */
		{ "x\xe2\x82", "x?" },
		{ "\xf4\x8f\xbf\xbf\xed\x9f\xbf", "\xf4\x8f\xbf\xbf\xed\x9f\xbf" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		SETUP(JSON_COMPACT);
		char want[100] = "\"";
		size_t n = 1;

		for (const char *c = rows[i].want; *c; c++) {
			memcpy(want + n, *c == '?' ? "\xef\xbf\xbd" : c, *c == '?' ? 3 : 1);
			n += *c == '?' ? 3 : 1;
		}
		memcpy(want + n, "\"", 2);
		json_string(j, rows[i].in);
		cr_assert_eq(json_flush(j), 0);
		cr_expect_str_eq(out.text, want, "row %zu", i);
	}
}

/* json-c, which shares no code with the writer, must read back each byte. */
Test(json, escapes_what_json_c_reads_back)
{
	char all[0x80];
	struct json_object *doc, *key;
	SETUP(JSON_COMPACT);

	for (int i = 0; i < 0x80; i++)
		all[i] = (char)i;
	json_begin_object(j);
	json_key(j, "k\"\n\\");
	json_string_n(j, all, sizeof(all));
	json_end_object(j);
	cr_assert_eq(json_flush(j), 0);
	cr_assert_eq(strlen(out.text), out.n, "a raw NUL got out");
	for (size_t i = 0; i < out.n; i++)
		cr_assert_geq((unsigned char)out.text[i], 0x20);
	doc = json_tokener_parse(out.text);
	cr_assert_not_null(doc);
	cr_assert(json_object_object_get_ex(doc, "k\"\n\\", &key));
	cr_assert_eq(json_object_get_string_len(key), (int)sizeof(all));
	cr_assert_eq(memcmp(json_object_get_string(key), all, sizeof(all)), 0);
	json_object_put(doc);
}

Test(json, keeps_text_larger_than_its_buffer)
{
	enum { N = 500000 };
	_cleanup_(freep) char *big = malloc(N + 1);
	struct json_object *doc;
	SETUP(JSON_COMPACT);

	for (size_t i = 0; i < N; i++)
		big[i] = (char)(i % 97 == 0 ? '\n' : 'a' + i % 26);
	big[N] = '\0';
	json_begin_array(j);
	json_string(j, big);
	for (int i = 0; i < 100000; i++)
		json_int(j, i);
	json_end_array(j);
	cr_assert_eq(json_flush(j), 0);
	cr_assert_gt(out.calls, 2);
	doc = json_tokener_parse(out.text);
	cr_assert_not_null(doc);
	cr_assert_eq(json_object_array_length(doc), 100001);
	cr_assert_str_eq(json_object_get_string(json_object_array_get_idx(doc, 0)), big);
	cr_assert_eq(json_object_get_int(json_object_array_get_idx(doc, 100000)), 99999);
	json_object_put(doc);
}

Test(json, first_error_of_the_sink_sticks)
{
	SETUP(JSON_COMPACT);

	out.error = -ENOSPC;
	json_int(j, 1);
	cr_assert_eq(json_error(j), 0);
	cr_assert_eq(json_flush(j), -ENOSPC);
	out.error = -EIO;
	json_newline(j);
	json_int(j, 2);
	cr_assert_eq(json_flush(j), -ENOSPC);
	cr_assert_eq(json_error(j), -ENOSPC);
	cr_assert_eq(out.calls, 1, "nothing may follow a piece that is missing");
}

Test(json, wrong_order_is_an_error)
{
	for (int kind = 0; kind < 7; kind++) {
		SETUP(JSON_COMPACT);
		int want = -EINVAL;

		switch (kind) {
		case 0:
			json_end_array(j);
			break;
		case 1:
			json_begin_array(j);
			json_end_object(j);
			break;
		case 2:
			json_begin_object(j);
			json_int(j, 1);
			break;
		case 3:
			json_begin_array(j);
			json_key(j, "k");
			break;
		case 4:
			json_begin_object(j);
			json_key(j, "k");
			json_end_object(j);
			break;
		case 5:
			json_begin_object(j);
			json_newline(j);
			break;
		default:
			for (int i = 0; i < 100; i++)
				json_begin_array(j);
			want = -EOVERFLOW;
		}
		cr_expect_eq(json_flush(j), want, "kind %d", kind);
	}
}
