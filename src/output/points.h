/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What the choke points of a recording cost, and which of them were detached, for the summary and the dump's header. */
#include "output/output.h"
#include "util/json.h"

/* The key "choke_points" and its object; nothing if none were asked for. */
void points_write(struct json *j, const struct output_facts *f);
/* The key "detached_probes" and its array; nothing if none was. */
void points_write_detached(struct json *j, const struct output_facts *f);
