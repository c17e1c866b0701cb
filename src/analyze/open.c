/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What hangs, hangs in waits that nothing has ended yet. They are few (one a
 * thread at most) and each is worth a line of its own: who, since when, for what.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/filter.h"
#include "util/cleanup.h"
#include "util/vec.h"

static bool is_open(const struct model *m, const struct model_wait *w)
{
	return w->clipped & CLIPPED_AFTER && w->wake_ns < 0 && m->rows[w->row].reason != REASON_CPU;
}

static int age_compare(const void *a, const void *b, void *arg)
{
	const struct model *m = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct model_wait *x = &m->waits[i], *y = &m->waits[k];

	if (x->blocked_ns != y->blocked_ns)
		return x->blocked_ns > y->blocked_ns ? -1 : 1;
	return i < k ? -1 : i > k;
}

int analyze_open_waits(const struct model *m, const struct analyze_filter *f, uint32_t **ret, size_t *ret_n)
{
	_cleanup_(filter_done) struct filter filter = { 0 };
	_cleanup_(freep) uint32_t *waits = NULL;
	size_t n = 0, cap = 0;

	if (filter_init(&filter, m, f) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->wait_n; i++) {
		if (!is_open(m, &m->waits[i]) || !filter_wait(&filter, &m->waits[i]))
			continue;
		if (VEC_RESERVE(waits, cap, n + 1) < 0)
			return -ENOMEM;
		waits[n++] = (uint32_t)i;
	}
	if (n)
		qsort_r(waits, n, sizeof(*waits), age_compare, (void *)(uintptr_t)m);
	*ret = TAKE_PTR(waits);
	*ret_n = n;
	return 0;
}
