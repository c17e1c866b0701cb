/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * One list of type words serves all languages, so that a profile needs no
 * second form for a second language; what Go understands beyond them (structs,
 * arrays, names for readers) is passed on to where Go's rules are known.
 */
#include "probe/signature.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { RDI = 5, RSI = 4, RDX = 1, RCX = 2, R8 = 8, R9 = 9, RAX = 0 };

static const struct type_word {
	const char *name;
	const char *go;	     /* NULL: Go has none of that kind */
	unsigned char bytes; /* 0: not of C and its like */
	unsigned char words;
	bool is_signed, is_string, is_float;
} type_words[] = {
	{"ptr", "*x", 8, 1},
	{"bool", "bool", 1, 1},
	{"char", NULL, 1, 1, .is_signed = true},
	{"int", "int", 4, 1, .is_signed = true}, /* Go's has 8 bytes; its own rules say so */
	{"uint", "uint", 4, 1},
	{"long", NULL, 8, 1, .is_signed = true},
	{"ulong", NULL, 8, 1},
	{"size", "uintptr", 8, 1},
	{"uintptr", "uintptr", 8, 1},
	{"u8", "uint8", 1, 1},
	{"u16", "uint16", 2, 1},
	{"u32", "uint32", 4, 1},
	{"u64", "uint64", 8, 1},
	{"s8", "int8", 1, 1, .is_signed = true},
	{"s16", "int16", 2, 1, .is_signed = true},
	{"s32", "int32", 4, 1, .is_signed = true},
	{"s64", "int64", 8, 1, .is_signed = true},
	{"float", "float32", 4, 1, .is_float = true},
	{"double", "float64", 8, 1, .is_float = true},
	{"string", "string", 8, 1, .is_string = true},
	{"str", "string", 8, 2, .is_string = true},
	{"iface", "any", 0, 0},
	{"slice", "[]x", 0, 0},
	{"byte", "byte", 1, 1},
	{"rune", "rune", 0, 0},
	{"int8", "int8", 1, 1, .is_signed = true},
	{"int16", "int16", 2, 1, .is_signed = true},
	{"int32", "int32", 4, 1, .is_signed = true},
	{"int64", "int64", 8, 1, .is_signed = true},
	{"uint8", "uint8", 1, 1},
	{"uint16", "uint16", 2, 1},
	{"uint32", "uint32", 4, 1},
	{"uint64", "uint64", 8, 1},
	{"float32", "float32", 4, 1, .is_float = true},
	{"float64", "float64", 8, 1, .is_float = true},
	{"complex64", "complex64", 0, 0},
	{"complex128", "complex128", 0, 0},
	{"any", "any", 0, 0},
	{"error", "error", 0, 0},
	{"interface", "interface", 0, 0},
	{"func", "func", 0, 0},
	{"map", "map", 0, 0},
	{"chan", "chan", 0, 0},
};

static const struct type_word *type_word(const char *type)
{
	for (size_t i = 0; i < sizeof(type_words) / sizeof(*type_words); i++)
		if (!strcmp(type_words[i].name, type))
			return &type_words[i];
	return NULL;
}

/* Go's own way to write what no one word says: *T, []T, [4]T, struct{T; T}, name:T. */
static bool is_go_type(const char *type)
{
	return type[0] == '*' || type[0] == '[' || !strncmp(type, "struct{", 7) || strchr(type, ':');
}

static char *trimmed(struct probe_pool *pool, const char *s, size_t n)
{
	while (n && isspace((unsigned char)*s))
		s++, n--;
	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	return pool_copy(pool, s, n);
}

static size_t name_len(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n;
}

/* "name type" or "type". */
static int parameter_parse(struct source *s, const char *text, size_t n, struct parameter *ret)
{
	char *whole = trimmed(s->pool, text, n), *blank;
	const char *type;

	if (!whole)
		return -ENOMEM;
	ret->name = NULL;
	type = whole;
	blank = whole + strcspn(whole, " \t*[{(:");
	if ((*blank == ' ' || *blank == '\t') && !type_word(whole)) {
		ret->name = pool_copy(s->pool, whole, (size_t)(blank - whole));
		type = blank + strspn(blank, " \t");
		if (!ret->name)
			return -ENOMEM;
		if (!*ret->name || name_len(ret->name) != strlen(ret->name))
			return source_refuse(s, "'%s': no name for an argument", ret->name);
	}
	if (!type_word(type) && !is_go_type(type))
		return source_refuse(
			s,
			"'%s': no type that is known here (ptr, int, u8 to u64, s8 to s64, bool, string, str, "
			"slice, iface, func, map, chan, error, float64, *T, []T, [N]T, struct{T; T})",
			type);
	ret->type = type;
	return 0;
}

