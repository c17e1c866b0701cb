/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Sums of accounts: of threads where there are any, else of what ops did themselves. */
#include <errno.h>

#include "analyze/account.h"
#include "analyze/filter.h"
#include "util/cleanup.h"

static void states_add(struct analyze_states *s, const struct account *a)
{
	uint64_t own_ns = a->total_ns > a->child_ns ? a->total_ns - a->child_ns : 0;

	s->total_ns += own_ns;
	s->gap_ns += (int64_t)own_ns;
	for (unsigned i = 0; i < WHERE_MAX; i++) {
		s->ns[i] += a->ns[i];
		s->count[i] += a->count[i];
		s->gap_ns -= (int64_t)a->ns[i];
	}
}

static int threads_sum(const struct model *m, const struct filter *f, const struct where *where,
		       struct analyze_states *s)
{
	_cleanup_(lanes_done) struct lanes lanes = { 0 };

	if (lanes_init(&lanes, m) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->thread_n; i++) {
		struct account a;

		/* What a goroutine does on a thread is in that one's account. */
		if (m->threads[i].goid || !filter_thread(f, &m->threads[i]))
			continue;
		account_thread(m, &lanes, where, i, &a);
		states_add(s, &a);
		s->left_out_ns += m->threads[i].has_totals ? m->threads[i].left_out_ns : 0;
		s->lost_ns += m->threads[i].has_totals ? m->threads[i].lost_ns : 0;
	}
	return 0;
}

static int ops_sum(const struct model *m, const struct filter *f, const struct where *where, struct analyze_states *s)
{
	_cleanup_(optree_done) struct optree tree = { 0 };

	if (optree_init(&tree, m) < 0)
		return -ENOMEM;
	s->of_ops = true;
	for (uint32_t i = 1; i < m->op_n; i++) {
		struct account a;

		/* Processes do nothing that their threads don't. */
		if (optree_is_process(m, i) || !filter_op(f, i))
			continue;
		account_op(&tree, where, i, &a);
		states_add(s, &a);
	}
	return 0;
}

int analyze_states(const struct model *m, const struct analyze_filter *f, struct analyze_states *ret)
{
	_cleanup_(filter_done) struct filter filter = { 0 };
	_cleanup_(where_done) struct where where = { 0 };
	struct analyze_states s = { 0 };
	int e;

	if (filter_init(&filter, m, f) < 0 || where_init(&where, m) < 0)
		return -ENOMEM;
	e = m->thread_n > 1 && !filter_is_by_op(f) ? threads_sum(m, &filter, &where, &s) :
						     ops_sum(m, &filter, &where, &s);
	if (e == 0)
		*ret = s;
	return e;
}
