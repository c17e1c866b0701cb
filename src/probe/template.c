/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* A value that several texts use is fetched once: equal ones are one entry of the definition's values. */
#include "probe/template.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/vec.h"

#define CHUNKS_MAX 32
#define CHOICES_MAX 16
#define WORD_BYTES_MAX 32

static bool expr_equal(const struct expr *a, const struct expr *b)
{
	if (a->base != b->base || a->moment != b->moment || a->number != b->number || a->index != b->index ||
	    a->bytes != b->bytes || !a->literal != !b->literal || (a->literal && strcmp(a->literal, b->literal) != 0) ||
	    a->step_n != b->step_n || a->type != b->type || a->type_bytes != b->type_bytes || a->bit_n != b->bit_n ||
	    a->bit_at != b->bit_at || a->format != b->format)
		return false;
	for (size_t i = 0; i < a->step_n; i++) {
		const struct expr_step *x = &a->steps[i], *y = &b->steps[i];

		if (x->kind != y->kind || x->offset != y->offset || !x->name != !y->name ||
		    (x->name && strcmp(x->name, y->name) != 0))
			return false;
	}
	return true;
}

static bool value_equal(const struct value *a, const struct value *b)
{
	if (a->alternative_n != b->alternative_n || a->as_number != b->as_number)
		return false;
	for (size_t i = 0; i < a->alternative_n; i++)
		if (!expr_equal(&a->alternatives[i], &b->alternatives[i]))
			return false;
	return true;
}

static int values_add(struct source *s, struct values *values, const struct value *v, const char *text, size_t text_n,
		      uint32_t *ret)
{
	struct value copy = *v;

	for (size_t i = 0; i < values->n; i++)
		if (value_equal(&values->v[i], v)) {
			*ret = (uint32_t)i;
			return 0;
		}
	while (text_n && (text[text_n - 1] == ' ' || text[text_n - 1] == '\t'))
		text_n--;
	copy.text = pool_copy(s->pool, text, text_n);
	if (!copy.text || VEC_RESERVE(values->v, values->cap, values->n + 1) < 0)
		return -ENOMEM;
	*ret = (uint32_t)values->n;
	values->v[values->n++] = copy;
	return 0;
}

struct filling {
	struct source *source;
	const struct names *names;
	struct values *values;
	struct chunk chunks[CHUNKS_MAX];
	size_t chunk_n;
};

static int chunk_add(struct filling *f, struct chunk chunk)
{
	if (f->chunk_n == CHUNKS_MAX)
		return source_refuse(f->source, "a text of more than %d parts", CHUNKS_MAX);
	f->chunks[f->chunk_n++] = chunk;
	return 0;
}

/* The literal up to the next value, "{{" and "}}" made one brace. */
static int literal_parse(struct filling *f, const char **at)
{
	const char *s = *at;
	size_t n = 0;
	char *text = pool_alloc(f->source->pool, strlen(s) + 1);

	if (!text)
		return -ENOMEM;
	while (*s) {
		if ((*s == '{' || *s == '}') && s[1] == *s)
			s++;
		else if (*s == '{')
			break;
		else if (*s == '}')
			return source_refuse(f->source, "'%.20s': '}' without a '{' before it ('}}' is the character)",
					     s);
		text[n++] = *s++;
	}
	*at = s;
	return n ? chunk_add(f, (struct chunk){.kind = CHUNK_LITERAL, .literal = text}) : 0;
}

static const char *blanks_skip(const char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	return s;
}

static bool sign_take(const char **at, const char *sign)
{
	const char *s = blanks_skip(*at);

	if (strncmp(s, sign, strlen(sign)) != 0)
		return false;
	*at = s + strlen(sign);
	return true;
}

/* What stands behind "&&": text for where the value before it is there. */
static int suffix_parse(struct filling *f, const char **at)
{
	const char *start = blanks_skip(*at);
	struct value v;
	int r;

	*at = start;
	r = value_parse(f->source, f->names, at, &v);
	if (r < 0)
		return r;
	if (v.alternative_n != 1 || v.alternatives[0].base != EXPR_WORD)
		return source_refuse(f->source, "'%.20s': a text was expected behind '&&', as in \\\":\"", start);
	return chunk_add(f, (struct chunk){.kind = CHUNK_LITERAL, .when = PROBE_WHEN_SOME,
					   .literal = v.alternatives[0].literal});
}

