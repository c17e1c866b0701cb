/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A thread's lifetime is a purse that its pieces are paid from, in the order of
 * how well they are known: what it waited for, wait by wait; what is known to
 * be missing; its time on the CPU. What is left then is shown as such. So the
 * pieces sum to the lifetime whatever was lost, and no clock that lies can make
 * them more.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/analyze.h"
#include "analyze/spread.h"
#include "util/cleanup.h"
#include "util/vec.h"

struct purse {
	uint64_t left_ns;
	uint64_t rows_ns; /* what its rows asked for */
	struct spread oncpu;
};

struct wall {
	const struct model *m;
	struct purse *purses; /* by thread */
	struct analyze_piece *pieces;
	size_t n, cap;
};

static void wall_done(struct wall *w)
{
	free(w->purses);
	free(w->pieces);
}

/* Pays a piece, as far as the purse reaches. 0, -ENOMEM. */
static int pay(struct wall *w, const struct analyze_piece *piece)
{
	struct purse *purse = &w->purses[piece->thread];
	uint64_t ns = piece->ns < purse->left_ns ? piece->ns : purse->left_ns;

	if (!ns)
		return 0;
	if (VEC_RESERVE(w->pieces, w->cap, w->n + 1) < 0)
		return -ENOMEM;
	w->pieces[w->n] = *piece;
	w->pieces[w->n++].ns = ns;
	purse->left_ns -= ns;
	return 0;
}

static int rows_pay(struct wall *w)
{
	for (size_t i = 1; i < w->m->row_n; i++) {
		const struct model_row *r = &w->m->rows[i];
		struct analyze_piece piece = { .thread = r->thread, .comm_id = r->comm_id, .kstack = r->kstack,
					       .ustack = r->ustack, .count = r->count, .ns = r->blocked_ns,
					       .state = ANALYZE_BLOCKED };

		if (r->parked)
			continue;
		if (pay(w, &piece) < 0)
			return -ENOMEM;
		piece.ns = r->runnable_ns;
		piece.state = ANALYZE_RUNNABLE;
		if (pay(w, &piece) < 0)
			return -ENOMEM;
		w->purses[r->thread].rows_ns += r->blocked_ns + r->runnable_ns;
	}
	return 0;
}

/* What the thread's account has and no row: lost intervals, those below --min, and what each is not known of. */
static int account_pay(struct wall *w, uint32_t thread)
{
	const struct model_thread *t = &w->m->threads[thread];
	struct purse *purse = &w->purses[thread];
	uint64_t off_ns = t->blocked_ns + t->runnable_ns, known_ns = purse->rows_ns + t->left_out_ns;
	struct analyze_piece piece = { .thread = thread, .comm_id = t->comm_id };

	piece.state = ANALYZE_LOST;
	piece.count = t->lost_n;
	piece.ns = t->lost_ns;
	if (pay(w, &piece) < 0)
		return -ENOMEM;
	piece.state = ANALYZE_LEFT_OUT;
	piece.count = 0;
	piece.ns = t->left_out_ns;
	if (pay(w, &piece) < 0)
		return -ENOMEM;
	piece.state = t->below_min_n ? ANALYZE_BELOW_MIN : ANALYZE_LOST;
	piece.count = t->below_min_n;
	piece.ns = off_ns > known_ns ? off_ns - known_ns : 0;
	if (pay(w, &piece) < 0)
		return -ENOMEM;
	purse->oncpu.total_ns = t->oncpu_ns < purse->left_ns ? t->oncpu_ns : purse->left_ns;
	if (purse->oncpu.count)
		return 0;
	piece.state = ANALYZE_ONCPU_UNSAMPLED;
	piece.count = 0;
	piece.ns = purse->oncpu.total_ns;
	return pay(w, &piece);
}

static int samples_pay(struct wall *w)
{
	for (size_t i = 1; i < w->m->sample_n; i++) {
		const struct model_sample *s = &w->m->samples[i];
		struct analyze_piece piece = { .thread = s->thread, .comm_id = s->comm_id, .kstack = s->kstack,
					       .ustack = s->ustack, .count = s->count, .state = ANALYZE_ONCPU };

		piece.ns = spread_next(&w->purses[s->thread].oncpu, spread_weight(s));
		if (pay(w, &piece) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int rests_pay(struct wall *w)
{
	for (uint32_t i = 1; i < w->m->thread_n; i++) {
		struct analyze_piece piece = { .thread = i, .comm_id = w->m->threads[i].comm_id,
					       .ns = w->purses[i].left_ns, .state = ANALYZE_UNACCOUNTED };

		if (pay(w, &piece) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Longest first: what lies behind equal times is the order of rows and samples, the same on every run. */
static int piece_compare(const void *a, const void *b)
{
	const struct analyze_piece *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	if (x->ustack != y->ustack)
		return x->ustack < y->ustack ? -1 : 1;
	return x->kstack < y->kstack ? -1 : x->kstack > y->kstack;
}

static int purses_fill(struct wall *w)
{
	const struct model *m = w->m;

	w->purses = calloc(m->thread_n, sizeof(*w->purses));
	if (!w->purses)
		return -ENOMEM;
	for (size_t i = 1; i < m->thread_n; i++) {
		const struct model_thread *t = &m->threads[i];

		w->purses[i].left_ns = !t->goid && t->end_ns > t->begin_ns ? (uint64_t)(t->end_ns - t->begin_ns) : 0;
	}
	for (size_t i = 1; i < m->sample_n; i++)
		w->purses[m->samples[i].thread].oncpu.count += spread_weight(&m->samples[i]);
	return 0;
}

int analyze_wall(const struct model *m, struct analyze_piece **ret, size_t *ret_n)
{
	_cleanup_(wall_done) struct wall w = { .m = m };

	if (purses_fill(&w) < 0 || rows_pay(&w) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->thread_n; i++) {
		if (m->threads[i].has_totals && account_pay(&w, i) < 0)
			return -ENOMEM;
	}
	if (samples_pay(&w) < 0 || rests_pay(&w) < 0)
		return -ENOMEM;
	if (w.n)
		qsort(w.pieces, w.n, sizeof(*w.pieces), piece_compare);
	*ret = TAKE_PTR(w.pieces);
	*ret_n = w.n;
	return 0;
}
