/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The bytes are the traced program's: json.h makes them strict UTF-8, and what is cut is said to be cut. */
#include "assemble/argv.h"

#include <errno.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/json.h"
#include "util/vec.h"

struct text {
	char *bytes;
	size_t n, cap;
};

static void text_done(struct text *t)
{
	free(t->bytes);
}

static int text_append(void *arg, const char *bytes, size_t n)
{
	struct text *t = arg;

	if (VEC_RESERVE(t->bytes, t->cap, t->n + n) < 0)
		return -ENOMEM;
	memcpy(t->bytes + t->n, bytes, n);
	t->n += n;
	return 0;
}

int assemble_argv_intern(struct strtab *strings, const char *argv, size_t n, size_t total, uint32_t *ret)
{
	_cleanup_(text_done) struct text text = { 0 };
	_cleanup_(json_freep) struct json *j = NULL;
	char cut[48];
	int r;

	if (!n) {
		*ret = 0;
		return 0;
	}
	if (json_new(text_append, &text, JSON_COMPACT, &j) < 0)
		return -ENOMEM;
	json_begin_array(j);
	for (size_t at = 0, length; at < n; at += length + 1) {
		length = strnlen(argv + at, n - at);
		json_string_n(j, argv + at, length);
	}
	if (total > n) {
		snprintf(cut, sizeof(cut), "... (%zu more bytes)", total - n);
		json_string(j, cut);
	}
	json_end_array(j);
	r = json_flush(j);
	return r < 0 ? r : strtab_intern_n(strings, text.bytes, text.n, ret);
}
