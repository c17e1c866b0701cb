/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Where time on the CPU went is asked by function first. A function is reached
 * in many ways; the commonest one stands for it, so that a line can say who
 * called. Hence two steps: by stack, as it reads, then by innermost function.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/filter.h"
#include "analyze/spread.h"
#include "analyze/stacks.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

#define KEY(high, low) ((uint64_t)(high) << 32 | (low))

struct entries {
	struct analyze_function *list;
	size_t n, cap;
	struct map *places; /* by key: index in list */
};

static void entries_done(struct entries *e)
{
	free(e->list);
	map_free(e->places);
}

/* The entry of a key, blank if new. NULL: no memory. */
static struct analyze_function *entry_at(struct entries *e, uint64_t key)
{
	uint64_t at;

	if (!map_get(e->places, key, &at)) {
		if (VEC_RESERVE(e->list, e->cap, e->n + 1) < 0 || map_put(e->places, key, e->n) < 0)
			return NULL;
		at = e->n++;
		e->list[at] = (struct analyze_function){ 0 };
	}
	return &e->list[at];
}

/* The innermost frame of a stack, among stacks that were folded; one without frames has none. */
static uint64_t function_key(const struct model *m, const struct analyze_function *e)
{
	const struct model_stack *s = &m->stacks[e->kstack ? e->kstack : e->ustack];
	const struct model_frame *f = s->frames;

	if (!s->frame_n)
		return e->kstack || e->ustack ? 1 : 0;
	/* Bits that no index reaches tell names, files and plain addresses apart; an address is one of its file's. */
	if (f->name_id)
		return KEY(1u << 31 | (e->kstack ? 1u << 30 : 0), f->name_id);
	return (f->address ^ (uint64_t)f->module << 40) | UINT64_C(3) << 61;
}

static int by_stack(const struct model *m, const struct filter *filter, const uint32_t *folded, struct entries *ret)
{
	_cleanup_(freep) struct spread *spreads = calloc(m->thread_n, sizeof(*spreads));

	if (!spreads || map_new(&ret->places) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->thread_n; i++)
		spreads[i].total_ns = m->threads[i].oncpu_ns;
	for (size_t i = 1; i < m->sample_n; i++)
		spreads[m->samples[i].thread].count += spread_weight(&m->samples[i]);
	for (size_t i = 1; i < m->sample_n; i++) {
		const struct model_sample *s = &m->samples[i];
		uint64_t ns = spread_next(&spreads[s->thread], spread_weight(s));
		uint32_t k = folded[s->kstack] ? folded[s->kstack] : s->kstack;
		uint32_t u = folded[s->ustack] ? folded[s->ustack] : s->ustack;
		struct analyze_function *e;

		if (!s->count || !filter_thread(filter, &m->threads[s->thread]))
			continue;
		e = entry_at(ret, KEY(k, u));
		if (!e)
			return -ENOMEM;
		e->kstack = k;
		e->ustack = u;
		e->ns += ns;
		e->count += s->count;
	}
	return 0;
}

static int function_compare(const void *a, const void *b)
{
	const struct analyze_function *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->ustack != y->ustack)
		return x->ustack < y->ustack ? -1 : 1;
	return x->kstack < y->kstack ? -1 : x->kstack > y->kstack;
}

/* The stacks come most time first, so the first of a function is its commonest. */
static int by_function(const struct model *m, const struct entries *stacks, struct entries *ret)
{
	if (map_new(&ret->places) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < stacks->n; i++) {
		const struct analyze_function *s = &stacks->list[i];
		struct analyze_function *e = entry_at(ret, function_key(m, s));

		if (!e)
			return -ENOMEM;
		if (!e->stack_n++) {
			e->kstack = s->kstack;
			e->ustack = s->ustack;
		}
		e->ns += s->ns;
		e->count += s->count;
	}
	return 0;
}

int analyze_functions(const struct model *m, const struct analyze_filter *f, struct analyze_function **ret,
		      size_t *ret_n)
{
	_cleanup_(filter_done) struct filter filter = { 0 };
	_cleanup_(entries_done) struct entries stacks = { 0 }, functions = { 0 };
	_cleanup_(freep) uint32_t *folded = NULL;

	/* Samples know their thread, not the op that it was in. */
	if (filter_is_by_op(f)) {
		*ret = NULL;
		*ret_n = 0;
		return 0;
	}
	if (filter_init(&filter, m, f) < 0 || stacks_fold(m, &folded) < 0 || by_stack(m, &filter, folded, &stacks) < 0)
		return -ENOMEM;
	if (stacks.n)
		qsort(stacks.list, stacks.n, sizeof(*stacks.list), function_compare);
	if (by_function(m, &stacks, &functions) < 0)
		return -ENOMEM;
	if (functions.n)
		qsort(functions.list, functions.n, sizeof(*functions.list), function_compare);
	*ret = TAKE_PTR(functions.list);
	*ret_n = functions.n;
	return 0;
}
