/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Which strand each op is on. Where there are threads an op is on its thread's.
 * Where there are none, as in dumps of the engine, ops make the strands: an op is
 * on its parent's if it lies within it, clear of its parent's waits and of the
 * parent's other children; else somebody else does it meanwhile, and it begins a
 * strand of its own, started by its parent.
 *
 * Children that overlap are a fork. If the parent has waits meanwhile, those say
 * what it waited for, and the rest is its own time. If it has none, it waited for
 * all of them. What nobody waits for holds up the parent's end in the simulation,
 * and nobody in the replay in recorded order.
 *
 * Ops without a parent that follow each other are one strand, as are the queries
 * of a client that asks one when it has the last one's answer: if the first took
 * less time, the next would begin as much earlier. What lies between stays as long
 * as it was. One that begins while another of its client goes on, or of others and
 * it is its client's first, begins when it did, whatever happens.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/draft.h"
#include "replay/numbers.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

/* A process's op, of which its first thread is the strand; a thread's; else one that happens on a thread. */
static int ops_of_threads(struct draft *d)
{
	const struct model *m = d->m;
	struct replay *r = d->r;
	_cleanup_(numbers_done) struct numbers numbers = { 0 };

	if (numbers_make(m, &numbers) < 0)
		return -ENOMEM;
	for (size_t s = 0; s < r->strand_n; s++) {
		const struct model_thread *t = &m->threads[r->strands[s].thread];
		uint32_t process = r->strands[s].process, op = process ? m->processes[process].op : 0;

		if (r->strands[s].op)
			r->strand_of_op[r->strands[s].op] = (uint32_t)s;
		if (op && op < m->op_n && ((t->goid ? t->goid == 1 : t->tid == t->pid) || r->strand_of_op[op] == NONE))
			r->strand_of_op[op] = (uint32_t)s;
		d->frame[op < m->op_n ? op : 0] = d->frame[r->strands[s].op] = 1;
	}
	for (size_t i = 1; i < m->op_n; i++) {
		const struct model_op *o = &m->ops[i];
		uint32_t thread;

		if (o->kind == OP_EXEC_PHASE && o->parent < m->op_n && d->frame[o->parent])
			d->frame[i] = 1;
		if (d->frame[i])
			continue;
		thread = o->goid ? numbers_goroutine(m, &numbers, o->pid, o->goid) :
				   numbers_thread(m, &numbers, o->pid, o->tid, o->start_ns);
		r->strand_of_op[i] = thread ? r->strand_of_thread[thread] : NONE;
	}
	return 0;
}

/* Children of one op that overlap. */
struct fork {
	uint32_t parent;
	int64_t from_ns, to_ns;
	bool waited; /* the parent has waits meanwhile */
};

struct grower {
	struct draft *d;
	uint32_t *parent;     /* by op, links followed */
	uint32_t *fork;	      /* by op: which it is of, NONE */
	uint32_t *last;	      /* by op: of its children so far the one that ends last, 0 */
	struct fork *forks;
	size_t fork_n, fork_cap;
	uint32_t *order;      /* ops by start, outer ones first */
	uint32_t *waits;      /* by op, in time order */
	size_t *wait_first;
	uint32_t *gather;     /* by op: token of what must have ended when it ends, NONE */
	uint8_t *awaited;     /* some wait has it as its target */
	struct map *chains;   /* by client: the one of its ops without a parent so far that ends last */
	uint32_t chain_last;  /* of all clients, 0: none yet */
};

static void grower_done(struct grower *g)
{
	free(g->parent);
	free(g->fork);
	free(g->last);
	free(g->forks);
	free(g->order);
	free(g->waits);
	free(g->wait_first);
	free(g->gather);
	free(g->awaited);
	map_free(g->chains);
}

