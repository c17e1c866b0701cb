/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What each choke point cost, and which were detached for that. Private to report*.c. */
#include "cmd/report-page.h"
#include "util/json.h"

/* Lines of the health section; nothing where no choke points were asked for. */
void report_points_print(const struct page *p);
/* The first page's caveat; nothing if none was detached. */
void report_detached_print(const struct page *p);
/* The first page's other caveat: what was to be probed and is not; nothing if all is. */
void report_missing_points_print(const struct page *p);
/* The keys "choke_points" and "choke_point_caveats" and their arrays. */
void report_points_json(const struct report *r, struct json *j);
