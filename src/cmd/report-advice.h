/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Of the many names that a stretch of time has, those that somebody could change. Private to report*.c. */
#include "cmd/report.h"
#include "replay/replay.h"
#include "util/cleanup.h"

/* Less than a two-hundredth of the whole is no advice. */
int64_t report_worth_ns(const struct report *r);

struct report_advice;
/* Of a recording that the replay has compiled. NULL: no memory. */
struct report_advice *report_advice_new(const struct report *r);
void report_advice_free(struct report_advice *a);
DEFINE_CLEANUP(struct report_advice *, report_advice_free)
/*
 * False of what has no name, of what everybody calls, of what a thread begins with, of all that there is, and of a
 * second name for the same time. class: index.
 */
bool report_is_advice(const struct report_advice *a, uint32_t class);
