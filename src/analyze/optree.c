/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Counted out like lanes.c; an op's few children and waits are in order already, mostly. */
#include "analyze/optree.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/parents.h"

struct items {
	const struct model *m;
	const uint32_t *owners; /* by item, NULL: the waits' ops */
	size_t n;
};

static uint32_t owner_of(const struct items *x, size_t i)
{
	uint32_t owner = x->owners ? x->owners[i] : x->m->waits[i].op;

	return owner < x->m->op_n ? owner : 0;
}

static int64_t start_of(const struct items *x, uint32_t i)
{
	return x->owners ? x->m->ops[i].start_ns : x->m->waits[i].start_ns;
}

static int start_compare(const void *a, const void *b, void *arg)
{
	const struct items *x = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int64_t x_ns = start_of(x, i), y_ns = start_of(x, k);

	if (x_ns != y_ns)
		return x_ns < y_ns ? -1 : 1;
	return i < k ? -1 : i > k;
}

static void bucket_sort(const struct items *x, uint32_t *list, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (start_of(x, list[i - 1]) > start_of(x, list[i])) {
			qsort_r(list, n, sizeof(*list), start_compare, (void *)(uintptr_t)x);
			return;
		}
	}
}

static int items_bucket(const struct items *x, uint32_t **ret, size_t **ret_first)
{
	size_t op_n = x->m->op_n, *first = calloc(op_n + 2, sizeof(*first)), *next;
	uint32_t *list = calloc(x->n, sizeof(*list));

	if (!first || !list) {
		free(first);
		free(list);
		return -ENOMEM;
	}
	/* Shifted by two: filling moves each beginning to the one before it. */
	next = first + 1;
	for (size_t i = 1; i < x->n; i++) {
		if (owner_of(x, i) + 1 < op_n)
			next[owner_of(x, i) + 1]++;
	}
	for (size_t i = 1; i < op_n; i++)
		next[i] += next[i - 1];
	for (size_t i = 1; i < x->n; i++)
		list[next[owner_of(x, i)]++] = (uint32_t)i;
	for (size_t i = 0; i < op_n; i++)
		bucket_sort(x, list + first[i], first[i + 1] - first[i]);
	*ret = list;
	*ret_first = first;
	return 0;
}

int optree_init(struct optree *t, const struct model *m)
{
	struct optree x = { .m = m };
	struct items ops = { .m = m, .n = m->op_n }, waits = { .m = m, .n = m->wait_n };

	if (parents_make(m, &x.parents) < 0)
		return -ENOMEM;
	ops.owners = x.parents;
	if (items_bucket(&ops, &x.children, &x.child_first) < 0 || items_bucket(&waits, &x.waits, &x.wait_first) < 0) {
		optree_done(&x);
		return -ENOMEM;
	}
	*t = x;
	return 0;
}

void optree_done(struct optree *t)
{
	free(t->parents);
	free(t->children);
	free(t->child_first);
	free(t->waits);
	free(t->wait_first);
	*t = (struct optree){ 0 };
}

bool optree_is_process(const struct model *m, uint32_t op)
{
	const struct model_op *o = &m->ops[op];

	return model_op_is_process(o) || (o->kind == OP_EXEC_PHASE && o->pid && model_op_is_process(&m->ops[o->parent]));
}

bool optree_same_lane(const struct model *m, uint32_t parent, uint32_t child)
{
	const struct model_op *p = &m->ops[parent], *c = &m->ops[child];

	if (optree_is_process(m, parent) || optree_is_process(m, child))
		return false;
	/* A dump without threads tells no more than that the one is inside the other. */
	if (!p->pid || p->pid != c->pid)
		return p->pid == c->pid;
	/* A goroutine goes from thread to thread. */
	return p->goid || c->goid ? p->goid == c->goid : p->tid == c->tid;
}
