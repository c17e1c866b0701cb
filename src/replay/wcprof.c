/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Few ask for these rules, and compiling to them takes as long as much of the
 * rest: it waits until somebody does. That may be several threads at once.
 */
#include "replay/wcprof.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "replay/wcprof-tape.h"
#include "util/cleanup.h"

struct lanes {
	double v[WCPROF_LANES];
};

struct wcprof {
	pthread_mutex_t lock; /* while it is compiled */
	bool is_compiled;
	const struct replay *r; /* NULL: there are no ops, or it is not compiled */
	struct wcprof_graph g; /* of which only keys are left */
	struct wcprof_tape t;
};

/* What a pass remembers and what it multiplies by. */
struct pass {
	const struct wcprof *x;
	struct lanes *slots, *kept;
	struct lanes *keys, *tags, *locks;
};

static void pass_done(struct pass *p)
{
	free(p->slots);
	free(p->kept);
	free(p->keys);
	free(p->tags);
	free(p->locks);
}

static size_t key_n(const struct wcprof *x)
{
	return x->g.pair_n + x->r->op_key_n;
}

static int pass_init(struct pass *p, const struct wcprof *x)
{
	const struct replay *r = x->r;

	p->x = x;
	p->slots = malloc((x->t.slot_n + 1) * sizeof(*p->slots));
	p->kept = malloc((x->t.kept_n + 1) * sizeof(*p->kept));
	p->keys = malloc((key_n(x) + 1) * sizeof(*p->keys));
	p->tags = malloc((r->tag_n + 1) * sizeof(*p->tags));
	p->locks = malloc((r->lock_n + 1) * sizeof(*p->locks));
	return p->slots && p->kept && p->keys && p->tags && p->locks ? 0 : -ENOMEM;
}

