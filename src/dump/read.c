/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Reading goes on over damage: a recording that was cut by a full disk or a
 * kill is worth most exactly then. Only a header that can't be understood ends
 * it, since every string of the events is in there.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "dump/lines.h"
#include "dump/pipeline.h"
#include "dump/reader.h"
#include "util/cleanup.h"
#include "util/vec.h"

void reader_done(struct reader *r)
{
	model_free(r->m);
	free(r->strings);
	free(r->words);
	ids_done(&r->op_ids);
	ids_done(&r->stack_ids);
	ids_done(&r->module_ids);
	free(r->op_parents);
	free(r->wait_refs);
	free(r->link_refs);
	free(r->thread_ops);
	free(r->sample_refs);
	free(r->span_refs);
	free(r->goids);
	map_free(r->goid_indexes);
	rows_done(&r->rows);
}

static void lines_close_p(struct lines **l)
{
	lines_close(*l);
}

void reader_complain(struct reader *r, const char *fmt, ...)
{
	va_list ap;

	if (r->problem.message[0])
		return;
	va_start(ap, fmt);
	vsnprintf(r->problem.message, sizeof(r->problem.message), fmt, ap);
	va_end(ap);
}

uint32_t reader_string(struct reader *r, uint64_t id)
{
	if (id < r->string_n)
		return r->strings[id];
	if (id)
		r->bad_string_n++;
	return 0;
}

int reader_op_add(struct reader *r, const struct model_op *op, uint64_t parent_id)
{
	uint32_t index;

	if (VEC_RESERVE(r->op_parents, r->op_parent_cap, r->m->op_n + 1) < 0 || model_op_add(r->m, &index) < 0)
		return -ENOMEM;
	r->m->ops[index] = *op;
	r->op_parents[index] = parent_id;
	return ids_add(&r->op_ids, op->id, index);
}

/* The more there is to say the shorter: the first bad line is the one to look at, behind what the header complained of. */
void reader_bad_line(struct reader *r, size_t number, const char *why)
{
	size_t at = strlen(r->problem.message);

	if (r->problem.bad_n++)
		return;
	if (!r->problem.line)
		r->problem.line = number;
	snprintf(r->problem.message + at, sizeof(r->problem.message) - at, "%sline %zu: %s", at ? "; " : "", number, why);
}

static bool line_is_blank(const struct line *l)
{
	for (size_t i = 0; i < l->n; i++) {
		if (!strchr(" \t\r", l->text[i]) || !l->text[i])
			return false;
	}
	return true;
}

int reader_line(struct reader *r, const struct line *l, struct fields *f, const char **ret_why)
{
	const char *why = NULL;
	int e;

	if (!l->dropped && line_is_blank(l))
		return 0;
	r->line_n++;
	if (l->dropped) {
		*ret_why = "the line is too long";
		return -EBADMSG;
	}
	e = fields_parse(f, l->text, l->n);
	if (e == 0)
		e = reader_event(r, f, &why);
	else
		why = f->why;
	if (e == -EBADMSG)
		*ret_why = l->ended ? why : "the line is cut short";
	else if (e == -EAGAIN)
		r->line_n--;
	fields_done(f);
	return e;
}

int reader_line_all(struct reader *r, const struct line *l, size_t number, struct fields *f)
{
	const char *why = NULL;
	int e = reader_line(r, l, f, &why);

	if (e != -EBADMSG)
		return e;
	reader_bad_line(r, number, why);
	return 0;
}

/* What is wrong with the file as a whole, after the first bad line if there is one. */
static void file_complain(struct reader *r, const char *damage)
{
	size_t at = strlen(r->problem.message), room = sizeof(r->problem.message) - at;
	char *end = r->problem.message + at;
	const char *comma = at ? "; " : "";
	uint64_t good_n = r->line_n > r->problem.bad_n ? r->line_n - r->problem.bad_n : 0;

	if (r->has_announced) {
		r->problem.announced_n = r->announced_n;
		r->problem.missing_n = r->announced_n > good_n ? r->announced_n - good_n : 0;
	}

	if (r->problem.bad_n > 1)
		snprintf(end, room, " (%zu bad lines)", r->problem.bad_n);
	at = strlen(r->problem.message);
	room = sizeof(r->problem.message) - at;
	end = r->problem.message + at;
	if (damage)
		snprintf(end, room, "%s%s after %" PRIu64 " events", comma, damage, r->line_n);
	else if (r->has_announced && r->announced_n != r->line_n)
		snprintf(end, room, "%sthe header announces %" PRIu64 " events, the file has %" PRIu64, comma,
			 r->announced_n, r->line_n);
	else if (r->bad_string_n)
		snprintf(end, room, "%s%" PRIu64 " string ids are outside the table", comma, r->bad_string_n);
	else if (r->same_id_n)
		snprintf(end, room, "%s%" PRIu64 " ops have the id of another op and were left out", comma, r->same_id_n);
	else if (r->early_n)
		snprintf(end, room, "%s%" PRIu64 " events begin before the recording and were cut there", comma,
			 r->early_n);
}

