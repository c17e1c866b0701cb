/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* A dump repeats the row in each wait; here a few thousand rows come out of millions of waits again. */
#include "dump/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/vec.h"

static bool row_same(const struct model_row *a, const struct model_row *b)
{
	return a->kstack == b->kstack && a->ustack == b->ustack && a->comm_id == b->comm_id &&
	       a->kind_id == b->kind_id && a->syscall == b->syscall && a->state == b->state && a->reason == b->reason &&
	       a->has_futex_op == b->has_futex_op && a->parked == b->parked && a->futex_op == b->futex_op;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static uint64_t row_hash(const struct model_row *r)
{
	uint64_t h = mix(r->reason, (uint64_t)r->kstack << 32 | r->ustack);

	h = mix(h, (uint64_t)r->has_futex_op << 32 | r->futex_op);
	h = mix(h, (uint64_t)r->comm_id << 32 | r->kind_id);
	return mix(h, (uint64_t)(uint32_t)r->syscall << 32 | r->state);
}

/* The slot that holds key, or the free one where it belongs. */
static size_t slot_find(const struct rows *r, const struct model_row *key)
{
	size_t at = (size_t)row_hash(key) & (r->slot_n - 1);

	while (r->slots[at] && !row_same(&r->items[r->slots[at] - 1], key))
		at = (at + 1) & (r->slot_n - 1);
	return at;
}

static int slots_grow(struct rows *r)
{
	size_t slot_n = r->slot_n ? r->slot_n * 2 : 256;
	uint32_t *slots = calloc(slot_n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(r->slots);
	r->slots = slots;
	r->slot_n = slot_n;
	for (size_t i = 0; i < r->n; i++)
		slots[slot_find(r, &r->items[i])] = (uint32_t)i + 1;
	return 0;
}

int rows_intern(struct rows *r, const struct model_row *key, uint32_t *ret)
{
	size_t at;

	if (r->n >= UINT32_MAX - 1 || (2 * (r->n + 1) > r->slot_n && slots_grow(r) < 0))
		return -ENOMEM;
	at = slot_find(r, key);
	if (!r->slots[at]) {
		if (VEC_RESERVE(r->items, r->cap, r->n + 1) < 0)
			return -ENOMEM;
		r->items[r->n] = *key;
		r->items[r->n].count = r->items[r->n].blocked_ns = r->items[r->n].runnable_ns = 0;
		r->slots[at] = (uint32_t)++r->n;
	}
	*ret = r->slots[at] - 1;
	return 0;
}

void rows_clear(struct rows *r)
{
	r->n = 0;
	if (r->slot_n)
		memset(r->slots, 0, r->slot_n * sizeof(*r->slots));
}

void rows_done(struct rows *r)
{
	free(r->items);
	free(r->slots);
	*r = (struct rows){ 0 };
}
