/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * fnmatch() can't be used for functions: brackets are Go's type arguments, and
 * in "(*Cache)" or "operator*" a star is part of the name.
 */
#include "probe/pattern.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

#define FILES_MAX 16

/* Is the star at s one that means itself? */
static bool is_receiver(const char *start, const char *s)
{
	return s > start && s[-1] == '(' &&
	       (isalpha((unsigned char)s[1]) || s[1] == '_' || (unsigned char)s[1] >= 0x80);
}

/* The usual walk with one point to come back to; linear but for what one star has to try. */
static bool wildcard_match(const char *pattern, const char *name)
{
	const char *p = pattern, *star = NULL, *retry = NULL;

	while (*name) {
		bool quoted = *p == '\\' && p[1];
		const char *c = quoted ? p + 1 : p;

		if (*p == '*' && !is_receiver(pattern, p)) {
			star = ++p;
			retry = name;
		} else if (*c && (*c == *name || (*c == '?' && !quoted))) {
			p = c + 1;
			name++;
		} else if (star) {
			p = star;
			name = ++retry;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return !*p;
}

static bool has_wildcards(const char *s)
{
	for (const char *at = s; *at; at++) {
		if (*at == '\\' && at[1])
			at++;
		else if (*at == '?' || (*at == '*' && !is_receiver(s, at)))
			return true;
	}
	return false;
}

/* ---- files ---- */

/* Where a path leads as its user writes it: "./shopd", a link. */
static int path_follow(struct source *s, struct file_pattern *f)
{
	_cleanup_(freep) char *real = NULL;

	f->real = NULL;
	if (f->kind != FILE_PATH || has_wildcards(f->text))
		return 0;
	real = realpath(f->text, NULL);
	if (!real)
		return 0;
	f->real = pool_copy(s->pool, real, strlen(real));
	return f->real ? 0 : -ENOMEM;
}

int file_patterns_parse(struct source *s, const char *text, struct file_patterns *ret)
{
	struct file_pattern v[FILES_MAX];
	size_t n = 0;

	for (const char *at = text;;) {
		size_t len = strcspn(at, "|"), start = 0, end = len;
		char *one;

		while (start < end && isspace((unsigned char)at[start]))
			start++;
		while (end > start && isspace((unsigned char)at[end - 1]))
			end--;
		if (start == end)
			return source_refuse(s, "'%s': a file's name is missing", text);
		if (n == FILES_MAX)
			return source_refuse(s, "more than %d files", FILES_MAX);
		one = pool_copy(s->pool, at + start, end - start);
		if (!one)
			return -ENOMEM;
		v[n].text = one;
		v[n].kind = !strcmp(one, "*")	      ? FILE_ANY
			    : !strcmp(one, "program") ? FILE_PROGRAM
			    : strchr(one, '/')	      ? FILE_PATH
						      : FILE_NAME;
		if (path_follow(s, &v[n++]) < 0)
			return -ENOMEM;
		if (!at[len])
			break;
		at += len + 1;
	}
	ret->v = pool_alloc(s->pool, n * sizeof(*v));
	if (!ret->v)
		return -ENOMEM;
	memcpy(ret->v, v, n * sizeof(*v));
	ret->n = n;
	return 0;
}

/* "libc" is libc.so, libc.so.6 and libc-2.31.so; "postgres" is postgres. */
static bool library_match(const char *pattern, const char *name)
{
	size_t n = strlen(pattern);

	if (has_wildcards(pattern))
		return wildcard_match(pattern, name);
	if (strncmp(name, pattern, n) != 0)
		return false;
	name += n;
	if (!*name || !strcmp(name, ".so") || !strncmp(name, ".so.", 4))
		return true;
	return *name == '-' && isdigit((unsigned char)name[1]) && strstr(name, ".so") != NULL;
}

bool file_patterns_match(const struct file_patterns *p, const char *path, bool is_program)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < p->n; i++) {
		const struct file_pattern *f = &p->v[i];

		if (f->kind == FILE_ANY || (f->kind == FILE_PROGRAM && is_program) ||
		    (f->kind == FILE_NAME && library_match(f->text, name)) ||
		    (f->kind == FILE_PATH && (wildcard_match(f->text, path) || (f->real && !strcmp(f->real, path)))))
			return true;
	}
	return false;
}

/* ---- functions ---- */

/*
 * Demangling all names of a large program takes seconds. The last identifier of
 * a function's name stands in its mangled name as it is (Itanium ABI 5.1,
 * Rust's v0 2.2: never substituted), but for operators and closures.
 */
static int needle_find(struct source *s, struct symbol_pattern *p)
{
	const char *text = p->text;
	size_t end = strcspn(text, "(<"), start;

	if (strstr(text, "operator") || strpbrk(text, "~{\\") || !end)
		return 0;
	start = end;
	while (start && (isalnum((unsigned char)text[start - 1]) || text[start - 1] == '_'))
		start--;
	if (start == end)
		return 0;
	p->needle = pool_copy(s->pool, text + start, end - start);
	return p->needle ? 0 : -ENOMEM;
}

