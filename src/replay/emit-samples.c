/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include <errno.h>
#include <stdlib.h>

#include "replay/emit.h"
#include "util/cleanup.h"

static uint32_t sample_strand(const struct draft *d, const struct model_sample_time *t)
{
	uint32_t thread = t->sample < d->m->sample_n ? d->m->samples[t->sample].thread : 0;

	return draft_strand_at(d, thread, t->at_ns);
}

int emit_samples_init(const struct draft *d, struct emit_samples *ret)
{
	const struct model *m = d->m;
	struct emit_samples x = { .times = m->sample_times };
	size_t n = d->r->strand_n;
	_cleanup_(freep) size_t *next = calloc(n + 1, sizeof(*next));

	x.first = calloc(n + 2, sizeof(*x.first));
	x.order = malloc((m->sample_time_n + 1) * sizeof(*x.order));
	if (!next || !x.first || !x.order || m->sample_time_n > UINT32_MAX) {
		emit_samples_done(&x);
		return -ENOMEM;
	}
	for (size_t i = 0; i < m->sample_time_n; i++) {
		uint32_t s = sample_strand(d, &m->sample_times[i]);

		if (s != NONE)
			x.first[s + 1]++;
	}
	for (size_t s = 0; s < n; s++) {
		x.first[s + 1] += x.first[s];
		next[s] = x.first[s];
	}
	for (size_t i = 0; i < m->sample_time_n; i++) {
		uint32_t s = sample_strand(d, &m->sample_times[i]);

		if (s != NONE)
			x.order[next[s]++] = (uint32_t)i;
	}
	*ret = x;
	return 0;
}

void emit_samples_done(struct emit_samples *x)
{
	free(x->order);
	free(x->first);
	free(x->hits);
	*x = (struct emit_samples){ 0 };
}
