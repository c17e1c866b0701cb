/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What every verb's --json has around its own keys: one object, of which kind it is, the version of its keys. */
#include <stdio.h>

#include "util/json.h"

/* {"kind": KIND, "schema_version": 1, and open for more. 0, -ENOMEM. */
int answer_json_begin(FILE *f, const char *kind, struct json **ret);
/* Ends the object and its line: the first error of writing, or 0. The writer stays the caller's. */
int answer_json_end(struct json *j);
