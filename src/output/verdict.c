/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The states are the harness's, so the order of the questions is too: could it
 * run, did it fail, is there a row, can its integrity be known, was something
 * lost. Integrity is judged apart from the state: a failed recording may have
 * lost nothing, and one that is well may have lost its diagnostics.
 */
#include "output/verdict.h"

#include <errno.h>
#include <string.h>

#include "output/integrity.h"
#include "output/job.h"

static bool is_set(const char *s)
{
	return s && *s;
}

static void integrity_judge(struct verdict *v, const struct output_job *job)
{
	struct text *t = &v->message;

	if (!job->m) {
		v->integrity = "unknown";
		text_append(t, "nothing was recorded");
		return;
	}
	v->integrity = "complete";
	if (!model_is_complete(job->m)) {
		v->integrity = "partial";
		integrity_append_message(t, job->m);
	}
	if (job->dump_error) {
		v->integrity = "partial";
		text_appendf(t, "%s%s could not be written: %s", t->n ? "; " : "", job->dump,
			     strerror(-job->dump_error));
	}
	if (job->diagnostics_error) {
		v->integrity = "unknown";
		text_appendf(t, "%s%s could not be written: %s", t->n ? "; " : "", job->diagnostics,
			     strerror(-job->diagnostics_error));
	}
}

static void fail(struct verdict *v, const char *kind, const char *reason)
{
	v->state = "tool_failed";
	v->caveat_kind = kind;
	text_append(&v->caveat, reason);
}

/* Nothing is lost of what was recorded, but not all is recorded that was asked for. */
static void points_judge(struct verdict *v, const struct output_facts *f)
{
	const char *const *lines = f->point_caveats;

	if (!lines || !*lines)
		return;
	v->caveat_kind = "choke_points_incomplete";
	for (; *lines; lines++)
		text_appendf(&v->caveat, "%s%s", v->caveat.n ? "; " : "", *lines);
}

static void state_judge(struct verdict *v, const struct output_job *job)
{
	const struct output_facts *f = job->f;

	if (is_set(f->missing)) {
		v->state = "tool_missing";
		v->caveat_kind = "tool_unavailable";
		text_appendf(&v->caveat, "the off-CPU profiler is not runnable on this host; "
			     "blocked time was not captured: %s", f->missing);
	} else if (is_set(f->failed)) {
		fail(v, is_set(f->failed_kind) ? f->failed_kind : "capture_failed", f->failed);
	} else if (!job->m) {
		fail(v, "capture_failed", "the recording did not start and gave no reason");
	} else if (job->capture_error) {
		fail(v, "write_failed", job->capture);
		text_appendf(&v->caveat, " could not be written: %s", strerror(-job->capture_error));
	} else if (!job->row_n) {
		fail(v, "no_rows", is_set(f->no_rows_reason) ? f->no_rows_reason :
		     "no blocked interval was recorded, and why is not known");
	} else {
		v->state = "summary_written";
		if (!strcmp(v->integrity, "complete")) {
			points_judge(v, f);
			return;
		}
		v->caveat_kind = !strcmp(v->integrity, "partial") ? "offcpu_capture_partial" :
								     "offcpu_capture_integrity_unknown";
		text_append(&v->caveat, text_str(&v->message));
	}
}

int verdict_init(struct verdict *v, const struct output_job *job)
{
	*v = (struct verdict){0};
	integrity_judge(v, job);
	state_judge(v, job);
	if (text_error(&v->caveat) || text_error(&v->message)) {
		verdict_done(v);
		return -ENOMEM;
	}
	return 0;
}

void verdict_done(struct verdict *v)
{
	text_done(&v->caveat);
	text_done(&v->message);
}
