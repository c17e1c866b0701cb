/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What a recording lost, by cause: as JSON counters and in words. */
#include "model/model.h"
#include "util/json.h"
#include "util/text.h"

/*
 * Inside the open object: "lost_stack_trace_count", every counter of struct
 * model_integrity under its own name, and "dump_dropped_events", the
 * dropped_events of the dump's header.
 */
void integrity_write_counters(struct json *j, const struct model *m);
/*
 * The losses in one sentence: "2 stack trace(s) lost: 2 intervals found no room in the ring buffer; ...".
 * Nothing is appended for a complete recording.
 */
void integrity_append_message(struct text *t, const struct model *m);
/*
 * The same as lines: the harness's WARNING first, then a line a cause. Nothing for a complete recording.
 */
void integrity_append_lines(struct text *t, const struct model *m);
