/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A strand computes between its waits. When as many do as there are CPUs, who is
 * ready waits for them; when fewer do, he waits for something else: a CPU that
 * somebody outside has, that is waking up, or that the scheduler did not think of.
 */
#include "replay/busy.h"

#include <errno.h>
#include <stdlib.h>

#include "replay/turns.h"
#include "util/cleanup.h"
#include "util/vec.h"

/* Where a strand is: computing until to_ns, or about to. */
struct walk {
	size_t at; /* of waits: the one that ends the next stretch */
	int64_t cursor_ns, to_ns;
	bool computes;
};

struct sweep {
	const struct replay *r;
	const uint32_t *waits;
	const size_t *first;
	struct walk *walks; /* by strand */
	struct turns turns; /* strands by when each begins or stops */
	uint32_t computing;
	int64_t since_ns;   /* all CPUs are taken */
};

static void sweep_done(struct sweep *x)
{
	free(x->walks);
	turns_done(&x->turns);
}

/* Its next stretch of computing begins, if there is one. */
static void stretch_next(struct sweep *x, uint32_t s)
{
	struct walk *k = &x->walks[s];

	while (k->at <= x->first[s + 1]) {
		const struct model_wait *w = k->at < x->first[s + 1] ? &x->r->m->waits[x->waits[k->at]] : NULL;
		int64_t from_ns = k->cursor_ns;

		k->to_ns = w ? w->start_ns : x->r->strands[s].end_ns;
		k->cursor_ns = w && w->end_ns > k->cursor_ns ? w->end_ns : k->cursor_ns;
		k->at++;
		/* Strands take turns: by its next one this wait would be long out of the cache. */
		if (k->at < x->first[s + 1])
			__builtin_prefetch(&x->r->m->waits[x->waits[k->at]]);
		if (k->to_ns > from_ns) {
			turns_put(&x->turns, s, (double)from_ns);
			return;
		}
	}
	turns_drop(&x->turns, s);
}

static int time_add(struct busy *b, int64_t from_ns, int64_t to_ns)
{
	const struct busy_time *last = b->n ? &b->v[b->n - 1] : NULL;
	int64_t before_ns = last ? last->before_ns + last->to_ns - last->from_ns : 0;

	if (to_ns <= from_ns)
		return 0;
	if (last && last->to_ns == from_ns) {
		b->v[b->n - 1].to_ns = to_ns;
		return 0;
	}
	if (VEC_RESERVE(b->v, b->cap, b->n + 1) < 0)
		return -ENOMEM;
	b->v[b->n++] = (struct busy_time){ .from_ns = from_ns, .to_ns = to_ns, .before_ns = before_ns };
	return 0;
}

static int sweep_step(struct sweep *x, struct busy *b)
{
	int64_t now_ns = (int64_t)turns_time(&x->turns);
	uint32_t s = turns_first(&x->turns);
	struct walk *k = &x->walks[s];

	k->computes = !k->computes;
	if (k->computes) {
		if (++x->computing == x->r->facts.cpu_n)
			x->since_ns = now_ns;
		turns_put(&x->turns, s, (double)k->to_ns);
		return 0;
	}
	if (x->computing-- == x->r->facts.cpu_n && time_add(b, x->since_ns, now_ns) < 0)
		return -ENOMEM;
	stretch_next(x, s);
	return 0;
}

int busy_make(const struct replay *r, const uint32_t *waits, const size_t *first, struct busy *ret)
{
	_cleanup_(sweep_done) struct sweep x = { .r = r, .waits = waits, .first = first };
	_cleanup_(busy_done) struct busy b = { 0 };

	x.walks = calloc(r->strand_n + 1, sizeof(*x.walks));
	if (!x.walks || turns_init(&x.turns, r->strand_n) < 0)
		return -ENOMEM;
	for (uint32_t s = 0; s < r->strand_n && r->facts.cpu_n; s++) {
		x.walks[s] = (struct walk){ .at = first[s], .cursor_ns = r->strands[s].begin_ns };
		if (!r->strands[s].clock)
			stretch_next(&x, s);
	}
	while (turns_first(&x.turns) != TURNS_NONE) {
		if (sweep_step(&x, &b) < 0)
			return -ENOMEM;
	}
	*ret = b;
	b = (struct busy){ 0 };
	return 0;
}

void busy_done(struct busy *b)
{
	free(b->v);
	*b = (struct busy){ 0 };
}

/* How many begin before ns. *at: where the last question led; mostly the next one leads near that. */
static size_t begun_before(const struct busy *b, int64_t ns, size_t *at)
{
	size_t low = *at < b->n ? *at : b->n, high = low, reach = 1;

	while (low && b->v[low - 1].from_ns >= ns) {
		high = low - 1;
		low = low > reach ? low - reach : 0;
		reach *= 2;
	}
	while (high < b->n && b->v[high].from_ns < ns) {
		low = high + 1;
		high = high + reach < b->n ? high + reach : b->n;
		reach *= 2;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (b->v[middle].from_ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	*at = low;
	return low;
}

/* Of it before ns. */
static int64_t time_before(const struct busy *b, int64_t ns, size_t *at)
{
	size_t n = begun_before(b, ns, at);
	const struct busy_time *last = n ? &b->v[n - 1] : NULL;

	return last ? last->before_ns + (ns < last->to_ns ? ns : last->to_ns) - last->from_ns : 0;
}

int64_t busy_overlap(const struct busy *b, int64_t from_ns, int64_t to_ns, size_t *at)
{
	int64_t before_ns;

	if (to_ns <= from_ns)
		return 0;
	before_ns = time_before(b, from_ns, at);
	return time_before(b, to_ns, at) - before_ns;
}