/* An op's own time is as many times as long as the computing that is of it, and of its strand, in the mean. */
static int lane_lay(struct pass *p, size_t lane, const struct weights *w)
{
	const struct wcprof *x = p->x;
	const struct replay *r = x->r;
	size_t n = key_n(x);
	_cleanup_(freep) double *all = calloc(n + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		p->keys[i].v[lane] = 0;
	for (size_t i = 0; i < r->tag_n; i++) {
		double times = w->times ? (double)w->times[i] : 1, ns = (double)r->tags[i].ns + 1;
		uint32_t key = x->g.tag_key[i], op_key = x->g.pair_n + r->tags[i].op_key;

		p->tags[i].v[lane] = times;
		if (key == NONE)
			continue;
		p->keys[key].v[lane] += ns * times;
		p->keys[op_key].v[lane] += ns * times;
		all[key] += ns;
		all[op_key] += ns;
	}
	for (size_t i = 0; i < n; i++)
		p->keys[i].v[lane] = all[i] > 0 ? p->keys[i].v[lane] / all[i] : 1;
	for (size_t i = 0; i < r->lock_n; i++)
		p->locks[i].v[lane] = 1;
	for (size_t i = 0; i < w->free_lock_n; i++)
		p->locks[w->free_locks[i]].v[lane] = 0;
	return 0;
}

static inline void add(struct lanes *t, const struct lanes *by, double ns)
{
	for (size_t i = 0; i < WCPROF_LANES; i++)
		t->v[i] += ns * by->v[i];
}

static inline struct lanes later(const struct lanes *a, double ns)
{
	struct lanes t;

	for (size_t i = 0; i < WCPROF_LANES; i++)
		t.v[i] = a->v[i] + ns;
	return t;
}

static inline struct lanes latest(const struct lanes *a, const struct lanes *b)
{
	struct lanes t;

	for (size_t i = 0; i < WCPROF_LANES; i++)
		t.v[i] = a->v[i] > b->v[i] ? a->v[i] : b->v[i];
	return t;
}

/* Roots: where the chain of them stands, when the first began, when the last has ended. */
struct ends {
	struct lanes chain, first, last;
};

static void root_begin(const struct pass *p, const struct wcprof_step *s, struct ends *e)
{
	struct lanes start = later(&e->chain, (double)wcprof_step_ns(&p->x->t, s));

	if (s->what == STEP_ROOT)
		p->slots[s->ref] = start;
	for (size_t i = 0; i < WCPROF_LANES; i++)
		e->first.v[i] = start.v[i] < e->first.v[i] ? start.v[i] : e->first.v[i];
}

static void root_end(const struct pass *p, const struct wcprof_step *s, struct ends *e)
{
	e->last = latest(&e->last, &p->slots[s->ref]);
	if (s->what == STEP_END_LATEST)
		e->chain = p->slots[s->ref];
}

static void pass_run(const struct pass *p, struct ends *e)
{
	static const struct lanes one = { { 1, 1, 1, 1, 1, 1, 1, 1 } };
	struct lanes t = { 0 }, base = { 0 }, aside = { 0 }, *inside = &aside, other;
	const struct wcprof_tape *tape = &p->x->t;

	for (const struct wcprof_step *s = tape->v; s < tape->v + tape->n; s++) {
		double ns = (double)wcprof_step_ns(tape, s);

		switch ((enum wcprof_step_what)s->what) {
		case STEP_ROOT:
		case STEP_ROOT_SEEN:
			root_begin(p, s, e);
			break;
		case STEP_END:
		case STEP_END_LATEST:
			*inside = t;
			inside = &aside;
			root_end(p, s, e);
			break;
		case STEP_ENTER:
			*inside = t;
			inside = &p->slots[s->ref];
			t = *inside;
			break;
		case STEP_SPAWN:
			p->slots[s->ref] = t;
			break;
		case STEP_BASE:
			base = s->ref == WCPROF_REF_NONE ? (struct lanes){ 0 } : p->kept[s->ref];
			break;
		case STEP_ANCHOR:
			p->slots[s->ref] = later(&base, ns);
			break;
		case STEP_JOIN:
			t = latest(&t, &p->slots[s->ref]);
			break;
		case STEP_CYCLE:
			other = later(&p->kept[s->ref], ns);
			t = latest(&t, &other);
			break;
		case STEP_KEEP:
			p->kept[s->ns] = p->slots[s->ref];
			break;
		case STEP_SELF:
			add(&t, &p->keys[s->ref], ns);
			break;
		case STEP_FIXED:
			add(&t, &one, ns);
			break;
		case STEP_DELAY:
			add(&t, &p->tags[s->ref], ns);
			break;
		case STEP_LOCK:
			add(&t, &p->locks[s->ref], ns);
			break;
		}
	}
}

size_t wcprof_step_n(const struct replay *r)
{
	return r->wcprof->t.n;
}

int wcprof_run(const struct replay *r, const struct weights *w, size_t n, int64_t *ret)
{
	const struct wcprof *x = r->wcprof;
	_cleanup_(pass_done) struct pass p = { 0 };
	struct ends e = { 0 };

	if (wcprof_need(r) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		ret[i] = -1;
	if (!x->r)
		return 0;
	if (pass_init(&p, x) < 0)
		return -ENOMEM;
	/* Lanes without a scenario repeat the last. */
	for (size_t i = 0; i < WCPROF_LANES; i++) {
		if (lane_lay(&p, i, &w[i < n ? i : n - 1]) < 0)
			return -ENOMEM;
		e.chain.v[i] = (double)x->t.begin_ns;
		e.first.v[i] = INFINITY;
	}
	pass_run(&p, &e);
	for (size_t i = 0; i < n; i++) {
		if (!w[i].own_cpus && !w[i].no_runqueue)
			ret[i] = ns_round(e.last.v[i] - e.first.v[i]);
	}
	return 0;
}

struct wcprof *wcprof_free(struct wcprof *x)
{
	if (!x)
		return NULL;
	wcprof_tape_done(&x->t);
	wcprof_graph_done(&x->g);
	pthread_mutex_destroy(&x->lock);
	free(x);
	return NULL;
}

int wcprof_new(struct wcprof **ret)
{
	struct wcprof *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	pthread_mutex_init(&x->lock, NULL);
	*ret = x;
	return 0;
}

/* Steps have room for so many numbers: of ops, keys of their own time, tags, locks. */
static bool are_few(const struct replay *r)
{
	return r->m->op_n < WCPROF_REF_MAX && r->tag_n + r->op_key_n < WCPROF_REF_MAX && r->lock_n < WCPROF_REF_MAX;
}

static int compile(const struct replay *r, struct wcprof *x)
{
	struct wcprof_graph g = { 0 };
	struct wcprof_tape t = { 0 };
	int e = wcprof_graph_make(r, &g);

	if (e == 0)
		e = wcprof_tape_make(&g, &t);
	if (e == 0) {
		wcprof_graph_shed(&g);
		e = wcprof_tape_slots(&t, r->m->op_n);
	}
	if (e < 0) {
		wcprof_tape_done(&t);
		wcprof_graph_done(&g);
		return e;
	}
	x->g = g;
	x->t = t;
	x->r = r;
	return 0;
}

int wcprof_need(const struct replay *r)
{
	struct wcprof *x = r->wcprof;
	int e = 0;

	pthread_mutex_lock(&x->lock);
	if (!x->is_compiled && r->m->op_n > 1 && are_few(r))
		e = compile(r, x);
	x->is_compiled |= e == 0;
	pthread_mutex_unlock(&x->lock);
	return e;
}

int replay_wcprof_ns(const struct replay *r, int64_t *ret)
{
	return wcprof_run(r, &(struct weights){ 0 }, 1, ret);
}
