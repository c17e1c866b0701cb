/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A condition that can't be judged (a misspelt class, a share of nothing) is an
 * error, not a pass: a gate that silently never closes is worse than none.
 * What is not in this recording but could be, a class, a wait or a function, has
 * the value 0.
 */
#include "cmd/condition.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/measures.h"
#include "cmd/options.h"
#include "cmd/report-page.h"
#include "util/cleanup.h"
#include "util/parse.h"
#include "util/vec.h"

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

/* "10%", "+5%", "2.5s", "3": 0, -EINVAL. */
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
		return isdigit((unsigned char)*text) && end == text + n - 1 ? 0 : -EINVAL;
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
	return isdigit((unsigned char)*text) && !*end ? 0 : -EINVAL;
}

/* 0; -EINVAL; -ENOMEM. */
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

/* One condition from the first n bytes. 0, -EINVAL, -ENOMEM. */
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

static bool is_open_ended(const char *key)
{
	static const char *const words[] = { "count:", "total:", "mean:", "p50:", "p95:", "p99:", "longest:", "self:",
					     "wait:",  "cpu:",   "path:", NULL };

	for (const char *const *w = words; *w; w++) {
		if (strncmp(key, *w, strlen(*w)) == 0)
			return true;
	}
	return false;
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
	if (!x && !is_open_ended(c->key))
		return options_refuse(ret_why,
				      "--fail-if %s: there is no number of that name (man wcbpf-report lists them)",
				      c->text);
	*ret = x ? x->value : 0;
	if (!x)
		return 0;
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

int conditions_judge(const struct conditions *c, const struct measures *m, char **ret_why)
{
	for (size_t i = 0; i < c->n; i++) {
		double value = 0;
		int e = value_find(&c->list[i], m, &value, ret_why);

		if (e < 0)
			return e;
		if (!condition_holds(&c->list[i], value))
			continue;
		options_refuse(ret_why, "--fail-if %s: it is %s", c->list[i].text, value_word(&c->list[i], value).text);
		return 1;
	}
	return 0;
}
