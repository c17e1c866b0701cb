/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The notation is linear: one start, then steps. Kernel notation writes steps
 * from the outside, "+0(+8(%si))", field paths from the inside, "$arg1->a.b";
 * both become one list, so that they mix: "+8($arg1->a)".
 */
#include "probe/expression.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define NESTING_MAX 16

struct cursor {
	struct source *source;
	const struct names *names;
	const char *at;
	unsigned int depth;
};

size_t expr_word_len(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n;
}

static void blanks_skip(struct cursor *c)
{
	while (*c->at == ' ' || *c->at == '\t')
		c->at++;
}

/* A number as the kernel takes it: decimal, 0x hex; minus only where allowed. -EINVAL: told. */
static int number_parse(struct cursor *c, bool negative, int64_t *ret)
{
	const char *start = c->at;
	char *end;
	unsigned long long v;
	bool minus = negative && *c->at == '-';

	if (minus)
		c->at++;
	if (!isdigit((unsigned char)*c->at))
		return source_refuse(c->source, "'%.20s': a number was expected", start);
	errno = 0;
	v = strtoull(c->at, &end, c->at[0] == '0' && (c->at[1] | 0x20) == 'x' ? 16 : 10);
	if (errno || (minus && v > (unsigned long long)INT64_MAX + 1))
		return source_refuse(c->source, "'%.*s': this number is too large", (int)(end - start), start);
	c->at = end;
	*ret = minus ? (int64_t)(0 - v) : (int64_t)v;
	return 0;
}

static int step_add(struct cursor *c, struct expr *e, struct expr_step step)
{
	if (e->step_n == EXPR_STEPS_MAX)
		return source_refuse(c->source, "more than %d steps in one value", EXPR_STEPS_MAX);
	e->steps[e->step_n++] = step;
	return 0;
}

/* A name among n; -1. */
static int name_find(const char *const *names, size_t n, const char *s, size_t s_n)
{
	for (size_t i = 0; i < n; i++)
		if (names[i] && strlen(names[i]) == s_n && !memcmp(names[i], s, s_n))
			return (int)i;
	return -1;
}

static int register_parse(struct cursor *c, struct expr *e)
{
	size_t n = expr_word_len(++c->at);
	uint8_t reg;

	if (expr_register(c->at, n, &reg, &e->bytes) < 0)
		return source_refuse(c->source,
				     "%%%.*s: no register that a probe can read (%%ax %%bx %%cx %%dx %%si %%di "
				     "%%bp %%sp %%r8 to %%r15)",
				     (int)n, c->at);
	e->base = EXPR_REG;
	e->number = reg;
	c->at += n;
	return 0;
}

/* The number behind $arg, $ret or $stack: from 1 (of $stack from 0) up. */
static int numbered(struct cursor *c, const char *word, size_t n, size_t prefix, uint32_t *ret)
{
	unsigned long v = 0;

	for (size_t i = prefix; i < n; i++) {
		if (!isdigit((unsigned char)word[i]) || n - prefix > 3)
			return source_refuse(c->source, "$%.*s: no such variable", (int)n, word);
		v = v * 10 + (unsigned long)(word[i] - '0');
	}
	*ret = (uint32_t)v;
	return 0;
}

static int stack_variable(struct cursor *c, struct expr *e, const char *word, size_t n)
{
	uint32_t slot;
	int r;

	e->base = EXPR_SP;
	if (n == 5)
		return 0;
	r = numbered(c, word, n, 5, &slot);
	return r < 0 ? r : step_add(c, e, (struct expr_step){.kind = EXPR_DEREF, .offset = (int32_t)slot * 8});
}

