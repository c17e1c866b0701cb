/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "util/strtab.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "util/cleanup.h"

Test(strtab, zero_is_the_empty_string)
{
	_cleanup_(strtab_freep) struct strtab *t = NULL;
	uint32_t id = 9;

	cr_assert_eq(strtab_new(&t), 0);
	cr_assert_eq(strtab_n(t), 1);
	cr_assert_str_eq(strtab_str(t, 0), "");
	cr_assert_eq(strtab_intern(t, "", &id), 0);
	cr_assert_eq(id, 0);
	id = 9;
	cr_assert_eq(strtab_intern(t, NULL, &id), 0);
	cr_assert_eq(id, 0);
	cr_assert_eq(strtab_find(t, NULL), 0);
	cr_assert_eq(strtab_n(t), 1);
}

Test(strtab, ids_are_dense_and_pointers_stay)
{
	enum { N = 200000 };
	_cleanup_(strtab_freep) struct strtab *t = NULL;
	_cleanup_(freep) const char **first = calloc(N + 1, sizeof(*first));
	char text[32];
	uint32_t id;

	cr_assert_eq(strtab_new(&t), 0);
	for (uint32_t i = 1; i <= N; i++) {
		snprintf(text, sizeof(text), "name-%u", i);
		cr_assert_eq(strtab_find(t, text), 0);
		cr_assert_eq(strtab_intern(t, text, &id), 0);
		cr_assert_eq(id, i);
		first[i] = strtab_str(t, id);
	}
	cr_assert_eq(strtab_n(t), N + 1);
	for (uint32_t i = 1; i <= N; i++) {
		snprintf(text, sizeof(text), "name-%u", i);
		cr_assert_eq(strtab_intern(t, text, &id), 0);
		cr_assert_eq(id, i);
		cr_assert_eq(strtab_find(t, text), i);
		cr_assert_eq(strtab_str(t, i), first[i]);
		cr_assert_str_eq(first[i], text);
	}
	cr_assert_eq(strtab_n(t), N + 1);
}

Test(strtab, tells_prefixes_apart)
{
	/* Each prefix of a text is a string of its own, whatever their length modulo the hash's words. */
	static const char text[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	_cleanup_(strtab_freep) struct strtab *t = NULL;
	uint32_t id;

	cr_assert_eq(strtab_new(&t), 0);
	for (uint32_t n = 1; n < sizeof(text); n++) {
		cr_assert_eq(strtab_intern_n(t, text, n, &id), 0);
		cr_assert_eq(id, n);
		cr_assert_eq(strlen(strtab_str(t, id)), n);
	}
	cr_assert_eq(strtab_find(t, text), sizeof(text) - 1);
}

Test(strtab, takes_long_and_non_utf8_strings)
{
	_cleanup_(strtab_freep) struct strtab *t = NULL;
	_cleanup_(freep) char *big = malloc(300001);
	uint32_t a, b, c;

	memset(big, 'x', 300000);
	big[300000] = '\0';
	cr_assert_eq(strtab_new(&t), 0);
	cr_assert_eq(strtab_intern(t, big, &a), 0);
	cr_assert_eq(strtab_intern(t, "\xff\xfe;\n", &b), 0);
	cr_assert_eq(strtab_intern(t, big, &c), 0);
	cr_assert_eq(a, c);
	cr_assert_str_eq(strtab_str(t, a), big);
	cr_assert_str_eq(strtab_str(t, b), "\xff\xfe;\n");
}

Test(strtab, stops_at_a_nul_and_at_unknown_ids)
{
	_cleanup_(strtab_freep) struct strtab *t = NULL;
	uint32_t a, b;

	cr_assert_eq(strtab_new(&t), 0);
	cr_assert_eq(strtab_intern_n(t, "ab\0cd", 5, &a), 0);
	cr_assert_eq(strtab_intern(t, "ab", &b), 0);
	cr_assert_eq(a, b);
	cr_assert_str_eq(strtab_str(t, 77), "");
	cr_assert_str_eq(strtab_str(t, UINT32_MAX), "");
	cr_assert_null(strtab_free(NULL));
}