int signature_parse(struct source *s, const char *text, struct signature *ret)
{
	struct parameter v[PARAMETERS_MAX];
	size_t n = 0, depth = 0, start = 0;

	for (size_t i = 0; *text && i <= strlen(text); i++) {
		int r;

		depth += text[i] && strchr("([{", text[i]) != NULL;
		depth -= depth && text[i] && strchr(")]}", text[i]);
		if (text[i] && (text[i] != ',' || depth))
			continue;
		if (n == PARAMETERS_MAX)
			return source_refuse(s, "more than %d arguments or results", PARAMETERS_MAX);
		r = parameter_parse(s, text + start, i - start, &v[n]);
		if (r < 0)
			return r;
		for (size_t k = 0; k < n; k++)
			if (v[n].name && v[k].name && !strcmp(v[k].name, v[n].name))
				return source_refuse(s, "%s: a second argument or result of this name", v[n].name);
		n++;
		start = i + 1;
	}
	ret->v = pool_alloc(s->pool, n * sizeof(*v));
	if (!ret->v)
		return -ENOMEM;
	memcpy(ret->v, v, n * sizeof(*v));
	ret->n = n;
	ret->stated = true;
	return 0;
}

static int go_list(FILE *f, const struct signature *g, const char **ret_type)
{
	putc('(', f);
	for (size_t i = 0; i < g->n; i++) {
		const struct type_word *w = type_word(g->v[i].type);

		if (w && !w->go) {
			*ret_type = g->v[i].type;
			return -ENOTSUP;
		}
		fprintf(f, "%s%s", i ? ", " : "", w ? w->go : g->v[i].type);
	}
	putc(')', f);
	return 0;
}

int signature_go(const struct signature *args, const struct signature *results, char **ret, const char **ret_type)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	int r;

	if (!f)
		return -ENOMEM;
	r = go_list(f, args, ret_type);
	if (r == 0 && results->n) {
		putc(' ', f);
		r = go_list(f, results, ret_type);
	}
	if (fclose(f) != 0 && r == 0)
		r = -ENOMEM;
	if (r < 0) {
		free(text);
		return r;
	}
	*ret = text;
	return 0;
}

/* System V ABI for AMD64, 3.2.3: words of class INTEGER in order; floats have registers of their own. */
int signature_native(const struct signature *g, bool results, size_t index, struct place *ret)
{
	static const unsigned char args[] = {RDI, RSI, RDX, RCX, R8, R9}, values[] = {RAX, RDX};
	const unsigned char *regs = results ? values : args;
	size_t reg_n = results ? sizeof(values) : sizeof(args), used = 0, floats = 0;
	int offset = 0;

	if (index >= g->n)
		return -ENOENT;
	for (size_t i = 0;; i++) {
		const struct type_word *w = type_word(g->v[i].type);
		struct place p = {.kind = PLACE_REG};

		if (!w && g->v[i].type[0] == '*')
			w = type_word("ptr");
		if (!w || !w->bytes)
			return -ENOTSUP;
		p.words = w->words;
		p.bytes = w->bytes;
		p.is_signed = w->is_signed;
		p.is_string = w->is_string;
		if (w->is_float) {
			p.kind = PLACE_FLOAT;
			if (floats++ >= 8)
				offset += 8;
		} else if (used + w->words <= reg_n) {
			for (size_t k = 0; k < w->words; k++)
				p.regs[k] = regs[used++];
		} else if (results) {
			return -ENOTSUP;
		} else if (w->words == 2 && used < reg_n) {
			/* Two arguments of one word each: half in a register, half on the stack. */
			if (i == index)
				return -ENOTSUP;
			used = reg_n;
			offset += 8;
		} else {
			p.kind = PLACE_STACK;
			p.offset = offset;
			offset += 8 * w->words;
		}
		if (i == index) {
			*ret = p;
			return 0;
		}
	}
}
