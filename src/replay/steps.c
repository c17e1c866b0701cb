/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "replay/steps.h"

#include <errno.h>
#include <stdlib.h>

/* Does a point say anything to anybody? */
static bool is_inert(const struct points *p, size_t i, bool no_runqueue)
{
	switch (p->what[i]) {
	case POINT_NONE:
	case POINT_OP_BEGIN:
	case POINT_OP_END:
	case POINT_LIMIT:
		return true;
	case POINT_RUNQ:
		return !p->lat_ns[i] || no_runqueue;
	default:
		return false;
	}
}

static size_t steps_count(const struct replay *r, bool all, bool no_runqueue)
{
	size_t n = 0;

	if (all)
		return r->points.n;
	for (size_t i = 0; i < r->points.n; i++)
		n += !is_inert(&r->points, i, no_runqueue);
	/* The last of a strand is one whatever it says. */
	return n + r->strand_n;
}

int steps_make(const struct replay *r, bool all, bool no_runqueue, struct steps *ret)
{
	const struct points *p = &r->points;
	struct steps s = { .v = malloc((steps_count(r, all, no_runqueue) + 1) * sizeof(*s.v)),
			   .first = malloc((r->strand_n + 1) * sizeof(*s.first)) };

	if (!s.v || !s.first) {
		steps_done(&s);
		return -ENOMEM;
	}
	for (size_t k = 0; k < r->strand_n; k++) {
		size_t end = r->strands[k].first + r->strands[k].n;

		s.first[k] = s.n;
		for (size_t i = r->strands[k].first; i < end; i++) {
			bool lock = p->what[i] == POINT_ACQUIRE || p->what[i] == POINT_RELEASE;

			if (!all && i + 1 < end && is_inert(p, i, no_runqueue))
				continue;
			s.v[s.n++] = (struct step){ .object = lock ? r->token_lock[p->object[i]] : p->object[i],
						    .lat_ns = p->lat_ns[i], .wait_ns = p->wait_ns[i],
						    .point = (uint32_t)i & 0xfffffff, .what = p->what[i] & 15 };
		}
	}
	s.first[r->strand_n] = s.n;
	*ret = s;
	return 0;
}

void steps_done(struct steps *s)
{
	free(s->v);
	free(s->first);
	*s = (struct steps){ 0 };
}

void steps_cpu(const struct replay *r, const struct steps *s, const float *times, double *ret)
{
	const struct points *p = &r->points;
	size_t i = 0;

	/* Strands lie one behind the other, and each ends with a step. */
	for (size_t k = 0; k < s->n; k++) {
		double ns = 0;

		for (; i <= s->v[k].point; i++) {
			uint32_t tag = p->cpu_tag[i];

			ns += times && tag < r->tag_n ? point_cpu_ns(r, i) * (double)times[tag] : point_cpu_ns(r, i);
		}
		ret[k] = ns;
	}
}
