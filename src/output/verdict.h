/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* State and caveat of a recording, in the words of the off-CPU lane's harness. */
#include "util/text.h"

struct output_job;

struct verdict {
	const char *state;	 /* summary_written, tool_missing, tool_failed */
	const char *caveat_kind; /* NULL: none; owned by the facts or static */
	struct text caveat;	 /* its message, empty: none */
	const char *integrity;	 /* complete, partial, unknown */
	struct text message;	 /* of the integrity, empty: none */
};

/* Judges a job by what is known so far. 0, -ENOMEM (nothing to be done with then). */
int verdict_init(struct verdict *v, const struct output_job *job);
void verdict_done(struct verdict *v);
