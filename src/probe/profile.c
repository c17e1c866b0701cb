/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Lines to sections: "[ROLE NAME]", "key = value", comments, a backslash at the
 * end that joins the next line. What keys mean is definition.c's.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "probe/set.h"
#include "util/vec.h"

struct section {
	const char *role, *name; /* NULL: before the first one */
	unsigned int line;
	struct assignment *v; /* owned */
	size_t n, cap;
};

struct parsing {
	struct source *source;
	struct probe_set *set;
	struct profile profile;
	struct section section;
	size_t first;	 /* definition of this profile's own */
	size_t included; /* of the first that it includes */
	size_t source_n;
	bool head_only;
	int worst; /* errors so far: it goes on to find them all */
};

static void section_done(struct section *s)
{
	free(s->v);
	*s = (struct section){0};
}

static void trim(char **s)
{
	size_t n;

	while (isspace((unsigned char)**s))
		++*s;
	n = strlen(*s);
	while (n && isspace((unsigned char)(*s)[n - 1]))
		n--;
	(*s)[n] = 0;
}

/* A '#' at the begin of the line or behind a blank starts a comment; "\#" is the character. */
static void comment_cut(char *line)
{
	char *to = line;

	for (char *s = line; *s; s++) {
		if (*s == '\\' && s[1] == '#')
			s++;
		else if (*s == '#' && (s == line || isspace((unsigned char)s[-1])))
			break;
		*to++ = *s;
	}
	*to = 0;
}

/* Blanks at a value's ends count if it is quoted. */
static char *unquoted(char *value)
{
	size_t n = strlen(value);

	if (n < 2 || value[0] != '"' || value[n - 1] != '"')
		return value;
	value[n - 1] = 0;
	return value + 1;
}

static int section_end(struct parsing *p)
{
	struct section *s = &p->section;
	struct definition d;
	unsigned int line = p->source->line;
	int r;

	if (!s->role || p->head_only)
		return 0;
	p->source->line = s->line;
	r = definition_make(p->source, &p->profile, s->role, s->name, false, s->v, s->n, &d);
	p->source->line = line;
	if (r < 0)
		return r;
	if (VEC_RESERVE(p->set->v, p->set->cap, p->set->n + 1) < 0) {
		definition_done(&d);
		return -ENOMEM;
	}
	p->set->v[p->set->n++] = d;
	return 0;
}

static int name_check(struct parsing *p, const char *name)
{
	size_t n = strlen(p->profile.name);

	for (size_t i = p->first; i < p->set->n; i++)
		if (!strcmp(p->set->v[i].name + n + 1, name))
			return source_refuse(p->source, "%s: a second section of this name", name);
	return 0;
}

/* "[op NAME]" */
static int section_begin(struct parsing *p, char *line)
{
	size_t n = strlen(line), role_n;
	int r = section_end(p);

	section_done(&p->section);
	if (r == -ENOMEM)
		return r;
	p->worst = r < 0 ? r : p->worst;
	/* Its lines belong to it, even if something is wrong with it. */
	p->section = (struct section){.role = "", .name = "", .line = p->source->line};
	if (line[n - 1] != ']')
		return source_refuse(p->source, "%s: ']' is missing at the end", line);
	line[n - 1] = 0;
	line++;
	trim(&line);
	role_n = strcspn(line, " \t");
	if (!line[role_n])
		return source_refuse(p->source, "[%s]: a section begins with its role and its name, [op NAME]", line);
	p->section.role = pool_copy(p->source->pool, line, role_n);
	line += role_n;
	trim(&line);
	p->section.name = pool_string(p->source->pool, line);
	if (!p->section.role || !p->section.name)
		return -ENOMEM;
	return p->head_only ? 0 : name_check(p, p->section.name);
}

static int include(struct parsing *p, const char *name)
{
	int r = p->head_only ? 0 : set_include(p->source, p->set, name);

	if (r == 0 && !p->head_only)
		p->first = p->set->n;
	return r;
}

