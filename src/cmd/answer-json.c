/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "cmd/answer-json.h"

#define SCHEMA_VERSION 1

int answer_json_begin(FILE *f, const char *kind, struct json **ret)
{
	struct json *j;
	int r = json_new(json_to_stream, f, JSON_INDENTED, &j);

	if (r < 0)
		return r;
	json_begin_object(j);
	json_kv_string(j, "kind", kind);
	json_kv_int(j, "schema_version", SCHEMA_VERSION);
	*ret = j;
	return 0;
}

int answer_json_end(struct json *j)
{
	json_end_object(j);
	json_newline(j);
	return json_flush(j);
}
