/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What each client had done for it. Ops of one client overlap, so beside their
 * sum stands the time in which any of them ran.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/filter.h"
#include "analyze/parents.h"
#include "util/cleanup.h"

struct clients {
	const struct model *m;
	uint32_t *ops; /* with a client, by client, then by start */
	size_t n;
	struct analyze_client *list;
	size_t client_n;
	uint32_t *parents; /* as of parents.h */
	uint32_t *place; /* by string: 1 + place in list of the client */
};

static void clients_free(struct clients *c)
{
	free(c->ops);
	free(c->list);
	free(c->parents);
	free(c->place);
}

static int op_compare(const void *a, const void *b, void *arg)
{
	const struct model *m = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct model_op *x = &m->ops[i], *y = &m->ops[k];

	if (x->client_id != y->client_id)
		return x->client_id < y->client_id ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return i < k ? -1 : i > k;
}

static void op_add(struct analyze_client *e, const struct model_op *o, int64_t *covered)
{
	int64_t begin = o->start_ns > *covered ? o->start_ns : *covered;

	if (!e->op_n++)
		e->first_ns = o->start_ns;
	e->open_n += o->open;
	e->last_ns = o->end_ns > e->last_ns ? o->end_ns : e->last_ns;
	e->total_ns += (uint64_t)(o->end_ns - o->start_ns);
	if (o->end_ns > begin) {
		e->active_ns += (uint64_t)(o->end_ns - begin);
		*covered = o->end_ns;
	}
}

static void ops_sum(struct clients *c)
{
	int64_t covered = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct model_op *o = &c->m->ops[c->ops[i]];

		if (!i || c->m->ops[c->ops[i - 1]].client_id != o->client_id) {
			c->list[c->client_n++] = (struct analyze_client){ .client_id = o->client_id };
			c->place[o->client_id] = (uint32_t)c->client_n;
			covered = o->start_ns;
		}
		op_add(&c->list[c->client_n - 1], o, &covered);
	}
}

/* What ops below one of a client wait for, its threads, they wait for in its stead. */
static uint32_t client_of(const struct clients *c, uint32_t op)
{
	while (op && !c->m->ops[op].client_id)
		op = c->parents[op];
	return c->m->ops[op].client_id;
}

static void waits_sum(struct clients *c, const struct filter *f)
{
	for (size_t i = 1; i < c->m->wait_n; i++) {
		const struct model_wait *w = &c->m->waits[i];
		uint32_t place = c->place[client_of(c, w->op)];

		if (!place || !filter_wait(f, w))
			continue;
		c->list[place - 1].wait_n++;
		c->list[place - 1].blocked_ns += (uint64_t)w->blocked_ns;
	}
}

static int client_compare(const void *a, const void *b)
{
	const struct analyze_client *x = a, *y = b;

	if (x->active_ns != y->active_ns)
		return x->active_ns > y->active_ns ? -1 : 1;
	return x->client_id < y->client_id ? -1 : x->client_id > y->client_id;
}

int analyze_clients(const struct model *m, const struct analyze_filter *f, struct analyze_client **ret, size_t *ret_n)
{
	_cleanup_(filter_done) struct filter filter = { 0 };
	_cleanup_(clients_free) struct clients c = { .m = m };

	c.ops = calloc(m->op_n, sizeof(*c.ops));
	c.list = calloc(m->op_n, sizeof(*c.list));
	c.place = calloc(strtab_n(m->strings), sizeof(*c.place));
	if (!c.ops || !c.list || !c.place || parents_make(m, &c.parents) < 0 ||
	    filter_init(&filter, m, f) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->op_n; i++) {
		if (m->ops[i].client_id && filter_op(&filter, i))
			c.ops[c.n++] = i;
	}
	if (c.n)
		qsort_r(c.ops, c.n, sizeof(*c.ops), op_compare, (void *)(uintptr_t)m);
	ops_sum(&c);
	waits_sum(&c, &filter);
	if (c.client_n)
		qsort(c.list, c.client_n, sizeof(*c.list), client_compare);
	*ret = TAKE_PTR(c.list);
	*ret_n = c.client_n;
	return 0;
}
