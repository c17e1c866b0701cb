/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * One pass over the points in the order of runs. A strand's time lives in
 * registers while a run of it lasts; weights of a tag lie side by side for all
 * lanes. Times are doubles: exact for integers of ns up to a hundred days.
 */
#include "replay/e1.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/vec.h"

struct lanes {
	double t[E1_LANES];
};
struct lane_weights {
	float v[E1_LANES];
};

struct pass {
	const struct replay *r;
	struct lane_weights *tags; /* one more than there are: of points without tag */
	struct lanes *strands, *tokens; /* tokens: by slot */
	uint8_t *free_locks; /* by lock: bit by lane; NULL: none is */
	float run[E1_LANES]; /* times run_ns */
};

static void pass_done(struct pass *x)
{
	free(x->tags);
	free(x->strands);
	free(x->tokens);
	free(x->free_locks);
}

static void weights_lay(struct pass *x, const struct weights *w, size_t n)
{
	const struct replay *r = x->r;

	for (size_t lane = 0; lane < E1_LANES; lane++) {
		/* Lanes without a scenario repeat the last. */
		const struct weights *v = &w[lane < n ? lane : n - 1];

		x->run[lane] = v->no_runqueue ? 0 : 1;
		for (size_t tag = 0; tag < r->tag_n; tag++)
			x->tags[tag].v[lane] = v->times ? v->times[tag] : 1;
		x->tags[r->tag_n].v[lane] = 1;
	}
}

static int free_locks_lay(struct pass *x, const struct weights *w, size_t n)
{
	bool any = false;

	for (size_t lane = 0; lane < n; lane++)
		any |= w[lane].free_lock_n > 0;
	if (!any)
		return 0;
	x->free_locks = calloc(x->r->lock_n + 1, 1);
	if (!x->free_locks)
		return -ENOMEM;
	for (size_t lane = 0; lane < n; lane++) {
		for (size_t i = 0; i < w[lane].free_lock_n; i++)
			x->free_locks[w[lane].free_locks[i]] |= (uint8_t)(1u << lane);
	}
	return 0;
}

static int pass_init(struct pass *x, const struct replay *r, const struct weights *w, size_t n)
{
	*x = (struct pass){ .r = r };
	x->tags = malloc((r->tag_n + 1) * sizeof(*x->tags));
	x->strands = malloc((r->strand_n + 1) * sizeof(*x->strands));
	x->tokens = malloc((r->slot_n + 1) * sizeof(*x->tokens));
	if (!x->tags || !x->strands || !x->tokens || free_locks_lay(x, w, n) < 0)
		return -ENOMEM;
	weights_lay(x, w, n);
	return 0;
}

static inline void lanes_max(struct lanes *a, const struct lanes *b)
{
	for (size_t lane = 0; lane < E1_LANES; lane++)
		a->t[lane] = a->t[lane] > b->t[lane] ? a->t[lane] : b->t[lane];
}

static void acquire(const struct pass *x, struct lanes *t, uint32_t token, uint32_t slot)
{
	uint32_t lock = x->r->token_lock[token];
	uint8_t open = x->free_locks && lock != NONE ? x->free_locks[lock] : 0;

	for (size_t lane = 0; lane < E1_LANES && slot != NONE; lane++) {
		if (!(open >> lane & 1) && x->tokens[slot].t[lane] > t->t[lane])
			t->t[lane] = x->tokens[slot].t[lane];
	}
}

static void long_pass(const struct pass *x, size_t i, struct lanes *t)
{
	const struct replay *r = x->r;
	const struct long_time *l = &r->longs[r->points.object[i]];
	uint32_t tag = l->what == LONG_CPU ? r->points.cpu_tag[i] : l->tag;
	const struct lane_weights *w = &x->tags[tag < r->tag_n ? tag : r->tag_n];

	for (size_t lane = 0; lane < E1_LANES; lane++)
		t->t[lane] += (double)l->ns * (double)(l->what == LONG_RUN ? x->run[lane] : w->v[lane]);
}

/* Whichever comes first. */
static void either_pass(const struct pass *x, size_t i, struct lanes *t)
{
	const struct replay *r = x->r;
	const struct long_time *l = point_limit(r, i);
	const struct lane_weights *w = &x->tags[l->tag < r->tag_n ? l->tag : r->tag_n];
	uint32_t slot = r->points.wait_ns[i];

	for (size_t lane = 0; lane < E1_LANES; lane++) {
		double limit = t->t[lane] + (double)l->ns * (double)w->v[lane];
		double token = slot != NONE ? fmax(t->t[lane], x->tokens[slot].t[lane]) : limit;

		t->t[lane] = fmin(limit, token);
	}
}

/*
 * Lanes in registers: of vector types, since an array would lie in memory, and each sum would wait for the last one's way
 * there and back.
 */
