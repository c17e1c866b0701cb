/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What verbs that answer a question about a recording share: its first operand, the recording, the end. */
#include "cmd/report.h"

struct answer_question {
	const char *missing; /* a line for when there is none */
	const char *what;    /* "the op" */
	const char *example; /* "explain exec:ld" */
};
/* Takes the question from the operands, and loads the recording that the others name. 0; -errno with *ret_why. */
int answer_begin(const struct answer_question *q, struct report *r, struct report_options *o, const char **ret, char **ret_why);
/* e: of writing to stdout, of what. The exit status. */
int answer_end(int e, const char *what);
