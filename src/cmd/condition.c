/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A condition that can't be judged (a misspelt class, a share of nothing) is an
 * error, not a pass: a gate that silently never closes is worse than none. So
 * is a class that no op of this recording has. A class that is there, and not on
 * the path, has the value 0 there; so have waits and functions that did not occur,
 * which is what such a gate may be for: that is said.
 */
#include "cmd/condition.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/measures.h"
#include "cmd/options.h"
#include "cmd/report-page.h"
#include "util/cleanup.h"
#include "util/log.h"
#include "util/parse.h"
#include "util/text.h"
#include "util/vec.h"

enum { CLASS_COLUMNS = 40 };

static void condition_free(struct condition *c)
{
	free(c->text);
	free(c->key);
}

void conditions_done(struct conditions *c)
{
	for (size_t i = 0; i < c->n; i++)
		condition_free(&c->list[i]);
	free(c->list);
	*c = (struct conditions){ 0 };
}

/* Without blanks at its ends; malloc'd. */
static char *trimmed(const char *s, size_t n)
{
	while (n && isspace((unsigned char)*s)) {
		s++;
		n--;
	}
	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	return strndup(s, n);
}

/* "10%", "+5%", "2.5s", "3": 0, -EINVAL; -ERANGE: beyond all numbers. */
static int value_parse(const char *text, struct condition *c)
{
	size_t n = strlen(text);
	char *end;
	uint64_t ns;

	c->relative = *text == '+';
	text += c->relative;
	n -= c->relative;
	if (!n)
		return -EINVAL;
	if (text[n - 1] == '%') {
		c->percent = true;
		c->value = strtod(text, &end);
		if (!isdigit((unsigned char)*text) || end != text + n - 1)
			return -EINVAL;
		return isfinite(c->value) ? 0 : -ERANGE;
	}
	if (isalpha((unsigned char)text[n - 1])) {
		c->unit = MEASURE_NS;
		if (parse_duration_ns(text, &ns) < 0)
			return -EINVAL;
		c->value = (double)ns;
		return 0;
	}
	c->unit = MEASURE_COUNT;
	c->value = strtod(text, &end);
	if (!isdigit((unsigned char)*text) || *end)
		return -EINVAL;
	return isfinite(c->value) ? 0 : -ERANGE;
}

/* 0; -EINVAL; -ERANGE; -ENOMEM. */
static int term_parse(struct condition *c)
{
	/* An operator inside a class's name (C++'s operator<) is not the one: it stands before the last. */
	const char *end = c->text + strlen(c->text), *op = NULL;
	_cleanup_(freep) char *value = NULL;
	size_t width;

	for (const char *at = c->text; at < end; at++) {
		if (strchr("<>=!", *at) && (at == c->text || !strchr("<>=!", at[-1])))
			op = at;
	}
	if (!op || op == c->text)
		return -EINVAL;
	width = op[1] == '=' ? 2 : 1;
	if (width == 1 && *op != '<' && *op != '>')
		return -EINVAL;
	memcpy(c->op, op, width);
	c->key = trimmed(c->text, (size_t)(op - c->text));
	value = trimmed(op + width, strlen(op + width));
	if (!c->key || !value)
		return -ENOMEM;
	return *c->key ? value_parse(value, c) : -EINVAL;
}

/* One condition from the first n bytes. 0, -EINVAL, -ERANGE, -ENOMEM. */
static int condition_make(const char *text, size_t n, struct condition *ret)
{
	struct condition x = { .text = trimmed(text, n) };
	int e = x.text ? term_parse(&x) : -ENOMEM;

	if (e < 0)
		condition_free(&x);
	else
		*ret = x;
	return e;
}

/* The first condition: up to the first comma before which there is one, for a class may have commas in its name. */
static int first_parse(const char *expr, struct condition *ret, const char **ret_rest)
{
	const char *comma = expr;
	int e;

	do {
		comma = strchr(comma, ',');
		e = condition_make(expr, comma ? (size_t)(comma - expr) : strlen(expr), ret);
		*ret_rest = comma ? comma + 1 : NULL;
		comma = comma ? comma + 1 : NULL;
	} while (e == -EINVAL && comma);
	return e;
}

int conditions_parse(struct conditions *c, const char *expr, char **ret_why)
{
	while (expr) {
		const char *rest = NULL;
		struct condition x;
		int e = first_parse(expr, &x, &rest);

		if (e == -EINVAL)
			return options_refuse(
				ret_why, "--fail-if %s: not NAME OP VALUE (lock > 10%%, makespan >= 2s, deadlocks > 0)",
				expr);
		if (e == -ERANGE)
			return options_refuse(ret_why, "--fail-if %s: the number is too large to compare with", expr);
		if (e == 0 && VEC_RESERVE(c->list, c->cap, c->n + 1) < 0) {
			condition_free(&x);
			e = -ENOMEM;
		}
		if (e < 0)
			return e;
		c->list[c->n++] = x;
		expr = rest;
	}
	return 0;
}

bool condition_holds(const struct condition *c, double value)
{
	if (c->op[0] == '>')
		return c->op[1] ? value >= c->value : value > c->value;
	if (c->op[0] == '<')
		return c->op[1] ? value <= c->value : value < c->value;
	return (value >= c->value && value <= c->value) == (c->op[0] == '=');
}

static struct wording value_word(const struct condition *c, double value)
{
	struct wording w;

