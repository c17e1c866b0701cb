/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Why did that wait last? Because the one who ended it waited itself, for most
 * of the time; and so on, down to one who computed, or to a device. A step
 * goes on while the waker was in one wait for at least half of the stretch at
 * hand; the stretch then is that wait. Chains of the same steps are one: the
 * same actors, kinds of wait and stacks at both ends.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/filter.h"
#include "analyze/lanes.h"
#include "analyze/stacks.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

struct chains {
	const struct model *m;
	const struct analyze_actors *a;
	struct lanes lanes;
	uint32_t *folded; /* stacks */
	struct map *places;
	struct analyze_chain *list;
	size_t n, cap;
};

static void chains_free(struct chains *c)
{
	lanes_done(&c->lanes);
	free(c->folded);
	map_free(c->places);
	free(c->list);
}

/* The wait of a thread that covers most of [from, to), if that is at least half of it. 0: none. */
static uint32_t covering_wait(const struct chains *c, uint32_t thread, int64_t from, int64_t to)
{
	const struct model *m = c->m;
	int64_t most = 0;
	uint32_t best = 0;

	for (size_t i = lanes_find(&c->lanes, m, thread, from); i < c->lanes.first[thread + 1]; i++) {
		const struct model_wait *w = &m->waits[c->lanes.waits[i]];
		int64_t ns = lanes_overlap(w->start_ns, lanes_blocked_end(w), from, to);

		if (w->start_ns >= to)
			break;
		if (ns > most) {
			most = ns;
			best = c->lanes.waits[i];
		}
	}
	return most * 2 >= to - from ? best : 0;
}

static void step_set(const struct chains *c, struct analyze_chain_step *s, uint32_t wait)
{
	const struct model_wait *w = &c->m->waits[wait];
	const struct model_row *row = &c->m->rows[w->row];

	*s = (struct analyze_chain_step){ .actor = c->a->of_thread[w->thread],
					  .reason = row->reason,
					  .kind_id = row->kind_id };
}

/* Who or what stands at the end: its waker did something else than wait, or is none. */
static void root_set(const struct chains *c, struct analyze_chain *x, const struct model_wait *last)
{
	x->root_name_id = analyze_awaited_name(c->m, last);
	x->root_ctx = last->ctx;
	if (last->waker && (last->ctx == WAKER_NONE || last->ctx == WAKER_TASK)) {
		x->root_actor = c->a->of_thread[last->waker];
		x->root = ANALYZE_ROOT_RAN;
	} else if (last->outside_waker && (last->ctx == WAKER_NONE || last->ctx == WAKER_TASK)) {
		x->root_actor = c->a->of_outside[last->outside_waker];
		x->root = ANALYZE_ROOT_OUTSIDE;
	} else if (last->ctx != WAKER_NONE && last->ctx != WAKER_UNKNOWN && last->ctx != WAKER_TASK) {
		x->root = ANALYZE_ROOT_DEVICE;
	} else {
		x->root = last->clipped & CLIPPED_AFTER && last->wake_ns < 0 ? ANALYZE_ROOT_OPEN : ANALYZE_ROOT_UNKNOWN;
	}
}