typedef double quad __attribute__((vector_size(4 * sizeof(double))));
typedef float quad_weights __attribute__((vector_size(4 * sizeof(float))));
struct quads {
	quad a, b;
};
_Static_assert(sizeof(struct quads) == sizeof(struct lanes), "the same lanes");

static inline __attribute__((always_inline)) void weights_load(struct quads *ret, const float w[E1_LANES])
{
	quad_weights a, b;

	memcpy(&a, w, sizeof(a));
	memcpy(&b, w + 4, sizeof(b));
	ret->a = __builtin_convertvector(a, quad);
	ret->b = __builtin_convertvector(b, quad);
}

static inline __attribute__((always_inline)) void time_pass(struct quads *t, uint32_t ns, const struct quads *w)
{
	t->a += (double)ns * w->a;
	t->b += (double)ns * w->b;
}

static inline __attribute__((always_inline)) void tag_pass(struct quads *t, uint32_t ns, const struct pass *x, uint32_t tag)
{
	struct quads w;

	weights_load(&w, x->tags[tag < x->r->tag_n ? tag : x->r->tag_n].v);
	time_pass(t, ns, &w);
}

/* What is not only time passing, and not a first signal. */
static __attribute__((noinline)) void meeting_pass(const struct pass *x, size_t i, struct lanes *t)
{
	const struct points *p = &x->r->points;

	switch (p->what[i]) {
	case POINT_SIGNAL_MORE:
		if (p->wait_ns[i] != NONE)
			lanes_max(&x->tokens[p->wait_ns[i]], t);
		break;
	case POINT_WAIT:
		if (p->wait_ns[i] != NONE)
			lanes_max(t, &x->tokens[p->wait_ns[i]]);
		break;
	case POINT_ACQUIRE:
		acquire(x, t, p->object[i], p->wait_ns[i]);
		break;
	case POINT_LONG:
		long_pass(x, i, t);
		break;
	default:
		either_pass(x, i, t);
		break;
	}
}

__attribute__((target_clones("avx2", "default"))) static void run_pass(const struct pass *x, const struct run *run)
{
	const struct points *p = &x->r->points;
	size_t from = x->r->strands[run->strand].first + run->from;
	struct lanes *strand = &x->strands[run->strand], other;
	struct quads t, ready;

	memcpy(&t, strand, sizeof(t));
	weights_load(&ready, x->run);
	for (size_t i = from; i < from + run->n; i++) {
		tag_pass(&t, p->cpu_ns[i], x, p->cpu_tag[i]);
		switch (p->what[i]) {
		case POINT_DELAY:
			tag_pass(&t, p->wait_ns[i], x, p->object[i]);
			break;
		case POINT_SIGNAL:
		case POINT_RELEASE:
			if (p->wait_ns[i] != NONE)
				memcpy(&x->tokens[p->wait_ns[i]], &t, sizeof(t));
			break;
		case POINT_SIGNAL_MORE:
		case POINT_WAIT:
		case POINT_ACQUIRE:
		case POINT_LONG:
		case POINT_EITHER:
			memcpy(&other, &t, sizeof(t));
			meeting_pass(x, i, &other);
			memcpy(&t, &other, sizeof(t));
			break;
		case POINT_OP_BEGIN:
		case POINT_OP_END:
			/* Behind them nobody waits for a CPU. */
			continue;
		default:
			break;
		}
		time_pass(&t, p->run_ns[i], &ready);
	}
	memcpy(strand, &t, sizeof(t));
}

/* A strand's first run begins when it is started. */
static void strand_begin(const struct pass *x, uint32_t s)
{
	const struct strand *strand = &x->r->strands[s];

	for (size_t lane = 0; lane < E1_LANES; lane++) {
		x->strands[s].t[lane] = strand->token == NONE || strand->slot == NONE ? (double)strand->begin_ns :
										      x->tokens[strand->slot].t[lane];
	}
}

static int64_t makespan_of(const struct pass *x, size_t lane, uint32_t *ret_last)
{
	const struct replay *r = x->r;
	double end = (double)r->facts.begin_ns;
	uint32_t last = NONE; /* of equals the first */

	for (size_t s = 0; s < r->strand_n; s++) {
		if (r->strands[s].sink && r->strands[s].n && (last == NONE || x->strands[s].t[lane] > end)) {
			end = x->strands[s].t[lane];
			last = (uint32_t)s;
		}
	}
	if (ret_last)
		*ret_last = last;
	return ns_round(end) - r->facts.begin_ns;
}

