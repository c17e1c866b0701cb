/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The arguments of a marker are what a compiler would write as operands of an
 * instruction, in AT&T syntax: SIZE@OPERAND each, SIZE negative if it is
 * signed, an f behind it for floating point. What has an index or names a
 * symbol is told apart and refused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objfile/objfile.h"
#include "objfile/why.h"
#include "objfile/x86-registers.h"

#define OPERAND_MAX 128

/* "off(%reg)", "(%reg)" */
static int parse_memory(const char *text, struct wcbpf_fetch *f, struct objfile_why *ret_why)
{
	const char *open = strchr(text, '('), *close;
	char name[16];
	int64_t off = 0;
	char *end;

	if (open != text) {
		off = strtoll(text, &end, 0);
		if (end != open)
			return why(ret_why, -ENOTSUP, "it is at a symbol (%s)", text);
	}
	close = strchr(open, ')');
	if (!close || close[1] || open[1] != '%' || close - open - 2 >= (ptrdiff_t)sizeof(name))
		return why(ret_why, -ENOTSUP, "its place is not a register and a number (%s)", text);
	snprintf(name, sizeof(name), "%.*s", (int)(close - open - 2), open + 2);
	if (x86_register_number(name, &f->reg) || off < INT32_MIN || off > INT32_MAX)
		return why(ret_why, -ENOTSUP, "its place is not a register and a number (%s)", text);
	f->from = WCBPF_FROM_REG;
	f->memory = 1;
	f->last = (int32_t)off;
	return 0;
}

static int parse_operand(const char *text, struct wcbpf_fetch *f, struct objfile_why *ret_why)
{
	char *end;

	if (*text == '%') {
		f->from = WCBPF_FROM_REG;
		if (x86_register_number(text + 1, &f->reg))
			return why(ret_why, -ENOTSUP, "it is in %s, which is no general register", text);
		return 0;
	}
	if (*text == '$') {
		f->from = WCBPF_FROM_CONST;
		f->at = strtoll(text + 1, &end, 0);
		return *end || end == text + 1 ? why(ret_why, -ENOTSUP, "%s is no number", text) : 0;
	}
	if (strchr(text, '('))
		return parse_memory(text, f, ret_why);
	return why(ret_why, -ENOTSUP, "it is at a symbol (%s)", text);
}

/* The i-th of the words of a text, from 1 on. */
static bool word_of(const char *text, unsigned int i, char *ret, size_t ret_n)
{
	size_t n;

	for (;; text += n) {
		text += strspn(text, " ");
		n = strcspn(text, " ");
		if (!n || n >= ret_n)
			return false;
		if (!--i)
			break;
	}
	memcpy(ret, text, n);
	ret[n] = '\0';
	return true;
}

int objfile_marker_value(const struct objfile_marker *m, unsigned int i, struct objfile_value *ret,
			 struct objfile_why *ret_why)
{
	struct objfile_value v = { 0 };
	char word[OPERAND_MAX], *at, *end;
	long size;
	int err;

	if (!i || !word_of(m->arguments, i, word, sizeof(word)))
		return why(ret_why, -ENOENT, "the marker %s:%s has no argument %u (it has \"%s\")", m->provider,
			   m->name, i, m->arguments);
	at = strchr(word, '@');
	size = strtol(word, &end, 10);
	if (at && *end == 'f')
		return why(ret_why, -ENOTSUP, "it is a floating point number (%s)", word);
	if (!at || end != at || (size != 1 && size != 2 && size != 4 && size != 8 && size != -1 && size != -2 &&
				 size != -4 && size != -8))
		return why(ret_why, -ENOTSUP, "its size is not 1, 2, 4 or 8 bytes (%s)", word);
	v.fetch.type = size < 0 ? WCBPF_VALUE_INT : WCBPF_VALUE_UINT;
	v.fetch.bytes = (__u16)(size < 0 ? -size : size);
	err = parse_operand(at + 1, &v.fetch, ret_why);
	if (err)
		return err;
	if (v.fetch.from == WCBPF_FROM_REG)
		v.needs = OBJFILE_NEEDS(v.fetch.reg);
	snprintf(v.type, sizeof(v.type), "%sint%u", size < 0 ? "" : "u", v.fetch.bytes * 8);
	*ret = v;
	return 0;
}
