/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A point is never changed once it is set: what is open was opened by it, and
 * is closed by its rules. One that replaces it stands before it in a chain.
 *
 * Values come from the memory of the traced program: any bytes, any length up
 * to the event's, and nothing of it is believed but that it was read.
 */
#include "assemble/points.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Behind a string of which only the beginning was read. */
#define CUT "\xe2\x80\xa6"

static const struct value *value_at(const struct hit_values *v, int8_t number)
{
	bool late = number >= ASSEMBLE_EXIT_VALUE;
	const struct values *from = late ? v->exit : v->entry;
	uint32_t i = (uint32_t)(late ? number - ASSEMBLE_EXIT_VALUE : number);

	return from && number >= 0 && i < from->n && !from->v[i].error ? &from->v[i] : NULL;
}

static bool is_string(const struct value *v)
{
	return v->type == WCBPF_VALUE_STRING || v->type == WCBPF_VALUE_GO_STRING;
}

/* Of a number its low bytes; as two's complement. */
static uint64_t number_of(const struct value *v)
{
	uint64_t n = 0;
	uint16_t len = v->len < 8 ? v->len : 8;

	for (uint16_t i = 0; i < len; i++)
		n |= (uint64_t)v->bytes[i] << 8 * i;
	if (v->type == WCBPF_VALUE_INT && len && len < 8 && n >> (8 * len - 1) & 1)
		n |= UINT64_MAX << 8 * len;
	return n;
}

int assemble_values_read(const struct wcbpf_op *e, struct values *ret)
{
	struct values v = { .n = e->value_n };
	size_t at = 0;

	if (e->value_n > WCBPF_FETCHES_MAX || e->data_len > WCBPF_OP_DATA_MAX ||
	    e->head.size < offsetof(struct wcbpf_op, data) + e->data_len)
		return -EBADMSG;
	for (uint32_t i = 0; i < v.n; i++) {
		struct wcbpf_value head;

		if (e->data_len - at < sizeof(head))
			return -EBADMSG;
		memcpy(&head, e->data + at, sizeof(head));
		at += sizeof(head);
		/* The padding of the last one may be left out. */
		if (e->data_len - at < head.len)
			return -EBADMSG;
		v.v[i] = (struct value){ .bytes = e->data + at, .len = head.len, .total = head.total,
					 .type = head.type, .error = head.error || !head.type };
		at += (head.len + 7u) & ~7u;
		at = at < e->data_len ? at : e->data_len;
	}
	*ret = v;
	return 0;
}

int assemble_values_keep(const struct values *v, struct values **ret)
{
	size_t bytes = 0, at = 0;
	struct values *copy;
	uint8_t *data;

	for (uint32_t i = 0; i < v->n; i++)
		bytes += v->v[i].len;
	copy = malloc(sizeof(*copy) + bytes);
	if (!copy)
		return -ENOMEM;
	*copy = *v;
	data = (uint8_t *)(copy + 1);
	for (uint32_t i = 0; i < v->n; i++) {
		memcpy(data + at, v->v[i].bytes, v->v[i].len);
		copy->v[i].bytes = data + at;
		at += v->v[i].len;
	}
	*ret = copy;
	return 0;
}

