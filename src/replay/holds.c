/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Who held a lock when. A recording has only the waits: who blocked on the lock,
 * when it was woken, by whom. That gives an end of a wait as an acquire and a
 * wake as a release; an acquire that found the lock free and a release for which
 * nobody waited leave nothing.
 *
 * So stretches with both ends seen come first. From them is learned what threads
 * do inside (sites.c), and with that the other ends are put where they must be:
 * behind as much of such doing as is usual, and never where the thread was
 * waiting for the lock itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/draft.h"
#include "replay/sites.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/sort.h"
#include "util/vec.h"

/* A stretch so many times as long as one of the shorter ones may be two with an unseen gap between: nothing is learned from it. */
#define LEARN_TIMES 2.5
/* Of fewer stretches than these their lengths alone don't tell whether each is one: somebody must have waited for this share. */
#define LEARN_FEW 5
#define LEARN_AWAITED 0.2

enum mark_what { MARK_RELEASE, MARK_BLOCK, MARK_ACQUIRE, MARK_SITE };

/* Something of one lock on one strand. */
struct mark {
	uint32_t lock, strand;
	int64_t at_ns;
	int64_t end_ns;	/* SITE: of the wait */
	uint32_t wait;	/* ACQUIRE: the strand's own; RELEASE: the one that it ended; SITE: its own */
	uint8_t what;	/* enum mark_what */
};

struct marks {
	struct mark *v;
	size_t n, cap;
};

/* On the CPU between two waits that are one: it looked at the lock in vain. */
struct look {
	uint32_t lock;
	int64_t ns;
};

struct builder {
	struct draft *d;
	struct marks marks;
	struct look *looks;
	size_t look_n, look_cap;
	uint32_t condvar_id; /* string */
	struct sites sites;
};