static int variable_parse(struct cursor *c, struct expr *e)
{
	const char *word = c->at + 1;
	size_t n = expr_word_len(word);
	uint32_t index;
	int r;

	c->at += 1 + n;
	if (n >= 5 && !strncmp(word, "stack", 5))
		return stack_variable(c, e, word, n);
	if (n == 6 && !strncmp(word, "retval", 6)) {
		e->base = EXPR_RESULT;
		e->index = 0;
		return 0;
	}
	if (n == 4 && !strncmp(word, "comm", 4))
		return source_refuse(c->source,
				     "$comm: the thread's name is no value of a probe; ops carry their thread");
	if (n > 3 && (!strncmp(word, "arg", 3) || !strncmp(word, "ret", 3))) {
		r = numbered(c, word, n, 3, &index);
		if (r < 0)
			return r;
		if (!index)
			return source_refuse(c->source, "$%.*s: arguments and results are counted from 1", (int)n,
					     word);
		e->base = word[0] == 'a' ? EXPR_ARG : EXPR_RESULT;
		e->index = index - 1;
		return 0;
	}
	return source_refuse(c->source, "$%.*s: no such variable ($argN, $retval, $retN, $stack, $stackN)", (int)n,
			     word);
}

static int immediate_parse(struct cursor *c, struct expr *e)
{
	const char *end;

	c->at++;
	if (*c->at != '"') {
		e->base = EXPR_CONST;
		return number_parse(c, true, &e->number);
	}
	end = strchr(++c->at, '"');
	if (!end)
		return source_refuse(c->source, "\\\"%s: the text has no end", c->at);
	e->base = EXPR_WORD;
	e->literal = pool_copy(c->source->pool, c->at, (size_t)(end - c->at));
	c->at = end + 1;
	return e->literal ? 0 : -ENOMEM;
}

static int address_parse(struct cursor *c, struct expr *e)
{
	c->at++;
	e->base = EXPR_ADDR;
	if (*c->at == '+' || !isdigit((unsigned char)*c->at))
		return source_refuse(c->source,
				     "@%.20s: an address of the file was expected, as nm prints it (@0x4c2040)", c->at);
	return number_parse(c, false, &e->number);
}

static int name_parse(struct cursor *c, struct expr *e)
{
	size_t n = expr_word_len(c->at);
	const char *word = c->at;
	int i;

	c->at += n;
	i = name_find(c->names->lets, c->names->let_n, word, n);
	if (i >= 0) {
		e->base = EXPR_LET;
		e->index = (uint32_t)i;
		return 0;
	}
	i = name_find(c->names->args, c->names->arg_n, word, n);
	if (i >= 0) {
		e->base = EXPR_ARG;
		e->index = (uint32_t)i;
		return 0;
	}
	i = name_find(c->names->results, c->names->result_n, word, n);
	if (i >= 0) {
		e->base = EXPR_RESULT;
		e->index = (uint32_t)i;
		return 0;
	}
	if (c->names->stated)
		return source_refuse(c->source, "%.*s: neither a name in args or results nor one given by let", (int)n,
				     word);
	e->base = EXPR_NAME;
	e->literal = pool_copy(c->source->pool, word, n);
	return e->literal ? 0 : -ENOMEM;
}

static int inner_parse(struct cursor *c, struct expr *e);

/* "+8(X)", "-u8(X)": u asks for user memory, which is all there is here. */
static int deref_parse(struct cursor *c, struct expr *e)
{
	bool minus = *c->at == '-';
	int64_t offset;
	int r;

	c->at++;
	if (*c->at == 'u')
		c->at++;
	r = number_parse(c, false, &offset);
	if (r < 0)
		return r;
	if (offset < 0 || offset > INT32_MAX)
		return source_refuse(c->source, "%c%lld: this offset is too large", minus ? '-' : '+',
				     (long long)offset);
	if (*c->at != '(')
		return source_refuse(c->source, "'(' was expected behind the offset %lld", (long long)offset);
	c->at++;
	if (++c->depth > NESTING_MAX)
		return source_refuse(c->source, "more than %d nested parentheses", NESTING_MAX);
	r = inner_parse(c, e);
	if (r < 0)
		return r;
	c->depth--;
	blanks_skip(c);
	if (*c->at != ')')
		return source_refuse(c->source, "')' is missing before '%.20s'", c->at);
	c->at++;
	return step_add(c, e, (struct expr_step){.kind = EXPR_DEREF, .offset = (int32_t)(minus ? -offset : offset)});
}