static int hex_add(struct buffer *b, const struct value *v)
{
	static const char digits[] = "0123456789abcdef";

	for (uint16_t i = 0; i < v->len; i++) {
		const char pair[] = { digits[v->bytes[i] >> 4], digits[v->bytes[i] & 15] };

		if (buffer_add(b, pair, sizeof(pair)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int value_add(struct buffer *b, const struct value *v, uint8_t format)
{
	char number[24];
	int n;

	if (v->type == WCBPF_VALUE_BYTES || (is_string(v) && format == ASSEMBLE_FORMAT_HEX))
		return hex_add(b, v);
	if (is_string(v)) {
		if (buffer_add(b, (const char *)v->bytes, strnlen((const char *)v->bytes, v->len)) < 0)
			return -ENOMEM;
		return v->total > v->len ? buffer_add(b, CUT, strlen(CUT)) : 0;
	}
	if (format == ASSEMBLE_FORMAT_HEX)
		n = snprintf(number, sizeof(number), "%" PRIx64, number_of(v));
	else if (format == ASSEMBLE_FORMAT_POINTER)
		n = snprintf(number, sizeof(number), "0x%" PRIx64, number_of(v));
	else if (v->type == WCBPF_VALUE_INT)
		n = snprintf(number, sizeof(number), "%" PRId64, (int64_t)number_of(v));
	else
		n = snprintf(number, sizeof(number), "%" PRIu64, number_of(v));
	return buffer_add(b, number, (size_t)n);
}

int assemble_text_make(struct assemble *a, const struct assemble_text *t, const struct hit_values *v)
{
	size_t group = 0, last = 0; /* where they begin */

	a->text.n = 0;
	for (size_t i = 0; i < t->piece_n; i++) {
		const struct assemble_piece *piece = &t->pieces[i];
		const struct value *value = value_at(v, piece->value);
		bool written = a->text.n > last;
		int r = 0;

		group = piece->when == ASSEMBLE_WHEN_ALWAYS ? a->text.n : group;
		last = a->text.n;
		if ((piece->when == ASSEMBLE_WHEN_NONE && a->text.n > group) ||
		    (piece->when == ASSEMBLE_WHEN_SOME && !written))
			continue;
		if (piece->value < 0)
			r = buffer_add(&a->text, piece->literal, strlen(piece->literal));
		else if (value)
			r = value_add(&a->text, value, piece->format);
		if (r < 0)
			return r;
	}
	return 0;
}

int assemble_text_intern(struct assemble *a, const struct assemble_text *t, const struct hit_values *v, uint32_t *ret)
{
	if (!t->piece_n) {
		*ret = 0;
		return 0;
	}
	if (assemble_text_make(a, t, v) < 0)
		return -ENOMEM;
	return strtab_intern_n(a->m->strings, a->text.text, a->text.n ? strnlen(a->text.text, a->text.n) : 0, ret);
}

static bool number_holds(uint8_t cmp, int64_t value, int64_t than)
{
	switch (cmp) {
	case ASSEMBLE_EQ:
		return value == than;
	case ASSEMBLE_NE:
		return value != than;
	case ASSEMBLE_LT:
		return value < than;
	case ASSEMBLE_GT:
		return value > than;
	case ASSEMBLE_LE:
		return value <= than;
	case ASSEMBLE_GE:
		return value >= than;
	default:
		return false;
	}
}

bool assemble_choice_find(const struct assemble_choices *c, const struct hit_values *v, uint8_t *ret)
{
	for (size_t i = 0; i < c->choice_n; i++) {
		const struct assemble_choice *x = &c->choices[i];
		const struct value *value = value_at(v, x->value);
		bool holds = x->cmp == ASSEMBLE_ALWAYS;

		if (!holds && value && is_string(value))
			holds = number_holds(x->cmp, value->total > value->len ? value->total : value->len, x->than);
		else if (!holds && value && value->type != WCBPF_VALUE_BYTES)
			holds = number_holds(x->cmp, (int64_t)number_of(value), x->than);
		if (holds) {
			*ret = x->word;
			return true;
		}
	}
	return false;
}

/* ---- setting ---- */

static bool text_uses(const struct assemble_text *t, bool late)
{
	for (size_t i = 0; i < t->piece_n; i++) {
		if (t->pieces[i].value >= 0 && (t->pieces[i].value >= ASSEMBLE_EXIT_VALUE) == late)
			return true;
	}
	return false;
}

bool assemble_text_is_late(const struct assemble_text *t)
{
	return text_uses(t, true);
}

static bool choices_use(const struct assemble_choices *c, bool late)
{
	for (size_t i = 0; i < c->choice_n; i++) {
		if (c->choices[i].cmp != ASSEMBLE_ALWAYS && (c->choices[i].value >= ASSEMBLE_EXIT_VALUE) == late)
			return true;
	}
	return false;
}

static void text_free(struct assemble_text *t)
{
	for (size_t i = 0; i < t->piece_n; i++)
		free((void *)t->pieces[i].literal);
	free((void *)t->pieces);
	*t = (struct assemble_text){ 0 };
}

static int text_copy(struct assemble_text *ret, const struct assemble_text *t)
{
	struct assemble_piece *pieces;

	if (!t->piece_n)
		return 0;
	pieces = calloc(t->piece_n, sizeof(*pieces));
	if (!pieces)
		return -ENOMEM;
	*ret = (struct assemble_text){ .pieces = pieces };
	for (size_t i = 0; i < t->piece_n; i++, ret->piece_n++) {
		pieces[i] = t->pieces[i];
		pieces[i].literal = strdup(t->pieces[i].value < 0 && t->pieces[i].literal ? t->pieces[i].literal : "");
		if (!pieces[i].literal)
			return -ENOMEM;
	}
	return 0;
}

static int choices_copy(struct assemble_choices *ret, const struct assemble_choices *c)
{
	if (!c->choice_n)
		return 0;
	ret->choices = reallocarray(NULL, c->choice_n, sizeof(*c->choices));
	if (!ret->choices)
		return -ENOMEM;
	memcpy((void *)ret->choices, c->choices, c->choice_n * sizeof(*c->choices));
	ret->choice_n = c->choice_n;
	return 0;
}

enum { TEXT_N = 11 };

static void texts_of(struct assemble_point *p, struct assemble_text *ret[TEXT_N])
{
	struct assemble_text *const texts[TEXT_N] = { &p->class,  &p->ident,	&p->client, &p->meta, &p->key,
						      &p->target, &p->resource, &p->trace,  &p->span,
						      &p->under,  &p->nested };

	memcpy(ret, texts, sizeof(texts));
}

static struct point *point_free(struct point *x)
{
	struct assemble_text *texts[TEXT_N];

	texts_of(&x->p, texts);
	for (size_t i = 0; i < TEXT_N; i++)
		text_free(texts[i]);
	free((void *)x->p.outcome.choices);
	free((void *)x->p.reason.choices);
	free((void *)x->p.only.choices);
	free((void *)x->p.name);
	free((void *)x->p.wait_kind);
	free(x);
	return NULL;
}
DEFINE_CLEANUP(struct point *, point_free)

static bool values_fit(const struct assemble_point *p)
{
	struct assemble_point copy = *p;
	struct assemble_text *texts[TEXT_N];
	const struct assemble_choices *const choices[] = { &p->outcome, &p->reason, &p->only };
	const unsigned words[] = { OP_OUTCOME_MAX, REASON_MAX, UINT8_MAX + 1 };

	texts_of(&copy, texts);
	for (size_t i = 0; i < TEXT_N; i++) {
		for (size_t k = 0; k < texts[i]->piece_n; k++) {
			if (texts[i]->pieces[k].value >= ASSEMBLE_VALUES_MAX ||
			    texts[i]->pieces[k].format > ASSEMBLE_FORMAT_POINTER ||
			    texts[i]->pieces[k].when > ASSEMBLE_WHEN_SOME)
				return false;
		}
	}
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		for (size_t k = 0; k < choices[i]->choice_n; k++) {
			if (choices[i]->choices[k].value >= ASSEMBLE_VALUES_MAX ||
			    choices[i]->choices[k].cmp > ASSEMBLE_GE || choices[i]->choices[k].word >= words[i])
				return false;
		}
	}
	return p->role <= ASSEMBLE_ROLE_SPAN_END && p->kind < OP_KIND_MAX && p->work < WORK_TYPE_MAX;
}

static void timing_set(struct point *x)
{
	const struct assemble_choices *const choices[] = { &x->p.outcome, &x->p.reason, &x->p.only };
	struct assemble_text *texts[TEXT_N];
	bool early = false, late = false;

	texts_of(&x->p, texts);
	for (size_t i = 0; i < TEXT_N; i++) {
		early |= text_uses(texts[i], false);
		late |= text_uses(texts[i], true);
	}
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		early |= choices_use(choices[i], false);
		late |= choices_use(choices[i], true);
	}
	x->late_only = choices_use(&x->p.only, true);
	x->acts_at_exit = x->p.role == ASSEMBLE_ROLE_BEGIN || x->p.role == ASSEMBLE_ROLE_SPAN ||
			  ((x->p.role == ASSEMBLE_ROLE_END || x->p.role == ASSEMBLE_ROLE_KEY ||
			    x->p.role == ASSEMBLE_ROLE_SPAN_END) && late);
	/* An outcome is always of the exit, and may ask for a value of the entry; so may what acts there. */
	x->keeps_entry = early && (late || x->acts_at_exit || choices_use(&x->p.outcome, false) ||
				   choices_use(&x->p.reason, false) || x->p.role == ASSEMBLE_ROLE_WAIT ||
				   x->p.role == ASSEMBLE_ROLE_LOCK);
}

static int point_copy(const struct assemble_point *p, struct point **ret)
{
	_cleanup_(point_freep) struct point *x = calloc(1, sizeof(*x));
	struct assemble_point from = *p;
	struct assemble_text *texts[TEXT_N], *copies[TEXT_N];

	if (!x)
		return -ENOMEM;
	x->p.role = p->role;
	x->p.kind = p->kind;
	x->p.work = p->work;
	x->p.contended = p->contended;
	x->p.hosts = p->hosts;
	x->p.root = p->root;
	x->p.once = p->once;
	x->p.inherits_class = p->inherits_class;
	x->p.inherits_client = p->inherits_client;
	x->p.shared_exits = p->shared_exits;
	x->p.entry_repeats = p->entry_repeats;
	x->p.name = strdup(p->name ?: "");
	x->p.wait_kind = p->wait_kind ? strdup(p->wait_kind) : NULL;
	if (!x->p.name || (p->wait_kind && !x->p.wait_kind))
		return -ENOMEM;
	texts_of(&from, texts);
	texts_of(&x->p, copies);
	for (size_t i = 0; i < TEXT_N; i++) {
		if (text_copy(copies[i], texts[i]) < 0)
			return -ENOMEM;
	}
	if (choices_copy(&x->p.outcome, &p->outcome) < 0 || choices_copy(&x->p.reason, &p->reason) < 0 ||
	    choices_copy(&x->p.only, &p->only) < 0)
		return -ENOMEM;
	timing_set(x);
	*ret = TAKE_PTR(x);
	return 0;
}

int assemble_point_set(struct assemble *a, uint32_t point, const struct assemble_point *p)
{
	_cleanup_(point_freep) struct point *x = NULL;

	if (!point || point >= WCBPF_POINTS_MAX || !values_fit(p))
		return -EINVAL;
	if (point_copy(p, &x) < 0 || VEC_RESERVE(a->points, a->point_cap, point + 1) < 0)
		return -ENOMEM;
	while (a->point_n <= point)
		a->points[a->point_n++] = NULL;
	x->number = point;
	x->replaced = a->points[point];
	a->points[point] = TAKE_PTR(x);
	return 0;
}

const struct point *assemble_point_at(const struct assemble *a, uint32_t number)
{
	return number < a->point_n ? a->points[number] : NULL;
}

void assemble_points_free(struct assemble *a)
{
	for (size_t i = 0; i < a->point_n; i++) {
		for (struct point *x = a->points[i], *next; x; x = next) {
			next = x->replaced;
			point_free(x);
		}
	}
	free(a->points);
}
