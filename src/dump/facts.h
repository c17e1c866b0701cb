/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The facts of an object that uses the summary's keys. Private to dump/. */
#include "dump/dump.h"
#include "util/jsonc.h"

/* Fills what is still unknown. 0, -ENOMEM. */
int dump_facts_from_object(struct dump_facts *x, struct json_object *o);
