/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Sums of accounts: of threads where there are any, else of what ops did themselves. Where goroutines were recorded
 * they are what threads are elsewhere: a server whose handlers queue for one mutex has idle threads only.
 */
#include <errno.h>

#include "analyze/account.h"
#include "analyze/filter.h"
#include "util/cleanup.h"
#include "util/map.h"

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

static uint64_t process_key(const struct model_thread *t)
{
	return t->process ? (uint64_t)t->process << 32 : t->pid;
}

/* Processes whose goroutines' waits were recorded, not just that some began an op. 0, -ENOMEM. */
static int go_processes(const struct model *m, struct map **ret)
{
	_cleanup_(map_freep) struct map *processes = NULL;

	if (map_new(&processes) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_thread *t = &m->threads[m->waits[i].thread];

		if (t->goid && m->rows[m->waits[i].row].parked && map_put(processes, process_key(t), 1) < 0)
			return -ENOMEM;
	}
	*ret = TAKE_PTR(processes);
	return 0;
}

/* go: processes whose threads are left out; NULL: none. Gives those threads' time on the CPU. 0, -ENOMEM. */
static int threads_sum(const struct model *m, const struct filter *f, const struct where *where, const struct map *go,
		       struct analyze_states *s, uint64_t *ret_carriers_ns)
{
	_cleanup_(lanes_done) struct lanes lanes = { 0 };
	uint64_t carriers_ns = 0;

	if (lanes_init(&lanes, m) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->thread_n; i++) {
		const struct model_thread *t = &m->threads[i];
		struct account a;
		uint64_t any;

		/* What a goroutine does on a thread is in that one's account. */
		if (t->goid || !filter_thread(f, t))
			continue;
		if (go && map_get(go, process_key(t), &any)) {
			s->carrier_n++;
			carriers_ns += t->has_totals ? t->oncpu_ns : 0;
			continue;
		}
		account_thread(m, &lanes, where, i, &a);
		states_add(s, &a);
		s->thread_n++;
		s->left_out_ns += t->has_totals ? t->left_out_ns : 0;
		s->lost_ns += t->has_totals ? t->lost_ns : 0;
	}
	*ret_carriers_ns = carriers_ns;
	return 0;
}

/* carriers_ns: what their threads were on the CPU, which is the most that all of them were. */
static int goroutines_sum(const struct model *m, const struct filter *f, struct where *where, const struct map *go,
			  uint64_t carriers_ns, struct analyze_states *s)
{
	_cleanup_(lanes_done) struct lanes lanes = { 0 };
	struct account sum = { 0 };

	if (lanes_init_waiters(&lanes, m) < 0)
		return -ENOMEM;
	where_goroutines(where);
	for (uint32_t i = 1; i < m->thread_n; i++) {
		const struct model_thread *t = &m->threads[i];
		struct account a;
		uint64_t any;

		if (!t->goid || !filter_thread(f, t) || !map_get(go, process_key(t), &any))
			continue;
		account_between(m, &lanes, where, i, t->begin_ns, t->end_ns, &a);
		account_add(&sum, &a);
		s->goroutine_n++;
	}
	if (sum.ns[WHERE_RUNNING] > carriers_ns) {
		sum.ns[WHERE_UNKNOWN] += sum.ns[WHERE_RUNNING] - carriers_ns;
		sum.ns[WHERE_RUNNING] = carriers_ns;
	}
	states_add(s, &sum);
	return 0;
}

static int who_sum(const struct model *m, const struct filter *f, struct where *where, struct analyze_states *s)
{
	_cleanup_(map_freep) struct map *go = NULL;
	uint64_t carriers_ns;

	/* Who asks for a thread is told of it. */
	if (m->goroutine_n && !f->f->tid_n && !f->f->comm && go_processes(m, &go) < 0)
		return -ENOMEM;
	if (threads_sum(m, f, where, go, s, &carriers_ns) < 0)
		return -ENOMEM;
	return go ? goroutines_sum(m, f, where, go, carriers_ns, s) : 0;
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
	e = m->thread_n > 1 && !filter_is_by_op(f) ? who_sum(m, &filter, &where, &s) :
						     ops_sum(m, &filter, &where, &s);
	if (e == 0)
		*ret = s;
	return e;
}