static int alternative_parse(struct filling *f, const char **at, enum probe_when when)
{
	struct chunk chunk = {.kind = CHUNK_VALUE, .when = when};
	const char *start = *at = blanks_skip(*at);
	struct value v;
	int r = value_parse(f->source, f->names, at, &v);

	if (r == 0)
		r = values_add(f->source, f->values, &v, start, (size_t)(*at - start), &chunk.value);
	if (r == 0)
		r = chunk_add(f, chunk);
	if (r == 0 && sign_take(at, "&&"))
		r = suffix_parse(f, at);
	return r;
}

static int hole_parse(struct filling *f, const char **at)
{
	const char *start = ++*at;
	struct chunk chunk = {.kind = CHUNK_VALUE};
	enum probe_when when = PROBE_WHEN_ALWAYS;
	int r;

	chunk.kind = !strncmp(start, "$symbol}", 8) ? CHUNK_SYMBOL
		     : !strncmp(start, "$name}", 6) ? CHUNK_NAME
		     : !strncmp(start, "$file}", 6) ? CHUNK_FILE
						    : CHUNK_VALUE;
	if (chunk.kind != CHUNK_VALUE) {
		*at = strchr(start, '}') + 1;
		return chunk_add(f, chunk);
	}
	do {
		r = alternative_parse(f, at, when);
		when = PROBE_WHEN_NONE;
	} while (r == 0 && sign_take(at, "||"));
	if (r < 0)
		return r;
	*at = blanks_skip(*at);
	if (**at != '}')
		return source_refuse(f->source, "'{%.*s': '}' was expected before '%.20s'", (int)(*at - start), start,
				     *at);
	++*at;
	return 0;
}

int template_parse(struct source *s, const struct names *names, struct values *values, const char *text,
		   struct template *ret)
{
	struct filling f = {.source = s, .names = names, .values = values};
	const char *at = text;
	int r = 0;

	while (*at && r == 0)
		r = *at == '{' && at[1] != '{' ? hole_parse(&f, &at) : literal_parse(&f, &at);
	if (r < 0)
		return r;
	ret->v = pool_alloc(s->pool, f.chunk_n * sizeof(*f.chunks));
	if (!ret->v)
		return -ENOMEM;
	memcpy(ret->v, f.chunks, f.chunk_n * sizeof(*f.chunks));
	ret->n = f.chunk_n;
	ret->line = s->line;
	return 0;
}

/* A comparison, or none: then the value is to be not 0. */
static int comparison_parse(struct source *s, const char **at, struct choice *c)
{
	static const struct {
		const char *sign;
		enum probe_cmp cmp;
	} signs[] = {{"==", PROBE_EQ}, {"!=", PROBE_NE}, {"<=", PROBE_LE}, {">=", PROBE_GE},
		     {"<", PROBE_LT},  {">", PROBE_GT},	 {"=", PROBE_EQ}};
	static const struct {
		const char *word;
		int64_t number;
	} constants[] = {{"nil", 0}, {"NULL", 0}, {"false", 0}, {"true", 1}};
	char *end;
	size_t n;

	*at = blanks_skip(*at);
	c->cmp = PROBE_NE;
	c->than = 0;
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		if (strncmp(*at, signs[i].sign, strlen(signs[i].sign)) != 0)
			continue;
		c->cmp = (uint8_t)signs[i].cmp;
		*at = blanks_skip(*at + strlen(signs[i].sign));
		n = expr_word_len(*at);
		for (size_t k = 0; k < sizeof(constants) / sizeof(*constants); k++)
			if (strlen(constants[k].word) == n && !memcmp(*at, constants[k].word, n)) {
				c->than = constants[k].number;
				*at = blanks_skip(*at + n);
				return 0;
			}
		errno = 0;
		c->than = strtoll(*at, &end, 0);
		if (end == *at || errno || isspace((unsigned char)**at))
			return source_refuse(s, "'%.20s': a number was expected behind '%s'", *at, signs[i].sign);
		*at = blanks_skip(end);
		return 0;
	}
	return 0;
}

