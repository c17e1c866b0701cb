/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Each value is asked for its type: what a file says where something else is expected is the same as nothing. */
#include "util/jsonc.h"

struct json_object *jsonc_member(struct json_object *o, const char *key, enum json_type type)
{
	struct json_object *v;

	return json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &v) &&
	       json_object_is_type(v, type) ? v : NULL;
}

uint64_t jsonc_uint(struct json_object *o, const char *key)
{
	struct json_object *v = jsonc_member(o, key, json_type_int);

	return v && json_object_get_int64(v) > 0 ? json_object_get_uint64(v) : 0;
}

const char *jsonc_text(struct json_object *o, const char *key)
{
	struct json_object *v = jsonc_member(o, key, json_type_string);

	return v ? json_object_get_string(v) : NULL;
}
