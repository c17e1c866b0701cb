/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * strtoul() takes signs, blanks, octal and rubbish behind the number, and
 * strtod() can't hold ns exactly; so digits are read here, by hand and once.
 */
#include "util/parse.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/vec.h"

enum { RANGE_LIST_MAX = 1 << 20 }; /* more than any list of CPUs; bounds "0-4294967295" */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads the digits at *s, at least one, and moves *s past them. */
static int digits_read(const char **s, const char *end, uint64_t *ret)
{
	const char *p = *s;
	uint64_t v = 0;

	if (p == end || !is_digit(*p))
		return -EINVAL;
	for (; p < end && is_digit(*p); p++)
		if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return -ERANGE;
	*s = p;
	*ret = v;
	return 0;
}

int parse_u64_n(const char *s, size_t n, uint64_t *ret)
{
	const char *end = s + n;
	uint64_t v;
	int r;

	/* "12x" is no number however large: form is told before range. */
	for (size_t i = 0; i < n; i++)
		if (!is_digit(s[i]))
			return -EINVAL;
	r = digits_read(&s, end, &v);
	if (r < 0)
		return r;
	*ret = v;
	return 0;
}

int parse_u64(const char *s, uint64_t *ret)
{
	return parse_u64_n(s, strlen(s), ret);
}

int parse_u32(const char *s, uint32_t *ret)
{
	uint64_t v;
	int r = parse_u64(s, &v);

	if (r < 0)
		return r;
	if (v > UINT32_MAX)
		return -ERANGE;
	*ret = (uint32_t)v;
	return 0;
}

int parse_hex_n(const char *s, size_t n, uint64_t *ret)
{
	uint64_t v = 0;
	bool fits = true;

	if (n > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		s += 2;
		n -= 2;
	}
	if (!n)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		char c = s[i] | 0x20;

		if (!is_digit(s[i]) && (c < 'a' || c > 'f'))
			return -EINVAL;
		fits = fits && !(v >> 60);
		v = v << 4 | (uint64_t)(is_digit(s[i]) ? s[i] - '0' : c - 'a' + 10);
	}
	if (!fits)
		return -ERANGE;
	*ret = v;
	return 0;
}

static int unit_ns(const char *unit, uint64_t *ret)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "", 1000000000 },  { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 },
		{ "s", 1000000000 }, { "m", 60000000000 },	  { "h", 3600000000000 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].name) == 0) {
			*ret = units[i].ns;
			return 0;
		}
	}
	return -EINVAL;
}

int parse_duration_ns(const char *s, uint64_t *ret)
{
	const char *end = s + strlen(s), *fraction = "", *fraction_end = fraction;
	uint64_t whole, unit, part;
	__uint128_t ns;
	int r, whole_r;

	whole_r = digits_read(&s, end, &whole);
	if (whole_r == -EINVAL)
		return -EINVAL;
	while (is_digit(*s))
		s++;
	if (*s == '.') {
		fraction = ++s;
		while (is_digit(*s))
			s++;
		fraction_end = s;
		if (fraction == fraction_end)
			return -EINVAL;
	}
	r = unit_ns(s, &unit);
	if (r < 0)
		return r;
	if (whole_r < 0)
		return whole_r;
	ns = (__uint128_t)whole * unit;
	/* 18 digits tell ns of an hour apart; more can't change the result rounded down by more than nothing. */
	part = 0;
	for (int i = 0; i < 18; i++)
		part = part * 10 + (fraction < fraction_end ? (uint64_t)(*fraction++ - '0') : 0);
	ns += (__uint128_t)part * unit / 1000000000000000000u;
	if (ns > INT64_MAX)
		return -ERANGE;
	*ret = (uint64_t)ns;
	return 0;
}

int parse_size_bytes(const char *s, uint64_t *ret)
{
	static const char units[] = "kmgt";
	size_t n = strlen(s);
	const char *unit = n ? strchr(units, s[n - 1] | 0x20) : NULL;
	int shift = unit && *unit ? 10 * (int)(unit - units + 1) : 0;
	uint64_t v;
	int r = parse_u64_n(s, shift ? n - 1 : n, &v);

	if (r < 0)
		return r;
	if (shift && v >> (64 - shift))
		return -ERANGE;
	*ret = v << shift;
	return 0;
}

/* One item of a list at *s: a number, or with ranges also "a-b". */
static int item_read(const char **s, const char *end, bool ranges, uint64_t *ret_first, uint64_t *ret_last)
{
	uint64_t first, last;
	int r = digits_read(s, end, &first);

	if (r < 0)
		return r;
	last = first;
	if (ranges && *s < end && **s == '-') {
		(*s)++;
		r = digits_read(s, end, &last);
		if (r < 0)
			return r;
		if (last < first)
			return -EINVAL;
	}
	if (last > UINT32_MAX)
		return -ERANGE;
	*ret_first = first;
	*ret_last = last;
	return 0;
}

static int list_read(const char *s, const char *end, bool ranges, uint32_t **ret, size_t *ret_n)
{
	_cleanup_(freep) uint32_t *items = NULL;
	size_t n = 0, cap = 0;

	for (;;) {
		uint64_t first, last;
		int r = item_read(&s, end, ranges, &first, &last);

		if (r < 0)
			return r;
		if (n + (last - first) >= RANGE_LIST_MAX)
			return -ERANGE;
		if (VEC_RESERVE(items, cap, n + (last - first) + 1) < 0)
			return -ENOMEM;
		for (uint64_t v = first; v <= last; v++)
			items[n++] = (uint32_t)v;
		if (s == end)
			break;
		if (*s++ != ',')
			return -EINVAL;
	}
	*ret = TAKE_PTR(items);
	*ret_n = n;
	return 0;
}

int parse_u32_list(const char *s, uint32_t **ret, size_t *ret_n)
{
	return list_read(s, s + strlen(s), false, ret, ret_n);
}

int parse_range_list(const char *s, uint32_t **ret, size_t *ret_n)
{
	size_t n = strlen(s);

	if (n && s[n - 1] == '\n')
		n--;
	if (!n) {
		*ret = NULL;
		*ret_n = 0;
		return 0;
	}
	return list_read(s, s + n, true, ret, ret_n);
}
