/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* How much of a recording is not known, beside what was lost. */
#include <errno.h>

#include "analyze/analyze.h"
#include "analyze/waker.h"

static void wait_look(const struct model *m, const struct model_wait *w, struct analyze_health *h)
{
	const struct model_row *row = &m->rows[w->row];
	enum waker_sort sort;

	h->clipped_wait_n += w->clipped != 0;
	if (row->reason == REASON_CPU)
		return;
	sort = waker_sort(m, w);
	if (sort == WAKER_STILL_OPEN) {
		h->open_wait_n++;
		return;
	}
	h->ended_wait_n++;
	h->ended_wait_ns += (uint64_t)w->blocked_ns;
	/* That some task did it is not who. */
	if (sort == WAKER_NOT_KNOWN || sort == WAKER_GAVE_UP || (sort == WAKER_IS_CTX && w->ctx == WAKER_TASK)) {
		h->unknown_waker_n++;
		h->unknown_waker_ns += (uint64_t)w->blocked_ns;
	}
}

void analyze_health(const struct model *m, struct analyze_health *ret)
{
	struct analyze_health h = { 0 };

	for (size_t i = 1; i < m->wait_n; i++)
		wait_look(m, &m->waits[i], &h);
	for (size_t i = 1; i < m->op_n; i++) {
		h.open_op_n += m->ops[i].open;
		h.unwound_op_n += m->ops[i].unwound;
	}
	for (size_t i = 1; i < m->thread_n; i++)
		h.unaccounted_thread_n += !m->threads[i].has_totals && !m->threads[i].goid;
	*ret = h;
}
