/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "wcprof_twin.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

struct twin {
	const struct model *m;
	uint32_t class_id;
	double factor;
	uint32_t *parent;
	double *start, *finish; /* NAN: not known */
	bool *busy;
};

struct deed {
	int64_t at_ns;
	enum { OWN, CHILD, WAIT } what;
	uint32_t i;
	int64_t ns;
};

static int by_time(const void *a, const void *b)
{
	const struct deed *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

/* Is it in a child or a wait of the op? Up to when it stays so is *ret_ns. */
static bool is_covered(const struct deed *v, size_t n, int64_t at_ns, int64_t *ret_ns)
{
	*ret_ns = INT64_MAX;
	for (size_t i = 0; i < n; i++) {
		if (v[i].at_ns <= at_ns && v[i].at_ns + v[i].ns > at_ns) {
			*ret_ns = v[i].at_ns + v[i].ns;
			return true;
		}
		if (v[i].at_ns > at_ns && v[i].at_ns < *ret_ns)
			*ret_ns = v[i].at_ns;
	}
	return false;
}

static size_t deeds_of(const struct twin *x, uint32_t op, struct deed *v)
{
	const struct model *m = x->m;
	int64_t at_ns = m->ops[op].start_ns, next_ns;
	size_t n = 0, others;

	for (uint32_t i = 1; i < m->op_n; i++) {
		if (x->parent[i] == op)
			v[n++] = (struct deed){ m->ops[i].start_ns, CHILD, i, m->ops[i].end_ns - m->ops[i].start_ns };
	}
	for (uint32_t i = 1; i < m->wait_n; i++) {
		if (m->waits[i].op == op)
			v[n++] = (struct deed){ m->waits[i].start_ns, WAIT, i, m->waits[i].end_ns - m->waits[i].start_ns };
	}
	others = n;
	while (at_ns < m->ops[op].end_ns) {
		bool covered = is_covered(v, others, at_ns, &next_ns);

		if (next_ns > m->ops[op].end_ns)
			next_ns = m->ops[op].end_ns;
		if (!covered)
			v[n++] = (struct deed){ at_ns, OWN, 0, next_ns - at_ns };
		at_ns = next_ns;
	}
	qsort(v, n, sizeof(*v), by_time);
	return n;
}

static double finish_of(struct twin *x, uint32_t op);

/* Children that had ended by a time, first ended first. */
static double children_join(struct twin *x, uint32_t op, bool *joined, int64_t by_ns, double t)
{
	const struct model *m = x->m;

	for (;;) {
		uint32_t first = 0;

		for (uint32_t i = 1; i < m->op_n; i++) {
			if (x->parent[i] == op && !joined[i] && m->ops[i].end_ns <= by_ns &&
			    (!first || m->ops[i].end_ns < m->ops[first].end_ns))
				first = i;
		}
		if (!first)
			return t;
		joined[first] = true;
		x->start[first] = isnan(x->start[first]) ? t : x->start[first];
		t = fmax(t, finish_of(x, first));
	}
}

static double op_work(struct twin *x, uint32_t op)
{
	const struct model *m = x->m;
	struct deed *v = malloc((2 * (m->op_n + m->wait_n) + 2) * sizeof(*v));
	bool *joined = calloc(m->op_n, 1);
	double t = x->start[op];
	size_t n = deeds_of(x, op, v);

	for (size_t i = 0; i < n; i++) {
		const struct model_wait *w = &m->waits[v[i].what == WAIT ? v[i].i : 0];

		t = children_join(x, op, joined, v[i].at_ns, t);
		if (v[i].what == OWN)
			t += (double)v[i].ns * (x->class_id && m->ops[op].class_id == x->class_id ? x->factor : 1);
		else if (v[i].what == CHILD)
			x->start[v[i].i] = isnan(x->start[v[i].i]) ? t : x->start[v[i].i];
		else if (!w->target)
			t += (double)v[i].ns;
		else if (w->target != op && w->end_ns >= m->ops[w->target].end_ns - 1000000)
			t = fmax(t, finish_of(x, w->target));
	}
	t = children_join(x, op, joined, m->ops[op].end_ns, t);
	free(joined);
	free(v);
	return t;
}

static double finish_of(struct twin *x, uint32_t op)
{
	const struct model_op *o = &x->m->ops[op];
	uint32_t parent = x->parent[op];

	if (!isnan(x->finish[op]))
		return x->finish[op];
	if (isnan(x->start[op]) && parent && !x->busy[parent])
		finish_of(x, parent);
	if (!isnan(x->finish[op]))
		return x->finish[op];
	if (isnan(x->start[op]))
		x->start[op] = parent && !isnan(x->start[parent]) ?
				       x->start[parent] + (double)(o->start_ns - x->m->ops[parent].start_ns) :
				       (double)o->start_ns;
	if (x->busy[op])
		return x->start[op] + (double)(o->end_ns - o->start_ns);
	x->busy[op] = true;
	x->finish[op] = op_work(x, op);
	x->busy[op] = false;
	return x->finish[op];
}

/* Roots in the order of their starts, each as far behind the latest end before it as it was. */
static double roots_work(struct twin *x)
{
	const struct model *m = x->m;
	double first = INFINITY, last = 0, chain = NAN;
	bool *taken = calloc(m->op_n, 1);
	int64_t latest_ns = 0;

	for (;;) {
		uint32_t root = 0;
		double start;

		for (uint32_t i = 1; i < m->op_n; i++) {
			if (!x->parent[i] && !taken[i] && (!root || m->ops[i].start_ns < m->ops[root].start_ns))
				root = i;
		}
		if (!root)
			break;
		taken[root] = true;
		if (isnan(chain)) {
			latest_ns = m->ops[root].start_ns;
			chain = (double)latest_ns;
		}
		start = chain + (double)(m->ops[root].start_ns - latest_ns);
		first = fmin(first, start);
		x->start[root] = isnan(x->start[root]) ? start : x->start[root];
		last = fmax(last, finish_of(x, root));
		if (m->ops[root].end_ns >= latest_ns) {
			latest_ns = m->ops[root].end_ns;
			chain = finish_of(x, root);
		}
	}
	free(taken);
	return last - first;
}

double wcprof_twin(const struct model *m, uint32_t class_id, double factor)
{
	struct twin x = { .m = m, .class_id = class_id, .factor = factor };
	double ns;

	x.parent = calloc(m->op_n, sizeof(*x.parent));
	x.start = malloc(m->op_n * sizeof(*x.start));
	x.finish = malloc(m->op_n * sizeof(*x.finish));
	x.busy = calloc(m->op_n, sizeof(*x.busy));
	for (uint32_t i = 0; i < m->op_n; i++) {
		x.start[i] = x.finish[i] = NAN;
		x.parent[i] = i ? m->ops[i].parent : 0;
		cr_assert(x.parent[i] < m->op_n && x.parent[i] != i + (i == 0));
	}
	ns = roots_work(&x);
	free(x.parent);
	free(x.start);
	free(x.finish);
	free(x.busy);
	return ns;
}
