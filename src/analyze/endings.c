/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Counted by row, not by stack: one stack that is not complete may stand for most of the time.
 *
 * An interval without a stack says not why. Of the kernel's side it was due in any case. Of the user's it was if the
 * thread was in a system call and stacks were asked for at all, of which a failure that was counted is a sign too;
 * kernel threads and threads that have exited are in none.
 */
#include <errno.h>
#include <string.h>

#include "analyze/analyze.h"
#include "util/vec.h"

static const char *word_of(const struct model *m, const struct model_row *row, enum stack_side side)
{
	uint32_t stack = side == STACK_USER ? row->ustack : row->kstack;

	if (row->parked && !stack)
		return NULL;
	if (stack && stack < m->stack_n && m->stacks[stack].resolved)
		return strtab_str(m->strings, m->stacks[stack].ended_id);
	if (stack)
		return "lost";
	if (side == STACK_USER)
		return m->integrity.failed_user_stacks && row->syscall >= 0 ? "none" : NULL;
	return m->integrity.failed_kernel_stacks ? "none" : NULL;
}

static struct analyze_ending *ending_get(struct analyze_endings *e, size_t *cap, const char *word)
{
	for (size_t i = 0; i < e->n; i++)
		if (!strcmp(e->v[i].word, word))
			return &e->v[i];
	if (VEC_RESERVE(e->v, *cap, e->n + 1) < 0)
		return NULL;
	e->v[e->n] = (struct analyze_ending){ .word = word };
	return &e->v[e->n++];
}

static int by_count(const void *pa, const void *pb)
{
	const struct analyze_ending *a = pa, *b = pb;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return strcmp(a->word, b->word);
}

int analyze_endings(const struct model *m, enum stack_side side, struct analyze_endings *ret)
{
	struct analyze_endings e = { 0 };
	size_t cap = 0;

	for (size_t i = 1; i < m->row_n; i++) {
		const struct model_row *row = &m->rows[i];
		const char *word = row->count && (row->state || row->blocked_ns) ? word_of(m, row, side) : NULL;
		struct analyze_ending *at = word ? ending_get(&e, &cap, word) : NULL;

		if (!word)
			continue;
		if (!at) {
			analyze_endings_done(&e);
			return -ENOMEM;
		}
		at->count += row->count;
		at->blocked_ns += row->blocked_ns;
		e.count += row->count;
		e.blocked_ns += row->blocked_ns;
	}
	if (e.n)
		qsort(e.v, e.n, sizeof(*e.v), by_count);
	*ret = e;
	return 0;
}

struct analyze_ending analyze_ending_of(const struct analyze_endings *e, const char *word)
{
	for (size_t i = 0; i < e->n; i++)
		if (!strcmp(e->v[i].word, word))
			return e->v[i];
	return (struct analyze_ending){ .word = word };
}

void analyze_endings_done(struct analyze_endings *e)
{
	free(e->v);
	*e = (struct analyze_endings){ 0 };
}
