/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Nearly every table is clean, so the check comes first and the copy is made
 * only when a name needs it. The JSON writer would replace bad bytes too, but
 * then two ids could carry one text and a reader that interns would shift all
 * ids after them.
 */
#include "dump/strings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the well-formed character at s (NUL-terminated), 0 if there is none: Unicode table 3-7. */
static size_t utf8_len(const unsigned char *s)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t len;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (s[0] == 0xe0)
		low = 0xa0; /* a shorter form exists below */
	else if (s[0] == 0xed)
		high = 0x9f; /* surrogates above */
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f; /* beyond U+10FFFF above */
	for (size_t i = 1; i < len; i++) {
		if (s[i] < low || s[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
	}
	return len;
}

static bool text_is_clean(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		size_t len = utf8_len(s);

		if (!len)
			return false;
		s += len;
	}
	return true;
}

/* Each byte that is no part of a character becomes U+FFFD. */
static int clean_intern(struct strtab *t, const char *text, uint32_t *ret)
{
	const unsigned char *s = (const unsigned char *)text;
	char *copy = malloc(3 * strlen(text) + 1);
	size_t n = 0;
	int r;

	if (!copy)
		return -ENOMEM;
	while (*s) {
		size_t len = utf8_len(s);

		if (len) {
			memcpy(copy + n, s, len);
			n += len;
			s += len;
		} else {
			memcpy(copy + n, "\xef\xbf\xbd", 3);
			n += 3;
			s++;
		}
	}
	r = strtab_intern_n(t, copy, n, ret);
	free(copy);
	return r;
}

static int clean_table_make(struct dump_strings *s)
{
	struct strtab *to = s->earlier;

	s->ids = calloc(s->n, sizeof(*s->ids));
	if (!s->ids || (!to && strtab_new(&s->clean) < 0))
		return -ENOMEM;
	to = to ?: s->clean;
	for (size_t i = 1; i < s->n; i++) {
		if (clean_intern(to, strtab_str(s->table, (uint32_t)i), &s->ids[i]) < 0)
			return -ENOMEM;
	}
	s->table = to;
	return 0;
}

int dump_strings_init(struct dump_strings *s, const struct strtab *table, struct strtab *earlier)
{
	*s = (struct dump_strings){ .table = table, .n = strtab_n(table), .earlier = earlier };
	for (size_t i = earlier ? 0 : 1; i < s->n; i++) {
		if (!earlier && text_is_clean(strtab_str(table, (uint32_t)i)))
			continue;
		if (clean_table_make(s) < 0) {
			dump_strings_done(s);
			return -ENOMEM;
		}
		break;
	}
	return 0;
}

void dump_strings_done(struct dump_strings *s)
{
	if (s->clean)
		strtab_free(s->clean);
	free(s->ids);
	*s = (struct dump_strings){ 0 };
}

uint32_t dump_strings_id(const struct dump_strings *s, uint32_t id)
{
	if (id >= s->n)
		return 0;
	return s->ids ? s->ids[id] : id;
}

const char *dump_strings_text(const struct dump_strings *s, uint32_t id)
{
	return strtab_str(s->table, dump_strings_id(s, id));
}