	if (c->percent)
		snprintf(w.text, sizeof(w.text), "%.2f%%", value);
	else if (c->unit == MEASURE_NS)
		w = page_signed_time((int64_t)value);
	else
		snprintf(w.text, sizeof(w.text), "%.15g", value);
	return w;
}

/* The CLASS of a key, NULL: it is no number of a class. */
static const char *class_of(const char *key)
{
	static const char *const words[] = { "count:", "total:", "mean:", "p50:", "p95:", "p99:", "longest:", "self:", "path:" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strncmp(key, words[i], strlen(words[i])) == 0)
			return key + strlen(words[i]);
	}
	return NULL;
}

/* Has the recording ops of that class? Each has a count. */
static bool has_class(const struct measures *m, const char *class)
{
	_cleanup_(freep) char *key = NULL;
	bool several;

	key = text_format("count:%s", class);
	if (!key)
		return false;
	return measures_find(m, key, &several) || several;
}

/* "exec:cc1, exec:ld, ...": some classes that there are, of which most. malloc'd, NULL: none, or no memory. */
static char *classes_there(const struct measures *m)
{
	const struct measure *most[3] = { NULL };
	char *text = NULL;
	size_t size;
	FILE *f;

	for (size_t i = 0; i < m->n; i++) {
		const struct measure *x = &m->list[i];

		if (strncmp(x->key, "total:", strlen("total:")) != 0)
			continue;
		for (size_t k = 0; k < sizeof(most) / sizeof(most[0]); k++) {
			const struct measure *less = most[k];

			if (less && less->value >= x->value)
				continue;
			most[k] = x;
			x = less;
			if (!x)
				break;
		}
	}
	f = most[0] ? open_memstream(&text, &size) : NULL;
	for (size_t k = 0; f && k < sizeof(most) / sizeof(most[0]) && most[k]; k++) {
		fputs(k ? ", " : "", f);
		report_name_print(f, most[k]->key + strlen("total:"), CLASS_COLUMNS);
	}
	if (f && fclose(f) != 0) {
		free(text);
		text = NULL;
	}
	return text;
}

/* Nothing of that name is there: *ret_why, or the value 0, which for a wait and a function is told. */
static int missing_judge(const struct condition *c, const struct measures *m, char **ret_why)
{
	const char *class = class_of(c->key);
	_cleanup_(freep) char *there = NULL;

	if (strncmp(c->key, "wait:", 5) == 0 || strncmp(c->key, "cpu:", 4) == 0) {
		log_info("--fail-if %s: there is no %s, which counts as 0 (wcbpf report --section %s lists them)", c->text,
			 *c->key == 'w' ? "such wait" : "sample in that function", *c->key == 'w' ? "resources" : "self");
		return 0;
	}
	if (!class)
		return options_refuse(ret_why, "--fail-if %s: there is no number of that name (man wcbpf-report lists them)",
				      c->text);
	if (has_class(m, class))
		return 0;
	there = classes_there(m);
	return options_refuse(ret_why, "--fail-if %s: no op is of class %s; there are %s (wcbpf report --section classes)",
			      c->text, class, there ? there : "none");
}

/* The value to compare, in the condition's unit. 0, -EINVAL with *ret_why. */
static int value_find(const struct condition *c, const struct measures *m, double *ret, char **ret_why)
{
	bool several;
	const struct measure *x = measures_find(m, c->key, &several);

	if (c->relative)
		return options_refuse(ret_why,
				      "--fail-if %s: there is nothing that it could have grown from (wcbpf diff A B)",
				      c->text);
	if (several)
		return options_refuse(ret_why,
				      "--fail-if %s: there are ops of that class of several kinds: name one, as in "
				      "p50:call_exec:CLASS",
				      c->text);
	*ret = x ? x->value : 0;
	if (!x)
		return missing_judge(c, m, ret_why);
	if (c->percent && x->whole <= 0 && x->value > 0)
		return options_refuse(ret_why, "--fail-if %s: it is a share of nothing; give a number or a time",
				      c->text);
	if (!c->percent && c->unit != x->unit)
		return options_refuse(ret_why,
				      x->unit == MEASURE_NS ? "--fail-if %s: it is a time: give one with its unit" :
							      "--fail-if %s: it is a number, without a unit",
				      c->text);
	if (c->percent)
		*ret = x->whole > 0 ? 100 * x->value / x->whole : 0;
	return 0;
}

static bool is_of_losses(const struct condition *c)
{
	return strcmp(c->key, "lost") == 0 || strcmp(c->key, "dropped") == 0;
}

int conditions_judge(const struct conditions *c, const struct measures *m, const char *damage, char **ret_why)
{
	for (size_t i = 0; i < c->n; i++) {
		double value = 0;
		int e;

		/* Of a file that is not whole it is not even told which classes there are. */
		if (damage && !is_of_losses(&c->list[i])) {
			options_refuse(ret_why, "--fail-if %s: it can't be told, the file is not whole: %s",
				       c->list[i].text, damage);
			return 1;
		}
		e = value_find(&c->list[i], m, &value, ret_why);
		if (e < 0)
			return e;
		if (!condition_holds(&c->list[i], value))
			continue;
		options_refuse(ret_why, "--fail-if %s: it is %s", c->list[i].text, value_word(&c->list[i], value).text);
		return 1;
	}
	return 0;
}
