/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A dump is millions of short lines, so values go into one buffer and the sink
 * sees large pieces. Text without anything to escape, nearly all of it, is
 * copied in runs. A wrong call order (an end without its begin, too deep) is
 * an error that sticks like one of the sink, so that no broken file is taken
 * for a good one.
 */
#include "util/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 64 << 10, DEPTH_MAX = 64 };

struct json {
	json_sink sink;
	void *arg;
	enum json_style style;
	int error; /* first one, -errno */
	int depth;
	bool after_key;	    /* the next value belongs to a key */
	bool is_object[DEPTH_MAX + 1];
	bool has_item[DEPTH_MAX + 1]; /* by depth: a comma goes before the next item */
	size_t n;
	char buffer[BUFFER_BYTES];
};

int json_to_stream(void *arg, const char *bytes, size_t n)
{
	return fwrite(bytes, 1, n, arg) == n ? 0 : errno ? -errno : -EIO;
}

int json_new(json_sink sink, void *arg, enum json_style style, struct json **ret)
{
	struct json *j = malloc(sizeof(*j));

	if (!j)
		return -ENOMEM;
	memset(j, 0, offsetof(struct json, buffer));
	j->sink = sink;
	j->arg = arg;
	j->style = style;
	*ret = j;
	return 0;
}

struct json *json_free(struct json *j)
{
	free(j);
	return NULL;
}

static void drain(struct json *j)
{
	if (j->n && !j->error)
		j->error = j->sink(j->arg, j->buffer, j->n);
	j->n = 0;
}

/* What doesn't fit: filled up, drained, and so on. */
static __attribute__((noinline)) void put_across(struct json *j, const char *s, size_t n)
{
	while (n) {
		size_t room = BUFFER_BYTES - j->n, take = n < room ? n : room;

		memcpy(j->buffer + j->n, s, take);
		j->n += take;
		s += take;
		n -= take;
		if (j->n == BUFFER_BYTES)
			drain(j);
	}
}

/* A dump's values are a few bytes each, millions of them: the way without a call is what counts. */
static inline void put(struct json *j, const char *s, size_t n)
{
	if (n >= BUFFER_BYTES - j->n) {
		put_across(j, s, n);
		return;
	}
	memcpy(j->buffer + j->n, s, n);
	j->n += n;
}

static inline void put_char(struct json *j, char c)
{
	put(j, &c, 1);
}

static void fail(struct json *j, int error)
{
	if (!j->error)
		j->error = error;
}

static void put_line_start(struct json *j)
{
	if (j->style != JSON_INDENTED)
		return;
	put_char(j, '\n');
	for (int i = 0; i < j->depth; i++)
		put(j, "  ", 2);
}

/* What goes before an item of a container: comma, line break. */
static void item_begin(struct json *j)
{
	if (!j->depth)
		return;
	if (j->has_item[j->depth])
		put_char(j, ',');
	j->has_item[j->depth] = true;
	put_line_start(j);
}

static void value_begin(struct json *j)
{
	if (j->after_key)
		j->after_key = false;
	else if (j->is_object[j->depth])
		fail(j, -EINVAL);
	else
		item_begin(j);
}

static void container_begin(struct json *j, bool object)
{
	value_begin(j);
	if (j->depth == DEPTH_MAX) {
		fail(j, -EOVERFLOW);
		return;
	}
	put_char(j, object ? '{' : '[');
	j->depth++;
	j->is_object[j->depth] = object;
	j->has_item[j->depth] = false;
}

static void container_end(struct json *j, bool object)
{
	bool had_item = j->has_item[j->depth];

	if (!j->depth || j->is_object[j->depth] != object || j->after_key) {
		fail(j, -EINVAL);
		return;
	}
	j->depth--;
	if (had_item)
		put_line_start(j);
	put_char(j, object ? '}' : ']');
}

void json_begin_object(struct json *j)
{
	container_begin(j, true);
}

void json_end_object(struct json *j)
{
	container_end(j, true);
}

void json_begin_array(struct json *j)
{
	container_begin(j, false);
}

void json_end_array(struct json *j)
{
	container_end(j, false);
}