static int by_start(const void *a, const void *b, void *arg)
{
	const struct model_op *ops = arg, *x = &ops[*(const uint32_t *)a], *y = &ops[*(const uint32_t *)b];

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int waits_by_op(struct grower *g)
{
	const struct model *m = g->d->m;
	_cleanup_(freep) size_t *next = calloc(m->op_n + 1, sizeof(*next));

	g->wait_first = calloc(m->op_n + 2, sizeof(*g->wait_first));
	g->waits = calloc(m->wait_n + 1, sizeof(*g->waits));
	g->awaited = calloc(m->op_n, 1);
	if (!next || !g->wait_first || !g->waits || !g->awaited)
		return -ENOMEM;
	for (size_t i = 1; i < m->wait_n; i++) {
		g->wait_first[(m->waits[i].op < m->op_n ? m->waits[i].op : 0) + 1]++;
		g->awaited[m->waits[i].target < m->op_n ? m->waits[i].target : 0] = 1;
	}
	for (size_t i = 0; i < m->op_n; i++) {
		g->wait_first[i + 1] += g->wait_first[i];
		next[i] = g->wait_first[i];
	}
	for (size_t i = 1; i < m->wait_n; i++)
		g->waits[next[m->waits[i].op < m->op_n ? m->waits[i].op : 0]++] = (uint32_t)i;
	return 0;
}

/* Processes hang below the op that hosts them: their client is a link's ident. */
static int parents_find(struct grower *g)
{
	const struct model *m = g->d->m;
	_cleanup_(map_freep) struct map *hosts = NULL;
	uint64_t host;

	if (map_new(&hosts) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->link_n; i++) {
		if (m->links[i].kind == LINK_NESTED_CLIENT && m->links[i].ident_id &&
		    map_put(hosts, m->links[i].ident_id, m->links[i].from) < 0)
			return -ENOMEM;
	}
	for (size_t i = 1; i < m->op_n; i++) {
		const struct model_op *o = &m->ops[i];

		g->parent[i] = o->parent < m->op_n ? o->parent : 0;
		if (!g->parent[i] && o->client_id && map_get(hosts, o->client_id, &host) && host < m->op_n)
			g->parent[i] = (uint32_t)host;
		/* A parent that began later is none that started it. */
		if (g->parent[i] && by_start(&g->parent[i], &(uint32_t){ (uint32_t)i }, m->ops) > 0)
			g->parent[i] = 0;
	}
	return 0;
}

static int grower_init(struct grower *g)
{
	const struct model *m = g->d->m;

	g->parent = calloc(m->op_n, sizeof(*g->parent));
	g->fork = malloc(m->op_n * sizeof(*g->fork));
	g->last = calloc(m->op_n, sizeof(*g->last));
	g->order = calloc(m->op_n, sizeof(*g->order));
	g->gather = malloc(m->op_n * sizeof(*g->gather));
	if (!g->parent || !g->fork || !g->last || !g->order || !g->gather || map_new(&g->chains) < 0)
		return -ENOMEM;
	memset(g->gather, 0xff, m->op_n * sizeof(*g->gather));
	memset(g->fork, 0xff, m->op_n * sizeof(*g->fork));
	for (size_t i = 1; i < m->op_n; i++)
		g->order[i - 1] = (uint32_t)i;
	qsort_r(g->order, m->op_n - 1, sizeof(*g->order), by_start, m->ops);
	return parents_find(g) < 0 ? -ENOMEM : waits_by_op(g);
}

/* A wait of the parent that the op overlaps, 0: none. Waits of one op follow each other, and there are few. */
static uint32_t parent_wait(const struct grower *g, uint32_t parent, const struct model_op *o)
{
	const struct model *m = g->d->m;

	for (size_t i = g->wait_first[parent]; i < g->wait_first[parent + 1]; i++) {
		const struct model_wait *w = &m->waits[g->waits[i]];

		if (w->start_ns < o->end_ns && w->end_ns > o->start_ns)
			return g->waits[i];
	}
	return 0;
}

static void fork_take(struct grower *g, struct fork *f, uint32_t op)
{
	const struct model_op *o = &g->d->m->ops[op];

	g->fork[op] = (uint32_t)(f - g->forks);
	f->to_ns = o->end_ns > f->to_ns ? o->end_ns : f->to_ns;
	f->waited |= parent_wait(g, f->parent, o) != 0;
}

/* An op and the one before it that still goes on are a fork. Ops come by their starts. */
static int fork_find(struct grower *g, uint32_t op)
{
	const struct model *m = g->d->m;
	uint32_t parent = g->parent[op], last = g->last[parent];
	struct fork *f;

	if (!parent)
		return 0;
	if (!last || m->ops[op].end_ns >= m->ops[last].end_ns)
		g->last[parent] = op;
	if (!last || m->ops[op].start_ns >= m->ops[last].end_ns)
		return 0;
	if (g->fork[last] == NONE) {
		if (VEC_RESERVE(g->forks, g->fork_cap, g->fork_n + 1) < 0)
			return -ENOMEM;
		f = &g->forks[g->fork_n++];
		*f = (struct fork){ .parent = parent, .from_ns = m->ops[last].start_ns };
		fork_take(g, f, last);
	}
	fork_take(g, &g->forks[g->fork[last]], op);
	return 0;
}

/* The parent's strand starts it: when it began, or when that began during which it did: a wait, a fork. */
static int strand_start(struct grower *g, uint32_t op, struct strand *s)
{
	const struct model *m = g->d->m;
	const struct fork *fork = g->fork[op] != NONE ? &g->forks[g->fork[op]] : NULL;
	uint32_t parent = g->parent[op], wait;
	struct item signal = { .at_ns = s->begin_ns, .strand = g->d->r->strand_of_op[parent], .what = POINT_SIGNAL };

	if (!parent || signal.strand == NONE || m->ops[parent].end_ns < s->begin_ns)
		return 0;
	wait = parent_wait(g, parent, &(struct model_op){ .start_ns = s->begin_ns, .end_ns = s->begin_ns + 1 });
	if (wait && m->waits[wait].start_ns < s->begin_ns)
		s->begin_ns = signal.at_ns = m->waits[wait].start_ns;
	else if (fork && !fork->waited)
		s->begin_ns = signal.at_ns = fork->from_ns;
	/* Until it begins, the time is its parent's. */
	s->op = parent;
	if (draft_token_add(g->d, NONE, &s->token) < 0)
		return -ENOMEM;
	signal.object = s->token;
	g->d->r->token_need[s->token]++;
	return draft_item_add(g->d, &signal);
}

/* What nobody waits for, and was over before its parent. */
static int gather_add(struct grower *g, uint32_t op, uint32_t strand)
{
	const struct model *m = g->d->m;
	uint32_t parent = g->parent[op], host = g->d->r->strand_of_op[parent];

	if (!parent || host == NONE || g->awaited[op] || m->ops[op].open || m->ops[parent].open ||
	    m->ops[op].end_ns > m->ops[parent].end_ns || (g->fork[op] != NONE && !g->forks[g->fork[op]].waited))
		return 0;
	if (g->gather[parent] == NONE) {
		if (draft_token_add(g->d, NONE, &g->gather[parent]) < 0 ||
		    draft_item_add(g->d, &(struct item){ .at_ns = m->ops[parent].end_ns, .strand = host,
							 .what = POINT_GATHER, .object = g->gather[parent] }) < 0)
			return -ENOMEM;
	}
	g->d->r->token_need[g->gather[parent]]++;
	return draft_item_add(g->d, &(struct item){ .at_ns = m->ops[op].end_ns, .strand = strand, .what = POINT_SIGNAL,
						    .order = 1, .object = g->gather[parent] });
}

/* Whose strand an op without a parent goes on with, NONE: nobody's. */
static uint32_t chain_strand(const struct grower *g, uint32_t op)
{
	const struct model *m = g->d->m;
	const struct replay *r = g->d->r;
	uint64_t own = 0;
	uint32_t before = map_get(g->chains, m->ops[op].client_id, &own) ? (uint32_t)own : g->chain_last, s;

	if (!before || m->ops[before].open || m->ops[before].end_ns > m->ops[op].start_ns)
		return NONE;
	s = r->strand_of_op[before];
	/* Another client's may have gone on with it. */
	return s != NONE && r->strands[s].sink && r->strands[s].end_ns <= m->ops[op].start_ns ? s : NONE;
}

/* Of those of its client, and of all, the one that ends last is what the next may follow. */
static int chain_note(struct grower *g, uint32_t op)
{
	const struct model *m = g->d->m;
	uint64_t own;

	if (!g->chain_last || m->ops[op].end_ns >= m->ops[g->chain_last].end_ns)
		g->chain_last = op;
	if (map_get(g->chains, m->ops[op].client_id, &own) && m->ops[op].end_ns < m->ops[own].end_ns)
		return 0;
	return map_put(g->chains, m->ops[op].client_id, op);
}

/* On the strand of the op that it follows. */
static void chain_extend(struct grower *g, uint32_t op, uint32_t s)
{
	struct strand *x = &g->d->r->strands[s];

	g->d->r->strand_of_op[op] = s;
	x->op = 0;
	x->chain = true;
	x->end_ns = g->d->m->ops[op].end_ns;
	x->open = g->d->m->ops[op].open;
}

static int op_place(struct grower *g, uint32_t op)
{
	struct replay *r = g->d->r;
	const struct model_op *o = &g->d->m->ops[op];
	uint32_t parent = g->parent[op], s;
	struct strand *x;

	if (parent && r->strand_of_op[parent] != NONE && g->fork[op] == NONE &&
	    o->end_ns <= g->d->m->ops[parent].end_ns && !parent_wait(g, parent, o)) {
		r->strand_of_op[op] = r->strand_of_op[parent];
		return 0;
	}
	s = parent ? NONE : chain_strand(g, op);
	if (!parent && chain_note(g, op) < 0)
		return -ENOMEM;
	if (s != NONE) {
		chain_extend(g, op, s);
		return 0;
	}
	s = (uint32_t)r->strand_n++;
	x = &r->strands[s];
	*x = (struct strand){ .op = op, .begin_ns = o->start_ns, .end_ns = o->end_ns, .token = NONE, .parent = NONE,
			      .open = o->open };
	r->strand_of_op[op] = s;
	x->sink = !parent;
	return strand_start(g, op, x) < 0 ? -ENOMEM : gather_add(g, op, s);
}

/* Where the parent has no waits of its own it waits for all of the fork that end before it does. */
static int forks_close(struct grower *g)
{
	const struct model *m = g->d->m;
	struct replay *r = g->d->r;
	_cleanup_(freep) uint32_t *tokens = malloc((g->fork_n + 1) * sizeof(*tokens));

	if (!tokens)
		return -ENOMEM;
	for (size_t i = 0; i < g->fork_n; i++) {
		const struct fork *f = &g->forks[i];
		uint32_t host = r->strand_of_op[f->parent];
		int64_t to_ns = f->to_ns < m->ops[f->parent].end_ns ? f->to_ns : m->ops[f->parent].end_ns;

		tokens[i] = NONE;
		if (f->waited || host == NONE || to_ns <= f->from_ns)
			continue;
		if (draft_token_add(g->d, NONE, &tokens[i]) < 0 || draft_gap_add(g->d, host, f->from_ns, to_ns, tokens[i]) < 0)
			return -ENOMEM;
	}
	for (uint32_t op = 1; op < m->op_n; op++) {
		uint32_t token = g->fork[op] != NONE ? tokens[g->fork[op]] : NONE;

		if (token == NONE || m->ops[op].end_ns > m->ops[g->parent[op]].end_ns)
			continue;
		r->token_need[token]++;
		if (draft_item_add(g->d, &(struct item){ .at_ns = m->ops[op].end_ns, .strand = r->strand_of_op[op],
							 .what = POINT_SIGNAL, .order = 1, .object = token }) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* What goes on when the recording ends (a service) is not what everything was for, unless there is nothing else. */
static void sinks_narrow(struct replay *r)
{
	bool ended = false;

	for (size_t s = 0; s < r->strand_n; s++)
		ended |= r->strands[s].sink && !r->strands[s].open;
	for (size_t s = 0; s < r->strand_n; s++)
		r->strands[s].sink = r->strands[s].sink && (!ended || !r->strands[s].open);
	r->facts.missing |= r->strand_n && !ended ? REPLAY_OPEN : 0;
}

static int strands_of_ops(struct draft *d)
{
	_cleanup_(grower_done) struct grower g = { .d = d };
	struct replay *r = d->r;

	free(r->strands);
	r->strands = calloc(d->m->op_n, sizeof(*r->strands));
	if (!r->strands || grower_init(&g) < 0)
		return -ENOMEM;
	for (size_t i = 0; i + 1 < d->m->op_n; i++) {
		if (fork_find(&g, g.order[i]) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i + 1 < d->m->op_n; i++) {
		if (op_place(&g, g.order[i]) < 0)
			return -ENOMEM;
	}
	if (forks_close(&g) < 0)
		return -ENOMEM;
	sinks_narrow(r);
	return 0;
}

int draft_ops(struct draft *d)
{
	struct replay *r = d->r;

	r->strand_of_op = malloc(d->m->op_n * sizeof(*r->strand_of_op));
	d->frame = calloc(d->m->op_n, 1);
	if (!r->strand_of_op || !d->frame)
		return -ENOMEM;
	memset(r->strand_of_op, 0xff, d->m->op_n * sizeof(*r->strand_of_op));
	if (d->m->thread_n > 1)
		return ops_of_threads(d);
	if (d->m->op_n > 1)
		r->facts.missing |= REPLAY_NO_THREADS;
	return strands_of_ops(d);
}
