/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What people type: "critical * 0.5", "fn:compress cpu x0.9", "lock:NAME removed",
 * "cpus = 4", "no runqueue"; changes are separated by commas. Names come first
 * and may hold blanks and colons, so a change is read from its end.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/plan.h"
#include "util/cleanup.h"
#include "util/text.h"
#include "util/vec.h"

struct parser {
	const struct replay *r;
	struct replay_scenario s;
	size_t cap;
	char *error;
};

static int fail(struct parser *p, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int fail(struct parser *p, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	p->error = text_vformat(fmt, ap);
	va_end(ap);
	return p->error ? err : -ENOMEM;
}

static char *trim(char *s)
{
	size_t n;

	while (isspace((unsigned char)*s))
		s++;
	for (n = strlen(s); n && isspace((unsigned char)s[n - 1]);)
		s[--n] = 0;
	return s;
}

/* If s ends in the word, cuts it off. */
static bool cut_word(char *s, const char *word)
{
	size_t n = strlen(s), k = strlen(word);

	if (n < k || strcasecmp(s + n - k, word) != 0 || (n > k && !isspace((unsigned char)s[n - k - 1])))
		return false;
	s[n - k] = 0;
	trim(s);
	return true;
}

static bool is_times(const char *s, size_t at)
{
	return s[at] == '*' || ((s[at] == 'x' || s[at] == 'X') && (!at || isspace((unsigned char)s[at - 1])));
}

/* "* 0.5", "x0.5", "x 50%", "* 1e-3" at the end of s; cuts it off. Of too many digits *ret is infinite. */
static bool cut_factor(char *s, double *ret)
{
	size_t n = strlen(s), at = n;
	bool percent = n && s[n - 1] == '%';
	char *end;

	while (at && !is_times(s, at - 1))
		at--;
	if (!at)
		return false;
	end = s + at + strspn(s + at, " \t");
	/* No hexadecimal numbers, no words. */
	if (!(isdigit((unsigned char)*end) || *end == '.') || strspn(end, "0123456789.eE+-") != strlen(end) - percent)
		return false;
	*ret = strtod(end, &end);
	if (end != s + n - percent)
		return false;
	*ret /= percent ? 100 : 1;
	s[at - 1] = 0;
	trim(s);
	return true;
}

struct word_kind {
	const char *word;
	enum replay_class_kind kind;
};
static const struct word_kind word_kinds[] = {
	{ "op:", REPLAY_CLASS_OP },		{ "fn:", REPLAY_CLASS_FUNCTION },     { "function:", REPLAY_CLASS_FUNCTION },
	{ "thread:", REPLAY_CLASS_THREAD },	{ "program:", REPLAY_CLASS_PROGRAM }, { "resource:", REPLAY_CLASS_RESOURCE },
	{ "lock:", REPLAY_CLASS_LOCK },
};

static const char *kind_word(uint8_t kind)
{
	for (size_t i = 0; i < sizeof(word_kinds) / sizeof(word_kinds[0]); i++) {
		if (word_kinds[i].kind == (enum replay_class_kind)kind)
			return word_kinds[i].word;
	}
	return "";
}

/* Name of a class as it can be typed: of an op with its kind, of a resource without name that of its kind of wait. */
static void class_text(const struct replay *r, const struct replay_class *c, char *text, size_t size)
{
	const struct strtab *strings = r->m->strings;

	if (c->kind == REPLAY_CLASS_OP)
		snprintf(text, size, "%s:%s", op_kind_name(c->op_kind), strtab_str(strings, c->name_id));
	else if (c->kind == REPLAY_CLASS_RESOURCE && !c->name_id)
		snprintf(text, size, "%s", c->kind_id ? strtab_str(strings, c->kind_id) : wait_reason_name(c->reason));
	else
		snprintf(text, size, "%s", strtab_str(strings, c->name_id));
}

/* How well a name fits a class: 2 exactly, of an op also without its kind; 1 part of it, 0 not at all. */
static int fit(const struct replay *r, const struct replay_class *c, const char *name)
{
	char text[512];

	class_text(r, c, text, sizeof(text));
	if (strcmp(text, name) == 0)
		return 2;
	if (c->kind == REPLAY_CLASS_OP && strcmp(strtab_str(r->m->strings, c->name_id), name) == 0)
		return 2;
	return strstr(text, name) ? 1 : 0;
}

/* Of equal fits of different kinds the first kind; within a kind two are one too many, unless it was exact: then the weightier. */
static int class_named(struct parser *p, enum replay_class_kind kind, const char *name, uint32_t *ret)
{
	const struct replay *r = p->r;
	size_t best = r->class_n, others = 0;
	int best_fit = 0;
	char a[256], b[256];

	for (size_t i = 0; i < r->class_n; i++) {
		const struct replay_class *c = &r->classes[i].c;
		int f = kind == REPLAY_CLASS_KIND_MAX || c->kind == (uint8_t)kind ? fit(r, c, name) : 0;

		if (f > best_fit) {
			best = i;
			best_fit = f;
			others = 0;
		} else if (f && f == best_fit && f == 1 && c->kind == r->classes[best].c.kind) {
			others = others ? others : i;
		}
	}
	if (!best_fit)
		return fail(p, -ENOENT, "nothing of the recording is called \"%s\"", name);
	if (others) {
		class_text(r, &r->classes[best].c, a, sizeof(a));
		class_text(r, &r->classes[others].c, b, sizeof(b));
		return fail(p, -EEXIST, "\"%s\" could be %s%s or %s%s: give the whole name", name,
			    kind_word(r->classes[best].c.kind), a, kind_word(r->classes[others].c.kind), b);
	}
	*ret = (uint32_t)best;
	return 0;
}

static int class_parse(struct parser *p, char *s, uint32_t *ret)
{
	for (size_t i = 0; i < sizeof(word_kinds) / sizeof(word_kinds[0]); i++) {
		size_t n = strlen(word_kinds[i].word);

		if (strncmp(s, word_kinds[i].word, n) == 0)
			return class_named(p, word_kinds[i].kind, trim(s + n), ret);
	}
	return class_named(p, REPLAY_CLASS_KIND_MAX, s, ret);
}

static int change_add(struct parser *p, const struct replay_change *c)
{
	if (VEC_RESERVE(p->s.changes, p->cap, p->s.n + 1) < 0)
		return -ENOMEM;
	p->s.changes[p->s.n++] = *c;
	return 0;
}

/* "cpus = 4" and "no runqueue": 1; 0: it is something else. */
static int global_parse(struct parser *p, const char *s, struct replay_change *c)
{
	char *end;

	if (strcasecmp(s, "no runqueue") == 0 || strcasecmp(s, "no run queue") == 0) {
		c->what = REPLAY_NO_RUNQUEUE;
		return 1;
	}
	if (strncasecmp(s, "cpus", 4) != 0)
		return 0;
	s += 4;
	s += strspn(s, " \t");
	if (*s != '=')
		return 0;
	c->what = REPLAY_CPUS;
	c->factor = strtod(s + 1, &end);
	if (end == s + 1 || *end || !(c->factor >= 1 && c->factor <= CPU_NUMBERS))
		return fail(p, -EINVAL, "\"cpus =\" needs a number from 1 to %d", CPU_NUMBERS);
	return 1;
}

static int change_parse(struct parser *p, char *text)
{
	struct replay_change c = { .what = REPLAY_TIME };
	char *s = trim(text);
	_cleanup_(freep) char *whole = strdup(s);
	int e = whole ? global_parse(p, s, &c) : -ENOMEM;

	if (e < 0)
		return e;
	if (e)
		return change_add(p, &c);
	if (cut_word(s, "removed")) {
		e = class_named(p, REPLAY_CLASS_LOCK, strncmp(s, "lock:", 5) == 0 ? trim(s + 5) : s, &c.class);
		c.what = REPLAY_NO_LOCK;
		return e < 0 ? e : change_add(p, &c);
	}
	if (!cut_factor(s, &c.factor))
		return fail(p, -EINVAL, "\"%s\" is no change: write NAME * FACTOR, LOCK removed, cpus = N or no runqueue", s);
	if (c.factor > REPLAY_FACTOR_MAX)
		return fail(p, -EINVAL, "\"%s\": the factor is too large, it may be from 0 to %.0f (0.5: half the time)",
			    whole, REPLAY_FACTOR_MAX);
	if (cut_word(s, "cpu"))
		c.what = REPLAY_CPU;
	else if (cut_word(s, "delay") || cut_word(s, "delays"))
		c.what = REPLAY_DELAY;
	e = class_parse(p, s, &c.class);
	return e < 0 ? e : change_add(p, &c);
}

void replay_scenario_done(struct replay_scenario *s)
{
	free(s->changes);
	*s = (struct replay_scenario){ 0 };
}

/* The comma that ends a change: one that a change follows; names of functions have commas too. */
static char *change_end(char *s)
{
	for (char *c = strchr(s, ','); c; c = strchr(c + 1, ',')) {
		char keep[512];
		double factor;
		size_t n = (size_t)(c - s);

		if (n >= sizeof(keep))
			return c;
		memcpy(keep, s, n);
		keep[n] = 0;
		if (cut_factor(trim(keep), &factor) || cut_word(trim(keep), "removed") ||
		    strncasecmp(trim(keep), "cpus", 4) == 0 || strncasecmp(trim(keep), "no run", 6) == 0)
			return c;
	}
	return NULL;
}

int replay_parse(const struct replay *r, const char *expr, struct replay_scenario *ret, char **ret_error)
{
	struct parser p = { .r = r };
	_cleanup_(freep) char *text = strdup(expr);
	char *s = text, *end;
	int e = text ? 0 : -ENOMEM;

	while (e == 0 && s) {
		end = change_end(s);
		if (end)
			*end = 0;
		e = change_parse(&p, s);
		s = end ? end + 1 : NULL;
	}
	if (e < 0) {
		replay_scenario_done(&p.s);
		if (p.error)
			*ret_error = p.error;
		return e;
	}
	*ret = p.s;
	return 0;
}
