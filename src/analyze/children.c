/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What the ops of a class have below them. Children of one class that run
 * beside each other take their parent's time once, so beside their sum stands
 * the time in which any of them ran: the union, parent by parent.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/filter.h"
#include "analyze/optree.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

#define KEY(high, low) ((uint64_t)(high) << 32 | (low))

struct children {
	const struct model *m;
	struct optree tree;
	struct map *classes; /* by kind and class: dense number from 1 on */
	struct map *pairs;   /* by parent's and child's class: place in list */
	struct analyze_child *list;
	int64_t *covered; /* by entry: until when, of the parent at hand */
	uint32_t *parent; /* by entry: the parent at hand */
	size_t n, cap, covered_cap, parent_cap;
};

static void children_free(struct children *c)
{
	optree_done(&c->tree);
	map_free(c->classes);
	map_free(c->pairs);
	free(c->list);
	free(c->covered);
	free(c->parent);
}

static int class_number(struct children *c, uint32_t op, uint64_t *ret)
{
	const struct model_op *o = &c->m->ops[op];
	/* Roots hang under none: number 0. */
	uint64_t key = KEY(o->kind, o->class_id);

	*ret = 0;
	if (!op || map_get(c->classes, key, ret))
		return 0;
	*ret = map_n(c->classes) + 1;
	return map_put(c->classes, key, *ret);
}

static int entry_get(struct children *c, uint32_t parent, uint32_t child, size_t *ret)
{
	const struct model_op *p = &c->m->ops[parent], *o = &c->m->ops[child];
	uint64_t above, below, at;

	if (class_number(c, parent, &above) < 0 || class_number(c, child, &below) < 0)
		return -ENOMEM;
	if (!map_get(c->pairs, KEY(above, below), &at)) {
		at = c->n;
		if (VEC_RESERVE(c->list, c->cap, at + 1) < 0 || VEC_RESERVE(c->covered, c->covered_cap, at + 1) < 0 ||
		    VEC_RESERVE(c->parent, c->parent_cap, at + 1) < 0 || map_put(c->pairs, KEY(above, below), at) < 0)
			return -ENOMEM;
		c->list[at] = (struct analyze_child){ .parent_kind = p->kind, .parent_class_id = p->class_id,
						      .root = !parent, .kind = o->kind, .class_id = o->class_id };
		c->covered[at] = 0;
		c->parent[at] = UINT32_MAX;
		c->n++;
	}
	*ret = at;
	return 0;
}

/* Children come in the order of their starts, parent by parent. */
static void child_add(struct children *c, size_t at, uint32_t parent, uint32_t child)
{
	const struct model_op *o = &c->m->ops[child], *p = &c->m->ops[parent];
	struct analyze_child *e = &c->list[at];
	int64_t begin = o->start_ns, end = o->end_ns;

	e->count++;
	e->total_ns += (uint64_t)(end - begin);
	e->longest_ns = (uint64_t)(end - begin) > e->longest_ns ? (uint64_t)(end - begin) : e->longest_ns;
	if (c->parent[at] != parent) {
		c->parent[at] = parent;
		c->covered[at] = parent ? p->start_ns : 0;
		e->parent_n++;
		e->parents_ns += parent ? (uint64_t)(p->end_ns - p->start_ns) : 0;
	}
	begin = begin > c->covered[at] ? begin : c->covered[at];
	end = parent && end > p->end_ns ? p->end_ns : end;
	if (end <= begin)
		return;
	e->covered_ns += (uint64_t)(end - begin);
	c->covered[at] = end;
}

static int child_compare(const void *a, const void *b)
{
	const struct analyze_child *x = a, *y = b;

	if (x->covered_ns != y->covered_ns)
		return x->covered_ns > y->covered_ns ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	if (x->class_id != y->class_id)
		return x->class_id < y->class_id ? -1 : 1;
	return x->parent_class_id < y->parent_class_id ? -1 : x->parent_class_id > y->parent_class_id;
}

int analyze_children(const struct model *m, const struct analyze_filter *f, struct analyze_child **ret, size_t *ret_n)
{
	_cleanup_(filter_done) struct filter filter = { 0 };
	_cleanup_(children_free) struct children c = { .m = m };

	if (filter_init(&filter, m, f) < 0 || optree_init(&c.tree, m) < 0 || map_new(&c.classes) < 0 ||
	    map_new(&c.pairs) < 0)
		return -ENOMEM;
	for (uint32_t parent = 0; parent < m->op_n; parent++) {
		for (size_t i = c.tree.child_first[parent]; i < c.tree.child_first[parent + 1]; i++) {
			uint32_t child = c.tree.children[i];
			size_t at;

			if (!filter_op(&filter, child))
				continue;
			if (entry_get(&c, parent, child, &at) < 0)
				return -ENOMEM;
			child_add(&c, at, parent, child);
		}
	}
	if (c.n)
		qsort(c.list, c.n, sizeof(*c.list), child_compare);
	*ret = TAKE_PTR(c.list);
	*ret_n = c.n;
	return 0;
}
