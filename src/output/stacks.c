/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * offcpu.stacks.txt: two maps as bpftrace prints them, keyed by kernel and by
 * user stack, counting intervals that blocked. Entries ascend by count. Each
 * map's counts sum to all such intervals, so an interval without a stack has
 * an entry too, under a word in brackets; a body line always begins with four
 * spaces and never with ']', so "]: " ends an entry and nothing else does.
 */
#include <inttypes.h>

#include "model/model.h"
#include "output/job.h"
#include "util/cleanup.h"

/*
 * A task state other than running means that it went to sleep, even if the wake
 * came so early that no blocked time was measured.
 */
static bool row_blocked(const struct model_row *r)
{
	return r->count && (r->state || r->blocked_ns);
}

static uint32_t row_stack(const struct model_row *r, enum stack_side side)
{
	return side == STACK_KERNEL ? r->kstack : r->ustack;
}

static void append_body(struct text *t, const struct model *m, uint32_t stack, enum stack_side side)
{
	size_t n = model_stack_entry_n(m, stack);

	if (!n)
		text_append(t, side == STACK_KERNEL ? "    [no kernel stack]\n" : "    [no user stack]\n");
	for (size_t i = 0; i < n; i++) {
		text_append(t, "    ");
		model_stack_entry_append(t, m, stack, i, ENTRY_MAP);
		text_append(t, "\n");
	}
}

static int map_tally(const struct model *m, enum stack_side side, struct tally *ret)
{
	_cleanup_(tally_done) struct tally tally = {0};
	_cleanup_(text_done) struct text body = {0};

	for (size_t i = 1; i < m->row_n; i++) {
		const struct model_row *r = &m->rows[i];
		int err;

		/* A goroutine that doesn't run is in no kernel function. */
		if (!row_blocked(r) || (r->parked && side == STACK_KERNEL))
			continue;
		text_clear(&body);
		append_body(&body, m, row_stack(r, side), side);
		err = text_error(&body);
		if (!err)
			err = tally_add(&tally, text_str(&body), (uint32_t)i, r->blocked_ns, r->count);
		if (err)
			return err;
	}
	tally_sort_by_count(&tally);
	*ret = tally;
	tally = (struct tally){0};
	return 0;
}

static int map_write(const struct model *m, enum stack_side side, json_sink sink, void *arg)
{
	_cleanup_(tally_done) struct tally tally = {0};
	_cleanup_(text_done) struct text entry = {0};
	int err = map_tally(m, side, &tally);

	for (size_t i = 0; !err && i < tally.n; i++) {
		text_clear(&entry);
		text_append(&entry, side == STACK_KERNEL ? "@offcpu_kernel[\n" : "@offcpu_user[\n");
		text_append(&entry, tally.entries[i].line);
		text_appendf(&entry, "]: %" PRIu64 "\n", tally.entries[i].count);
		err = text_error(&entry);
		if (!err)
			err = sink(arg, text_str(&entry), entry.n);
	}
	return err;
}

int stacks_write(const struct output_job *job, json_sink sink, void *arg)
{
	int err = map_write(job->m, STACK_KERNEL, sink, arg);

	return err ? err : map_write(job->m, STACK_USER, sink, arg);
}

size_t stacks_row_n(const struct model *m)
{
	size_t n = 0;

	for (size_t i = 1; i < m->row_n; i++)
		n += row_blocked(&m->rows[i]);
	return n;
}
