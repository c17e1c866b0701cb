/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * offcpu.diagnostics.txt: what the collector has to say, a line a fact; empty
 * when all went well. The harness reads two wordings out of it, the WARNING
 * with the number of lost stack traces and "Operation not permitted", so both
 * are kept word for word and nothing of the workload's gets in.
 */
#include <errno.h>
#include <string.h>

#include "output/integrity.h"
#include "output/job.h"
#include "output/verdict.h"
#include "util/cleanup.h"
#include "util/escape.h"

#define REFUSED "Operation not permitted"

/* A failure's reason; by REFUSED the harness tells a missing privilege from other failures. */
static void append_failure(struct text *t, const struct verdict *v)
{
	const char *message = text_str(&v->caveat);

	escape_line(t, message);
	if (!strcmp(v->caveat_kind, "permission_denied") && !strstr(message, REFUSED))
		text_append(t, ": " REFUSED);
	text_append(t, "\n");
}

int diagnostics_write(const struct output_job *job, json_sink sink, void *arg)
{
	_cleanup_(text_done) struct text t = {0};
	_cleanup_(verdict_done) struct verdict v = {0};
	int err = verdict_init(&v, job);

	if (err)
		return err;
	if (strcmp(v.state, "summary_written"))
		append_failure(&t, &v);
	if (job->m)
		integrity_append_lines(&t, job->m);
	if (job->dump_error)
		text_appendf(&t, "%s could not be written: %s\n", job->dump, strerror(-job->dump_error));
	for (const char *const *line = job->f->diagnostics; line && *line; line++) {
		escape_line(&t, *line);
		text_append(&t, "\n");
	}
	err = text_error(&t);
	return err || !t.n ? err : sink(arg, text_str(&t), t.n);
}
