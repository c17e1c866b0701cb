/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * A streaming JSON writer: strict UTF-8 always (bytes that are not UTF-8
 * become U+FFFD, control characters are escaped), commas by itself. Writes to
 * a sink; the first error sticks and json_error() tells it.
 *
 *   json_begin_object(j); json_key(j, "s"); json_int(j, 5); json_end_object(j);
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/cleanup.h"

/* Takes n bytes; 0 or -errno. */
typedef int (*json_sink)(void *arg, const char *bytes, size_t n);

enum json_style {
	JSON_COMPACT,	/* one line, no spaces */
	JSON_INDENTED,	/* by two, a space after each colon */
};

/* A sink: to the FILE that arg is. */
int json_to_stream(void *arg, const char *bytes, size_t n);

struct json;

int json_new(json_sink sink, void *arg, enum json_style style, struct json **ret); /* 0, -ENOMEM */
struct json *json_free(struct json *j); /* flushes nothing */
DEFINE_CLEANUP(struct json *, json_free)

void json_begin_object(struct json *j);
void json_end_object(struct json *j);
void json_begin_array(struct json *j);
void json_end_array(struct json *j);
void json_key(struct json *j, const char *key);
void json_string(struct json *j, const char *s); /* NULL: null */
void json_string_n(struct json *j, const char *s, size_t n);
void json_int(struct json *j, int64_t v);
void json_uint(struct json *j, uint64_t v);
void json_double(struct json *j, double v, int decimals); /* not finite: null */
void json_bool(struct json *j, bool v);
void json_null(struct json *j);
/* Ends a line: a newline outside any value. For NDJSON. */
void json_newline(struct json *j);
/* Hands what is buffered to the sink. The first error so far, or 0. */
int json_flush(struct json *j);
int json_error(const struct json *j);

/* Shorthands: key and value. The _nz forms write nothing for 0 or "". */
void json_kv_string(struct json *j, const char *key, const char *s);
void json_kv_int(struct json *j, const char *key, int64_t v);
void json_kv_uint(struct json *j, const char *key, uint64_t v);
void json_kv_bool(struct json *j, const char *key, bool v);
void json_kv_int_or_null(struct json *j, const char *key, bool is_known, int64_t v);
void json_kv_uint_or_null(struct json *j, const char *key, bool is_known, uint64_t v);
void json_kv_string_nz(struct json *j, const char *key, const char *s);
void json_kv_int_nz(struct json *j, const char *key, int64_t v);
void json_kv_uint_nz(struct json *j, const char *key, uint64_t v);
