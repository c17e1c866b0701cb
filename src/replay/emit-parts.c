/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Strands are emitted in parts, each by a thread of its own and into a plan of
 * its own; then the plans are put together. What has a number by the order in
 * which it was met (a tag, a key) gets that which it would have had, had one
 * strand been emitted after the other: new ones of a part follow those of the
 * parts before it, in the order in which the part met them.
 *
 * That fails where there are so many tags that details are left out from some
 * point on: each part begins anew to count. Then all is done once more, in one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/emit.h"
#include "replay/tags.h"
#include "util/cleanup.h"
#include "util/crew.h"
#include "util/vec.h"

/* Waits and items of a part, at least. */
#define PART_LEAST 25000
enum { PARTS_MAX = 8 };

struct part {
	struct draft d;
	struct replay r;     /* of which what is emitted is the part's own */
	struct emit_samples samples; /* of which the hits are */
	struct tags tags;
	size_t from, to;     /* strands */
	uint32_t own_n;
	uint32_t *tag_as, *op_key_as, *strand_key_as; /* what its numbers are in the whole */
};

struct parts {
	struct part v[PARTS_MAX];
	size_t n;
	const struct emit_idents *idents;
};

/* What emitting makes; the caller's is the rest. */
static void emitted_free(struct replay *r)
{
	points_free(&r->points);
	free(r->longs);
	free(r->tags);
	free(r->op_keys);
	free(r->strand_keys);
}

static void emitted_move(struct replay *to, struct replay *from)
{
#define MOVE(member) (to->member = from->member, memset(&from->member, 0, sizeof(from->member)))
	MOVE(points);
	MOVE(longs);
	MOVE(long_n);
	MOVE(long_cap);
	MOVE(tags);
	MOVE(tag_n);
	MOVE(tag_cap);
	MOVE(op_keys);
	MOVE(op_key_n);
	MOVE(op_key_cap);
	MOVE(strand_keys);
	MOVE(strand_key_n);
	MOVE(strand_key_cap);
	MOVE(facts.unplaced_ns);
#undef MOVE
}

static void parts_done(struct parts *x)
{
	for (size_t i = 0; i < x->n; i++) {
		struct part *p = &x->v[i];

		emitted_free(&p->r);
		free(p->samples.hits);
		tags_done(&p->tags);
		free(p->tag_as);
		free(p->op_key_as);
		free(p->strand_key_as);
	}
}

/* What a strand is to be made of: of all before it. */
static size_t weight_before(const struct draft *d, size_t strand)
{
	return d->wait_first[strand] + d->item_first[strand];
}

static int part_init(struct part *p, const struct draft *d, const struct emit_samples *samples)
{
	struct replay none = { 0 };

	p->d = *d;
	p->r = *d->r;
	emitted_move(&p->r, &none);
	p->d.r = &p->r;
	p->samples = *samples;
	p->samples.hits = NULL;
	p->samples.hit_n = p->samples.hit_cap = 0;
	return tags_init(&p->tags, &p->r);
}

