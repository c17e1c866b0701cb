/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A sweep over the moments at which a thread of the process stops or becomes
 * ready. Where the count of those that can run is 0, nothing happens; what
 * that gap was is told by the wait that ended it, for only its end let things
 * go on. Gaps that nothing ended before the recording did count by the wait
 * that was the last to begin.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/account.h"
#include "analyze/filter.h"
#include "util/cleanup.h"
#include "util/sort.h"
#include "util/vec.h"

/*
 * At one moment those of +1 come first: a thread that goes on when another stops leaves no gap. There are two of each
 * wait, and as many again while they are sorted: in no other analysis is a report as large as here.
 */
struct moment {
	int64_t ns;
	uint32_t wait;	      /* that begins or ends, 0: the thread does */
	uint32_t process : 31;
	uint32_t stops : 1;   /* one thread fewer can run, else one more */
};
_Static_assert(sizeof(struct moment) == 16, "two words");

static int moment_step(const struct moment *x)
{
	return x->stops ? -1 : 1;
}

struct sweep {
	const struct model *m;
	struct where where;
	struct lanes lanes;
	struct moment *moments;
	size_t n, cap;
};

static void sweep_done(struct sweep *s)
{
	where_done(&s->where);
	lanes_done(&s->lanes);
	free(s->moments);
}

static int moment_add(struct sweep *s, int64_t ns, uint32_t process, uint32_t wait, bool stops)
{
	if (VEC_RESERVE(s->moments, s->cap, s->n + 1) < 0)
		return -ENOMEM;
	s->moments[s->n++] = (struct moment){ .ns = ns, .wait = wait, .process = process & 0x7fffffff, .stops = stops };
	return 0;
}

static int thread_sweep(struct sweep *s, uint32_t thread)
{
	const struct model *m = s->m;
	const struct model_thread *t = &m->threads[thread];
	int64_t at = t->begin_ns;

	if (moment_add(s, t->begin_ns, t->process, 0, false) < 0)
		return -ENOMEM;
	for (size_t i = s->lanes.first[thread]; i < s->lanes.first[thread + 1]; i++) {
		uint32_t wait = s->lanes.waits[i];
		const struct model_wait *w = &m->waits[wait];
		int64_t begin = w->start_ns > at ? w->start_ns : at;
		int64_t end = lanes_blocked_end(w) < t->end_ns ? lanes_blocked_end(w) : t->end_ns;

		if (end <= begin)
			continue;
		at = end;
		if (moment_add(s, begin, t->process, wait, true) < 0 || moment_add(s, end, t->process, wait, false) < 0)
			return -ENOMEM;
	}
	return moment_add(s, t->end_ns, t->process, 0, true);
}

static int by_moment(const void *a, const void *b, void *arg)
{
	const struct moment *x = a, *y = b;

	(void)arg;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (x->stops != y->stops)
		return x->stops ? 1 : -1;
	/* A wait's end explains more than a thread's begin. */
	return x->wait > y->wait ? -1 : x->wait < y->wait;
}

static int by_process(const void *a, const void *b, void *arg)
{
	const struct moment *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return by_moment(a, b, arg);
}

static void gap_add(const struct sweep *s, struct analyze_dead *d, int64_t from, int64_t to, uint32_t wait)
{
	uint64_t ns = (uint64_t)(to - from);

	d->dead_ns += ns;
	d->gap_n++;
	d->ns[wait ? where_of(&s->where, &s->m->waits[wait]) : WHERE_UNKNOWN] += ns;
	if (ns > d->longest_ns) {
		d->longest_ns = ns;
		d->longest_start_ns = from;
		d->longest_wait = wait;
	}
}

static struct analyze_dead moments_sum(const struct sweep *s, const struct moment *list, size_t n, uint32_t process)
{
	struct analyze_dead d = { .process = process };
	int64_t from = 0, ready_n = 0, alive_n = 0;
	uint32_t last_begun = 0;

	for (size_t i = 0; i < n; i++) {
		const struct moment *x = &list[i];

		/* Between lives of threads that the recording has of it there is no gap, but no process. */
		if (!ready_n && alive_n && x->ns > from)
			gap_add(s, &d, from, x->ns,
				!x->stops && x->wait && x->ns < s->m->end_ns ? x->wait : last_begun);
		alive_n += x->wait ? 0 : moment_step(x);
		ready_n += moment_step(x);
		from = x->ns;
		if (x->stops && x->wait)
			last_begun = x->wait;
	}
	if (n)
		d.life_ns = (uint64_t)(list[n - 1].ns - list[0].ns);
	return d;
}

static uint64_t true_dead_ns(const struct analyze_dead *d)
{
	return d->dead_ns - d->ns[WHERE_IDLE] - d->ns[WHERE_CHILD];
}

static int dead_compare(const void *a, const void *b)
{
	const struct analyze_dead *x = a, *y = b;

	if (true_dead_ns(x) != true_dead_ns(y))
		return true_dead_ns(x) > true_dead_ns(y) ? -1 : 1;
	if (x->dead_ns != y->dead_ns)
		return x->dead_ns > y->dead_ns ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

static int processes_sum(const struct sweep *s, struct analyze_dead **list, size_t *n)
{
	size_t cap = *n;

	for (size_t i = 0, end; i < s->n; i = end) {
		uint32_t process = s->moments[i].process;

		for (end = i; end < s->n && s->moments[end].process == process; end++)
			;
		if (!process)
			continue;
		if (VEC_RESERVE(*list, cap, *n + 1) < 0)
			return -ENOMEM;
		(*list)[(*n)++] = moments_sum(s, s->moments + i, end - i, process);
	}
	return 0;
}

int analyze_dead_air(const struct model *m, const struct analyze_filter *f, struct analyze_dead **ret, size_t *ret_n)
{
	_cleanup_(filter_done) struct filter filter = { 0 };
	_cleanup_(sweep_done) struct sweep s = { .m = m };
	_cleanup_(freep) struct analyze_dead *list = calloc(1, sizeof(*list));
	size_t n = 1;

	if (!list || filter_init(&filter, m, f) < 0 || where_init(&s.where, m) < 0 || lanes_init(&s.lanes, m) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->thread_n; i++) {
		if (!m->threads[i].goid && filter_thread(&filter, &m->threads[i]) && thread_sweep(&s, i) < 0)
			return -ENOMEM;
	}
	lanes_done(&s.lanes);
	if (s.n)
		sort_rows(s.moments, s.n, sizeof(*s.moments), by_moment, NULL);
	list[0] = moments_sum(&s, s.moments, s.n, 0);
	if (s.n)
		sort_rows(s.moments, s.n, sizeof(*s.moments), by_process, NULL);
	if (processes_sum(&s, &list, &n) < 0)
		return -ENOMEM;
	qsort(list + 1, n - 1, sizeof(*list), dead_compare);
	*ret = TAKE_PTR(list);
	*ret_n = n;
	return 0;
}
