/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Which OTel span is that of the same work as an op. */
#include "assemble/state.h"

struct span_ids {
	uint8_t trace[16], span[8];
};
/* n bytes of hex. False: it is something else, or zero, which OTel has for "none". */
bool assemble_span_hex(const struct buffer *text, uint8_t *ret, size_t n);

/* A span begins while its strand is at that op. 0, -ENOMEM. */
int assemble_span_begin(struct assemble *a, const struct span_ids *ids, uint32_t op, uint64_t time_ns);
int assemble_span_end(struct assemble *a, const struct span_ids *ids, uint64_t time_ns);
/* Gives the model the spans that are their ops'; not over: of ops that have ended. 0, -ENOMEM. */
int assemble_spans_finish(struct assemble *a, uint64_t end_ns, bool over);
/* Forgets those of ops that were flushed. */
void assemble_spans_flush(struct assemble *a);
/* Marks the ops that are referred to. */
void assemble_spans_mark(const struct assemble *a);
void assemble_spans_free(struct assemble *a);
