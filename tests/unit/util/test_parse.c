/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "util/parse.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "util/cleanup.h"

#define UNTOUCHED 12345u

struct row {
	const char *text;
	int r;
	uint64_t value;
};

static void check_rows(const char *what, int (*parse)(const char *, uint64_t *), const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = UNTOUCHED;
		int r = parse(rows[i].text, &v);

		cr_expect_eq(r, rows[i].r, "%s(\"%s\") = %d, not %d", what, rows[i].text, r, rows[i].r);
		cr_expect_eq(v, rows[i].r ? UNTOUCHED : rows[i].value, "%s(\"%s\") gave %lu", what, rows[i].text,
			     (unsigned long)v);
	}
}
#define CHECK_ROWS(parse, rows) check_rows(#parse, parse, rows, sizeof(rows) / sizeof((rows)[0]))

Test(parse, u64)
{
	static const struct row rows[] = {
		{ "0", 0, 0 },
		{ "007", 0, 7 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999", -ERANGE, 0 },
		{ "99999999999999999999999x", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "1\n", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
	};
	uint64_t v;

	CHECK_ROWS(parse_u64, rows);
	cr_assert_eq(parse_u64_n("123456", 3, &v), 0);
	cr_assert_eq(v, 123);
	cr_assert_eq(parse_u64_n("1", 0, &v), -EINVAL);
}

Test(parse, u32)
{
	uint32_t v = UNTOUCHED;

	cr_assert_eq(parse_u32("4294967296", &v), -ERANGE);
	cr_assert_eq(parse_u32("x", &v), -EINVAL);
	cr_assert_eq(v, UNTOUCHED);
	cr_assert_eq(parse_u32("4294967295", &v), 0);
	cr_assert_eq(v, UINT32_MAX);
}

Test(parse, hex)
{
	uint64_t v = UNTOUCHED;

	cr_assert_eq(parse_hex_n("10000000000000000", 17, &v), -ERANGE);
	cr_assert_eq(parse_hex_n("", 0, &v), -EINVAL);
	cr_assert_eq(parse_hex_n("0x", 2, &v), -EINVAL);
	cr_assert_eq(parse_hex_n("12g", 3, &v), -EINVAL);
	cr_assert_eq(parse_hex_n("@a", 2, &v), -EINVAL);
	cr_assert_eq(v, UNTOUCHED);
	cr_assert_eq(parse_hex_n("0xfFfFfFfFfFfFfFfF", 18, &v), 0);
	cr_assert_eq(v, UINT64_MAX);
	cr_assert_eq(parse_hex_n("000000000000000000abz", 20, &v), 0);
	cr_assert_eq(v, 0xab);
}

Test(parse, durations)
{
	static const struct row rows[] = {
		{ "10us", 0, 10000 },
		{ "1.5s", 0, 1500000000 },
		{ "2m", 0, 120000000000 },
		{ "1h", 0, 3600000000000 },
		{ "250ms", 0, 250000000 },
		{ "80ns", 0, 80 },
		{ "0", 0, 0 },
		{ "30", 0, 30000000000 },
		{ "0.25", 0, 250000000 },
		{ "0.000000001", 0, 1 },
		{ "0.0000000019", 0, 1 },
		{ "1.000000000000000000000000000001ns", 0, 1 },
		{ "0.999ns", 0, 0 },
		{ "0.5h", 0, 1800000000000 },
		{ "9223372036.854775807s", 0, INT64_MAX },
		{ "9223372036.854775808s", -ERANGE, 0 },
		{ "18446744073709551615h", -ERANGE, 0 },
		{ "99999999999999999999999", -ERANGE, 0 },
		{ "99999999999999999999999q", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ ".5s", -EINVAL, 0 },
		{ "1.s", -EINVAL, 0 },
		{ "1.5.5s", -EINVAL, 0 },
		{ "-1s", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "1S", -EINVAL, 0 },
		{ "1sec", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "inf", -EINVAL, 0 },
	};

	CHECK_ROWS(parse_duration_ns, rows);
}

Test(parse, sizes)
{
	static const struct row rows[] = {
		{ "4096", 0, 4096 },
		{ "64K", 0, 65536 },
		{ "64k", 0, 65536 },
		{ "16M", 0, 16777216 },
		{ "1g", 0, 1073741824 },
		{ "2T", 0, 2199023255552 },
		{ "16777215T", 0, 18446742974197923840u },
		{ "16777216T", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "K", -EINVAL, 0 },
		{ "1KB", -EINVAL, 0 },
		{ "1.5K", -EINVAL, 0 },
		{ "-1K", -EINVAL, 0 },
		{ "1K ", -EINVAL, 0 },
	};

	CHECK_ROWS(parse_size_bytes, rows);
}

static void check_list(int (*parse)(const char *, uint32_t **, size_t *), const char *text, int r, size_t n,
		       const uint32_t *want)
{
	_cleanup_(freep) uint32_t *items = NULL;
	size_t got_n = 99;
	int got = parse(text, &items, &got_n);

	cr_assert_eq(got, r, "\"%s\" gave %d, not %d", text, got, r);
	if (r) {
		cr_assert_null(items);
		cr_assert_eq(got_n, 99);
		return;
	}
	cr_assert_eq(got_n, n, "\"%s\" gave %zu items", text, got_n);
	if (n)
		cr_assert_eq(memcmp(items, want, n * sizeof(*want)), 0, "\"%s\"", text);
}
#define LIST(...) sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, (uint32_t[]){ __VA_ARGS__ }

Test(parse, lists_of_numbers)
{
	check_list(parse_u32_list, "7", 0, LIST(7));
	check_list(parse_u32_list, "3,1,2,1", 0, LIST(3, 1, 2, 1));
	check_list(parse_u32_list, "4294967295", 0, LIST(UINT32_MAX));
	check_list(parse_u32_list, "4294967296", -ERANGE, 0, NULL);
	check_list(parse_u32_list, "", -EINVAL, 0, NULL);
	check_list(parse_u32_list, "1,", -EINVAL, 0, NULL);
	check_list(parse_u32_list, ",1", -EINVAL, 0, NULL);
	check_list(parse_u32_list, "1,,2", -EINVAL, 0, NULL);
	check_list(parse_u32_list, "1, 2", -EINVAL, 0, NULL);
	check_list(parse_u32_list, "1-3", -EINVAL, 0, NULL);
	check_list(parse_u32_list, "1\n", -EINVAL, 0, NULL);
}

Test(parse, lists_of_cpus)
{
	check_list(parse_range_list, "0-3,7\n", 0, LIST(0, 1, 2, 3, 7));
	check_list(parse_range_list, "5-5", 0, LIST(5));
	check_list(parse_range_list, "0", 0, LIST(0));
	check_list(parse_range_list, "", 0, 0, NULL);
	check_list(parse_range_list, "\n", 0, 0, NULL);
	check_list(parse_range_list, "4294967295-4294967295", 0, LIST(UINT32_MAX));
	check_list(parse_range_list, "0-4294967295", -ERANGE, 0, NULL);
	check_list(parse_range_list, "3-1", -EINVAL, 0, NULL);
	check_list(parse_range_list, "1-", -EINVAL, 0, NULL);
	check_list(parse_range_list, "-1", -EINVAL, 0, NULL);
	check_list(parse_range_list, "1-2-3", -EINVAL, 0, NULL);
	check_list(parse_range_list, "1\n\n", -EINVAL, 0, NULL);
}
