/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
#include "cmd/report.h"

/*
 * Makes on all CPUs what a large recording's page will need anyway: before its sections are chosen, and when they are.
 * 0, -ENOMEM, -E2BIG.
 */
int report_ahead_compile(struct report *r);
int report_ahead_sections(struct report *r);
