/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Where one waits for several, only the last to come left a trace: it woke the
 * others. Had another been last, that one would have. So the token of such a
 * wait needs all of them.
 *
 * A barrier: who wakes several waiters of one barrier at once came last; all
 * that it wakes, and it itself, go on when all have come.
 *
 * Joins: a thread that had ended already was joined without a wait. Threads of
 * one creator that end before a join of his has ended are taken to be needed by
 * it. For processes that is so only if he starts nothing more: a shell that keeps
 * two jobs running goes on when either is done. If no join is left, it may have
 * been anywhere until his own end, or nowhere: the simulation waits there, the
 * replay in recorded order doesn't.
 *
 * Not all threads are joined. Who starts one more of a sort when an earlier one
 * is gone already, and is never seen to wait for any of them, is taken to start
 * them and forget them: else he would have been met waiting, or have ended his
 * loop first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/draft.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

/* A thread is joined when its number is cleared, and gone somewhat later: it still has to leave its CPU. */
#define DEATH_NS 1000000
/* One wake-up call wakes all; that takes a while if they are many. */
#define GENERATION_NS 1000000

struct waits_list {
	const struct draft *d;
	uint32_t *v;
	size_t n, cap;
};

static void waits_list_done(struct waits_list *l)
{
	free(l->v);
}

