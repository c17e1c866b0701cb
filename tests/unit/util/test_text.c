/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "util/text.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

Test(text, grows_and_is_cleared)
{
	_cleanup_(text_done) struct text t = {0};
	char expected[4001] = "";

	cr_assert_str_eq(text_str(&t), "");
	for (int i = 0; i < 1000; i++) {
		text_appendf(&t, "%03d", i);
		text_append(&t, ".");
		snprintf(expected + 4 * i, 5, "%03d.", i);
	}
	cr_assert_eq(t.n, 4000);
	cr_assert_str_eq(text_str(&t), expected);
	text_clear(&t);
	cr_assert_str_eq(text_str(&t), "");
	text_append_n(&t, "a\0b", 3);
	cr_assert_eq(t.n, 3);
	cr_assert_eq(memcmp(text_str(&t), "a\0b", 4), 0);
	cr_assert_eq(text_error(&t), 0);
}

Test(text, what_has_no_room_sticks)
{
	_cleanup_(text_done) struct text t = {0};

	text_append(&t, "x");
	text_append_n(&t, "y", SIZE_MAX / 2 + 2);
	cr_assert_eq(text_error(&t), -ENOMEM);
	text_append(&t, "z");
	text_clear(&t);
	cr_assert_eq(text_error(&t), -ENOMEM);
}

Test(text, format_makes_a_string_of_its_own)
{
	_cleanup_(freep) char *short_one = text_format("%s:%d", "a", 7);
	_cleanup_(freep) char *empty = text_format("%s", "");
	_cleanup_(freep) char *long_one = text_format("%5000d", 1);

	cr_assert_str_eq(short_one, "a:7");
	cr_assert_str_eq(empty, "");
	cr_assert_eq(strlen(long_one), 5000);
	cr_assert_eq(long_one[4999], '1');
}