/* About as much to do for each. */
static int parts_init(struct parts *x, size_t n, const struct draft *d, const struct emit_samples *samples)
{
	size_t strand_n = d->r->strand_n, whole = weight_before(d, strand_n), s = 0;

	for (x->n = 0; x->n < n; x->n++) {
		struct part *p = &x->v[x->n];

		p->from = s;
		while (s < strand_n && (x->n + 1 == n || weight_before(d, s) < whole * (x->n + 1) / n))
			s++;
		p->to = s;
		if (part_init(p, d, samples) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int part_emit(void *arg, size_t i)
{
	struct parts *x = arg;
	struct part *p = &x->v[i];

	return emit_strands(&p->d, x->idents, p->from, p->to, &p->tags, &p->samples, &p->own_n);
}

/* The numbers of a part's keys and tags in the whole, which gets those that it lacks. own_n: such tags of the parts before. */
static int part_tags(struct part *p, struct tags *t, uint32_t own_n)
{
	struct replay *r = t->r;

	p->op_key_as = calloc(p->r.op_key_n + 1, sizeof(*p->op_key_as));
	p->strand_key_as = calloc(p->r.strand_key_n + 1, sizeof(*p->strand_key_as));
	p->tag_as = calloc(p->r.tag_n + 1, sizeof(*p->tag_as));
	if (!p->op_key_as || !p->strand_key_as || !p->tag_as)
		return -ENOMEM;
	for (size_t i = 0; i < p->r.op_key_n; i++) {
		if (tags_op_key(t, p->r.op_keys[i].kind, p->r.op_keys[i].class_id, &p->op_key_as[i]) < 0)
			return -ENOMEM;
	}
	for (size_t s = p->from; s < p->to; s++) {
		if (tags_strand_key(t, &r->strands[s], &p->strand_key_as[r->strands[s].key]) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < p->r.tag_n; i++) {
		const struct tag *x = &p->r.tags[i];
		struct tag key = *x;

		key.op_key = p->op_key_as[x->op_key];
		key.strand_key = p->strand_key_as[x->strand_key];
		key.own += x->own ? own_n : 0;
		key.ns = key.count = key.samples = 0;
		if (tags_intern(t, &key, &p->tag_as[i]) < 0)
			return -ENOMEM;
		r->tags[p->tag_as[i]].ns += x->ns;
		r->tags[p->tag_as[i]].count += x->count;
		r->tags[p->tag_as[i]].samples += x->samples;
	}
	return 0;
}

/* Appends n numbers of 32 bits, and frees where they were. */
static int words_append(uint32_t **to, size_t at, uint32_t **from, size_t n)
{
	uint32_t *v = reallocarray(*to, at + n + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	if (n)
		memcpy(v + at, *from, n * sizeof(*v));
	free(*from);
	*from = NULL;
	*to = v;
	return 0;
}

static int points_append(struct points *to, struct points *from)
{
	uint8_t *what = realloc(to->what, to->n + from->n + 1);

	if (!what)
		return -ENOMEM;
	to->what = what;
	to->cap = 0;
	if (from->n)
		memcpy(to->what + to->n, from->what, from->n);
	if (words_append(&to->cpu_ns, to->n, &from->cpu_ns, from->n) < 0 ||
	    words_append(&to->cpu_tag, to->n, &from->cpu_tag, from->n) < 0 ||
	    words_append(&to->wait_ns, to->n, &from->wait_ns, from->n) < 0 ||
	    words_append(&to->run_ns, to->n, &from->run_ns, from->n) < 0 ||
	    words_append(&to->lat_ns, to->n, &from->lat_ns, from->n) < 0 ||
	    words_append(&to->object, to->n, &from->object, from->n) < 0 ||
	    words_append(&to->ref, to->n, &from->ref, from->n) < 0)
		return -ENOMEM;
	to->n += from->n;
	to->cap = to->n + 1;
	return 0;
}

/* What points of a part refer to has other numbers now. */
static void points_renumber(struct replay *r, const struct part *p, size_t from, size_t long_from)
{
	struct points *x = &r->points;

	for (size_t i = from; i < x->n; i++) {
		if (x->cpu_tag[i] != NONE)
			x->cpu_tag[i] = p->tag_as[x->cpu_tag[i]];
		if (x->what[i] == POINT_DELAY)
			x->object[i] = p->tag_as[x->object[i]];
		else if (x->what[i] == POINT_LONG || x->what[i] == POINT_LIMIT)
			x->object[i] += (uint32_t)long_from;
	}
}

static int longs_append(struct replay *r, const struct part *p)
{
	if (VEC_RESERVE(r->longs, r->long_cap, r->long_n + p->r.long_n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < p->r.long_n; i++) {
		struct long_time x = p->r.longs[i];

		if (x.what == LONG_WAIT || x.what == LONG_LIMIT)
			x.tag = p->tag_as[x.tag];
		r->longs[r->long_n++] = x;
	}
	return 0;
}

static int part_append(struct replay *r, struct part *p, struct emit_samples *samples)
{
	size_t from = r->points.n, long_from = r->long_n;

	if (from + p->r.points.n > POINTS_MAX)
		return -E2BIG;
	if (points_append(&r->points, &p->r.points) < 0 || longs_append(r, p) < 0 ||
	    VEC_RESERVE(samples->hits, samples->hit_cap, samples->hit_n + p->samples.hit_n) < 0)
		return -ENOMEM;
	points_renumber(r, p, from, long_from);
	for (size_t i = 0; i < p->samples.hit_n; i++)
		samples->hits[samples->hit_n++] = (struct emit_hit){ .tag = p->tag_as[p->samples.hits[i].tag],
								     .sample = p->samples.hits[i].sample };
	for (size_t s = p->from; s < p->to; s++) {
		r->strands[s].first += from;
		r->strands[s].key = p->strand_key_as[r->strands[s].key];
	}
	r->facts.unplaced_ns += p->r.facts.unplaced_ns;
	return 0;
}

/* -EAGAIN: there are more tags than have details. */
static int parts_join(struct parts *x, struct draft *d, struct emit_samples *samples)
{
	struct part *first = &x->v[0];
	uint32_t own_n = first->own_n;
	int e = 0;

	/* Its numbers are those of the whole already. */
	first->d.r = first->tags.r = d->r;
	emitted_move(d->r, &first->r);
	for (size_t i = 1; i < x->n && e == 0; i++) {
		e = part_tags(&x->v[i], &first->tags, own_n);
		own_n += x->v[i].own_n;
	}
	if (e < 0 || d->r->tag_n >= TAGS_DETAILED_MAX) {
		/* Back where it is freed. */
		emitted_move(&first->r, d->r);
		return e < 0 ? e : -EAGAIN;
	}
	samples->hits = TAKE_PTR(first->samples.hits);
	samples->hit_n = first->samples.hit_n;
	samples->hit_cap = first->samples.hit_cap;
	for (size_t i = 1; i < x->n && e == 0; i++)
		e = part_append(d->r, &x->v[i], samples);
	return e;
}

static int emit_in_parts(struct draft *d, const struct emit_idents *idents, size_t n, struct emit_samples *samples)
{
	_cleanup_(parts_done) struct parts x = { .idents = idents };
	int e = parts_init(&x, n, d, samples);

	if (e == 0)
		e = crew_run(n, part_emit, &x);
	return e == 0 ? parts_join(&x, d, samples) : e;
}

static int emit_in_one(struct draft *d, const struct emit_idents *idents, struct emit_samples *samples)
{
	struct tags tags;
	uint32_t own_n;
	int e = tags_init(&tags, d->r);

	if (e < 0)
		return e;
	e = emit_strands(d, idents, 0, d->r->strand_n, &tags, samples, &own_n);
	tags_done(&tags);
	return e;
}

static int idents_weigh(const struct draft *d, struct emit_idents *x)
{
	const struct model *m = d->m;

	x->ns = calloc(strtab_n(m->strings) + 1, sizeof(*x->ns));
	if (!x->ns)
		return -ENOMEM;
	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		if (d->use[i] != USE_DELAY || w->blocked_ns <= 0)
			continue;
		x->blocked_ns += (uint64_t)w->blocked_ns;
		if (w->ident_id < strtab_n(m->strings))
			x->ns[w->ident_id] += (uint64_t)w->blocked_ns;
	}
	return 0;
}

static size_t parts_wanted(const struct draft *d)
{
	size_t most = weight_before(d, d->r->strand_n) / PART_LEAST, n = crew_size();

	n = d->part_n ? d->part_n : n < most ? n : most;
	return n < 1 ? 1 : n > PARTS_MAX ? PARTS_MAX : n;
}

int draft_emit(struct draft *d, struct emit_samples *samples)
{
	struct emit_idents idents = { 0 };
	size_t n = parts_wanted(d);
	int e = idents_weigh(d, &idents);

	if (e == 0)
		e = n > 1 ? emit_in_parts(d, &idents, n, samples) : -EAGAIN;
	if (e == -EAGAIN)
		e = emit_in_one(d, &idents, samples);
	free(idents.ns);
	/* When a clock is over says nothing of when an op is. */
	for (size_t s = 0; s < d->r->strand_n; s++) {
		if (d->r->strands[s].clock)
			d->r->strands[s].op = d->r->strands[s].process = 0;
	}
	return e;
}
