/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What the summary and the dump's header both say of a recording. */
#include "output/output.h"
#include "util/json.h"

/* version, host, kernel, clock, target, options, inside the open object; null where unknown. */
void recording_write_facts(struct json *j, const struct output_facts *f);
