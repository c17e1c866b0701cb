/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Between two waits a thread runs where the first let it run again. If the next
 * one says that it left another CPU, it was moved in an interval too short to be
 * recorded: then all of the stretch is taken to have been there.
 *
 * Stretches of a CPU don't overlap, as far as clocks agree, so the time in which
 * it was ours is a difference of two sums.
 */
#include "replay/stretches.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"
#include "util/crew.h"
#include "util/sort.h"
#include "util/vec.h"

struct builder {
	struct stretch *v;
	size_t n, cap, cpu_n;
};

static int stretch_add(struct builder *b, uint32_t strand, uint32_t cpu_and_1, int64_t from_ns, int64_t to_ns)
{
	if (!cpu_and_1 || cpu_and_1 > CPU_NUMBERS || to_ns <= from_ns)
		return 0;
	if (VEC_RESERVE(b->v, b->cap, b->n + 1) < 0)
		return -ENOMEM;
	b->v[b->n++] = (struct stretch){ .from_ns = from_ns, .to_ns = to_ns, .strand = strand, .cpu = cpu_and_1 - 1 };
	if (b->cpu_n < cpu_and_1)
		b->cpu_n = cpu_and_1;
	return 0;
}

static int strand_stretches(struct builder *b, const struct replay *r, uint32_t s, const uint32_t *waits, size_t n)
{
	const struct strand *x = &r->strands[s];
	int64_t cursor_ns = x->begin_ns;
	uint32_t cpu = 0;

	for (size_t i = 0; i < n; i++) {
		const struct model_wait *w = &r->m->waits[waits[i]];

		model_wait_prefetch(r->m, waits, i, n);
		if (stretch_add(b, s, w->cpu_from ? w->cpu_from : cpu, cursor_ns, w->start_ns) < 0)
			return -ENOMEM;
		cpu = w->cpu_to;
		cursor_ns = w->end_ns > cursor_ns ? w->end_ns : cursor_ns;
	}
	return stretch_add(b, s, cpu, cursor_ns, x->end_ns);
}

static int by_time(const void *a, const void *b, void *arg)
{
	const struct stretch *x = a, *y = b;

	(void)arg;
	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return x->to_ns < y->to_ns ? -1 : x->to_ns > y->to_ns;
}

static int cpu_sort(void *arg, size_t cpu)
{
	const struct stretches *x = arg;

	sort_rows(x->v + x->first[cpu], x->first[cpu + 1] - x->first[cpu], sizeof(*x->v), by_time, NULL);
	return 0;
}

/* By CPU, then time; overlaps, which only clocks that disagree make, are cut. */
static int stretches_sort(struct builder *b, struct stretches *x)
{
	_cleanup_(freep) size_t *next = calloc(b->cpu_n + 1, sizeof(*next));

	x->first = calloc(b->cpu_n + 2, sizeof(*x->first));
	x->v = malloc((b->n + 1) * sizeof(*x->v));
	x->before_ns = malloc((b->n + 1) * sizeof(*x->before_ns));
	if (!next || !x->first || !x->v || !x->before_ns)
		return -ENOMEM;
	for (size_t i = 0; i < b->n; i++)
		x->first[b->v[i].cpu + 1]++;
	for (size_t c = 0; c < b->cpu_n; c++) {
		x->first[c + 1] += x->first[c];
		next[c] = x->first[c];
	}
	for (size_t i = 0; i < b->n; i++)
		x->v[next[b->v[i].cpu]++] = b->v[i];
	x->n = b->n;
	x->cpu_n = b->cpu_n;
	x->before_ns[0] = 0;
	if (b->cpu_n)
		crew_run(b->cpu_n, cpu_sort, x);
	for (size_t c = 0; c < b->cpu_n; c++) {
		for (size_t i = x->first[c]; i < x->first[c + 1]; i++) {
			if (i > x->first[c] && x->v[i].from_ns < x->v[i - 1].to_ns)
				x->v[i].from_ns = x->v[i - 1].to_ns;
			if (x->v[i].to_ns < x->v[i].from_ns)
				x->v[i].to_ns = x->v[i].from_ns;
			x->before_ns[i + 1] = x->before_ns[i] + x->v[i].to_ns - x->v[i].from_ns;
		}
	}
	return 0;
}

int stretches_make(const struct replay *r, const uint32_t *waits, const size_t *first, struct stretches *ret)
{
	struct builder b = { 0 };
	struct stretches x = { 0 };
	int e = 0;

	for (size_t s = 0; s < r->strand_n && e == 0; s++)
		e = strand_stretches(&b, r, (uint32_t)s, waits + first[s], first[s + 1] - first[s]);
	if (e == 0)
		e = stretches_sort(&b, &x);
	free(b.v);
	if (e < 0)
		stretches_done(&x);
	else
		*ret = x;
	return e;
}

void stretches_done(struct stretches *x)
{
	free(x->v);
	free(x->before_ns);
	free(x->first);
	*x = (struct stretches){ 0 };
}

size_t stretches_find(const struct stretches *x, uint32_t cpu, int64_t ns)
{
	size_t low, high;

	if (cpu >= x->cpu_n)
		return x->n;
	low = x->first[cpu];
	high = x->first[cpu + 1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (x->v[middle].to_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Time of that CPU's stretches that lies before ns. */
static int64_t time_before(const struct stretches *x, uint32_t cpu, int64_t ns)
{
	size_t i = stretches_find(x, cpu, ns);
	int64_t sum_ns = x->before_ns[i] - x->before_ns[x->first[cpu]];

	if (i < x->first[cpu + 1] && x->v[i].from_ns < ns)
		sum_ns += ns - x->v[i].from_ns;
	return sum_ns;
}

int64_t stretches_overlap(const struct stretches *x, uint32_t cpu, int64_t from_ns, int64_t to_ns)
{
	if (cpu >= x->cpu_n || to_ns <= from_ns)
		return 0;
	return time_before(x, cpu, to_ns) - time_before(x, cpu, from_ns);
}
