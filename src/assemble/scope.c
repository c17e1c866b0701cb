/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * An op matches by its kind, class and names. Those of a point may need values
 * of the exit: such an op is recorded with all that is under it, and taken out
 * again at the end (compact.c) if it turns out not to match.
 */
#include "assemble/scope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct scope {
	char *class, *name; /* NULL: any */
	enum op_kind kind;  /* OP_KIND_MAX: any */
};

struct scope *assemble_scope_free(struct scope *s)
{
	if (!s)
		return NULL;
	free(s->class);
	free(s->name);
	free(s);
	return NULL;
}
DEFINE_CLEANUP(struct scope *, assemble_scope_free)

/* "*" and nothing are any. */
static int word_copy(const char *word, size_t n, char **ret)
{
	if (!n || (n == 1 && *word == '*'))
		return 0;
	*ret = strndup(word, n);
	return *ret ? 0 : -ENOMEM;
}

/* The colon that ends a class; two in a row are within a name of C++ or Rust. NULL: none. */
static const char *class_end(const char *s)
{
	for (s = strchr(s, ':'); s && s[1] == ':'; s = strchr(s + 2, ':'))
		;
	return s;
}

int assemble_scope_new(const char *only, struct scope **ret)
{
	_cleanup_(assemble_scope_freep) struct scope *s = calloc(1, sizeof(*s));
	const char *colon = strchr(only, ':'), *end;
	char kind[32];

	if (!s)
		return -ENOMEM;
	if (!colon || !colon[1] || (size_t)(colon - only) >= sizeof(kind))
		return -EINVAL;
	memcpy(kind, only, (size_t)(colon - only));
	kind[colon - only] = 0;
	s->kind = OP_KIND_MAX;
	if (strcmp(kind, "*") != 0 && op_kind_parse(kind, &s->kind) < 0)
		return -EINVAL;
	end = class_end(colon + 1);
	if (word_copy(colon + 1, end ? (size_t)(end - colon - 1) : strlen(colon + 1), &s->class) < 0 ||
	    (end && word_copy(end + 1, strlen(end + 1), &s->name) < 0))
		return -ENOMEM;
	*ret = TAKE_PTR(s);
	return 0;
}

/* Does a text that can be made now say this word? */
static int text_ask(struct assemble *a, const struct assemble_text *t, const struct hit_values *v, const char *word,
		    enum scope_verdict *ret)
{
	if (assemble_text_is_late(t)) {
		*ret = SCOPE_LATER;
		return 0;
	}
	if (assemble_text_make(a, t, v) < 0)
		return -ENOMEM;
	*ret = a->text.n == strlen(word) && (!a->text.n || memcmp(a->text.text, word, a->text.n) == 0) ? SCOPE_YES :
													  SCOPE_NO;
	return 0;
}

static int class_ask(struct assemble *a, const struct point *p, const struct hit_values *v, enum scope_verdict *ret)
{
	*ret = SCOPE_YES;
	if (!a->scope->class)
		return 0;
	if (p->p.class.piece_n)
		return text_ask(a, &p->p.class, v, a->scope->class, ret);
	*ret = strcmp(p->p.name, a->scope->class) == 0 ? SCOPE_YES : SCOPE_NO;
	return 0;
}

int assemble_scope_ask(struct assemble *a, const struct point *p, const struct hit_values *v, enum scope_verdict *ret)
{
	enum scope_verdict class, ident = SCOPE_YES, client = SCOPE_YES;
	const struct scope *s = a->scope;

	*ret = SCOPE_NO;
	if (s->kind != OP_KIND_MAX && s->kind != p->p.kind)
		return 0;
	if (class_ask(a, p, v, &class) < 0)
		return -ENOMEM;
	if (s->name && (text_ask(a, &p->p.ident, v, s->name, &ident) < 0 ||
			text_ask(a, &p->p.client, v, s->name, &client) < 0))
		return -ENOMEM;
	if (class == SCOPE_NO || (ident == SCOPE_NO && client == SCOPE_NO))
		return 0;
	*ret = class == SCOPE_YES && (ident == SCOPE_YES || client == SCOPE_YES) ? SCOPE_YES : SCOPE_LATER;
	return 0;
}

bool assemble_scope_has(const struct assemble *a, uint32_t op)
{
	const struct model_op *o = &a->m->ops[op];
	const struct strtab *t = a->m->strings;
	const struct scope *s = a->scope;

	return (s->kind == OP_KIND_MAX || s->kind == o->kind) &&
	       (!s->class || strcmp(strtab_str(t, o->class_id), s->class) == 0) &&
	       (!s->name || strcmp(strtab_str(t, o->ident_id), s->name) == 0 ||
		strcmp(strtab_str(t, o->client_id), s->name) == 0);
}

bool assemble_in_scope(const struct assemble *a, const struct strand *s, uint32_t thread)
{
	if (!a->scope)
		return true;
	if (s)
		return assemble_strand_place(a, s, 0).in_scope;
	return a->processes[a->m->threads[thread].process].in_scope;
}
