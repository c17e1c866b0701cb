/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Taking lines apart is most of the work of reading, and no line needs another
 * for it. So a part of the file becomes a small model of its own, whose strings
 * are ids of the header's table as everywhere in a dump; putting it behind what
 * came before is copying. Order is kept: what the reader of all numbers as it
 * comes (rows, goroutines) comes in the order of the lines. Lines with names
 * that are in no table are left to it, they are few.
 */
#include "dump/apart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/vec.h"

int apart_init(struct apart *a)
{
	return model_new(&a->r.m);
}

void apart_done(struct apart *a)
{
	/* Of the reader that it works for. */
	a->r.strings = NULL;
	a->r.words = NULL;
	reader_done(&a->r);
	free(a->part.text);
	free(a->later);
}

static void blank(struct apart *a, const struct reader *of)
{
	struct reader *r = &a->r;
	struct model *m = r->m;

	m->op_n = m->wait_n = m->link_n = m->span_n = m->aside_n = 1;
	map_clear(m->aside_tids);
	r->end_known = of->end_known;
	m->end_ns = r->end_known ? of->m->end_ns : 0;
	r->strings = of->strings;
	r->words = of->words;
	r->string_n = of->string_n;
	r->apart = true;
	r->line_n = r->bad_string_n = r->early_n = 0;
	r->last_ns = 0;
	r->op_ids.n = 0;
	r->goid_n = 0;
	if (r->goid_indexes)
		r->goid_indexes = map_free(r->goid_indexes);
	rows_clear(&r->rows);
	a->line_n = a->later_n = 0;
	a->problem = (struct dump_problem){ 0 };
	a->why = NULL;
	a->again = false;
}

static int line_read(struct apart *a, const struct line *line, struct fields *f)
{
	const char *why = NULL;
	int e;

	e = reader_line(&a->r, line, f, &why);
	if (e == -EAGAIN) {
		if (VEC_RESERVE(a->later, a->later_cap, a->later_n + 1) < 0)
			return -ENOMEM;
		a->later[a->later_n++] = (struct later){ .line = *line, .number = a->line_n };
		return 0;
	}
	if (e == -ENOTSUP) {
		a->again = true;
		return 0;
	}
	if (e != -EBADMSG)
		return e;
	if (!a->problem.bad_n++) {
		a->problem.line = a->line_n + 1;
		a->why = why;
	}
	return 0;
}

int apart_read(struct apart *a, const struct reader *of, struct fields *f)
{
	struct line line;
	size_t at = 0;
	int e = 0;

	blank(a, of);
	while (!a->again && e == 0 && lines_part_line(&a->part, &at, &line)) {
		e = line_read(a, &line, f);
		/* Somebody may have to read it again. */
		fields_undo(f);
		if (line.ended)
			line.text[line.n] = '\n';
		a->line_n++;
	}
	return e;
}

static int ops_merge(const struct apart *a, struct reader *of)
{
	for (size_t i = 1; i < a->r.m->op_n; i++) {
		if (reader_op_add(of, &a->r.m->ops[i], a->r.op_parents[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* New numbers of the part's rows and goroutines; malloc'd. */
static int numbers_make(const struct apart *a, struct reader *of, uint32_t **ret_rows, uint32_t **ret_goids)
{
	_cleanup_(freep) uint32_t *rows = calloc(a->r.rows.n + 1, sizeof(*rows));
	_cleanup_(freep) uint32_t *goids = calloc(a->r.goid_n + 1, sizeof(*goids));

	if (!rows || !goids)
		return -ENOMEM;
	for (size_t i = 0; i < a->r.rows.n; i++) {
		if (rows_intern(&of->rows, &a->r.rows.items[i], &rows[i]) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < a->r.goid_n; i++) {
		if (reader_goid(of, a->r.goids[i], &goids[i]) < 0)
			return -ENOMEM;
	}
	*ret_rows = TAKE_PTR(rows);
	*ret_goids = TAKE_PTR(goids);
	return 0;
}

static int waits_merge(const struct apart *a, struct reader *of)
{
	_cleanup_(freep) uint32_t *rows = NULL, *goids = NULL;
	const struct model *m = a->r.m;
	uint32_t index;

	if (numbers_make(a, of, &rows, &goids) < 0 ||
	    VEC_RESERVE(of->wait_refs, of->wait_ref_cap, of->m->wait_n + m->wait_n) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->wait_n; i++) {
		struct model_wait x = m->waits[i];
		struct wait_refs refs = a->r.wait_refs[i];

		x.row = rows[x.row] & 0xffffff;
		refs.goid = goids[refs.goid];
		refs.waker_goid = goids[refs.waker_goid];
		if (m->aside_n > 1) {
			struct model_wait_words words = model_wait_words(m, &m->waits[i]);

			if (model_wait_words_set(of->m, &x, &words) < 0)
				return -ENOMEM;
		}
		if (model_wait_add(of->m, &index) < 0)
			return -ENOMEM;
		of->m->waits[index] = x;
		of->wait_refs[index] = refs;
	}
	return 0;
}

static int links_merge(const struct apart *a, struct reader *of)
{
	const struct model *m = a->r.m;
	uint32_t index;

	for (size_t i = 1; i < m->link_n; i++) {
		if (VEC_RESERVE(of->link_refs, of->link_ref_cap, of->m->link_n + 1) < 0 || model_link_add(of->m, &index) < 0)
			return -ENOMEM;
		of->m->links[index] = m->links[i];
		of->link_refs[index] = a->r.link_refs[i];
	}
	for (size_t i = 1; i < m->span_n; i++) {
		if (VEC_RESERVE(of->span_refs, of->span_ref_cap, of->m->span_n + 1) < 0 || model_span_add(of->m, &index) < 0)
			return -ENOMEM;
		of->m->spans[index] = m->spans[i];
		of->span_refs[index] = a->r.span_refs[i];
	}
	return 0;
}

/* Of the lines that were left, and the first bad one of the others, the first is the one to name. */
static int later_merge(struct apart *a, struct reader *of, struct fields *f, size_t number)
{
	size_t first_bad = a->problem.bad_n ? a->problem.line - 1 : SIZE_MAX;

	for (size_t i = 0; i < a->later_n; i++) {
		const struct later *l = &a->later[i];
		int e;

		if (l->number > first_bad) {
			reader_bad_line(of, number + first_bad, a->why);
			first_bad = SIZE_MAX;
		}
		e = reader_line_all(of, &l->line, number + l->number, f);
		if (e < 0)
			return e;
	}
	if (first_bad != SIZE_MAX)
		reader_bad_line(of, number + first_bad, a->why);
	of->problem.bad_n += a->problem.bad_n ? a->problem.bad_n - 1 : 0;
	return 0;
}

static int again_read(struct apart *a, struct reader *of, struct fields *f, size_t number)
{
	struct line line;
	size_t at = 0;
	int e = 0;

	a->line_n = 0;
	while (e == 0 && lines_part_line(&a->part, &at, &line))
		e = reader_line_all(of, &line, number + a->line_n++, f);
	return e;
}

int apart_merge(struct apart *a, struct reader *of, struct fields *f, size_t number)
{
	if (a->again)
		return again_read(a, of, f, number);
	if (ops_merge(a, of) < 0 || waits_merge(a, of) < 0 || links_merge(a, of) < 0)
		return -ENOMEM;
	of->line_n += a->r.line_n;
	of->bad_string_n += a->r.bad_string_n;
	of->early_n += a->r.early_n;
	of->last_ns = a->r.last_ns > of->last_ns ? a->r.last_ns : of->last_ns;
	return later_merge(a, of, f, number);
}