static int field_parse(struct cursor *c, struct expr *e, enum expr_step_kind kind)
{
	struct expr_step step = {.kind = kind};
	size_t n;

	c->at += kind == EXPR_DOT ? 1 : 2;
	n = expr_word_len(c->at);
	if (!n)
		return source_refuse(c->source, "'%.20s': a field's name was expected", c->at);
	step.name = pool_copy(c->source->pool, c->at, n);
	if (!step.name)
		return -ENOMEM;
	c->at += n;
	return step_add(c, e, step);
}

static int index_parse(struct cursor *c, struct expr *e)
{
	int64_t index;
	int r;

	c->at++;
	r = number_parse(c, false, &index);
	if (r < 0)
		return r;
	if (*c->at != ']' || index < 0 || index > INT32_MAX)
		return source_refuse(c->source, "[%lld: an index and ']' were expected", (long long)index);
	c->at++;
	return step_add(c, e, (struct expr_step){.kind = EXPR_INDEX, .offset = (int32_t)index});
}

static int cast_parse(struct cursor *c, struct expr *e)
{
	struct expr_step step = {.kind = EXPR_CAST};
	const char *end = strchr(++c->at, '}');

	if (!end || end == c->at)
		return source_refuse(c->source, "{%.20s: a type and '}' were expected", c->at);
	step.name = pool_copy(c->source->pool, c->at, (size_t)(end - c->at));
	if (!step.name)
		return -ENOMEM;
	c->at = end + 1;
	return step_add(c, e, step);
}

static int fields_parse(struct cursor *c, struct expr *e)
{
	for (;;) {
		int r;

		if (*c->at == '.')
			r = field_parse(c, e, EXPR_DOT);
		else if (!strncmp(c->at, "->", 2))
			r = field_parse(c, e, EXPR_ARROW);
		else if (*c->at == '[')
			r = index_parse(c, e);
		else if (*c->at == '{')
			r = cast_parse(c, e);
		else
			return 0;
		if (r < 0)
			return r;
	}
}

/* A let within a larger value: it stands for what it was given. */
static int let_inline(struct cursor *c, struct expr *e)
{
	const struct value *v = &c->names->let_values[e->index];

	if (v->alternative_n != 1 || v->alternatives[0].type != EXPR_UNTYPED)
		return source_refuse(c->source,
				     "%s: only a name that was given one value without a type can be part of another",
				     c->names->lets[e->index]);
	*e = v->alternatives[0];
	return 0;
}

static int inner_parse(struct cursor *c, struct expr *e)
{
	int r;

	blanks_skip(c);
	e->bytes = 8;
	if (*c->at == '%')
		r = register_parse(c, e);
	else if (*c->at == '$')
		r = variable_parse(c, e);
	else if (*c->at == '\\')
		r = immediate_parse(c, e);
	else if (*c->at == '@')
		r = address_parse(c, e);
	else if (*c->at == '+' || *c->at == '-')
		r = deref_parse(c, e);
	else if (isalpha((unsigned char)*c->at) || *c->at == '_')
		r = name_parse(c, e);
	else
		r = *c->at ? source_refuse(c->source, "'%.20s': no value begins so", c->at)
			   : source_refuse(c->source, "a value was expected at the end of the line");
	if (r < 0)
		return r;
	if (e->base == EXPR_LET && (c->depth || (*c->at && strchr(".-[{:", *c->at)))) {
		r = let_inline(c, e);
		if (r < 0)
			return r;
	}
	return fields_parse(c, e);
}

