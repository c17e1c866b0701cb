/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The pieces that account_op() sums up, each for itself: what a picture of ops without threads is made of. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/account.h"
#include "analyze/analyze.h"
#include "util/cleanup.h"

struct parts {
	struct optree tree;
	struct where where;
	struct analyze_op_parts x;
};

static void parts_done(struct parts *p)
{
	optree_done(&p->tree);
	where_done(&p->where);
	analyze_op_parts_done(&p->x);
}

static void op_divide(struct parts *p, uint32_t op)
{
	const struct optree *t = &p->tree;
	const struct model_op *o = &t->m->ops[op];
	int64_t at = o->start_ns;
	struct account a;

	account_op(t, &p->where, op, &a);
	p->x.self_ns[op] = a.self_ns;
	for (size_t i = t->wait_first[op]; i < t->wait_first[op + 1]; i++) {
		const struct model_wait *w = &t->m->waits[t->waits[i]];

		p->x.wait_ns[t->waits[i]] = (uint64_t)lanes_overlap(w->start_ns, w->end_ns, at, o->end_ns);
		at = w->end_ns > at ? w->end_ns : at;
	}
}

int analyze_op_parts(const struct model *m, struct analyze_op_parts *ret)
{
	_cleanup_(parts_done) struct parts p = { 0 };

	p.x.self_ns = calloc(m->op_n, sizeof(*p.x.self_ns));
	p.x.wait_ns = calloc(m->wait_n, sizeof(*p.x.wait_ns));
	if (!p.x.self_ns || !p.x.wait_ns || optree_init(&p.tree, m) < 0 || where_init(&p.where, m) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->op_n; i++)
		op_divide(&p, i);
	p.x.parents = TAKE_PTR(p.tree.parents);
	*ret = p.x;
	p.x = (struct analyze_op_parts){ 0 };
	return 0;
}

void analyze_op_parts_done(struct analyze_op_parts *x)
{
	free(x->parents);
	free(x->self_ns);
	free(x->wait_ns);
	*x = (struct analyze_op_parts){ 0 };
}
