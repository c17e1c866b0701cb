/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * States come from the threads' own totals, which are right even when events
 * were lost. Reasons come from the rows, whose totals go beyond the event cap;
 * a filter by thread needs the waits, since rows are shared between threads.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/filter.h"
#include "util/cleanup.h"
#include "util/map.h"

static void reason_add(struct analyze_time *t, const struct model_row *row, uint64_t count, uint64_t blocked_ns,
		       uint64_t runnable_ns)
{
	if (row->reason >= REASON_MAX || row->parked)
		return;
	t->by_reason_ns[row->reason] += row->reason == REASON_CPU ? runnable_ns : blocked_ns;
	t->count_by_reason[row->reason] += count;
	if (!t->known) {
		t->blocked_ns += blocked_ns;
		t->runnable_ns += runnable_ns;
	}
}

/* Goroutines' lives are no thread's time: what they do on a thread is in that one's account. */
static void thread_add(struct analyze_time *ret, const struct model_thread *t)
{
	if (t->goid)
		return;
	ret->thread_n++;
	if (!t->has_totals)
		return;
	ret->known = true;
	ret->lifetime_ns += t->end_ns > t->begin_ns ? (uint64_t)(t->end_ns - t->begin_ns) : 0;
	ret->oncpu_ns += t->oncpu_ns;
	ret->runnable_ns += t->runnable_ns;
	ret->blocked_ns += t->blocked_ns;
	ret->lost_ns += t->lost_ns;
}

static void rows_add(const struct model *m, struct analyze_time *ret)
{
	for (size_t i = 1; i < m->row_n; i++)
		reason_add(ret, &m->rows[i], m->rows[i].count, m->rows[i].blocked_ns, m->rows[i].runnable_ns);
}

void analyze_time(const struct model *m, struct analyze_time *ret)
{
	struct analyze_time time = { .process_n = m->process_n - 1 };

	for (size_t i = 1; i < m->thread_n; i++)
		thread_add(&time, &m->threads[i]);
	rows_add(m, &time);
	*ret = time;
}

int analyze_time_filtered(const struct model *m, const struct analyze_filter *f, struct analyze_time *ret)
{
	_cleanup_(filter_done) struct filter x = { 0 };
	_cleanup_(map_freep) struct map *processes = NULL;
	struct analyze_time time = { 0 };
	struct analyze_filter with_idle;

	if (filter_is_blank(f)) {
		analyze_time(m, ret);
		return 0;
	}
	with_idle = *f;
	with_idle.idle = ANALYZE_IDLE_TOO;
	if (filter_init(&x, m, &with_idle) < 0 || map_new(&processes) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->thread_n; i++) {
		const struct model_thread *t = &m->threads[i];

		if (t->goid || !filter_thread(&x, t))
			continue;
		thread_add(&time, t);
		if (map_put(processes, t->process ? t->process : UINT64_C(1) << 32 | t->pid, 1) < 0)
			return -ENOMEM;
	}
	time.process_n = map_n(processes);
	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		if (filter_wait(&x, w))
			reason_add(&time, &m->rows[w->row], 1, (uint64_t)w->blocked_ns, (uint64_t)w->runnable_ns);
	}
	*ret = time;
	return 0;
}