static const struct {
	const char *name;
	enum expr_type type;
	uint16_t bytes;
	enum probe_format format;
} types[] = {
	{"u8", EXPR_UINT, 1, PROBE_FORMAT_TYPE},
	{"u16", EXPR_UINT, 2, PROBE_FORMAT_TYPE},
	{"u32", EXPR_UINT, 4, PROBE_FORMAT_TYPE},
	{"u64", EXPR_UINT, 8, PROBE_FORMAT_TYPE},
	{"s8", EXPR_INT, 1, PROBE_FORMAT_TYPE},
	{"s16", EXPR_INT, 2, PROBE_FORMAT_TYPE},
	{"s32", EXPR_INT, 4, PROBE_FORMAT_TYPE},
	{"s64", EXPR_INT, 8, PROBE_FORMAT_TYPE},
	{"x8", EXPR_UINT, 1, PROBE_FORMAT_POINTER},
	{"x16", EXPR_UINT, 2, PROBE_FORMAT_POINTER},
	{"x32", EXPR_UINT, 4, PROBE_FORMAT_POINTER},
	{"x64", EXPR_UINT, 8, PROBE_FORMAT_POINTER},
	{"bool", EXPR_UINT, 1, PROBE_FORMAT_TYPE},
	{"ptr", EXPR_UINT, 8, PROBE_FORMAT_POINTER},
	{"string", EXPR_STRING, WCBPF_VALUE_BYTES_MAX, PROBE_FORMAT_TYPE},
	{"ustring", EXPR_STRING, WCBPF_VALUE_BYTES_MAX, PROBE_FORMAT_TYPE},
	{"gostring", EXPR_TWO_WORDS, WCBPF_VALUE_BYTES_MAX, PROBE_FORMAT_TYPE},
	{"str", EXPR_TWO_WORDS, WCBPF_VALUE_BYTES_MAX, PROBE_FORMAT_TYPE},
};

/* "[16]" behind a type. */
static int type_length(struct cursor *c, struct expr *e, const char *name, size_t n)
{
	int64_t length;
	int r;

	c->at++;
	r = number_parse(c, false, &length);
	if (r < 0)
		return r;
	if (*c->at != ']')
		return source_refuse(c->source, ":%.*s[: ']' is missing", (int)n, name);
	c->at++;
	if (length < 1 || length > WCBPF_VALUE_BYTES_MAX)
		return source_refuse(c->source, ":%.*s[%lld]: a length from 1 to %d was expected", (int)n, name,
				     (long long)length, WCBPF_VALUE_BYTES_MAX);
	if (e->type == EXPR_UINT && e->type_bytes == 1 && n == 2) {
		e->type = EXPR_BYTES;
		e->format = PROBE_FORMAT_TYPE;
	} else if (e->type == EXPR_UINT || e->type == EXPR_INT) {
		return source_refuse(c->source, ":%.*s[%lld]: of arrays only those of bytes can be taken, :x8[N]",
				     (int)n, name, (long long)length);
	}
	e->type_bytes = (uint16_t)length;
	return 0;
}

/* "4@2/8": how many bits, from which one on, of a number of how many; as the kernel counts, from the lowest. */
static int bits_parse(struct cursor *c, struct expr *e)
{
	const char *name = c->at++;
	int64_t bits, at, of;
	int r = number_parse(c, false, &bits);

	if (r < 0)
		return r;
	if (*c->at != '@')
		return source_refuse(c->source, ":%.8s: of bits is said which, :b<how many>@<from>/<of 8, 16, 32 or 64>",
				     name);
	c->at++;
	r = number_parse(c, false, &at);
	if (r < 0)
		return r;
	if (*c->at != '/')
		return source_refuse(c->source, ":%.12s: of bits is said of how many, :b%lld@%lld/<8, 16, 32 or 64>", name,
				     (long long)bits, (long long)at);
	c->at++;
	r = number_parse(c, false, &of);
	if (r < 0)
		return r;
	if (of != 8 && of != 16 && of != 32 && of != 64)
		return source_refuse(c->source, ":%.*s: bits of a number of 8, 16, 32 or 64", (int)(c->at - name), name);
	if (bits < 1 || at < 0 || at >= of || bits > of - at)
		return source_refuse(c->source, ":%.*s: a number of %lld bits has no such", (int)(c->at - name), name,
				     (long long)of);
	e->type = EXPR_UINT;
	e->type_bytes = (uint16_t)(of / 8);
	e->format = PROBE_FORMAT_TYPE;
	e->bit_n = (uint8_t)bits;
	e->bit_at = (uint8_t)at;
	return 0;
}

static int type_parse(struct cursor *c, struct expr *e)
{
	const char *name = ++c->at;
	size_t n = expr_word_len(name);

	if (n > 1 && name[0] == 'b' && isdigit((unsigned char)name[1]))
		return bits_parse(c, e);
	c->at += n;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (strlen(types[i].name) != n || memcmp(types[i].name, name, n) != 0)
			continue;
		e->type = types[i].type;
		e->type_bytes = types[i].bytes;
		e->format = types[i].format;
		return *c->at == '[' ? type_length(c, e, name, n) : 0;
	}
	return source_refuse(c->source,
			     ":%.*s: no such type (u8 to u64, s8 to s64, x8 to x64, bool, ptr, string, gostring, "
			     "str, x8[N], bBITS@FROM/OF)",
			     (int)n, name);
}