int symbol_pattern_parse(struct source *s, const char *text, struct symbol_pattern *ret)
{
	const char *at = strchr(text, '@');
	struct symbol_pattern p = {.text = text, .line = s->line};

	if (!*text)
		return source_refuse(s, "the symbol's name is missing");
	if (at && at > text && !strpbrk(text, " /(:")) {
		p.text = pool_copy(s->pool, text, (size_t)(at - text));
		p.version = at + strspn(at, "@");
		if (!p.text)
			return -ENOMEM;
		if (!*p.version)
			return source_refuse(s, "'%s': a version was expected behind '@'", text);
	}
	p.wildcards = has_wildcards(p.text);
	if (p.wildcards && strspn(p.text, "*?") == strlen(p.text))
		return source_refuse(s, "'%s': every function there is; say more of the name", text);
	if (needle_find(s, &p) < 0)
		return -ENOMEM;
	*ret = p;
	return 0;
}

/* Quoted characters of a pattern without wildcards. */
static bool exact_match(const char *pattern, const char *name)
{
	return strchr(pattern, '\\') ? wildcard_match(pattern, name) : !strcmp(pattern, name);
}

bool symbol_pattern_match(const struct symbol_pattern *p, const char *name, bool go)
{
	static const char vendor[] = "/vendor/";

	if (p->wildcards ? wildcard_match(p->text, name) : exact_match(p->text, name))
		return true;
	for (const char *at = name; go && (at = strstr(at, vendor));) {
		at += sizeof(vendor) - 1;
		if (p->wildcards ? wildcard_match(p->text, at) : exact_match(p->text, at))
			return true;
	}
	return false;
}

enum symbol_clone symbol_clone(const char *name, size_t *ret_plain_n)
{
	static const struct {
		const char *word;
		enum symbol_clone kind;
	} words[] = {
		{".constprop.", CLONE_COPY}, {".isra.", CLONE_COPY}, {".cold", CLONE_PART}, {".part.", CLONE_PART}};
	enum symbol_clone kind = CLONE_NONE;

	*ret_plain_n = strlen(name);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const char *at = strstr(name, words[i].word);

		if (!at || at == name)
			continue;
		if (words[i].kind > kind)
			kind = words[i].kind;
		if ((size_t)(at - name) < *ret_plain_n)
			*ret_plain_n = (size_t)(at - name);
	}
	return kind;
}

/* Where the parameters begin: the '(' that matches the last ')' (behind which only "const" and the like may come). */
static size_t parameters_at(const char *s)
{
	size_t n = strlen(s), depth = 0;

	while (n && s[n - 1] != ')') {
		if (!isalpha((unsigned char)s[n - 1]) && !strchr(" &[]_0123456789.", s[n - 1]))
			return strlen(s);
		n--;
	}
	for (size_t i = n; i > 0; i--) {
		depth += s[i - 1] == ')';
		if (s[i - 1] == '(' && --depth == 0)
			return i - 1;
	}
	return strlen(s);
}

/* Rust's legacy names end in "::h" and 16 hex digits. */
static size_t hash_at(const char *s, size_t n)
{
	if (n < 19 || strncmp(s + n - 19, "::h", 3) != 0)
		return n;
	for (size_t i = n - 16; i < n; i++)
		if (!isxdigit((unsigned char)s[i]))
			return n;
	return n - 19;
}

/* Rust's v0 names have "<T>::f" where others have "T::f"; "<T as Trait>::f" is something else. Where the '>' is; 0: none. */
static size_t self_end(const char *s)
{
	size_t depth = 0;

	for (size_t i = 0; s[0] == '<' && s[i]; i++) {
		depth += s[i] == '<';
		if (s[i] == '>' && s[i - 1] != '-' && --depth == 0)
			return !strncmp(s + i, ">::", 3) ? i : 0;
		if (depth == 1 && !strncmp(s + i, " as ", 4))
			return 0;
	}
	return 0;
}

/* Of a template's instance the result's type comes first; where the name begins, of n characters. */
static size_t name_at(const char *s, size_t n)
{
	size_t start = 0, depth = 0;

	for (size_t i = 0; i < n && s[n - 1] == '>' && !strstr(s, "operator"); i++) {
		depth += strchr("<([{", s[i]) != NULL;
		depth -= depth && strchr(">)]}", s[i]);
		if (s[i] == ' ' && !depth)
			start = i + 1;
	}
	return start;
}

char *symbol_plain(const char *demangled)
{
	size_t n = parameters_at(demangled), self = self_end(demangled), start;
	char *plain;

	/* "(anonymous namespace)::f" begins with what looks like parameters: a name can't be empty. */
	if (!n)
		n = strlen(demangled);
	start = self ? 1 : name_at(demangled, n);
	plain = strndup(demangled + start, hash_at(demangled, n) - start);
	if (plain && self)
		memmove(plain + self - 1, plain + self, strlen(plain + self) + 1);
	return plain;
}

bool symbol_pattern_match_readable(const struct symbol_pattern *p, const char *demangled)
{
	_cleanup_(freep) char *plain = NULL;

	if (symbol_pattern_match(p, demangled, false))
		return true;
	plain = symbol_plain(demangled);
	return plain && strcmp(plain, demangled) != 0 && symbol_pattern_match(p, plain, false);
}
