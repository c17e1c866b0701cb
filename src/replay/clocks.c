/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Who sleeps until the next full tenth of a second does not get on faster when
 * what he does in between takes less. Such sleeps are told by their time limits:
 * points in time that lie equally far apart, to the nanosecond, as no sum of a
 * sleep and the work before it does. Their strand waits for a clock then, which
 * is a strand of its own: it starts with the first of them, and does nothing but
 * let the time pass from one to the next.
 *
 * Another clock is that of a timer whose time somebody waits for: it starts with that wait.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/draft.h"
#include "util/cleanup.h"
#include "util/vec.h"

/* Fewer are no rhythm. */
#define TICKS_MIN 5
/* Programs count in doubles, too. */
#define TICK_ERROR_NS 100

/* Sleeps of one strand from one place in the program, in time order. */
struct series {
	uint32_t *waits;
	size_t n, cap;
};

static bool is_candidate(const struct draft *d, uint32_t wait)
{
	const struct model_wait *w = &d->m->waits[wait];

	return d->use[wait] == USE_DELAY && w->has_timeout && d->has_timer_offset && w->timeout_ns > d->m->end_ns &&
	       w->timeout_ns <= d->m->epoch_unix_ns / 2;
}

static int strand_add(struct draft *d, uint32_t of, uint32_t *ret)
{
	struct replay *r = d->r;
	size_t n = r->strand_n;
	struct strand *strands = reallocarray(r->strands, n + 1, sizeof(*strands));
	size_t *first = strands ? reallocarray(d->wait_first, n + 3, sizeof(*first)) : NULL;

	if (strands)
		r->strands = strands;
	if (!first)
		return -ENOMEM;
	d->wait_first = first;
	first[n + 1] = first[n];
	r->strands[n] = r->strands[of];
	r->strands[n].clock = true;
	r->strands[n].sink = false;
	r->strands[n].parent = NONE;
	r->strands[n].unplaced_ns = 0;
	r->strands[n].first_tick = d->tick_n;
	*ret = (uint32_t)n;
	r->strand_n++;
	return 0;
}

/* The clock's part in one wait: so long after the one before, and then it goes on. */
static int tick_add(struct draft *d, uint32_t wait, int64_t since_ns)
{
	const struct model_wait *w = &d->m->waits[wait];
	int64_t at_ns = w->timeout_ns - d->timer_offset_ns;
	struct tick t = { .wait = wait, .ends_it = true, .delay_ns = at_ns > since_ns ? at_ns - since_ns : 0 };

	if (draft_token_add(d, NONE, &t.token) < 0 || VEC_RESERVE(d->ticks, d->tick_cap, d->tick_n + 1) < 0)
		return -ENOMEM;
	d->ticks[d->tick_n++] = t;
	d->r->token_need[t.token]++;
	d->token[wait] = t.token;
	d->use[wait] = USE_TOKEN;
	return 0;
}

/* It starts when that strand has come to since_ns. */
static int clock_start(struct draft *d, uint32_t of, int64_t since_ns, uint32_t *ret)
{
	struct item start = { .at_ns = since_ns, .strand = of, .what = POINT_SIGNAL };
	uint32_t s;

	if (strand_add(d, of, &s) < 0 || draft_token_add(d, NONE, &start.object) < 0)
		return -ENOMEM;
	d->r->token_need[start.object]++;
	d->r->strands[s].token = start.object;
	d->r->strands[s].begin_ns = since_ns;
	*ret = s;
	return draft_item_add(d, &start);
}

static void clock_end(struct draft *d, uint32_t s, int64_t end_ns)
{
	d->r->strands[s].end_ns = d->r->strands[s].exit_ns = end_ns;
	d->r->strands[s].tick_n = d->tick_n - d->r->strands[s].first_tick;
}

int draft_clock_add(struct draft *d, uint32_t strand, uint32_t wait, int64_t to_ns, uint32_t token)
{
	int64_t since_ns = d->m->waits[wait].start_ns;
	struct tick t = { .wait = wait, .token = token, .delay_ns = to_ns - since_ns };
	uint32_t s;

	if (clock_start(d, strand, since_ns, &s) < 0 || VEC_RESERVE(d->ticks, d->tick_cap, d->tick_n + 1) < 0)
		return -ENOMEM;
	d->ticks[d->tick_n++] = t;
	clock_end(d, s, to_ns);
	return 0;
}

/* A program takes the time, then adds the period again and again: the clock starts one period before the first limit. */
static int clock_make(struct draft *d, uint32_t of, int64_t period_ns, const uint32_t *waits, size_t n)
{
	const struct model *m = d->m;
	int64_t since_ns = m->waits[waits[0]].timeout_ns - d->timer_offset_ns - period_ns;
	uint32_t s;

	since_ns = since_ns > d->r->strands[of].begin_ns ? since_ns : d->r->strands[of].begin_ns;
	if (clock_start(d, of, since_ns, &s) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int64_t at_ns = m->waits[waits[i]].timeout_ns - d->timer_offset_ns;

		if (tick_add(d, waits[i], since_ns) < 0)
			return -ENOMEM;
		since_ns = at_ns > since_ns ? at_ns : since_ns;
	}
	clock_end(d, s, since_ns);
	return 0;
}

/* Runs of waits that are equally far apart. */
static int series_clocks(struct draft *d, uint32_t s, const struct series *x)
{
	const struct model_wait *waits = d->m->waits;

	for (size_t i = 0, next; i + 1 < x->n; i = next) {
		int64_t period_ns = waits[x->waits[i + 1]].timeout_ns - waits[x->waits[i]].timeout_ns;

		for (next = i + 1; next < x->n; next++) {
			int64_t ns = waits[x->waits[next]].timeout_ns - waits[x->waits[next - 1]].timeout_ns;

			if (ns <= 0 || llabs(ns - period_ns) > TICK_ERROR_NS)
				break;
		}
		if (next - i >= TICKS_MIN && clock_make(d, s, period_ns, x->waits + i, next - i) < 0)
			return -ENOMEM;
		/* The last of a run may be the first of the next. */
		next = next > i + 1 ? next - 1 : next;
	}
	return 0;
}

static int strand_clocks(struct draft *d, uint32_t s, struct series *x)
{
	size_t to = d->wait_first[s + 1];
	uint32_t row = 0;

	x->n = 0;
	for (size_t i = d->wait_first[s]; i < to; i++) {
		uint32_t wait = d->waits[i];

		if (!is_candidate(d, wait))
			continue;
		/* Another place in the program sleeps by another rhythm, or by none. */
		if (x->n && d->m->waits[wait].row != row) {
			if (series_clocks(d, s, x) < 0)
				return -ENOMEM;
			x->n = 0;
		}
		row = d->m->waits[wait].row;
		if (VEC_RESERVE(x->waits, x->cap, x->n + 1) < 0)
			return -ENOMEM;
		x->waits[x->n++] = wait;
	}
	return series_clocks(d, s, x);
}

int draft_clocks(struct draft *d)
{
	size_t n = d->r->strand_n;
	struct series x = { 0 };
	int e = 0;

	for (size_t s = 0; s < n && e == 0 && d->has_timer_offset; s++)
		e = strand_clocks(d, (uint32_t)s, &x);
	free(x.waits);
	return e;
}