static int moment_parse(struct cursor *c, struct expr *e)
{
	const char *name = ++c->at;
	size_t n = expr_word_len(name);

	c->at += n;
	if (n == 4 && !strncmp(name, "exit", 4)) {
		e->moment = EXPR_EXIT;
		return 0;
	}
	if (n == 5 && !strncmp(name, "entry", 5)) {
		e->moment = EXPR_ENTRY;
		return 0;
	}
	return source_refuse(c->source, "@%.*s: a value is taken @entry or @exit", (int)n, name);
}

/* Fields need a type: what an argument or a result begins with, before any offset. */
static int fields_check(struct cursor *c, const struct expr *e)
{
	bool typed = e->base == EXPR_ARG || e->base == EXPR_RESULT || e->base == EXPR_NAME;

	for (size_t i = 0; i < e->step_n; i++) {
		const struct expr_step *step = &e->steps[i];

		if (step->kind == EXPR_DEREF)
			typed = false;
		else if (!typed)
			return source_refuse(c->source,
					     "'%s': only arguments and results have fields; here an offset is needed, "
					     "as in +8(%%di)",
					     step->kind == EXPR_INDEX ? "[]" : step->name);
	}
	return 0;
}

/* Does what was written make sense by itself, whatever it is of? */
static int expr_check(struct cursor *c, struct expr *e)
{
	if (e->base == EXPR_RESULT) {
		if (e->moment == EXPR_ENTRY)
			return source_refuse(c->source, "a result is not there yet @entry");
		e->moment = EXPR_EXIT;
	}
	if (e->base == EXPR_ADDR && !e->step_n && e->type != EXPR_STRING && e->type != EXPR_BYTES) {
		/* As in the kernel, @ADDR is the memory there. */
		return step_add(c, e, (struct expr_step){.kind = EXPR_DEREF});
	}
	if (e->base == EXPR_WORD && (e->step_n || e->type != EXPR_UNTYPED))
		return source_refuse(c->source, "\\\"%s\": a text has neither fields nor a type", e->literal);
	return fields_check(c, e);
}

static int expr_parse(struct cursor *c, struct expr *ret)
{
	struct expr e = {0};
	int r;

	c->depth = 0;
	r = inner_parse(c, &e);
	if (r == 0 && *c->at == ':')
		r = type_parse(c, &e);
	if (r == 0 && *c->at == '@')
		r = moment_parse(c, &e);
	if (r == 0)
		r = expr_check(c, &e);
	if (r < 0)
		return r;
	*ret = e;
	return 0;
}

int value_parse(struct source *s, const struct names *names, const char **at, struct value *ret)
{
	struct cursor c = {.source = s, .names = names, .at = *at};
	struct value v = {0};

	for (;;) {
		struct expr *e = &v.alternatives[v.alternative_n];
		int r = expr_parse(&c, e);

		if (r < 0)
			return r;
		v.alternative_n++;
		if (e->base == EXPR_LET) {
			if (v.alternative_n > 1)
				return source_refuse(s, "%s: no alternative, for it has some of its own",
						     names->lets[e->index]);
			v = names->let_values[e->index];
		} else if (v.alternative_n == 1) {
			v.at_exit = e->moment == EXPR_EXIT;
		} else if (v.at_exit != (e->moment == EXPR_EXIT) && e->base != EXPR_CONST && e->base != EXPR_WORD) {
			return source_refuse(s, "of alternatives all must be taken at the entry or all at the exit");
		}
		blanks_skip(&c);
		/* "||" is the text's: what can be read shows at each hit only. */
		if (*c.at != '|' || c.at[1] == '|')
			break;
		if (v.alternative_n == EXPR_ALTERNATIVES_MAX)
			return source_refuse(s, "more than %d alternatives", EXPR_ALTERNATIVES_MAX);
		c.at++;
	}
	*at = c.at;
	*ret = v;
	return 0;
}
