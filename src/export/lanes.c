/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * An item goes where its parent is, if nothing of the parent that is still
 * open is in the way; else to an empty lane, the lowest. A lane is looked at
 * only by who asks for it, so n items cost n log n however many lanes there are.
 */
#include "export/lanes.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"
#include "util/vec.h"

/* Items open on a lane, the outermost first. */
struct lane {
	uint32_t *open;
	size_t n, cap;
};

/* Least key first. */
struct heap_entry {
	int64_t key;
	uint32_t lane;
};
struct heap {
	struct heap_entry *entries;
	size_t n, cap;
};

struct packing {
	struct lanes_item *items;
	struct lane *lanes;
	size_t lane_n, lane_cap;
	struct heap busy; /* by the end of what lies on the lane */
	struct heap idle; /* empty ones, by number */
};

static void packing_done(struct packing *p)
{
	for (size_t i = 0; i < p->lane_n; i++)
		free(p->lanes[i].open);
	free(p->lanes);
	free(p->busy.entries);
	free(p->idle.entries);
}

static bool before(const struct heap_entry *a, const struct heap_entry *b)
{
	return a->key != b->key ? a->key < b->key : a->lane < b->lane;
}

static int heap_push(struct heap *h, int64_t key, uint32_t lane)
{
	struct heap_entry e = { key, lane };
	size_t at = h->n;

	if (VEC_RESERVE(h->entries, h->cap, h->n + 1) < 0)
		return -ENOMEM;
	for (h->n++; at && before(&e, &h->entries[(at - 1) / 2]); at = (at - 1) / 2)
		h->entries[at] = h->entries[(at - 1) / 2];
	h->entries[at] = e;
	return 0;
}

static struct heap_entry heap_pop(struct heap *h)
{
	struct heap_entry least = h->entries[0], last = h->entries[--h->n];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < h->n) {
		child += child + 1 < h->n && before(&h->entries[child + 1], &h->entries[child]);
		if (!before(&h->entries[child], &last))
			break;
		h->entries[at] = h->entries[child];
		at = child;
	}
	h->entries[at] = last;
	return least;
}

static void lane_close_ended(const struct packing *p, struct lane *l, int64_t ns)
{
	while (l->n && p->items[l->open[l->n - 1]].end_ns <= ns)
		l->n--;
}

/* Can item lie within what is open on the lane? parent: only within that one, an index + 1; 0: within anything. */
static bool lane_takes(const struct packing *p, struct lane *l, const struct lanes_item *item, uint32_t parent)
{
	lane_close_ended(p, l, item->start_ns);
	return l->n && (!parent || l->open[l->n - 1] == parent - 1) &&
	       p->items[l->open[l->n - 1]].end_ns >= item->end_ns;
}

static int lane_empty(struct packing *p, int64_t now_ns, uint32_t *ret)
{
	while (p->busy.n && p->busy.entries[0].key <= now_ns) {
		struct heap_entry e = heap_pop(&p->busy);

		if (heap_push(&p->idle, e.lane, e.lane) < 0)
			return -ENOMEM;
	}
	if (p->idle.n) {
		*ret = heap_pop(&p->idle).lane;
		p->lanes[*ret].n = 0;
		return 0;
	}
	if (p->lane_n >= UINT32_MAX || VEC_RESERVE(p->lanes, p->lane_cap, p->lane_n + 1) < 0)
		return -ENOMEM;
	p->lanes[p->lane_n] = (struct lane){ 0 };
	*ret = (uint32_t)p->lane_n++;
	return 0;
}

static int item_place(struct packing *p, uint32_t i, bool by_time)
{
	struct lanes_item *item = &p->items[i];
	/* A parent that comes later began later: its child can't lie in it. */
	uint32_t parent = item->parent && item->parent <= i ? item->parent : 0;
	uint32_t at = parent ? p->items[parent - 1].lane : 0;
	struct lane *l;

	if (!(parent && lane_takes(p, &p->lanes[at], item, by_time ? 0 : parent))) {
		at = 0;
		if (!(by_time && p->lane_n && lane_takes(p, &p->lanes[0], item, 0)) &&
		    (lane_empty(p, item->start_ns, &at) < 0 || heap_push(&p->busy, item->end_ns, at) < 0))
			return -ENOMEM;
	}
	l = &p->lanes[at];
	if (VEC_RESERVE(l->open, l->cap, l->n + 1) < 0)
		return -ENOMEM;
	item->lane = at;
	item->depth = (uint32_t)l->n;
	l->open[l->n++] = i;
	return 0;
}

int lanes_pack(struct lanes_item *items, size_t n, bool by_time, uint32_t *ret_lane_n)
{
	_cleanup_(packing_done) struct packing p = { .items = items };

	if (n >= UINT32_MAX)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (item_place(&p, (uint32_t)i, by_time) < 0)
			return -ENOMEM;
	*ret_lane_n = (uint32_t)p.lane_n;
	return 0;
}
