/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * wall.folded.txt: as offcpu.time.txt, but all of every thread's lifetime, and
 * behind the stack a leaf that says what it did there. Rounding is done thread
 * by thread, so that the lines of one sum to its lifetime: that one is rounded
 * (what is cut off is carried on to the next thread), its pieces are cut, and
 * what was cut goes, a microsecond each, to those that lost most.
 */
#include <errno.h>
#include <stdlib.h>

#include "output/job.h"
#include "util/cleanup.h"
#include "util/escape.h"

const char *wall_leaf(enum analyze_state state)
{
	static const char *const leaves[ANALYZE_STATE_MAX] = {
		[ANALYZE_ONCPU] = "[on-cpu]",
		[ANALYZE_ONCPU_UNSAMPLED] = "[on-cpu, not sampled]",
		[ANALYZE_RUNNABLE] = "[runnable]",
		[ANALYZE_BLOCKED] = "[blocked]",
		[ANALYZE_BELOW_MIN] = "[shorter than --min]",
		[ANALYZE_LOST] = "[lost]",
		[ANALYZE_UNACCOUNTED] = "[unaccounted]",
		[ANALYZE_LEFT_OUT] = "[left out by --only]",
	};

	return leaves[state];
}

struct rest {
	uint32_t piece;
	uint32_t ns;
};

static int by_rest(const void *pa, const void *pb)
{
	const struct rest *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->piece < b->piece ? -1 : a->piece > b->piece;
}

/* Gives n pieces of one thread their microseconds, which sum to total_us. rests has room for n. */
static void pieces_round(const struct analyze_piece *pieces, size_t n, uint64_t total_us, struct rest *rests,
			 uint64_t *ret_us)
{
	uint64_t given_us = 0;

	for (size_t i = 0; i < n; i++) {
		ret_us[i] = pieces[i].ns / 1000;
		given_us += ret_us[i];
		rests[i] = (struct rest){ (uint32_t)i, (uint32_t)(pieces[i].ns % 1000) };
	}
	qsort(rests, n, sizeof(*rests), by_rest);
	/* At most one each is missing: the rests are below 1 us, and so is what was carried. */
	for (size_t i = 0; i < n && given_us < total_us; i++, given_us++)
		ret_us[rests[i].piece]++;
}

static int pieces_add(struct tally *tally, const struct model *m, const struct analyze_piece *pieces, size_t first,
		      size_t n, const uint64_t *us)
{
	_cleanup_(text_done) struct text line = {0};

	for (size_t i = 0; i < n; i++) {
		const struct analyze_piece *p = &pieces[first + i];
		int err;

		text_clear(&line);
		escape_name(&line, strtab_str(m->strings, p->comm_id));
		folded_append_stack(&line, m, p->ustack);
		folded_append_stack(&line, m, p->kstack);
		text_append(&line, ";");
		text_append(&line, wall_leaf(p->state));
		err = text_error(&line);
		if (!err)
			err = tally_add(tally, text_str(&line), (uint32_t)(first + i), us[i] * 1000, p->count);
		if (err)
			return err;
	}
	return 0;
}

int wall_tally(const struct model *m, const struct analyze_piece *pieces, size_t n, struct tally *ret)
{
	_cleanup_(tally_done) struct tally tally = {0};
	_cleanup_(freep) struct rest *rests = calloc(n + 1, sizeof(*rests));
	_cleanup_(freep) uint64_t *us = calloc(n + 1, sizeof(*us));
	uint64_t sum_ns = 0, sum_us = 0;

	if (!rests || !us || n > UINT32_MAX)
		return -ENOMEM;
	for (size_t first = 0, next; first < n; first = next) {
		uint64_t upto_us;
		int err;

		for (next = first; next < n && pieces[next].thread == pieces[first].thread; next++)
			sum_ns += pieces[next].ns;
		upto_us = sum_ns / 1000 + (sum_ns % 1000 >= 500);
		pieces_round(pieces + first, next - first, upto_us - sum_us, rests, us);
		sum_us = upto_us;
		err = pieces_add(&tally, m, pieces, first, next - first, us);
		if (err)
			return err;
	}
	tally_round(&tally);
	tally_sort_by_line(&tally);
	*ret = tally;
	tally = (struct tally){0};
	return 0;
}
