/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What the files say of a recording beside the model: host, command, options, outcome. */
#include <sys/utsname.h>

#include "cmd/options.h"
#include "output/output.h"

struct facts {
	struct output_facts output; /* points into what follows and into what facts_init() was given */
	struct utsname uts;
	char kernel[160];
	char no_rows[280];
	const char *program[2]; /* the command without its arguments (--no-args) */
	const char *lines[3]; /* diagnostics of a failure */
	struct output_point *points; /* owned */
};
void facts_done(struct facts *f);

/* Must stay where it is while used. Strings must outlive it. */
void facts_init(struct facts *f, const struct capture_config *c, const char *target, const char *options,
		const char *const *command);
/* The recording could not run or broke off. message and e outlive f. */
void facts_set_error(struct facts *f, const struct capture_error *e);
/* After capture_stop(): diagnostics, what the tracer and its probes cost, why there is no row (if there is none). */
void facts_set_capture(struct facts *f, struct capture *c);
/* After that: there is no row because recording was off from begin to end. */
void facts_set_never_on(struct facts *f);
