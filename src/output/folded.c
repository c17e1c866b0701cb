/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * offcpu.time.txt (and the lines of wall.folded.txt): "comm;outer;...;inner MICROSECONDS", user frames before
 * kernel frames, blocked time only (runnable and preempted time is no
 * waiting). Values are rounded together (tally.c): a thousand lines of 400 ns
 * are 400 us of the file, not nothing.
 */
#include <inttypes.h>

#include "model/model.h"
#include "output/job.h"
#include "util/cleanup.h"
#include "util/escape.h"

void folded_append_stack(struct text *t, const struct model *m, uint32_t stack)
{
	for (size_t i = model_stack_entry_n(m, stack); i > 0; i--) {
		text_append(t, ";");
		model_stack_entry_append(t, m, stack, i - 1, ENTRY_FOLDED);
	}
}

static void append_row(struct text *t, const struct model *m, const struct model_row *r)
{
	escape_name(t, strtab_str(m->strings, r->comm_id));
	folded_append_stack(t, m, r->ustack);
	folded_append_stack(t, m, r->kstack);
	/* A line needs a frame: its readers take what precedes the first ';' for the thread. */
	if (!r->ustack && !r->kstack)
		text_append(t, ";[no stack]");
}

int folded_tally(const struct model *m, struct tally *ret)
{
	_cleanup_(tally_done) struct tally tally = {0};
	_cleanup_(text_done) struct text line = {0};

	for (size_t i = 1; i < m->row_n; i++) {
		const struct model_row *r = &m->rows[i];
		int err;

		if (!r->blocked_ns)
			continue;
		text_clear(&line);
		append_row(&line, m, r);
		err = text_error(&line);
		if (!err)
			err = tally_add(&tally, text_str(&line), (uint32_t)i, r->blocked_ns, r->count);
		if (err)
			return err;
	}
	tally_round(&tally);
	tally_sort_by_line(&tally);
	*ret = tally;
	tally = (struct tally){0};
	return 0;
}

int folded_write(const struct output_job *job, json_sink sink, void *arg)
{
	_cleanup_(text_done) struct text line = {0};

	for (size_t i = 0; i < job->lines.n; i++) {
		const struct tally_entry *e = &job->lines.entries[i];
		int err;

		text_clear(&line);
		text_append(&line, e->line);
		text_appendf(&line, " %" PRIu64 "\n", e->us);
		err = text_error(&line);
		if (!err)
			err = sink(arg, text_str(&line), line.n);
		if (err)
			return err;
	}
	return 0;
}