int e1_run(const struct replay *r, const struct weights *w, size_t n, int64_t *ret)
{
	_cleanup_(pass_done) struct pass x = { 0 };

	if (pass_init(&x, r, w, n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < r->run_n; i++) {
		if (!r->runs[i].from)
			strand_begin(&x, r->runs[i].strand);
		run_pass(&x, &r->runs[i]);
	}
	for (size_t lane = 0; lane < n; lane++)
		ret[lane] = makespan_of(&x, lane, NULL);
	return 0;
}

struct e1_batch {
	struct pass x;
	uint32_t *tags; /* changed, with repeats */
	size_t tag_n, tag_cap;
	bool full; /* no memory to remember more: all are blanked */
};

int e1_batch_new(const struct replay *r, struct e1_batch **ret)
{
	static const struct weights unchanged;
	_cleanup_(e1_batch_freep) struct e1_batch *b = calloc(1, sizeof(*b));

	if (!b || pass_init(&b->x, r, &unchanged, 1) < 0)
		return -ENOMEM;
	if (!b->x.free_locks)
		b->x.free_locks = calloc(r->lock_n + 1, 1);
	if (!b->x.free_locks)
		return -ENOMEM;
	*ret = TAKE_PTR(b);
	return 0;
}

struct e1_batch *e1_batch_free(struct e1_batch *b)
{
	if (!b)
		return NULL;
	pass_done(&b->x);
	free(b->tags);
	free(b);
	return NULL;
}

void e1_batch_tag(struct e1_batch *b, size_t lane, uint32_t tag, float times)
{
	b->x.tags[tag].v[lane] *= times;
	if (VEC_RESERVE(b->tags, b->tag_cap, b->tag_n + 1) < 0)
		b->full = true;
	else
		b->tags[b->tag_n++] = tag;
}

void e1_batch_lock(struct e1_batch *b, size_t lane, uint32_t lock)
{
	b->x.free_locks[lock] |= (uint8_t)(1u << lane);
}

static void batch_blank(struct e1_batch *b)
{
	const struct replay *r = b->x.r;
	size_t n = b->full ? r->tag_n : b->tag_n;

	for (size_t i = 0; i < n; i++) {
		for (size_t lane = 0; lane < E1_LANES; lane++)
			b->x.tags[b->full ? i : b->tags[i]].v[lane] = 1;
	}
	b->tag_n = 0;
	b->full = false;
	memset(b->x.free_locks, 0, r->lock_n + 1);
}

void e1_batch_run(struct e1_batch *b, int64_t ret[E1_LANES])
{
	const struct replay *r = b->x.r;

	for (size_t i = 0; i < r->run_n; i++) {
		if (!r->runs[i].from)
			strand_begin(&b->x, r->runs[i].strand);
		run_pass(&b->x, &r->runs[i]);
	}
	for (size_t lane = 0; lane < E1_LANES; lane++)
		ret[lane] = makespan_of(&b->x, lane, NULL);
	batch_blank(b);
}

/* Time at a point before and after what it says; src as in e1_detail. */
static double point_pass(struct pass *x, size_t i, double t, uint32_t *source)
{
	const struct points *p = &x->r->points;
	size_t tag_n = x->r->tag_n;
	double delay_ns;
	uint32_t tag;

	t += point_cpu_ns(x->r, i) * (double)x->tags[p->cpu_tag[i] < tag_n ? p->cpu_tag[i] : tag_n].v[0];
	/* Most points; behind them nobody waits for a CPU. */
	if (p->what[i] == POINT_OP_BEGIN || p->what[i] == POINT_OP_END)
		return t;
	if (point_delay(x->r, i, &delay_ns, &tag))
		t += delay_ns * (double)x->tags[tag < tag_n ? tag : tag_n].v[0];
	switch (p->what[i]) {
	case POINT_EITHER: {
		struct lanes one = { .t = { t } };

		either_pass(x, i, &one);
		t = one.t[0];
		break;
	}
	case POINT_SIGNAL:
	case POINT_SIGNAL_MORE:
	case POINT_RELEASE:
		if (p->wait_ns[i] == NONE || (p->what[i] == POINT_SIGNAL_MORE && t < x->tokens[p->wait_ns[i]].t[0]))
			break;
		x->tokens[p->wait_ns[i]].t[0] = t;
		if (source)
			source[p->object[i]] = (uint32_t)i;
		break;
	case POINT_WAIT:
		t = p->wait_ns[i] != NONE ? fmax(t, x->tokens[p->wait_ns[i]].t[0]) : t;
		break;
	case POINT_ACQUIRE: {
		struct lanes one = { .t = { t } };

		acquire(x, &one, p->object[i], p->wait_ns[i]);
		t = one.t[0];
		break;
	}
	default:
		break;
	}
	return t + point_run_ns(x->r, i) * (double)x->run[0];
}

static void forward(struct pass *x, double *times, double *begins, uint32_t *source)
{
	const struct replay *r = x->r;

	for (size_t k = 0; k < r->run_n; k++) {
		const struct run *run = &r->runs[k];
		size_t from = r->strands[run->strand].first + run->from;
		double t;

		if (!run->from)
			strand_begin(x, run->strand);
		t = x->strands[run->strand].t[0];
		if (begins && !run->from)
			begins[run->strand] = t;
		for (size_t i = from; i < from + run->n; i++) {
			t = point_pass(x, i, t, source);
			if (times)
				times[i] = t;
		}
		x->strands[run->strand].t[0] = t;
	}
}

static bool has_slot(const struct points *p, size_t i)
{
	switch (p->what[i]) {
	case POINT_SIGNAL:
	case POINT_SIGNAL_MORE:
	case POINT_RELEASE:
	case POINT_WAIT:
	case POINT_ACQUIRE:
		return p->wait_ns[i] != NONE;
	default:
		return false;
	}
}

/*
 * Backwards: how late may each point be? A strand's latest is its next point's less what lies between; a signal's is also
 * the least of those who wait for it.
 */
static void backward(struct pass *x, double end, double *latest)
{
	const struct replay *r = x->r;
	const struct points *p = &r->points;

	for (size_t s = 0; s < r->strand_n; s++)
		x->strands[s].t[0] = r->strands[s].sink ? end : INFINITY;
	for (size_t i = 0; i < r->slot_n; i++)
		x->tokens[i].t[0] = INFINITY;
	for (size_t k = r->run_n; k-- > 0;) {
		const struct run *run = &r->runs[k];
		size_t from = r->strands[run->strand].first + run->from;
		double t = x->strands[run->strand].t[0];

		for (size_t i = from + run->n; i-- > from;) {
			double delay_ns;
			uint32_t tag;

			latest[i] = t;
			t -= point_run_ns(r, i) * (double)x->run[0];
			if (p->what[i] == POINT_EITHER) {
				const struct long_time *l = point_limit(r, i);

				t -= (double)l->ns * (double)x->tags[l->tag < r->tag_n ? l->tag : r->tag_n].v[0];
			} else if (point_delay(r, i, &delay_ns, &tag)) {
				t -= delay_ns * (double)x->tags[tag < r->tag_n ? tag : r->tag_n].v[0];
			} else if (has_slot(p, i)) {
				double *token = &x->tokens[p->wait_ns[i]].t[0];

				if (p->what[i] == POINT_WAIT || p->what[i] == POINT_ACQUIRE) {
					*token = fmin(*token, t);
				} else {
					t = fmin(t, *token);
					latest[i] = fmin(latest[i], t + (double)p->run_ns[i]);
				}
				/* Before its first signal the slot is another token's. */
				if (p->what[i] == POINT_SIGNAL || p->what[i] == POINT_RELEASE)
					*token = INFINITY;
			}
			t -= point_cpu_ns(r, i) *
			     (double)x->tags[p->cpu_tag[i] < r->tag_n ? p->cpu_tag[i] : r->tag_n].v[0];
		}
		x->strands[run->strand].t[0] = t;
		if (!run->from && r->strands[run->strand].token != NONE && r->strands[run->strand].slot != NONE) {
			double *token = &x->tokens[r->strands[run->strand].slot].t[0];

			*token = fmin(*token, t);
		}
	}
}

int e1_detail(const struct replay *r, const struct weights *w, unsigned ask, struct e1_detail *ret)
{
	_cleanup_(pass_done) struct pass x = { 0 };
	struct e1_detail d = { 0 };

	if (pass_init(&x, r, w, 1) < 0)
		return -ENOMEM;
	if (ask & E1_TIMES) {
		d.times = malloc((r->points.n + 1) * sizeof(*d.times));
		d.begins = calloc(r->strand_n + 1, sizeof(*d.begins));
	}
	if (ask & E1_SOURCES)
		d.source = malloc((r->token_n + 1) * sizeof(*d.source));
	if (ask & E1_LATEST)
		d.latest = malloc((r->points.n + 1) * sizeof(*d.latest));
	if ((ask & E1_TIMES && (!d.times || !d.begins)) || (ask & E1_SOURCES && !d.source) || (ask & E1_LATEST && !d.latest)) {
		e1_detail_done(&d);
		return -ENOMEM;
	}
	for (size_t i = 0; d.source && i < r->token_n; i++)
		d.source[i] = NONE;
	forward(&x, d.times, d.begins, d.source);
	d.makespan_ns = makespan_of(&x, 0, &d.last);
	if (d.latest)
		backward(&x, (double)(d.makespan_ns + r->facts.begin_ns), d.latest);
	*ret = d;
	return 0;
}

void e1_detail_done(struct e1_detail *d)
{
	free(d->times);
	free(d->begins);
	free(d->source);
	free(d->latest);
	*d = (struct e1_detail){ 0 };
}