static int64_t min_ns(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max_ns(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void builder_done(struct builder *b)
{
	free(b->marks.v);
	free(b->looks);
	sites_done(&b->sites);
}

static int mark_add(struct marks *x, const struct mark *mark)
{
	if (VEC_RESERVE(x->v, x->cap, x->n + 1) < 0)
		return -ENOMEM;
	x->v[x->n++] = *mark;
	return 0;
}

static int lock_index(struct draft *d, struct map *index, uint32_t wait, uint32_t *ret)
{
	const struct model_wait *w = &d->m->waits[wait];
	struct replay *r = d->r;
	uint64_t at;

	if (!map_get(index, w->ident_id, &at)) {
		if (VEC_RESERVE(r->locks, r->lock_cap, r->lock_n + 1) < 0 || map_put(index, w->ident_id, r->lock_n) < 0)
			return -ENOMEM;
		at = r->lock_n;
		r->locks[r->lock_n++] = (struct lock){
			.ident_id = w->ident_id, .row = w->row, .class = NONE,
			.process = r->strands[wait_strand(r, w)].process,
		};
	}
	r->locks[at].wait_n++;
	if (r->locks[at].process != r->strands[wait_strand(r, w)].process)
		r->locks[at].process = 0;
	*ret = (uint32_t)at;
	return 0;
}

/* Its block, its acquire and its waker's release. One that came to nothing is the release all the same. */
static int wait_marks(struct builder *b, uint32_t wait, uint32_t lock, bool acquired)
{
	struct draft *d = b->d;
	const struct model_wait *w = &d->m->waits[wait];
	struct mark mark = { .lock = lock, .strand = wait_strand(d->r, w), .wait = wait };
	int e;

	mark.what = MARK_BLOCK;
	mark.at_ns = w->start_ns;
	e = mark_add(&b->marks, &mark);
	mark.what = MARK_ACQUIRE;
	mark.at_ns = w->end_ns;
	if (e == 0 && acquired)
		e = mark_add(&b->marks, &mark);
	mark.what = MARK_RELEASE;
	mark.at_ns = wait_wake_ns(w);
	mark.strand = w->waker ? draft_strand_at(d, w->waker, mark.at_ns) : NONE;
	if (e == 0 && mark.strand != NONE)
		e = mark_add(&b->marks, &mark);
	return e;
}

static int look_add(struct builder *b, uint32_t lock, int64_t ns)
{
	if (VEC_RESERVE(b->looks, b->look_cap, b->look_n + 1) < 0)
		return -ENOMEM;
	b->looks[b->look_n++] = (struct look){ .lock = lock, .ns = ns };
	return 0;
}

/* One through which a lock was got, the i-th, with those that are merged into it, from first on. */
static int lock_wait_mark(struct builder *b, struct map *index, size_t first, size_t i)
{
	const struct model_wait *waits = b->d->m->waits;
	struct draft *d = b->d;
	int64_t since_ns = -1;
	uint32_t lock;

	if (lock_index(d, index, d->waits[i], &lock) < 0)
		return -ENOMEM;
	for (; first < i; first++) {
		uint32_t wait = d->waits[first];

		if (d->use[wait] != USE_MERGED || d->m->rows[d->m->waits[wait].row].reason != REASON_LOCK)
			continue;
		d->lock[wait] = lock;
		if (wait_marks(b, wait, lock, false) < 0 ||
		    (since_ns >= 0 && look_add(b, lock, waits[wait].start_ns - since_ns) < 0))
			return -ENOMEM;
		since_ns = waits[wait].end_ns;
	}
	d->lock[d->waits[i]] = lock;
	if (since_ns >= 0 && look_add(b, lock, waits[d->waits[i]].start_ns - since_ns) < 0)
		return -ENOMEM;
	return wait_marks(b, d->waits[i], lock, true);
}

static int lock_waits_mark(struct builder *b)
{
	struct draft *d = b->d;
	_cleanup_(map_freep) struct map *index = NULL;

	if (map_new(&index) < 0)
		return -ENOMEM;
	for (size_t s = 0; s < d->r->strand_n; s++) {
		size_t first = d->wait_first[s]; /* that is one with what comes next */

		for (size_t i = d->wait_first[s]; i < d->wait_first[s + 1]; i++) {
			uint8_t use = d->use[d->waits[i]];

			if (use == USE_MERGED || use == USE_SKIP)
				continue;
			if (use == USE_LOCK && lock_wait_mark(b, index, first, i) < 0)
				return -ENOMEM;
			first = i + 1;
		}
	}
	return 0;
}

static int by_lock_strand_time(const void *a, const void *b, void *arg)
{
	const struct mark *x = a, *y = b;

	(void)arg;
	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
	if (x->strand != y->strand)
		return x->strand < y->strand ? -1 : 1;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	return x->wait < y->wait ? -1 : x->wait > y->wait;
}

static int by_lock_time(const void *a, const void *b, void *arg)
{
	const struct hold *x = a, *y = b;

	(void)arg;
	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	if (x->to_ns != y->to_ns)
		return x->to_ns < y->to_ns ? -1 : 1;
	return x->strand < y->strand ? -1 : x->strand > y->strand;
}

static int hold_add(struct hold **v, size_t *n, size_t *cap, const struct hold *h)
{
	if (VEC_RESERVE(*v, *cap, *n + 1) < 0)
		return -ENOMEM;
	(*v)[(*n)++] = *h;
	return 0;
}

static int by_length(const void *a, const void *b)
{
	const struct hold *x = a, *y = b;
	int64_t p = x->to_ns - x->from_ns, q = y->to_ns - y->from_ns;

	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
	return p < q ? -1 : p > q;
}

/*
 * Who comes while a lock is held comes in the middle of it, on average. Stretches at whose very end somebody came are
 * several each, with gaps between that nobody saw.
 */
static bool is_trusted(const struct model *m, const struct hold *v, size_t n)
{
	double awaited = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t ns = v[i].to_ns - v[i].from_ns;

		awaited += ns > 0 ? (double)(v[i].to_ns - max_ns(v[i].from_ns, m->waits[v[i].next_wait].start_ns)) / (double)ns : 1;
	}
	return n >= LEARN_FEW || awaited >= LEARN_AWAITED * (double)n;
}

/* Leaves out what is too long, then what overlaps another's: of two one must be wrong. Sorted by lock and time. */
static size_t learnable(const struct model *m, struct hold *v, size_t n)
{
	size_t kept = 0, clean = 0;

	qsort(v, n, sizeof(*v), by_length);
	for (size_t i = 0, next; i < n; i = next) {
		size_t first = kept;
		int64_t short_ns;

		for (next = i; next < n && v[next].lock == v[i].lock;)
			next++;
		short_ns = v[i + (next - i) / 4].to_ns - v[i + (next - i) / 4].from_ns;
		for (size_t k = i; k < next; k++) {
			if ((double)(v[k].to_ns - v[k].from_ns) <= LEARN_TIMES * (double)short_ns)
				v[kept++] = v[k];
		}
		kept = is_trusted(m, v + first, kept - first) ? kept : first;
	}
	sort_rows(v, kept, sizeof(*v), by_lock_time, NULL);
	for (size_t i = 0; i < kept; i++) {
		if (clean && v[clean - 1].lock == v[i].lock && v[clean - 1].to_ns > v[i].from_ns)
			continue;
		v[clean++] = v[i];
	}
	return clean;
}

/*
 * The last wait for a condition that a strand began between two moments, 0: none. It gave its lock away for it: what
 * seems to be one hold are two, whose end and begin between them nobody saw.
 */
static uint32_t last_park(const struct builder *b, uint32_t strand, int64_t from_ns, int64_t to_ns)
{
	const struct draft *d = b->d;
	uint32_t last = 0;

	if (!b->condvar_id)
		return 0;
	for (size_t i = sites_wait_at(d, strand, from_ns); i < d->wait_first[strand + 1]; i++) {
		const struct model_wait *w = &d->m->waits[d->waits[i]];

		if (w->start_ns >= to_ns)
			break;
		if (w->row < d->m->row_n && d->m->rows[w->row].kind_id == b->condvar_id)
			last = d->waits[i];
	}
	return last;
}

static int full_learn(struct builder *b)
{
	_cleanup_(freep) struct hold *full = NULL;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i + 1 < b->marks.n; i++) {
		const struct mark *a = &b->marks.v[i], *z = &b->marks.v[i + 1];

		if (a->what == MARK_ACQUIRE && z->what == MARK_RELEASE && a->lock == z->lock && a->strand == z->strand &&
		    !last_park(b, a->strand, a->at_ns, z->at_ns) &&
		    hold_add(&full, &n, &cap, &(struct hold){ .lock = a->lock, .strand = a->strand, .from_ns = a->at_ns,
							      .to_ns = z->at_ns, .next_wait = z->wait }) < 0)
			return -ENOMEM;
	}
	return sites_learn(b->d, full, n ? learnable(b->d->m, full, n) : 0, &b->sites);
}

