/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Of a definition's values those that can be fetched here get a slot each, in
 * order. What is said by values that can't is left out and told; only what
 * decides whether an op is recorded must be there.
 */
#include <errno.h>
#include <string.h>

#include "probe/plan.h"

struct slots {
	struct planning *p;
	const struct binding *b;
	const char *symbol;
	struct meaning *m;
	struct slot {
		bool bound;
		struct bound v;
		int8_t index; /* as a piece has it */
		struct objfile_why why;
	} * v; /* of each value of the definition */
};

static int slots_fill(struct slots *s)
{
	const struct values *values = &s->b->d->values;
	int8_t *slots = pool_alloc(s->b->pool, values->n);

	if (!slots)
		return -ENOMEM;
	s->m->slots = slots;
	for (size_t i = 0; i < values->n; i++) {
		struct slot *slot = &s->v[i];
		bool exit = values->v[i].at_exit;
		int r = bind_value(s->b, &values->v[i], &slot->v, &slot->why);

		if (r == -ENOMEM)
			return r;
		slot->bound = r == 0;
		slots[i] = -1;
		if (r < 0 || slot->v.constant)
			continue;
		slot->index = (int8_t)(s->m->fetch_n[exit] + (exit ? WCBPF_FETCHES_MAX : 0));
		slots[i] = slot->index;
		s->m->fetch[exit][s->m->fetch_n[exit]++] = slot->v.fetch;
		s->m->needs |= slot->v.needs;
	}
	return 0;
}

static int failure_note(struct slots *s, unsigned int line, const char *key, const struct slot *slot,
			enum probe_severity severity)
{
	const struct value *v = &s->b->d->values.v[slot - s->v];
	const char *place = plan_place(s->p, s->b->d, line);

	if (!place)
		return -ENOMEM;
	return plan_note(s->p, severity, place, s->symbol, "%s: {%s} is left out: %s", key, v->text, slot->why.text);
}

/* "setupNetwork" of "pkg.(*Client).setupNetwork", "f" of "ns::f". */
static const char *last_part(const char *symbol)
{
	const char *last = symbol;

	for (const char *at = symbol; *at && *at != '<' && *at != '['; at++)
		if ((at[0] == '.' || at[0] == ':' || at[0] == '/') && at[1] && !strchr(".:/(", at[1]))
			last = at + 1;
	return last;
}

static int piece_make(struct slots *s, const struct chunk *c, struct probe_piece *ret)
{
	const char *path = s->b->file->o->path, *slash = strrchr(path, '/');
	const struct slot *slot = c->kind == CHUNK_VALUE ? &s->v[c->value] : NULL;
	struct probe_piece piece = {.value = -1, .literal = c->literal};

	if (c->kind == CHUNK_SYMBOL)
		piece.literal = s->symbol;
	else if (c->kind == CHUNK_NAME)
		piece.literal = last_part(s->symbol);
	else if (c->kind == CHUNK_FILE)
		piece.literal = pool_string(s->b->pool, slash ? slash + 1 : path);
	else if (slot && slot->v.constant)
		piece.literal = slot->v.is_word ? slot->v.word
						: pool_printf(s->b->pool, "%lld", (long long)slot->v.number);
	else if (slot)
		piece = (struct probe_piece){.value = slot->index, .format = (uint8_t)slot->v.format};
	if (piece.value < 0 && !piece.literal)
		return -ENOMEM;
	*ret = piece;
	return 0;
}

/* Is there another to take the place of t->v[i], which can't be had? */
static bool has_other(const struct template *t, size_t i, bool found)
{
	if (found)
		return true;
	for (i++; i < t->n && t->v[i].when != PROBE_WHEN_ALWAYS; i++)
		if (t->v[i].when == PROBE_WHEN_NONE)
			return true;
	return false;
}

/*
 * A text with a value that can't be had would name something else: it is left out as a whole, unless there is another
 * in its place. 0, -ENOMEM.
 */
static int text_make(struct slots *s, const char *key, const struct template *t, struct probe_text *ret)
{
	struct probe_piece *v = pool_alloc(s->b->pool, t->n * sizeof(*v));
	bool found = false, skipped = false; /* of this group: one that can be had; the last one can't */
	size_t n = 0;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		const struct chunk *c = &t->v[i];
		const struct slot *slot = c->kind == CHUNK_VALUE ? &s->v[c->value] : NULL;

		if (c->when == PROBE_WHEN_ALWAYS)
			found = false;
		if (c->when == PROBE_WHEN_SOME && skipped)
			continue;
		skipped = slot && !slot->bound;
		if (skipped && !has_other(t, i, found))
			return failure_note(s, t->line, key, slot, PROBE_CAVEAT);
		if (skipped)
			continue;
		if (piece_make(s, c, &v[n]) < 0)
			return -ENOMEM;
		/* Its group begins with the first that can be had. */
		v[n++].when = (uint8_t)(found ? c->when : PROBE_WHEN_ALWAYS);
		found = true;
	}
	ret->v = v;
	ret->n = n;
	return 0;
}

