/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "export/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/vec.h"

static int node_append(struct flame *f, uint32_t parent, uint32_t label)
{
	if (f->node_n >= UINT32_MAX || VEC_RESERVE(f->nodes, f->node_cap, f->node_n + 1) < 0)
		return -ENOMEM;
	f->nodes[f->node_n] = (struct flame_node){ .parent = parent, .label = label };
	if (f->node_n)
		f->nodes[f->node_n].depth = f->nodes[parent].depth + 1;
	if (f->nodes[f->node_n].depth > f->depth_max)
		f->depth_max = f->nodes[f->node_n].depth;
	f->node_n++;
	return 0;
}

int flame_init(struct flame *f)
{
	uint32_t all;

	*f = (struct flame){ 0 };
	if (strtab_new(&f->texts) < 0 || flame_label(f, FLAME_ALL, "all", &all) < 0 || node_append(f, 0, all) < 0)
		return -ENOMEM;
	return 0;
}

void flame_done(struct flame *f)
{
	strtab_free(f->texts);
	free(f->labels);
	free(f->nodes);
	pairs_done(&f->label_numbers);
	pairs_done(&f->node_numbers);
	*f = (struct flame){ 0 };
}

int flame_label(struct flame *f, enum flame_kind kind, const char *text, uint32_t *ret)
{
	uint32_t string, number;
	bool is_new;

	if (strtab_intern(f->texts, text, &string) < 0 || VEC_RESERVE(f->labels, f->label_cap, f->label_n + 1) < 0 ||
	    pairs_intern(&f->label_numbers, kind, string, &number, &is_new) < 0)
		return -ENOMEM;
	if (is_new)
		f->labels[f->label_n++] = (struct flame_label){ .text = string, .kind = (uint8_t)kind };
	*ret = number - 1;
	return 0;
}

int flame_child(struct flame *f, uint32_t node, uint32_t label, uint32_t *ret)
{
	uint32_t number;
	bool is_new;

	if (pairs_intern(&f->node_numbers, node, label, &number, &is_new) < 0 ||
	    (is_new && node_append(f, node, label) < 0))
		return -ENOMEM;
	*ret = number; /* node 0 has none: the first child is 1 */
	return 0;
}

void flame_add(struct flame *f, uint32_t node, uint64_t ns)
{
	f->nodes[node].self_ns += ns;
}

const char *flame_text(const struct flame *f, uint32_t node)
{
	return strtab_str(f->texts, f->labels[f->nodes[node].label].text);
}

enum flame_kind flame_node_kind(const struct flame *f, uint32_t node)
{
	return f->labels[f->nodes[node].label].kind;
}

/* Siblings: most time first. */
static int sibling_compare(const void *a, const void *b, void *arg)
{
	const struct flame *f = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct flame_node *x = &f->nodes[i], *y = &f->nodes[k];
	int words;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	words = strcmp(flame_text(f, i), flame_text(f, k));
	if (words)
		return words;
	return i < k ? -1 : i > k;
}

int flame_finish(struct flame *f)
{
	_cleanup_(freep) uint32_t *order = calloc(f->node_n, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (size_t i = f->node_n; i-- > 0;) {
		f->nodes[i].total_ns += f->nodes[i].self_ns;
		if (i)
			f->nodes[f->nodes[i].parent].total_ns += f->nodes[i].total_ns;
	}
	for (uint32_t i = 1; i < f->node_n; i++)
		order[i] = i;
	qsort_r(order + 1, f->node_n - 1, sizeof(*order), sibling_compare, f);
	for (size_t i = f->node_n; i-- > 1;) {
		struct flame_node *n = &f->nodes[order[i]], *parent = &f->nodes[n->parent];

		n->next = parent->child;
		parent->child = order[i];
	}
	return 0;
}

uint32_t flame_next(const struct flame *f, uint32_t node)
{
	if (f->nodes[node].child)
		return f->nodes[node].child;
	while (node && !f->nodes[node].next)
		node = f->nodes[node].parent;
	return f->nodes[node].next;
}
