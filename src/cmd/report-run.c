/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Which run of a program: a build has hundreds of "cc1", and what tells them
 * apart is in their arguments, most of which say nothing to a reader. So it is
 * all of them where they are few, else the file that comes out or goes in.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/report-replay.h"
#include "util/cleanup.h"

enum { WORDS_MAX = 256 };

struct words {
	char *text; /* they point into it */
	const char *list[WORDS_MAX];
	size_t n;
};

static void words_done(struct words *w)
{
	free(w->text);
}

/* The dump's own JSON array of strings; escapes other than of quotes and backslashes stay as they are. */
static bool words_read(const char *json, struct words *w)
{
	char *to = w->text = strdup(json);

	if (!to || *json != '[')
		return false;
	for (json++; *json == '"' && w->n < WORDS_MAX; json += *json == ',') {
		w->list[w->n++] = to;
		for (json++; *json && *json != '"'; json++) {
			if (*json == '\\' && (json[1] == '"' || json[1] == '\\' || json[1] == '/'))
				json++;
			*to++ = *json;
		}
		*to++ = '\0';
		if (*json)
			json++;
	}
	return w->n > 0;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static size_t words_columns(const struct words *w)
{
	size_t n = strlen(file_name(w->list[0]));

	for (size_t i = 1; i < w->n; i++)
		n += 1 + strlen(w->list[i]);
	return n;
}

static bool is_scratch(const char *word)
{
	return strncmp(word, "/tmp/", 5) == 0;
}

/* NULL: none looks like one. */
static const char *words_file(const struct words *w)
{
	for (size_t i = 1; i + 1 < w->n; i++) {
		if (strcmp(w->list[i], "-o") == 0 && !is_scratch(w->list[i + 1]))
			return w->list[i + 1];
	}
	for (size_t i = 1; i < w->n; i++) {
		if (*w->list[i] != '-' && strpbrk(w->list[i], "./") && !is_scratch(w->list[i]))
			return w->list[i];
	}
	return NULL;
}

/* The arguments of the program that was running in an op. String, 0: not known. */
static uint32_t meta_of(const struct model *m, uint32_t op)
{
	for (size_t i = 0; op && i < m->op_n; op = m->ops[op].parent, i++) {
		enum op_kind kind = m->ops[op].kind;

		if ((kind == OP_EXEC || kind == OP_EXEC_PHASE) && m->ops[op].meta_id)
			return m->ops[op].meta_id;
	}
	return 0;
}

unsigned report_run_print(const struct page *p, uint32_t op, unsigned columns)
{
	_cleanup_(words_done) struct words w = { 0 };
	uint32_t meta_id = meta_of(p->r->m, op);
	const char *file;
	unsigned used;

	if (!meta_id || !words_read(page_string(p, meta_id), &w) || w.n < 2)
		return 0;
	if (words_columns(&w) > columns) {
		file = words_file(&w);
		return file ? report_path_print(p->f, file, columns) : 0;
	}
	used = report_name_print(p->f, file_name(w.list[0]), 0);
	for (size_t i = 1; i < w.n; i++) {
		used += (unsigned)fprintf(p->f, " ");
		used += report_name_print(p->f, w.list[i], 0);
	}
	return used;
}