/* Length of the well-formed UTF-8 character at s, or 0 with the length of the bad run (Unicode table 3-7). */
static size_t utf8_char(const unsigned char *s, size_t n, size_t *ret_bad)
{
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	unsigned char low = 0x80, high = 0xbf;

	*ret_bad = 1;
	if (len == 1)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	if (s[0] == 0xe0)
		low = 0xa0; /* shorter forms exist */
	else if (s[0] == 0xed)
		high = 0x9f; /* surrogates */
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f; /* above U+10FFFF */
	for (size_t i = 1; i < len; i++) {
		if (i >= n || s[i] < low || s[i] > high)
			return 0;
		*ret_bad = i + 1;
		low = 0x80;
		high = 0xbf;
	}
	return len;
}

static void put_escaped(struct json *j, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };
	char mark = c == '"' || c == '\\' ? (char)c : c == '\n' ? 'n' : c == '\t' ? 't' : c == '\r' ? 'r' : 0;

	if (!mark) {
		put(j, text, 6);
		return;
	}
	text[1] = mark;
	put(j, text, 2);
}

static void put_text(struct json *j, const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t run = 0, i = 0;

	put_char(j, '"');
	while (i < n) {
		size_t bad = 1, len;

		if (s[i] >= 0x20 && s[i] < 0x7f && s[i] != '"' && s[i] != '\\') {
			i++;
			continue;
		}
		len = s[i] < 0x80 ? 0 : utf8_char(s + i, n - i, &bad);
		if (len) {
			i += len;
			continue;
		}
		put(j, text + run, i - run);
		if (s[i] < 0x80) {
			put_escaped(j, s[i]);
			i++;
		} else {
			put(j, "\xef\xbf\xbd", 3);
			i += bad;
		}
		run = i;
	}
	put(j, text + run, n - run);
	put_char(j, '"');
}

void json_key(struct json *j, const char *key)
{
	if (!j->is_object[j->depth] || j->after_key) {
		fail(j, -EINVAL);
		return;
	}
	item_begin(j);
	put_text(j, key, strlen(key));
	put_char(j, ':');
	if (j->style == JSON_INDENTED)
		put_char(j, ' ');
	j->after_key = true;
}

void json_string(struct json *j, const char *s)
{
	if (s)
		json_string_n(j, s, strlen(s));
	else
		json_null(j);
}

void json_string_n(struct json *j, const char *s, size_t n)
{
	value_begin(j);
	put_text(j, s, n);
}

static void put_uint(struct json *j, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	put(j, digits + at, sizeof(digits) - at);
}

void json_int(struct json *j, int64_t v)
{
	value_begin(j);
	if (v < 0)
		put_char(j, '-');
	put_uint(j, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void json_uint(struct json *j, uint64_t v)
{
	value_begin(j);
	put_uint(j, v);
}

void json_double(struct json *j, double v, int decimals)
{
	char text[400];
	int n;

	if (!isfinite(v)) {
		json_null(j);
		return;
	}
	decimals = decimals < 0 ? 0 : decimals > 20 ? 20 : decimals;
	value_begin(j);
	n = snprintf(text, sizeof(text), "%.*f", decimals, v);
	put(j, text, (size_t)n);
}

void json_bool(struct json *j, bool v)
{
	value_begin(j);
	put(j, v ? "true" : "false", v ? 4 : 5);
}

void json_null(struct json *j)
{
	value_begin(j);
	put(j, "null", 4);
}

void json_newline(struct json *j)
{
	if (j->depth)
		fail(j, -EINVAL);
	else
		put_char(j, '\n');
}

int json_flush(struct json *j)
{
	drain(j);
	return j->error;
}

int json_error(const struct json *j)
{
	return j->error;
}

void json_kv_string(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_string(j, s);
}

void json_kv_int(struct json *j, const char *key, int64_t v)
{
	json_key(j, key);
	json_int(j, v);
}

void json_kv_uint(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_uint(j, v);
}

void json_kv_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	json_bool(j, v);
}

void json_kv_int_or_null(struct json *j, const char *key, bool is_known, int64_t v)
{
	json_key(j, key);
	if (is_known)
		json_int(j, v);
	else
		json_null(j);
}

void json_kv_uint_or_null(struct json *j, const char *key, bool is_known, uint64_t v)
{
	json_key(j, key);
	if (is_known)
		json_uint(j, v);
	else
		json_null(j);
}

void json_kv_string_nz(struct json *j, const char *key, const char *s)
{
	if (s && *s)
		json_kv_string(j, key, s);
}

void json_kv_int_nz(struct json *j, const char *key, int64_t v)
{
	if (v)
		json_kv_int(j, key, v);
}

void json_kv_uint_nz(struct json *j, const char *key, uint64_t v)
{
	if (v)
		json_kv_uint(j, key, v);
}