static int header_read(struct reader *r, struct lines *lines, struct dump_facts *facts)
{
	struct line l;
	int e = lines_next(lines, &l);

	if (e < 0)
		return e;
	/* Of several dumps the first complaint stays. */
	if (!r->problem.message[0])
		r->problem.line = 1;
	if (e == 0) {
		reader_complain(r, "%s", lines_damage(lines) ? lines_damage(lines) : "the file is empty");
		return -EINVAL;
	}
	if (l.dropped) {
		reader_complain(r, "the header (line 1) is too long");
		return -EINVAL;
	}
	l.text[l.n] = 0;
	e = reader_header(r, l.text, l.n, facts);
	if (e == 0 && !r->problem.message[0])
		r->problem.line = 0;
	return e;
}

/* One file into the reader; *ret_damage is kept by the caller. */
static int file_read(struct reader *r, const char *path, struct dump_facts *facts, char *damage, size_t damage_size)
{
	_cleanup_(lines_close_p) struct lines *lines = NULL;
	int e = lines_open(path, &lines);

	if (e == 0)
		e = header_read(r, lines, facts);
	if (e == 0)
		e = pipeline_read(r, lines);
	if (e == 0 && lines_damage(lines) && !*damage)
		snprintf(damage, damage_size, "%s", lines_damage(lines));
	return e;
}

struct part {
	const char *path;
	int64_t epoch_unix_ns, dumped_unix_ns;
};

static int part_compare(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->dumped_unix_ns < y->dumped_unix_ns ? -1 : x->dumped_unix_ns > y->dumped_unix_ns;
}

static int part_look(struct reader *r, struct part *part)
{
	_cleanup_(lines_close_p) struct lines *lines = NULL;
	struct line l;
	int e = lines_open(part->path, &lines);

	if (e == 0)
		e = lines_next(lines, &l);
	if (e <= 0) {
		if (e == 0)
			reader_complain(r, "%s: %s", part->path,
					lines_damage(lines) ? lines_damage(lines) : "the file is empty");
		return e == 0 ? -EINVAL : e;
	}
	l.text[l.n] = 0;
	return reader_header_times(r, l.text, l.n, &part->epoch_unix_ns, &part->dumped_unix_ns);
}

/* Puts the parts in the order of their times. -EINVAL (complained): not of one run. */
static int parts_order(struct reader *r, struct part *parts, size_t n)
{
	for (size_t i = 0; n > 1 && i < n; i++) {
		int e = part_look(r, &parts[i]);

		if (e < 0)
			return e;
		if (parts[i].epoch_unix_ns != parts[0].epoch_unix_ns) {
			reader_complain(r, "%s is of another run than %s: their epochs differ", parts[i].path,
					parts[0].path);
			return -EINVAL;
		}
	}
	qsort(parts, n, sizeof(*parts), part_compare);
	return 0;
}

static int parts_read(struct reader *r, struct part *parts, size_t n, struct dump_facts *facts)
{
	char damage[80] = "";
	size_t last_sample_first = 1;
	int e = model_new(&r->m);

	r->merged = n > 1;
	if (e == 0)
		e = parts_order(r, parts, n);
	for (size_t i = 0; e == 0 && i < n; i++) {
		last_sample_first = r->m->sample_n;
		e = file_read(r, parts[i].path, facts, damage, sizeof(damage));
	}
	if (e == 0 && n > 1)
		e = reader_merge(r, last_sample_first);
	if (e == 0)
		e = reader_resolve(r);
	if (e == 0)
		file_complain(r, *damage ? damage : NULL);
	return e;
}

int dump_read_merged(const char *const *paths, size_t n, struct model **ret, struct dump_facts *ret_facts,
		     struct dump_problem *ret_problem)
{
	_cleanup_(freep) struct part *parts = calloc(n + 1, sizeof(*parts));
	_cleanup_(dump_facts_done) struct dump_facts facts = { 0 };
	_cleanup_(reader_done) struct reader r = { 0 };
	int e;

	if (!parts)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		parts[i].path = paths[i];
	e = parts_read(&r, parts, n, &facts);
	if (e == 0 || e == -EINVAL)
		*ret_problem = r.problem;
	if (e < 0)
		return e;
	*ret = TAKE_PTR(r.m);
	if (ret_facts) {
		*ret_facts = facts;
		facts = (struct dump_facts){ 0 };
	}
	return 0;
}

int dump_read_with(const char *path, struct model **ret, struct dump_facts *ret_facts,
		   struct dump_problem *ret_problem)
{
	return dump_read_merged(&path, 1, ret, ret_facts, ret_problem);
}

int dump_read(const char *path, struct model **ret, struct dump_problem *ret_problem)
{
	return dump_read_with(path, ret, NULL, ret_problem);
}
