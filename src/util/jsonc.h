/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * json-c, which reads, beside util/json.h, which writes (both have a json_bool, json-c's is only a name for int), and
 * what to ask of an object that is as untrusted as the file it came from.
 */
#include <stdint.h>
#define json_bool json_c_bool
#include <json-c/json.h>
#undef json_bool

/* For _cleanup_(). */
static inline void jsonc_putp(struct json_object **o)
{
	json_object_put(*o);
}

/* The object's value of that key, borrowed. NULL: o is no object (or NULL), there is none, or it is of another type. */
struct json_object *jsonc_member(struct json_object *o, const char *key, enum json_type type);
/* Of an integer above 0; else 0. */
uint64_t jsonc_uint(struct json_object *o, const char *key);
/* Of a string, borrowed; else NULL. */
const char *jsonc_text(struct json_object *o, const char *key);
