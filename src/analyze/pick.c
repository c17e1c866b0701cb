/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* A filter's answers for everything at once. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/filter.h"
#include "util/cleanup.h"

int analyze_pick(const struct model *m, const struct analyze_filter *f, struct analyze_picked *ret)
{
	_cleanup_(filter_done) struct filter x = { 0 };
	struct analyze_picked p = { 0 };

	p.threads = calloc(m->thread_n, sizeof(*p.threads));
	p.ops = calloc(m->op_n, sizeof(*p.ops));
	p.waits = calloc(m->wait_n, sizeof(*p.waits));
	if (!p.threads || !p.ops || !p.waits || filter_init(&x, m, f) < 0) {
		analyze_picked_done(&p);
		return -ENOMEM;
	}
	for (uint32_t i = 1; i < m->op_n; i++)
		p.ops[i] = filter_op(&x, i);
	for (uint32_t i = 1; i < m->wait_n; i++)
		p.waits[i] = filter_wait(&x, &m->waits[i]);
	for (uint32_t i = 1; i < m->thread_n; i++)
		p.threads[i] = !filter_is_by_op(f) && filter_thread(&x, &m->threads[i]);
	*ret = p;
	return 0;
}

void analyze_picked_done(struct analyze_picked *p)
{
	free(p->threads);
	free(p->ops);
	free(p->waits);
	*p = (struct analyze_picked){ 0 };
}
