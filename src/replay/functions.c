/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "replay/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

/* With fewer samples than this a tag's own say too little. */
#define TAG_SAMPLES_MIN 5
/* Tags with less than this part of all time are left out: they can't matter, and there may be a million. */
#define TAG_NS_PART 10000000

/* A number of samples of one stack pair. */
struct weight {
	uint32_t sample;
	uint32_t n;
};

/* Samples of several tags put together: first by op, strand and lock, then by strand alone. */
struct pool {
	struct weight *v;
	size_t n, cap;
	uint64_t total;
};

struct sharer {
	struct replay *r;
	struct functions *f;
	struct function_shares *out;
	uint32_t *stamps; /* by function: the last stack pair that it was met in */
	size_t stamp_cap;
	uint32_t stamp;
	double *sums; /* by function: of the tag at work */
	size_t sum_cap;
	uint32_t *met; /* functions of the tag at work */
	size_t met_n, met_cap;
	struct pool *by_op, *by_strand;
	struct map *op_pools; /* op_key, strand_key, lock hashed -> by_op */
	size_t op_pool_n, op_pool_cap;
};

static void pools_free(struct pool *pools, size_t n)
{
	for (size_t i = 0; pools && i < n; i++)
		free(pools[i].v);
	free(pools);
}

static void sharer_done(struct sharer *x)
{
	free(x->stamps);
	free(x->sums);
	free(x->met);
	pools_free(x->by_op, x->op_pool_n);
	pools_free(x->by_strand, x->r->strand_key_n);
	map_free(x->op_pools);
}

static int function_index(struct functions *f, const struct model_frame *frame, uint32_t *ret)
{
	uint64_t key = (uint64_t)frame->module << 32 | frame->name_id, at;

	if (!map_get(f->index, key, &at)) {
		if (VEC_RESERVE(f->v, f->cap, f->n + 1) < 0 || map_put(f->index, key, f->n) < 0)
			return -ENOMEM;
		at = f->n;
		f->v[f->n++] = (struct function){ .module = frame->module, .name_id = frame->name_id };
	}
	*ret = (uint32_t)at;
	return 0;
}

/* New room of the two arrays by function is blank. */
static int function_room(struct sharer *x, size_t n)
{
	size_t stamp_cap = x->stamp_cap, sum_cap = x->sum_cap;

	if (VEC_RESERVE(x->stamps, x->stamp_cap, n) < 0 || VEC_RESERVE(x->sums, x->sum_cap, n) < 0)
		return -ENOMEM;
	memset(x->stamps + stamp_cap, 0, (x->stamp_cap - stamp_cap) * sizeof(*x->stamps));
	for (size_t i = sum_cap; i < x->sum_cap; i++)
		x->sums[i] = 0;
	return 0;
}

/* Each function of a user stack once, however often it recurs: adds weight to its sum. */
static int stack_add(struct sharer *x, uint32_t stack, double weight)
{
	const struct model *m = x->r->m;
	const struct model_stack *s = &m->stacks[stack < m->stack_n ? stack : 0];

	x->stamp++;
	for (uint32_t i = 0; i < s->frame_n; i++) {
		uint32_t f;

		if (!s->frames[i].name_id)
			continue;
		if (function_index(x->f, &s->frames[i], &f) < 0 || function_room(x, x->f->n) < 0)
			return -ENOMEM;
		if (x->stamps[f] == x->stamp)
			continue;
		x->stamps[f] = x->stamp;
		if (x->sums[f] == 0) {
			if (VEC_RESERVE(x->met, x->met_cap, x->met_n + 1) < 0)
				return -ENOMEM;
			x->met[x->met_n++] = f;
		}
		x->sums[f] += weight;
	}
	return 0;
}

/* What was added up becomes shares of the tag. */
static int sums_put(struct sharer *x, uint32_t tag, double total)
{
	for (size_t i = 0; i < x->met_n; i++) {
		double share = x->sums[x->met[i]] / total;

		if (VEC_RESERVE(x->out->v, x->out->cap, x->out->n + 1) < 0)
			return -ENOMEM;
		x->out->v[x->out->n++] = (struct function_share){ .function = x->met[i], .tag = tag,
								  .share = share > 1 ? 1 : (float)share };
		x->sums[x->met[i]] = 0;
	}
	x->met_n = 0;
	return 0;
}

static int pool_add(struct pool *p, uint32_t sample, uint32_t n)
{
	if (VEC_RESERVE(p->v, p->cap, p->n + 1) < 0)
		return -ENOMEM;
	p->v[p->n++] = (struct weight){ .sample = sample, .n = n };
	p->total += n;
	return 0;
}