static int test_parse(struct source *s, const struct names *names, struct values *values, const char **at,
		      struct choice *ret)
{
	const char *start = *at = blanks_skip(*at);
	struct value v;
	int r = value_parse(s, names, at, &v);

	if (r < 0)
		return r;
	v.as_number = true;
	for (size_t i = 0; i < v.alternative_n; i++)
		if (v.alternatives[i].type >= EXPR_STRING || v.alternatives[i].base == EXPR_WORD)
			return source_refuse(s, "'%.*s': only numbers can be compared", (int)(*at - start), start);
	r = values_add(s, values, &v, start, (size_t)(*at - start), &ret->value);
	return r < 0 ? r : comparison_parse(s, at, ret);
}

static bool keyword(const char **at, const char *word)
{
	const char *s = blanks_skip(*at);
	size_t n = strlen(word);

	if (strncmp(s, word, n) != 0 || expr_word_len(s + n) != 0)
		return false;
	*at = s + n;
	return true;
}

static int choices_keep(struct source *s, const struct choice *v, size_t n, struct choices *ret)
{
	ret->v = pool_alloc(s->pool, n * sizeof(*v));
	if (!ret->v)
		return -ENOMEM;
	memcpy(ret->v, v, n * sizeof(*v));
	ret->n = n;
	ret->line = s->line;
	return 0;
}

static int choice_parse(struct source *s, const struct names *names, struct values *values, const char **at,
			int (*word)(const char *word, uint8_t *ret), const char *words, struct choice *ret)
{
	char name[WORD_BYTES_MAX] = "";
	size_t n;

	*at = blanks_skip(*at);
	n = expr_word_len(*at);
	if (n < sizeof(name))
		memcpy(name, *at, n);
	if (!n || word(name, &ret->word) < 0)
		return source_refuse(s, "'%.*s': one of %s was expected", n ? (int)n : 20, *at, words);
	*at += n;
	if (keyword(at, "if"))
		return test_parse(s, names, values, at, ret);
	ret->cmp = PROBE_ALWAYS;
	return 0;
}

int choices_parse(struct source *s, const struct names *names, struct values *values, const char *text,
		  int (*word)(const char *word, uint8_t *ret), const char *words, struct choices *ret)
{
	struct choice v[CHOICES_MAX] = {0};
	const char *at = text;
	size_t n = 0;

	for (;;) {
		int r;

		if (n == CHOICES_MAX)
			return source_refuse(s, "more than %d choices", CHOICES_MAX);
		if (n && v[n - 1].cmp == PROBE_ALWAYS)
			return source_refuse(s, "'%.20s': never chosen, for what is before it has no condition",
					     blanks_skip(at));
		r = choice_parse(s, names, values, &at, word, words, &v[n]);
		if (r < 0)
			return r;
		n++;
		at = blanks_skip(at);
		if (*at != ',')
			break;
		at++;
	}
	if (*at)
		return source_refuse(s, "'%.20s': a comma or the end of the line was expected", at);
	return choices_keep(s, v, n, ret);
}

int condition_parse(struct source *s, const struct names *names, struct values *values, const char *text,
		    struct choices *ret)
{
	struct choice v[CHOICES_MAX] = {0};
	const char *at = text;
	size_t n = 0;

	do {
		int r;

		if (n == CHOICES_MAX)
			return source_refuse(s, "more than %d conditions", CHOICES_MAX);
		r = test_parse(s, names, values, &at, &v[n]);
		if (r < 0)
			return r;
		v[n++].word = 1;
	} while (keyword(&at, "or"));
	at = blanks_skip(at);
	if (*at)
		return source_refuse(s, "'%.20s': 'or' or the end of the line was expected", at);
	return choices_keep(s, v, n, ret);
}