static int by_ident_and_wake(const void *a, const void *b, void *arg)
{
	const struct model_wait *waits = arg, *x = &waits[*(const uint32_t *)a], *y = &waits[*(const uint32_t *)b];

	if (x->ident_id != y->ident_id)
		return x->ident_id < y->ident_id ? -1 : 1;
	if (wait_wake_ns(x) != wait_wake_ns(y))
		return wait_wake_ns(x) < wait_wake_ns(y) ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int list_waits(const struct draft *d, const char *kind, struct waits_list *l)
{
	uint32_t kind_id = strtab_find(d->m->strings, kind);

	for (size_t i = 1; i < d->m->wait_n && kind_id; i++) {
		if (d->use[i] != USE_TOKEN || d->m->rows[d->m->waits[i].row].kind_id != kind_id)
			continue;
		if (VEC_RESERVE(l->v, l->cap, l->n + 1) < 0)
			return -ENOMEM;
		l->v[l->n++] = (uint32_t)i;
	}
	return 0;
}

static uint32_t strand_of_wait(const struct draft *d, uint32_t wait)
{
	return wait_strand(d->r, &d->m->waits[wait]);
}

/* All of one generation wait for the first's token: for the last to come, who signals it already, and for each other. */
static int generation_gather(struct draft *d, const uint32_t *waits, size_t n)
{
	const struct model *m = d->m;
	uint32_t token = d->token[waits[0]];
	uint32_t last = draft_strand_at(d, m->waits[waits[0]].waker, wait_wake_ns(&m->waits[waits[0]]));

	for (size_t i = 0; i < n; i++) {
		struct item arrival = { .at_ns = m->waits[waits[i]].start_ns, .strand = strand_of_wait(d, waits[i]),
					.what = POINT_SIGNAL, .object = token };

		d->token[waits[i]] = token;
		d->r->token_need[token]++;
		if (draft_item_add(d, &arrival) < 0)
			return -ENOMEM;
	}
	if (last == NONE)
		return 0;
	return draft_item_add(d, &(struct item){ .at_ns = wait_wake_ns(&m->waits[waits[0]]), .strand = last,
						 .what = POINT_WAIT, .order = 1, .object = token });
}

static int barriers_gather(struct draft *d)
{
	_cleanup_(waits_list_done) struct waits_list l = { .d = d };
	const struct model_wait *waits = d->m->waits;

	if (list_waits(d, "barrier", &l) < 0)
		return -ENOMEM;
	if (l.n)
		qsort_r(l.v, l.n, sizeof(*l.v), by_ident_and_wake, d->m->waits);
	for (size_t i = 0, next; i < l.n; i = next) {
		const struct model_wait *first = &waits[l.v[i]];

		for (next = i + 1; next < l.n; next++) {
			const struct model_wait *w = &waits[l.v[next]];

			if (w->ident_id != first->ident_id || w->waker != first->waker ||
			    wait_wake_ns(w) - wait_wake_ns(first) > GENERATION_NS)
				break;
		}
		if (first->ident_id && first->waker && generation_gather(d, l.v + i, next - i) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* By strand: the time at which it last started anything. */
struct family {
	int64_t *last_spawn_ns;
	uint8_t *joined;  /* some wait is for its end already */
};

static void family_done(struct family *f)
{
	free(f->last_spawn_ns);
	free(f->joined);
}

static int family_find(const struct draft *d, struct family *f)
{
	size_t n = d->r->strand_n;

	f->last_spawn_ns = calloc(n + 1, sizeof(*f->last_spawn_ns));
	f->joined = calloc(n + 1, sizeof(*f->joined));
	if (!f->last_spawn_ns || !f->joined)
		return -ENOMEM;
	for (size_t s = 0; s < n; s++) {
		const struct strand *x = &d->r->strands[s];

		if (x->parent != NONE && x->begin_ns > f->last_spawn_ns[x->parent])
			f->last_spawn_ns[x->parent] = x->begin_ns;
	}
	return 0;
}

/* Joins and waits for children of one strand, in time order. */
static int joins_of(const struct draft *d, uint32_t s, struct waits_list *l, uint32_t join_id, uint32_t child_id)
{
	l->n = 0;
	for (size_t i = d->wait_first[s]; i < d->wait_first[s + 1]; i++) {
		uint32_t wait = d->waits[i], kind_id = d->m->rows[d->m->waits[wait].row].kind_id;

		if (d->use[wait] != USE_TOKEN || !kind_id || (kind_id != join_id && kind_id != child_id))
			continue;
		if (VEC_RESERVE(l->v, l->cap, l->n + 1) < 0)
			return -ENOMEM;
		l->v[l->n++] = wait;
	}
	return 0;
}

/* The first of them whose end came when the child had ended, and that can have been for it. 0: none. */
static uint32_t join_for(const struct draft *d, const struct waits_list *joins, const struct strand *child,
			 const struct strand *parent, int64_t last_spawn_ns, uint32_t join_id)
{
	bool thread = child->process == parent->process;
	size_t low = 0, high = joins->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (wait_wake_ns(&d->m->waits[joins->v[middle]]) + DEATH_NS < child->end_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < joins->n; low++) {
		const struct model_wait *w = &d->m->waits[joins->v[low]];

		if ((d->m->rows[w->row].kind_id == join_id) == thread && (thread || w->start_ns > last_spawn_ns))
			return joins->v[low];
	}
	return 0;
}

/* by_ns: when the child's end had an effect at the latest. */
static int end_signal_add(struct draft *d, uint32_t child, int64_t by_ns, uint32_t token)
{
	int64_t end_ns = d->r->strands[child].end_ns;

	d->r->token_need[token]++;
	return draft_item_add(d, &(struct item){ .at_ns = end_ns < by_ns ? end_ns : by_ns, .strand = child,
						 .what = POINT_SIGNAL, .object = token });
}

/* Somewhere between the child's end and his own the parent may have joined it, and been in time for that. */
static int unseen_join_add(struct draft *d, uint32_t parent, uint32_t child, uint32_t *token)
{
	const struct strand *p = &d->r->strands[parent], *c = &d->r->strands[child];

	if (p->open || c->end_ns > p->end_ns + DEATH_NS)
		return 0;
	if (*token == NONE) {
		if (draft_token_add(d, NONE, token) < 0 ||
		    draft_item_add(d, &(struct item){ .at_ns = p->end_ns, .strand = parent, .what = POINT_GATHER,
						      .order = UINT8_MAX, .object = *token }) < 0)
			return -ENOMEM;
	}
	return end_signal_add(d, child, p->end_ns, *token);
}

/* Threads of one name that one strand started. */
struct sort {
	int64_t first_end_ns, last_begin_ns;
	bool joined; /* one was waited for */
};
struct sorts {
	struct map *index; /* name -> v */
	struct sort *v;
	size_t n, cap;
};

static void sorts_done(struct sorts *x)
{
	map_free(x->index);
	free(x->v);
}

static int sorts_make(const struct draft *d, const struct family *f, const uint32_t *children, size_t n, struct sorts *ret)
{
	if (map_new(&ret->index) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct strand *child = &d->r->strands[children[i]];
		uint32_t name_id = d->m->threads[child->thread].comm_id;
		uint64_t at;

		if (!map_get(ret->index, name_id, &at)) {
			at = ret->n;
			if (VEC_RESERVE(ret->v, ret->cap, ret->n + 1) < 0 || map_put(ret->index, name_id, at) < 0)
				return -ENOMEM;
			ret->v[ret->n++] = (struct sort){ .first_end_ns = INT64_MAX, .last_begin_ns = INT64_MIN };
		}
		if (child->end_ns < ret->v[at].first_end_ns)
			ret->v[at].first_end_ns = child->end_ns;
		if (child->begin_ns > ret->v[at].last_begin_ns)
			ret->v[at].last_begin_ns = child->begin_ns;
		ret->v[at].joined |= f->joined[children[i]];
	}
	return 0;
}

static bool is_forgotten(const struct draft *d, const struct sorts *x, const struct strand *child, const struct strand *parent)
{
	const struct model_thread *t = &d->m->threads[child->thread];
	uint64_t at;

	return child->thread && !t->goid && child->process == parent->process && map_get(x->index, t->comm_id, &at) &&
	       !x->v[at].joined && x->v[at].first_end_ns < x->v[at].last_begin_ns;
}

/* A goroutine that ended with its process was waited for by nobody. */
static bool is_unfinished(const struct draft *d, const struct strand *child, const struct strand *parent)
{
	return child->thread && d->m->threads[child->thread].goid && child->end_ns >= parent->end_ns;
}

/* A parent's children follow each other in `children`. */
static int children_gather(struct draft *d, const struct family *f, uint32_t parent, const uint32_t *children, size_t n)
{
	uint32_t join_id = strtab_find(d->m->strings, "join"), child_id = strtab_find(d->m->strings, "child");
	_cleanup_(waits_list_done) struct waits_list joins = { .d = d };
	_cleanup_(sorts_done) struct sorts sorts = { 0 };
	uint32_t at_end = NONE;

	if (joins_of(d, parent, &joins, join_id, child_id) < 0 || sorts_make(d, f, children, n, &sorts) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct strand *child = &d->r->strands[children[i]];
		uint32_t wait;

		if (child->open || f->joined[children[i]] || is_unfinished(d, child, &d->r->strands[parent]) ||
		    is_forgotten(d, &sorts, child, &d->r->strands[parent]))
			continue;
		wait = join_for(d, &joins, child, &d->r->strands[parent], f->last_spawn_ns[parent], join_id);
		if ((wait ? end_signal_add(d, children[i], wait_wake_ns(&d->m->waits[wait]), d->token[wait]) :
			    unseen_join_add(d, parent, children[i], &at_end)) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Who ended it; it has a token, so somebody did. */
static uint32_t ender_of(const struct draft *d, const struct model_wait *w)
{
	uint32_t s = draft_strand_at(d, w->waker, wait_wake_ns(w));

	if (s == NONE && w->target && w->target < d->m->op_n)
		s = d->r->strand_of_op[w->target];
	return s != NONE ? s : (uint32_t)d->r->strand_n;
}

static void joined_mark(const struct draft *d, struct family *f)
{
	uint32_t join_id = strtab_find(d->m->strings, "join"), child_id = strtab_find(d->m->strings, "child");

	for (size_t i = 1; i < d->m->wait_n; i++) {
		const struct model_wait *w = &d->m->waits[i];
		uint32_t kind_id = d->m->rows[w->row < d->m->row_n ? w->row : 0].kind_id;

		if (d->use[i] == USE_TOKEN && kind_id && (kind_id == join_id || kind_id == child_id))
			f->joined[ender_of(d, w)] = 1;
	}
}

static int joins_gather(struct draft *d)
{
	_cleanup_(family_done) struct family f = { 0 };
	_cleanup_(freep) uint32_t *children = NULL;
	_cleanup_(freep) size_t *first = NULL;
	size_t n = d->r->strand_n;

	first = calloc(n + 2, sizeof(*first));
	children = malloc((n + 1) * sizeof(*children));
	if (!first || !children || family_find(d, &f) < 0)
		return -ENOMEM;
	joined_mark(d, &f);
	for (size_t s = 0; s < n; s++) {
		if (d->r->strands[s].parent != NONE)
			first[d->r->strands[s].parent + 2]++;
	}
	for (size_t s = 0; s < n; s++)
		first[s + 1] += first[s];
	for (size_t s = 0; s < n; s++) {
		if (d->r->strands[s].parent != NONE)
			children[first[d->r->strands[s].parent + 1]++] = (uint32_t)s;
	}
	for (size_t s = 0; s < n; s++) {
		if (first[s + 1] > first[s] &&
		    children_gather(d, &f, (uint32_t)s, children + first[s], first[s + 1] - first[s]) < 0)
			return -ENOMEM;
	}
	return 0;
}

int draft_gather(struct draft *d)
{
	return barriers_gather(d) < 0 || joins_gather(d) < 0 ? -ENOMEM : 0;
}
