/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Two sorts of waiting for a CPU: after a wake-up the run queue alone, after a preemption also others' slices. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/filter.h"
#include "analyze/quantile.h"
#include "util/cleanup.h"

struct queues {
	const struct model *m;
	const struct analyze_actors *a;
	struct analyze_queued *list; /* by actor */
	uint64_t *delays;	     /* of woken waits, by actor, for the quantiles */
	size_t *next;		     /* by actor: the end of its delays */
	uint64_t waits_ns;
};

static void queues_free(struct queues *q)
{
	free(q->list);
	free(q->delays);
	free(q->next);
}

static bool is_woken(const struct model *m, const struct model_wait *w)
{
	/* What was open at the end did not run again; a thread that ran at once waited too: 0 ns. */
	return m->rows[w->row].reason != REASON_CPU && !(w->clipped & CLIPPED_AFTER);
}

/* A goroutine waits for a turn of its runtime's, not for a CPU. */
static bool is_of_thread(const struct model *m, const struct model_wait *w)
{
	return !m->rows[w->row].parked;
}

static void longest_note(const struct model *m, struct analyze_queued *q, uint32_t wait)
{
	if (!q->longest_wait || m->waits[wait].runnable_ns > m->waits[q->longest_wait].runnable_ns)
		q->longest_wait = wait;
}

static void wait_add(const struct model *m, struct analyze_queued *q, uint32_t wait)
{
	uint64_t ns = (uint64_t)m->waits[wait].runnable_ns;

	if (is_woken(m, &m->waits[wait])) {
		q->wake_n++;
		q->wake_ns += ns;
		q->wake_max_ns = ns > q->wake_max_ns ? ns : q->wake_max_ns;
	} else {
		q->preempt_n += ns != 0;
		q->preempt_ns += ns;
		q->preempt_max_ns = ns > q->preempt_max_ns ? ns : q->preempt_max_ns;
	}
	q->placed_n += m->waits[wait].cpu_from && m->waits[wait].cpu_to;
	q->migrated_n += m->waits[wait].cpu_from && m->waits[wait].cpu_to &&
			 m->waits[wait].cpu_from != m->waits[wait].cpu_to;
	if (ns)
		longest_note(m, q, wait);
}

static int delays_collect(struct queues *q, const struct filter *f)
{
	const struct model *m = q->m;

	q->delays = calloc(m->wait_n, sizeof(*q->delays));
	q->next = calloc(q->a->n + 1, sizeof(*q->next));
	q->list = calloc(q->a->n + 1, sizeof(*q->list));
	if (!q->delays || !q->next || !q->list)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		if (!is_of_thread(m, w) || !filter_wait(f, w))
			continue;
		wait_add(m, &q->list[q->a->of_thread[w->thread]], i);
		q->waits_ns += (uint64_t)w->runnable_ns;
	}
	for (size_t i = 0; i < q->a->n; i++)
		q->next[i + 1] = q->next[i] + q->list[i].wake_n;
	for (uint32_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		if (is_of_thread(m, w) && filter_wait(f, w) && is_woken(m, w))
			q->delays[q->next[q->a->of_thread[w->thread]]++] = (uint64_t)w->runnable_ns;
	}
	return 0;
}

static void all_add(const struct model *m, struct analyze_queued *all, const struct analyze_queued *q)
{
	all->wake_n += q->wake_n;
	all->wake_ns += q->wake_ns;
	all->wake_max_ns = q->wake_max_ns > all->wake_max_ns ? q->wake_max_ns : all->wake_max_ns;
	all->placed_n += q->placed_n;
	all->migrated_n += q->migrated_n;
	all->preempt_n += q->preempt_n;
	all->preempt_ns += q->preempt_ns;
	all->preempt_max_ns = q->preempt_max_ns > all->preempt_max_ns ? q->preempt_max_ns : all->preempt_max_ns;
	if (q->longest_wait)
		longest_note(m, all, q->longest_wait);
}

static int queued_compare(const void *a, const void *b)
{
	const struct analyze_queued *x = a, *y = b;
	uint64_t x_ns = x->wake_ns + x->preempt_ns, y_ns = y->wake_ns + y->preempt_ns;

	if (x_ns != y_ns)
		return x_ns > y_ns ? -1 : 1;
	return x->actor < y->actor ? -1 : x->actor > y->actor;
}

static void quantiles_set(uint64_t *delays, struct analyze_queued *q)
{
	quantile_sort(delays, q->wake_n);
	q->wake_p50_ns = quantile_at(delays, q->wake_n, 500);
	q->wake_p95_ns = quantile_at(delays, q->wake_n, 950);
}

static uint64_t accounts_ns(const struct model *m, const struct filter *f)
{
	uint64_t ns = 0;

	for (size_t i = 1; i < m->thread_n; i++) {
		if (!m->threads[i].goid && filter_thread(f, &m->threads[i]))
			ns += m->threads[i].runnable_ns;
	}
	return ns;
}

int analyze_queues(const struct model *m, const struct analyze_filter *f, const struct analyze_actors *a,
		   struct analyze_queues *ret)
{
	_cleanup_(filter_done) struct filter filter = { 0 };
	_cleanup_(queues_free) struct queues q = { .m = m, .a = a };
	struct analyze_queues x = { 0 };
	size_t first = 0;
	uint64_t threads_ns;

	if (filter_init(&filter, m, f) < 0 || delays_collect(&q, &filter) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->n; i++) {
		struct analyze_queued *l = &q.list[i];
		size_t n = l->wake_n;

		quantiles_set(q.delays + first, l);
		all_add(m, &x.all, l);
		first += n;
		l->actor = i;
		if (l->wake_ns || l->preempt_ns)
			q.list[x.n++] = *l;
	}
	quantiles_set(q.delays, &x.all);
	threads_ns = filter_is_by_op(f) ? 0 : accounts_ns(m, &filter);
	x.short_ns = threads_ns > q.waits_ns ? threads_ns - q.waits_ns : 0;
	if (x.n)
		qsort(q.list, x.n, sizeof(*q.list), queued_compare);
	x.list = TAKE_PTR(q.list);
	*ret = x;
	return 0;
}

void analyze_queues_done(struct analyze_queues *q)
{
	free(q->list);
	*q = (struct analyze_queues){ 0 };
}