/* Waits of member sites, of all strands of the lock's process: the lock was held there. */
static int members_mark(struct builder *b)
{
	const struct draft *d = b->d;
	const struct replay *r = d->r;

	for (size_t s = 0; s < r->strand_n; s++) {
		for (size_t i = d->wait_first[s]; i < d->wait_first[s + 1]; i++) {
			const struct model_wait *w = &d->m->waits[d->waits[i]];

			for (uint32_t k = sites_first_lock(&b->sites, d->site[i]); k != NONE; k = b->sites.locks[k].next) {
				uint32_t lock = b->sites.locks[k].lock;

				if (d->lock[d->waits[i]] != lock &&
				    mark_add(&b->marks, &(struct mark){ .lock = lock, .strand = (uint32_t)s,
									.at_ns = w->start_ns, .end_ns = w->end_ns,
									.wait = d->waits[i], .what = MARK_SITE }) < 0)
					return -ENOMEM;
			}
		}
	}
	return 0;
}

/* A stretch that grows as marks of one lock and strand come. */
struct growing {
	struct hold h;
	bool open, from_seen;
	int64_t last_ns;  /* of what is surely inside */
	int64_t floor_ns; /* the strand can't have had it before */
	uint32_t waits;
};

/* The strand's next wait of no member site behind what is surely inside, up to limit. */
static int64_t stranger_at(const struct builder *b, const struct growing *g, int64_t limit_ns)
{
	const struct draft *d = b->d;

	for (size_t i = sites_wait_at(d, g->h.strand, g->last_ns);
	     i < d->wait_first[g->h.strand + 1] && d->m->waits[d->waits[i]].start_ns < limit_ns; i++) {
		if (d->site[i] && !sites_is_member(&b->sites, g->h.lock, d->site[i]))
			return d->m->waits[d->waits[i]].start_ns;
	}
	return limit_ns;
}

/* Its end was not seen, and lies before limit. */
static int growing_close(struct builder *b, struct growing *g, int64_t limit_ns)
{
	struct replay *r = b->d->r;
	const struct lock_habits *x = &b->sites.habits[g->h.lock];

	if (!g->open)
		return 0;
	limit_ns = stranger_at(b, g, limit_ns);
	g->h.to_ns = g->waits ? g->last_ns + x->trail_ns : g->h.from_ns + x->hold_ns;
	g->h.to_ns = max_ns(g->last_ns, min_ns(g->h.to_ns, limit_ns));
	g->h.inferred = true;
	g->h.next_wait = 0;
	g->open = false;
	g->floor_ns = g->h.to_ns;
	return hold_add(&r->holds, &r->hold_n, &r->hold_cap, &g->h);
}

