/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * From the end back: at each wait the path goes on where what came last came
 * from, on the strand itself or with whoever ended the wait.
 */
#include "replay/path.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "util/vec.h"

static uint32_t strand_of_point(const struct replay *r, size_t point)
{
	size_t low = 0, high = r->strand_n;

	/* The last strand that begins at it or before; strands without points begin where the next does. */
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (r->strands[middle].first <= point)
			low = middle;
		else
			high = middle;
	}
	return (uint32_t)low;
}

static int leg_add(struct path *p, const struct path_leg *leg)
{
	if (VEC_RESERVE(p->legs, p->cap, p->n + 1) < 0)
		return -ENOMEM;
	p->legs[p->n++] = *leg;
	return 0;
}

static bool is_free(const struct replay *r, const struct weights *w, uint32_t token)
{
	for (size_t i = 0; i < w->free_lock_n; i++) {
		if (w->free_locks[i] == r->token_lock[token])
			return true;
	}
	return false;
}

/* Did something else than the strand itself decide when this point was? *ret_slack: by how much. */
static bool is_decided_elsewhere(const struct replay *r, const struct weights *w, const struct e1_detail *d,
				 const struct strand *s, size_t i, double *ret_slack)
{
	const struct points *p = &r->points;
	uint32_t token = p->object[i], tag = p->cpu_tag[i];
	double arrival, run_ns = w->no_runqueue ? 0 : (double)p->run_ns[i];

	if ((p->what[i] != POINT_WAIT && p->what[i] != POINT_ACQUIRE && p->what[i] != POINT_EITHER) || p->wait_ns[i] == NONE || d->source[token] == NONE ||
	    (p->what[i] == POINT_ACQUIRE && is_free(r, w, token)))
		return false;
	/* A strand's own arrival at a barrier is among what the barrier waits for. */
	if (d->source[token] >= s->first && d->source[token] < i)
		return false;
	arrival = i > s->first ? d->times[i - 1] : d->begins[s - r->strands];
	arrival += (double)p->cpu_ns[i] * (double)(w->times && tag < r->tag_n ? w->times[tag] : 1);
	*ret_slack = d->times[i] - run_ns - arrival;
	/* Given up: it waited as long as it would. */
	if (p->what[i] == POINT_EITHER) {
		const struct long_time *l = point_limit(r, i);
		double times = w->times && l->tag < r->tag_n ? (double)w->times[l->tag] : 1;

		if (*ret_slack >= (double)l->ns * times - 0.5)
			return false;
	}
	return *ret_slack > 0;
}

int path_find(const struct replay *r, const struct weights *w, const struct e1_detail *d, struct path *ret)
{
	struct path p = { .begin_ns = r->facts.begin_ns };
	uint32_t s = d->last;
	size_t last = s != NONE ? r->strands[s].first + r->strands[s].n - 1 : 0;

	while (s != NONE) {
		const struct strand *x = &r->strands[s];
		struct path_leg leg = { .strand = s, .last = last };
		uint32_t source = NONE;

		for (size_t i = last;; i--) {
			leg.first = i;
			if (is_decided_elsewhere(r, w, d, x, i, &leg.slack)) {
				source = d->source[r->points.object[i]];
				leg.jumped = true;
				break;
			}
			if (i == x->first) {
				source = x->token != NONE && x->slot != NONE ? d->source[x->token] : NONE;
				leg.jumped = source != NONE;
				leg.whole = true;
				leg.slack = leg.jumped ? INFINITY : 0;
				break;
			}
		}
		if (leg_add(&p, &leg) < 0) {
			path_done(&p);
			return -ENOMEM;
		}
		if (source == NONE)
			p.begin_ns = x->begin_ns;
		s = source != NONE ? strand_of_point(r, source) : NONE;
		last = source;
	}
	for (size_t i = 0; i < p.n / 2; i++) {
		struct path_leg leg = p.legs[i];

		p.legs[i] = p.legs[p.n - 1 - i];
		p.legs[p.n - 1 - i] = leg;
	}
	*ret = p;
	return 0;
}

void path_done(struct path *p)
{
	free(p->legs);
	*p = (struct path){ 0 };
}

double point_given_up_ns(const struct replay *r, const double *times, size_t i, bool no_runqueue)
{
	return times[i] - times[i - 1] - (no_runqueue ? 0 : (double)r->points.run_ns[i]);
}

void path_tags(const struct replay *r, const struct path *path, const struct weights *w, const double *times,
	       double *tag_ns)
{
	const struct points *p = &r->points;

	for (size_t k = 0; k < path->n; k++) {
		const struct path_leg *leg = &path->legs[k];

		for (size_t i = leg->first; i <= leg->last; i++) {
			uint32_t cpu = p->cpu_tag[i], delay;
			double ns;

			if ((i > leg->first || leg->whole) && cpu < r->tag_n)
				tag_ns[cpu] += point_cpu_ns(r, i) * (double)(w->times ? w->times[cpu] : 1);
			if (p->what[i] == POINT_EITHER && (i > leg->first || leg->whole) && point_limit(r, i)->tag < r->tag_n)
				tag_ns[point_limit(r, i)->tag] += point_given_up_ns(r, times, i, w->no_runqueue);
			if (point_delay(r, i, &ns, &delay) && delay < r->tag_n)
				tag_ns[delay] += ns * (double)(w->times ? w->times[delay] : 1);
		}
	}
}