static bool compares(int64_t a, uint8_t cmp, int64_t b)
{
	switch ((enum probe_cmp)cmp) {
	case PROBE_ALWAYS:
		return true;
	case PROBE_EQ:
		return a == b;
	case PROBE_NE:
		return a != b;
	case PROBE_LT:
		return a < b;
	case PROBE_GT:
		return a > b;
	case PROBE_LE:
		return a <= b;
	case PROBE_GE:
		return a >= b;
	}
	return false;
}

/* Constants are decided here. *ret_lost: choices whose value can't be had. */
static int choices_make(struct slots *s, const char *key, const struct choices *choices, struct probe_choices *ret,
			size_t *ret_lost)
{
	struct probe_choice *v = pool_alloc(s->b->pool, choices->n * sizeof(*v));
	size_t n = 0, lost = 0;
	int r;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < choices->n; i++) {
		const struct choice *c = &choices->v[i];
		const struct slot *slot = c->cmp == PROBE_ALWAYS ? NULL : &s->v[c->value];
		struct probe_choice *to = &v[n];

		*to = (struct probe_choice){.value = -1, .cmp = PROBE_ALWAYS, .word = c->word, .than = c->than};
		if (slot && !slot->bound) {
			r = failure_note(s, choices->line, key, slot, PROBE_CAVEAT);
			if (r < 0)
				return r;
			lost++;
			continue;
		}
		if (slot && slot->v.constant && !compares(slot->v.number, c->cmp, c->than))
			continue;
		if (slot && !slot->v.constant) {
			to->value = slot->index;
			to->cmp = c->cmp;
		}
		n++;
	}
	ret->v = v;
	ret->n = n;
	*ret_lost = lost;
	return 0;
}

static int texts_make(struct slots *s)
{
	const struct definition *d = s->b->d;
	struct probe_point *point = &s->m->point;
	const struct {
		const char *key;
		const struct template *from;
		struct probe_text *to;
	} texts[] = {
		{"class", &d->class, &point->class},
		{"ident", &d->ident, &point->ident},
		{"client", &d->client, &point->client},
		{"meta", &d->meta, &point->meta},
		{"key", &d->key, &point->key},
		{"target", &d->target, &point->target},
		{"resource", &d->resource, &point->resource},
		{"trace", &d->trace, &point->trace},
		{"span", &d->span, &point->span},
		{"under", &d->under, &point->under},
		{"nested", &d->nested, &point->nested},
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(texts) / sizeof(*texts); i++)
		r = text_make(s, texts[i].key, texts[i].from, texts[i].to);
	return r;
}

/* An op without its class is called as its definition. */
static int class_default(struct slots *s)
{
	struct probe_piece *piece;

	if (s->m->point.class.n || !s->b->d->class.n || s->b->d->role == PROBE_KEY)
		return 0;
	piece = pool_alloc(s->b->pool, sizeof(*piece));
	if (!piece)
		return -ENOMEM;
	*piece = (struct probe_piece){.literal = s->m->point.name, .value = -1};
	s->m->point.class = (struct probe_text){.v = piece, .n = 1};
	return 0;
}

static int choices_all(struct slots *s, size_t *ret_lost_only)
{
	const struct definition *d = s->b->d;
	struct probe_point *point = &s->m->point;
	size_t lost;
	int r = choices_make(s, "outcome", &d->outcome, &point->outcome, &lost);

	if (r == 0)
		r = choices_make(s, "reason", &d->reason, &point->reason, &lost);
	if (r == 0)
		r = choices_make(s, "only", &d->only, &point->only, ret_lost_only);
	return r;
}

int meaning_make(struct planning *p, const struct binding *b, const char *place, struct meaning *ret)
{
	const struct definition *d = b->d;
	struct meaning m = {0};
	struct slots s = {.p = p, .b = b, .m = &m, .symbol = b->fn ? b->fn->name : b->marker->name};
	size_t lost_only = 0;
	int r;

	s.v = pool_alloc(b->pool, d->values.n * sizeof(*s.v));
	if (!s.v)
		return -ENOMEM;
	m.point = (struct probe_point){.name = d->name,
				       .place = place,
				       .role = d->role,
				       .kind = d->kind,
				       .work = d->work,
				       .wait_kind = d->wait_kind,
				       .contended = d->contended,
				       .hosts = d->hosts,
				       .root = d->root,
				       .once = d->once,
				       .inherits_class = d->inherits_class,
				       .inherits_client = d->inherits_client};
	r = slots_fill(&s);
	if (r == 0)
		r = texts_make(&s);
	if (r == 0)
		r = choices_all(&s, &lost_only);
	if (r == 0)
		r = class_default(&s);
	if (r < 0)
		return r;
	if (lost_only || (d->only.n && !m.point.only.n))
		return plan_note(p, PROBE_CAVEAT, place, s.symbol,
				 "not probed: whether it is to be recorded can't be known "
				 "('only')");
	if ((d->key.n && !m.point.key.n && d->role != PROBE_OP) || (d->under.n && !m.point.under.n) ||
	    (d->role == PROBE_KEY && d->target.n && !m.point.target.n) ||
	    (d->trace.n && (!m.point.trace.n || !m.point.span.n)))
		return plan_note(p, PROBE_CAVEAT, place, s.symbol, "not probed: what it is known by can't be had");
	*ret = m;
	return 1;
}