static void chain_follow(const struct chains *c, uint32_t wait, struct analyze_chain *x)
{
	const struct model *m = c->m;
	const struct model_wait *w = &m->waits[wait];

	step_set(c, &x->steps[x->step_n++], wait);
	while (w->waker && w->waker != w->thread && x->step_n < ANALYZE_CHAIN_STEPS) {
		uint32_t next = covering_wait(c, w->waker, w->start_ns, lanes_blocked_end(w));
		struct analyze_chain_step step;

		/* One that ended later can't be why; and so each step is earlier than the one before. */
		if (!next || lanes_blocked_end(&m->waits[next]) >= lanes_blocked_end(w))
			break;
		w = &m->waits[next];
		step_set(c, &step, next);
		/* A queue of threads of one name at one sort of lock is one step, however long it was. */
		if (memcmp(&step, &x->steps[x->step_n - 1], sizeof(step)) != 0)
			x->steps[x->step_n++] = step;
	}
	x->last_wait = (uint32_t)(w - m->waits);
	root_set(c, x, w);
	/* An address of this run says nothing at the end of a chain; a file, a peer does. */
	x->kstack = c->folded[m->rows[m->waits[wait].row].kstack];
	x->ustack = c->folded[m->rows[m->waits[wait].row].ustack];
	x->root_kstack = x->step_n > 1 ? c->folded[m->rows[w->row].kstack] : 0;
	x->root_ustack = x->step_n > 1 ? c->folded[m->rows[w->row].ustack] : 0;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

static uint64_t chain_hash(const struct analyze_chain *x)
{
	uint64_t h = mix((uint64_t)x->root << 8 | x->root_ctx, (uint64_t)x->root_actor << 32 | x->root_name_id);

	for (unsigned i = 0; i < x->step_n; i++)
		h = mix(mix(h, (uint64_t)x->steps[i].actor << 8 | x->steps[i].reason), x->steps[i].kind_id);
	h = mix(h, (uint64_t)x->ustack << 32 | x->root_ustack);
	return mix(h, (uint64_t)x->kstack << 32 | x->root_kstack);
}

static bool chain_same(const struct analyze_chain *x, const struct analyze_chain *y)
{
	return x->step_n == y->step_n && x->root == y->root && x->root_ctx == y->root_ctx &&
	       x->root_actor == y->root_actor && x->root_name_id == y->root_name_id && x->ustack == y->ustack &&
	       x->kstack == y->kstack && x->root_ustack == y->root_ustack && x->root_kstack == y->root_kstack &&
	       memcmp(x->steps, y->steps, x->step_n * sizeof(x->steps[0])) == 0;
}

static int chain_add(struct chains *c, uint32_t wait)
{
	const struct model_wait *w = &c->m->waits[wait];
	struct analyze_chain x = { 0 };
	uint64_t key, at;

	chain_follow(c, wait, &x);
	key = chain_hash(&x);
	/* Another chain under this hash: the next number is as good as any. */
	while (map_get(c->places, key, &at) && !chain_same(&c->list[at], &x))
		key++;
	if (!map_get(c->places, key, &at)) {
		at = c->n;
		if (VEC_RESERVE(c->list, c->cap, at + 1) < 0 || map_put(c->places, key, at) < 0)
			return -ENOMEM;
		c->list[c->n++] = x;
	}
	c->list[at].count++;
	c->list[at].ns += (uint64_t)w->blocked_ns;
	if ((uint64_t)w->blocked_ns > c->list[at].longest_ns) {
		c->list[at].longest_ns = (uint64_t)w->blocked_ns;
		c->list[at].longest_wait = wait;
	}
	return 0;
}

static int chain_compare(const void *a, const void *b)
{
	const struct analyze_chain *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->longest_wait < y->longest_wait ? -1 : x->longest_wait > y->longest_wait;
}

int analyze_chains(const struct model *m, const struct analyze_filter *f, const struct analyze_actors *a,
		   struct analyze_chain **ret, size_t *ret_n)
{
	_cleanup_(filter_done) struct filter filter = { 0 };
	_cleanup_(chains_free) struct chains c = { .m = m, .a = a };

	if (filter_init(&filter, m, f) < 0 || lanes_init_waiters(&c.lanes, m) < 0 || stacks_fold(m, &c.folded) < 0 ||
	    map_new(&c.places) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		if (!w->thread || m->rows[w->row].reason == REASON_CPU || w->blocked_ns <= 0 ||
		    !filter_wait(&filter, w))
			continue;
		if (chain_add(&c, i) < 0)
			return -ENOMEM;
	}
	if (c.n)
		qsort(c.list, c.n, sizeof(*c.list), chain_compare);
	*ret = TAKE_PTR(c.list);
	*ret_n = c.n;
	return 0;
}