static int by_tag_and_sample(const void *a, const void *b)
{
	const struct emit_hit *x = a, *y = b;

	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static uint64_t op_pool_key(const struct tag *t)
{
	uint64_t h = ((uint64_t)t->op_key << 32 | t->strand_key) * UINT64_C(0xff51afd7ed558ccd);

	return (h ^ h >> 29 ^ t->lock) * UINT64_C(0xc4ceb9fe1a85ec53);
}

static int op_pool(struct sharer *x, const struct tag *t, struct pool **ret)
{
	uint64_t key = op_pool_key(t), at;

	if (!map_get(x->op_pools, key, &at)) {
		if (VEC_RESERVE(x->by_op, x->op_pool_cap, x->op_pool_n + 1) < 0 ||
		    map_put(x->op_pools, key, x->op_pool_n) < 0)
			return -ENOMEM;
		at = x->op_pool_n;
		x->by_op[x->op_pool_n++] = (struct pool){ 0 };
	}
	*ret = &x->by_op[at];
	return 0;
}

/* Hits go to their op's pool and their strands'; where samples have no times these have all of their threads'. */
static int pools_fill(struct sharer *x, const struct emit_samples *samples)
{
	const struct model *m = x->r->m;
	struct pool *p;

	x->by_strand = calloc(x->r->strand_key_n + 1, sizeof(*x->by_strand));
	if (!x->by_strand || map_new(&x->op_pools) < 0)
		return -ENOMEM;
	for (size_t i = 0, next; i < samples->hit_n; i = next) {
		const struct emit_hit *h = &samples->hits[i];

		for (next = i; next < samples->hit_n && samples->hits[next].tag == h->tag &&
			       samples->hits[next].sample == h->sample;)
			next++;
		if (op_pool(x, &x->r->tags[h->tag], &p) < 0 || pool_add(p, h->sample, (uint32_t)(next - i)) < 0 ||
		    pool_add(&x->by_strand[x->r->tags[h->tag].strand_key], h->sample, (uint32_t)(next - i)) < 0)
			return -ENOMEM;
	}
	for (size_t i = 1; i < m->sample_n && !samples->hit_n; i++) {
		uint32_t s = m->samples[i].thread < m->thread_n ? x->r->strand_of_thread[m->samples[i].thread] : NONE;
		uint64_t n = m->samples[i].count < UINT32_MAX ? m->samples[i].count : UINT32_MAX;

		if (s != NONE && x->r->strands[s].key < x->r->strand_key_n &&
		    pool_add(&x->by_strand[x->r->strands[s].key], (uint32_t)i, (uint32_t)n) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int pool_put(struct sharer *x, const struct pool *p, uint32_t tag)
{
	for (size_t i = 0; i < p->n; i++) {
		if (stack_add(x, x->r->m->samples[p->v[i].sample].ustack, p->v[i].n) < 0)
			return -ENOMEM;
	}
	return p->total ? sums_put(x, tag, (double)p->total) : 0;
}

/* hits: those of the tag, n of them. */
static int tag_put(struct sharer *x, uint32_t tag, const struct emit_hit *hits, size_t n)
{
	const struct tag *t = &x->r->tags[tag];
	const struct model *m = x->r->m;
	struct pool *p;

	if (t->row == TAG_UNPLACED)
		return 0;
	if (t->row) {
		if (stack_add(x, m->rows[t->row < m->row_n ? t->row : 0].ustack, 1) < 0)
			return -ENOMEM;
		return sums_put(x, tag, 1);
	}
	if (n < TAG_SAMPLES_MIN) {
		if (op_pool(x, t, &p) < 0)
			return -ENOMEM;
		return pool_put(x, p->total >= TAG_SAMPLES_MIN ? p : &x->by_strand[t->strand_key], tag);
	}
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i; next < n && hits[next].sample == hits[i].sample;)
			next++;
		if (stack_add(x, m->samples[hits[i].sample].ustack, (double)(next - i)) < 0)
			return -ENOMEM;
	}
	return sums_put(x, tag, (double)n);
}

int functions_share(struct replay *r, struct emit_samples *samples, struct functions *f, struct function_shares *ret)
{
	_cleanup_(sharer_done) struct sharer x = { .r = r, .f = f, .out = ret };
	uint64_t all_ns = 0;

	if (map_new(&f->index) < 0)
		return -ENOMEM;
	if (samples->hit_n)
		qsort(samples->hits, samples->hit_n, sizeof(*samples->hits), by_tag_and_sample);
	if (pools_fill(&x, samples) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < r->tag_n; i++)
		all_ns += r->tags[i].ns;
	for (size_t tag = 0, hit = 0; tag < r->tag_n; tag++) {
		size_t from = hit;

		while (hit < samples->hit_n && samples->hits[hit].tag == tag)
			hit++;
		if (r->tags[tag].ns > all_ns / TAG_NS_PART &&
		    tag_put(&x, (uint32_t)tag, samples->hits ? samples->hits + from : NULL, hit - from) < 0)
			return -ENOMEM;
	}
	return 0;
}

void replay_functions_done(struct functions *f)
{
	map_free(f->index);
	free(f->v);
	*f = (struct functions){ 0 };
}
