/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * -e "[FILE:]SYMBOL [key=value ...]" is a section in one line. Words end at a
 * blank that lies in no quotes, braces or parentheses: names of C++ functions
 * and texts with values need no quoting beyond the shell's.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "probe/set.h"
#include "util/vec.h"

#define WORDS_MAX 40

/* One word, quotes taken away; *at goes behind it. NULL: no memory. */
static char *word_take(struct probe_pool *pool, const char **at, bool *ret_open)
{
	const char *s = *at;
	char *word = pool_alloc(pool, strlen(s) + 1), quote = 0;
	size_t n = 0, depth = 0;

	if (!word)
		return NULL;
	for (; *s && (quote || depth || !isspace((unsigned char)*s)); s++) {
		if (quote ? *s == quote : ((*s == '"' && (s == *at || s[-1] != '\\')) || *s == '\'')) {
			quote = quote ? 0 : *s;
			continue;
		}
		if (!quote) {
			depth += *s == '{' || *s == '(';
			depth -= depth && (*s == '}' || *s == ')');
		}
		word[n++] = *s;
	}
	word[n] = 0;
	*ret_open = quote != 0;
	while (isspace((unsigned char)*s))
		s++;
	*at = s;
	return word;
}

/* "FILE:SYMBOL": the ':' that is none of "::". Its place; NULL: no file. */
static char *file_colon(char *s)
{
	for (char *c = s; *c && !strchr("(<[{", *c); c++) {
		if (*c != ':')
			continue;
		if (c[1] != ':')
			return c > s && c[1] ? c : NULL;
		c++;
	}
	return NULL;
}

static void add(struct assignment *v, size_t *n, const char *key, const char *value)
{
	v[(*n)++] = (struct assignment){.key = key, .value = value};
}

/* What is probed: "[FILE:]SYMBOL", "usdt:[FILE:]PROVIDER:NAME". */
static int target_parse(struct source *s, char *word, struct assignment *v, size_t *n, const char **ret_name)
{
	bool usdt = !strncmp(word, "usdt:", 5);
	char *what = usdt ? word + 5 : word, *colon = file_colon(what);

	if (usdt && !colon)
		return source_refuse(s, "%s: usdt:PROVIDER:NAME was expected", word);
	/* Of a marker the file is what comes before two more parts. */
	if (colon && (!usdt || strchr(colon + 1, ':'))) {
		*colon = 0;
		add(v, n, "file", what);
		what = colon + 1;
	}
	add(v, n, usdt ? "usdt" : "symbol", what);
	*ret_name = what;
	return 0;
}

static int words_parse(struct source *s, const char *text, struct assignment *v, size_t *n, const char **ret_name,
		       const char **ret_role)
{
	const char *at = text + strspn(text, " \t\n");
	bool first = true, open = false;

	while (*at) {
		char *word = word_take(s->pool, &at, &open), *equals;
		int r;

		if (!word)
			return -ENOMEM;
		if (open)
			return source_refuse(s, "%s: a quote has no end", word);
		if (*n + 2 > WORDS_MAX)
			return source_refuse(s, "more than %d words", WORDS_MAX);
		if (first) {
			r = target_parse(s, word, v, n, ret_name);
			if (r < 0)
				return r;
			first = false;
			continue;
		}
		equals = strchr(word, '=');
		if (!equals || equals == word)
			return source_refuse(s, "%s: key=value was expected", word);
		*equals = 0;
		if (!strcmp(word, "role"))
			*ret_role = equals + 1;
		else
			add(v, n, word, equals + 1);
	}
	if (first)
		return source_refuse(s, "a function's name was expected");
	return 0;
}

int inline_parse(struct source *s, struct probe_set *set, const char *text)
{
	static struct file_pattern any = {.kind = FILE_ANY, .text = "*"};
	struct profile p = {.files = {.v = &any, .n = 1}};
	struct assignment v[WORDS_MAX];
	const char *name = NULL, *role = "op";
	struct definition d;
	size_t n = 0;
	int r = words_parse(s, text, v, &n, &name, &role);

	if (r == 0)
		r = definition_make(s, &p, role, name, true, v, n, &d);
	if (r < 0)
		return r;
	if (VEC_RESERVE(set->v, set->cap, set->n + 1) < 0) {
		definition_done(&d);
		return -ENOMEM;
	}
	set->v[set->n++] = d;
	return 0;
}
