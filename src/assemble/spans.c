/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A program begins a span for a piece of work, inside the function that does
 * it. Many begin while an op is the innermost, most of them for parts of it: a
 * span is the op's only if it covers it, but for the little that lies before
 * its start and after its end. Of several the first, which encloses the others.
 *
 * What lies there is little code, but the CPU may be taken away in the middle of
 * it, for longer than many a part of an op: so only the time that it ran counts.
 */
#include "assemble/spans.h"

#include <errno.h>
#include <stdlib.h>

#include "util/vec.h"

/* Of an op outside its span, while it ran: so long, or a tenth. */
#define OUTSIDE_NS_MAX 200000ll

struct span {
	struct span_ids ids;
	int64_t start_ns, end_ns; /* end -1: open */
	uint32_t op;
	uint32_t next; /* of the same hash, 0: none */
};

struct spans {
	struct span *items; /* entry 0 is blank */
	size_t n, cap;
	struct map *hashes;
};

bool assemble_span_hex(const struct buffer *text, uint8_t *ret, size_t n)
{
	uint8_t any = 0;

	if (text->n != 2 * n)
		return false;
	for (size_t i = 0; i < 2 * n; i++) {
		char c = text->text[i];
		int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
			    c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;

		if (digit < 0)
			return false;
		ret[i / 2] = (uint8_t)(i % 2 ? ret[i / 2] << 4 | digit : digit);
		any |= (uint8_t)digit;
	}
	return any;
}

static int spans_make(struct assemble *a)
{
	if (a->spans)
		return 0;
	a->spans = calloc(1, sizeof(*a->spans));
	if (!a->spans || VEC_RESERVE(a->spans->items, a->spans->cap, 1) < 0 || map_new(&a->spans->hashes) < 0)
		return -ENOMEM;
	a->spans->items[a->spans->n++] = (struct span){ 0 };
	return 0;
}

int assemble_span_begin(struct assemble *a, const struct span_ids *ids, uint32_t op, uint64_t time_ns)
{
	uint64_t hash = assemble_hash(ids, sizeof(*ids)), first = 0;
	struct spans *s;

	if (spans_make(a) < 0)
		return -ENOMEM;
	s = a->spans;
	map_get(s->hashes, hash, &first);
	if (s->n >= UINT32_MAX || VEC_RESERVE(s->items, s->cap, s->n + 1) < 0 || map_put(s->hashes, hash, s->n) < 0)
		return -ENOMEM;
	s->items[s->n++] = (struct span){ .ids = *ids, .start_ns = assemble_relative(a, time_ns), .end_ns = -1,
					  .op = op, .next = (uint32_t)first };
	return 0;
}

int assemble_span_end(struct assemble *a, const struct span_ids *ids, uint64_t time_ns)
{
	uint64_t hash = assemble_hash(ids, sizeof(*ids)), first = 0;

	if (!a->spans)
		return 0;
	map_get(a->spans->hashes, hash, &first);
	for (uint32_t i = (uint32_t)first; i; i = a->spans->items[i].next) {
		struct span *s = &a->spans->items[i];

		if (s->end_ns < 0 && memcmp(&s->ids, ids, sizeof(*ids)) == 0) {
			s->end_ns = assemble_relative(a, time_ns);
			return 0;
		}
	}
	return 0;
}

/* When an op was ready and did not run: its waits of that kind, chained. */
struct unready {
	uint32_t *first; /* by op: wait index, 0: none */
	uint32_t *next;	 /* by wait */
};

static void unready_done(struct unready *u)
{
	free(u->first);
	free(u->next);
}

static int unready_init(struct unready *u, const struct model *m)
{
	u->first = calloc(m->op_n, sizeof(*u->first));
	u->next = calloc(m->wait_n, sizeof(*u->next));
	if (!u->first || !u->next)
		return -ENOMEM;
	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		if (m->rows[w->row].reason != REASON_CPU)
			continue;
		u->next[i] = u->first[w->op];
		u->first[w->op] = (uint32_t)i;
	}
	return 0;
}

/* How long the op ran between the two. */
static int64_t ran_ns(const struct unready *u, const struct model *m, uint32_t op, int64_t from_ns, int64_t to_ns)
{
	int64_t ran = to_ns > from_ns ? to_ns - from_ns : 0;

	for (uint32_t i = u->first[op]; i && ran; i = u->next[i]) {
		const struct model_wait *w = &m->waits[i];
		int64_t start_ns = w->start_ns > from_ns ? w->start_ns : from_ns;
		int64_t end_ns = w->end_ns < to_ns ? w->end_ns : to_ns;

		if (end_ns > start_ns)
			ran -= end_ns - start_ns < ran ? end_ns - start_ns : ran;
	}
	return ran;
}

static bool covers(const struct span *s, const struct model *m, const struct unready *u, int64_t end_ns)
{
	const struct model_op *o = &m->ops[s->op];
	int64_t length_ns = o->end_ns - o->start_ns, span_end_ns = s->end_ns < 0 ? end_ns : s->end_ns;
	int64_t outside_ns;

	/* One that goes on after its op is of more than that. */
	if (span_end_ns > o->end_ns + OUTSIDE_NS_MAX)
		return s->end_ns < 0 && o->open;
	outside_ns = ran_ns(u, m, s->op, o->start_ns, s->start_ns) + ran_ns(u, m, s->op, span_end_ns, o->end_ns);
	return outside_ns <= OUTSIDE_NS_MAX || outside_ns <= length_ns / 10;
}

int assemble_spans_finish(struct assemble *a, uint64_t end_ns, bool over)
{
	struct model *m = a->m;
	_cleanup_(unready_done) struct unready unready = {0};
	_cleanup_(freep) uint8_t *taken = NULL;
	int64_t end = assemble_relative(a, end_ns);
	uint32_t index;
	int r;

	if (!a->spans)
		return 0;
	taken = calloc(m->op_n, sizeof(*taken));
	if (!taken || unready_init(&unready, m) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < a->spans->n; i++) {
		const struct span *s = &a->spans->items[i];

		if ((!over && m->ops[s->op].open) || taken[s->op] || !covers(s, m, &unready, end))
			continue;
		r = model_span_add(m, &index);
		if (r == -ENOSPC)
			continue;
		if (r < 0)
			return r;
		taken[s->op] = 1;
		m->spans[index].op = s->op;
		memcpy(m->spans[index].trace, s->ids.trace, sizeof(s->ids.trace));
		memcpy(m->spans[index].span, s->ids.span, sizeof(s->ids.span));
	}
	return 0;
}

void assemble_spans_flush(struct assemble *a)
{
	struct spans *s = a->spans;
	size_t kept = 1;

	if (!s)
		return;
	map_clear(s->hashes);
	for (size_t i = 1; i < s->n; i++) {
		struct span x = s->items[i];
		uint64_t hash = assemble_hash(&x.ids, sizeof(x.ids)), first = 0;

		if (!a->m->ops[x.op].open && !a->m->ops[x.op].late)
			continue;
		map_get(s->hashes, hash, &first);
		x.next = (uint32_t)first;
		/* The map keeps its memory, and was larger. */
		map_put(s->hashes, hash, kept);
		s->items[kept++] = x;
	}
	s->n = kept;
}

void assemble_spans_mark(const struct assemble *a)
{
	for (size_t i = 1; a->spans && i < a->spans->n; i++)
		a->op_marks[a->spans->items[i].op] = 1;
}

void assemble_spans_free(struct assemble *a)
{
	if (!a->spans)
		return;
	map_free(a->spans->hashes);
	free(a->spans->items);
	free(a->spans);
}