static int line_parse(struct parsing *p, char *line)
{
	struct section *s = &p->section;
	char *equals, *key = line, *value;

	comment_cut(line);
	trim(&line);
	if (!*line)
		return 0;
	if (*line == '[')
		return section_begin(p, line);
	equals = strchr(line, '=');
	if (!equals)
		return source_refuse(p->source, "%.60s: 'key = value' was expected", line);
	*equals = 0;
	key = line;
	value = equals + 1;
	trim(&key);
	trim(&value);
	key = pool_string(p->source->pool, key);
	value = pool_string(p->source->pool, unquoted(value));
	if (!key || !value)
		return -ENOMEM;
	if (!s->role && !strcmp(key, "include"))
		return include(p, value);
	if (!s->role)
		return profile_key(p->source, &p->profile, key, value);
	if (VEC_RESERVE(s->v, s->cap, s->n + 1) < 0)
		return -ENOMEM;
	s->v[s->n++] = (struct assignment){.key = key, .value = value, .line = p->source->line};
	return 0;
}

/* The next line, joined with those it goes on in; malloc'd. *lines: how many. */
static char *line_take(const char **at, const char *end, unsigned int *lines)
{
	char *line = NULL;
	size_t n = 0;

	*lines = 0;
	for (bool more = true; more && *at < end;) {
		const char *newline = memchr(*at, '\n', (size_t)(end - *at));
		size_t len = (size_t)((newline ? newline : end) - *at);
		char *longer = realloc(line, n + len + 2);

		if (!longer) {
			free(line);
			return NULL;
		}
		line = longer;
		memcpy(line + n, *at, len);
		*at = newline ? newline + 1 : end;
		++*lines;
		if (len && line[n + len - 1] == '\r')
			len--;
		more = len && line[n + len - 1] == '\\';
		n += len;
		if (more)
			line[n - 1] = ' ';
		line[n] = 0;
	}
	return line;
}

static int text_parse(struct parsing *p, const char *text, size_t n)
{
	const char *at = text, *end = text + n;
	unsigned int next = 1, lines;
	int r;

	if (memchr(text, 0, n))
		return source_refuse(p->source, "this is no text: it has a zero byte");
	while (at < end) {
		_cleanup_(freep) char *line = line_take(&at, end, &lines);

		if (!line)
			return -ENOMEM;
		p->source->line = next;
		next += lines;
		r = line_parse(p, line);
		if (r == -ENOMEM)
			return r;
		p->worst = r < 0 ? r : p->worst;
		if (p->head_only && p->section.role)
			return 0;
	}
	r = section_end(p);
	p->worst = r < 0 ? r : p->worst;
	return p->worst;
}

int profile_parse(struct source *s, struct probe_set *set, const char *name, const char *text, size_t n)
{
	struct parsing p = {.source = s, .set = set, .profile = {.name = name}, .first = set->n,
			    .included = set->n, .source_n = set->source_n};
	int r;

	p.profile.files.v = pool_alloc(s->pool, sizeof(*p.profile.files.v));
	if (!p.profile.files.v)
		return -ENOMEM;
	p.profile.files.v[0] = (struct file_pattern){.kind = FILE_ANY, .text = "*"};
	p.profile.files.n = 1;
	r = text_parse(&p, text, n);
	section_done(&p.section);
	s->line = 0;
	if (r == 0 && set->n == p.included)
		r = source_refuse(s, "there is no section in it: nothing to probe");
	while (r < 0 && set->n > p.included)
		definition_done(&set->v[--set->n]);
	if (r < 0)
		set->source_n = p.source_n;
	return r;
}

int profile_head(struct source *s, const char *text, size_t n, const char **ret_about, const char **ret_tried)
{
	struct parsing p = {.source = s, .head_only = true};
	int r = text_parse(&p, text, n);

	section_done(&p.section);
	if (r < 0)
		return r;
	*ret_about = p.profile.about;
	*ret_tried = p.profile.tried;
	return 0;
}