static int on_release(struct builder *b, struct growing *g, const struct mark *mark)
{
	struct replay *r = b->d->r;
	const struct lock_habits *x = &b->sites.habits[mark->lock];
	uint32_t park = g->open ? last_park(b, mark->strand, g->last_ns, mark->at_ns) : 0;

	if (park) {
		if (growing_close(b, g, mark->at_ns) < 0)
			return -ENOMEM;
		g->floor_ns = max_ns(g->floor_ns, min_ns(b->d->m->waits[park].end_ns, mark->at_ns));
	}
	if (g->open && !g->from_seen && stranger_at(b, g, mark->at_ns) < mark->at_ns &&
	    growing_close(b, g, mark->at_ns) < 0)
		return -ENOMEM;
	if (!g->open) {
		g->h.from_ns = max_ns(g->floor_ns, mark->at_ns - x->hold_ns);
		g->h.wait = 0;
	}
	g->h.inferred = !g->open || !g->from_seen;
	g->h.to_ns = max_ns(mark->at_ns, g->h.from_ns);
	g->h.next_wait = mark->wait;
	g->open = false;
	g->floor_ns = g->h.to_ns;
	return hold_add(&r->holds, &r->hold_n, &r->hold_cap, &g->h);
}

/*
 * Whom the release that comes next woke stood there already when the stretch was last seen: had it ended since, somebody
 * would have been woken.
 */
static bool is_awaited(const struct builder *b, const struct growing *g, const struct mark *next)
{
	return next && next->what == MARK_RELEASE && b->d->m->waits[next->wait].start_ns <= g->last_ns;
}

/* next: the mark of another sort that comes next, NULL: none. */
static int on_site(struct builder *b, struct growing *g, const struct mark *mark, const struct mark *next)
{
	const struct lock_habits *x = &b->sites.habits[mark->lock];
	uint32_t usual = x->waits ? x->waits : 1;

	/* Where it did something else meanwhile it was out, whatever was not seen of that. */
	if (g->open &&
	    ((g->waits >= usual && !is_awaited(b, g, next)) || stranger_at(b, g, mark->at_ns) < mark->at_ns) &&
	    growing_close(b, g, mark->at_ns) < 0)
		return -ENOMEM;
	if (!g->open) {
		g->open = true;
		g->from_seen = false;
		g->waits = 0;
		g->h.wait = 0;
		g->h.from_ns = max_ns(g->floor_ns, mark->at_ns - x->lead_ns);
	}
	g->waits++;
	g->last_ns = mark->end_ns;
	return 0;
}

static int marks_follow(struct builder *b, size_t from, size_t to)
{
	struct growing g = { .h = { .lock = b->marks.v[from].lock, .strand = b->marks.v[from].strand } };
	int64_t end_ns = b->d->r->strands[g.h.strand].end_ns;
	size_t next = from;
	int e = 0;

	g.floor_ns = b->d->r->strands[g.h.strand].begin_ns;
	for (size_t i = from; i < to && e == 0; i++) {
		const struct mark *mark = &b->marks.v[i];

		while (next < to && (next <= i || b->marks.v[next].what == MARK_SITE))
			next++;
		switch (mark->what) {
		case MARK_RELEASE:
			e = on_release(b, &g, mark);
			break;
		case MARK_BLOCK:
			e = growing_close(b, &g, mark->at_ns);
			g.floor_ns = max_ns(g.floor_ns, mark->at_ns);
			break;
		case MARK_ACQUIRE:
			e = growing_close(b, &g, mark->at_ns);
			g.open = g.from_seen = true;
			g.waits = 0;
			g.h.wait = mark->wait;
			g.h.from_ns = g.last_ns = mark->at_ns;
			break;
		default:
			e = on_site(b, &g, mark, next < to ? &b->marks.v[next] : NULL);
		}
	}
	return e == 0 ? growing_close(b, &g, end_ns) : e;
}

