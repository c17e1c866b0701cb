/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The data of a timeline page, packed: numbers as LEB128, in the order that timeline-data.js reads them.
 * Private to export/timeline*.c.
 */
#include "export/export.h"
#include "util/text.h"

/* Appends it. told: untimed_n. 0, -ENOMEM. */
int timeline_data_make(const struct export_job *job, struct text *ret, struct export_told *told);
