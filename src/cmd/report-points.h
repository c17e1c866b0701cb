/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What each choke point cost, and which were detached for that. Private to report*.c. */
#include "cmd/report-page.h"
#include "util/json.h"

/* Lines of the health section; nothing where no choke points were asked for. */
void report_points_print(const struct page *p);
/* The first page's caveat; nothing if none was detached. */
void report_detached_print(const struct page *p);
/* The key "choke_points" and its array. */
void report_points_json(const struct report *r, struct json *j);
