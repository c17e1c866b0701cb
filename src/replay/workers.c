/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "replay/workers.h"

#include <string.h>

#define PART_MIN 0.05

/* For the others to come as far as it is; not to get something to do. */
static bool is_meeting(const char *kind)
{
	static const char *const kinds[] = { "barrier", "join", "once", "waitgroup" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kind, kinds[i]) == 0)
			return true;
	}
	return false;
}

static bool is_woken_for_work(const struct replay *r, const struct strand *s)
{
	const struct model *m = r->m;
	size_t at = (size_t)(s - r->strands);

	for (size_t i = r->wait_first[at]; i < r->wait_first[at + 1]; i++) {
		const struct model_wait *w = &m->waits[r->waits[i]];
		const struct model_row *row = &m->rows[w->row];

		if (row->reason == REASON_SYNC && !is_meeting(strtab_str(m->strings, row->kind_id)) && w->waker &&
		    w->waker != s->thread && m->threads[w->waker].process == s->process)
			return true;
	}
	return false;
}

static bool is_worker(const struct replay *r, const struct strand *s)
{
	return s->thread && s->process && s->key != NONE &&
	       (double)r->m->threads[s->thread].oncpu_ns >= PART_MIN * (double)r->facts.makespan_ns &&
	       is_woken_for_work(r, s);
}

bool workers_are_alike(const struct replay *r)
{
	/* Few threads have so large a part. */
	for (size_t i = 0; i < r->strand_n; i++) {
		const struct strand *a = &r->strands[i];

		if (!is_worker(r, a))
			continue;
		for (size_t k = i + 1; k < r->strand_n; k++) {
			const struct strand *b = &r->strands[k];

			if (b->process == a->process && b->key == a->key && is_worker(r, b))
				return true;
		}
	}
	return false;
}