static int holds_make(struct builder *b)
{
	for (size_t i = 0, next; i < b->marks.n; i = next) {
		for (next = i; next < b->marks.n && b->marks.v[next].lock == b->marks.v[i].lock &&
			       b->marks.v[next].strand == b->marks.v[i].strand;)
			next++;
		if (marks_follow(b, i, next) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int by_ns(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* What is left over between holds that overlap is cut from the one whose end is a guess. Beyond a twentieth, nothing is known. */
static void overlaps_cut(struct replay *r, struct lock *lock, uint32_t full_n)
{
	int64_t overlap_ns = 0, hold_ns = 0;

	for (size_t i = lock->first_hold; i < lock->first_hold + lock->hold_n; i++) {
		struct hold *h = &r->holds[i], *prev = i > lock->first_hold ? h - 1 : NULL;

		hold_ns += h->to_ns - h->from_ns;
		if (!prev || prev->to_ns <= h->from_ns || prev->strand == h->strand)
			continue;
		overlap_ns += prev->to_ns - h->from_ns;
		if (!prev->next_wait)
			prev->to_ns = h->from_ns;
		else if (!h->wait)
			h->from_ns = min_ns(prev->to_ns, h->to_ns);
	}
	lock->simulated = full_n && overlap_ns * 20 <= hold_ns;
}

/*
 * Who waits proves that somebody has the lock from then on, and nobody else is known to have had it before the one who
 * then gave it: so that one did. Without this a hold of which nobody saw the begin would only be as long as is usual,
 * and a lock that was held seem free.
 */
static void begins_extend(struct replay *r, const struct model *m, const struct lock *lock)
{
	int64_t free_ns = INT64_MIN; /* since then nobody is known to have it */

	for (size_t i = lock->first_hold; i < lock->first_hold + lock->hold_n; i++) {
		struct hold *h = &r->holds[i];

		if (h->next_wait && !h->wait)
			h->from_ns = min_ns(h->from_ns, max_ns(free_ns, m->waits[h->next_wait].start_ns));
		free_ns = max_ns(free_ns, h->to_ns);
	}
}

static void locks_settle(struct builder *b)
{
	struct replay *r = b->d->r;

	if (r->hold_n)
		sort_rows(r->holds, r->hold_n, sizeof(*r->holds), by_lock_time, NULL);
	for (size_t i = 0, next; i < r->hold_n; i = next) {
		struct lock *lock = &r->locks[r->holds[i].lock];

		for (next = i; next < r->hold_n && r->holds[next].lock == r->holds[i].lock;)
			next++;
		lock->first_hold = i;
		lock->hold_n = next - i;
		begins_extend(r, b->d->m, lock);
		overlaps_cut(r, lock, b->sites.habits[r->holds[i].lock].full_n);
	}
	for (size_t i = 0; i < r->hold_n; i++) {
		r->facts.hold_n++;
		r->facts.inferred_hold_n += r->holds[i].inferred;
	}
}

static int by_lock_ns(const void *a, const void *b)
{
	const struct look *x = a, *y = b;

	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* Half of what lies between the two waits is the way to the lock, half that back to sleep, which is about as long. */
static void looks_settle(struct builder *b)
{
	if (b->look_n)
		qsort(b->looks, b->look_n, sizeof(*b->looks), by_lock_ns);
	for (size_t i = 0, next; i < b->look_n; i = next) {
		for (next = i; next < b->look_n && b->looks[next].lock == b->looks[i].lock;)
			next++;
		b->d->r->locks[b->looks[i].lock].look_ns = max_ns(b->looks[i + (next - i) / 2].ns / 2, 0);
	}
}

int draft_holds(struct draft *d)
{
	_cleanup_(builder_done) struct builder b = { .d = d, .condvar_id = strtab_find(d->m->strings, "condvar") };
	size_t n;

	if (lock_waits_mark(&b) < 0)
		return -ENOMEM;
	if (b.marks.n)
		sort_rows(b.marks.v, b.marks.n, sizeof(*b.marks.v), by_lock_strand_time, NULL);
	n = b.marks.n;
	if (full_learn(&b) < 0 || members_mark(&b) < 0)
		return -ENOMEM;
	if (b.marks.n > n)
		sort_rows(b.marks.v, b.marks.n, sizeof(*b.marks.v), by_lock_strand_time, NULL);
	if (holds_make(&b) < 0)
		return -ENOMEM;
	locks_settle(&b);
	looks_settle(&b);
	return 0;
}

/* Usually, from a release to the woken's running; what the target's own threads on the CPUs add is found again. */
static void latency_find(const struct draft *d, struct lock *lock, int64_t *room)
{
	size_t n = 0;

	for (size_t i = lock->first_hold; i < lock->first_hold + lock->hold_n; i++) {
		uint32_t wait = d->r->holds[i].wait;

		if (wait)
			room[n++] = d->m->waits[wait].end_ns - wait_wake_ns(&d->m->waits[wait]) - d->own_runq_ns[wait];
	}
	if (!n)
		return;
	qsort(room, n, sizeof(*room), by_ns);
	lock->latency_ns = max_ns(room[n / 2], 0);
}

int draft_latencies(struct draft *d)
{
	_cleanup_(freep) int64_t *room = calloc(d->r->hold_n + 1, sizeof(*room));

	if (!room)
		return -ENOMEM;
	for (size_t i = 0; i < d->r->lock_n; i++)
		latency_find(d, &d->r->locks[i], room);
	return 0;
}
