/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A line has less room than a stack or a path. Entries that differ only in what
 * was cut off would be lines that nobody can tell apart, so they become one
 * that says how many it stands for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report.h"
#include "util/cleanup.h"
#include "util/strtab.h"
#include "util/vec.h"

static char *label_make(const struct report *r, const struct analyze_entry *e, report_label_fn label, unsigned columns)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	label(r, e, columns, f);
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static void entry_merge(struct analyze_entry *to, const struct analyze_entry *e)
{
	to->count += e->count;
	to->blocked_ns += e->blocked_ns;
	to->runnable_ns += e->runnable_ns;
	to->idle_count += e->idle_count;
	to->idle_ns += e->idle_ns;
	to->squares += e->squares;
	to->idle &= e->idle;
	if (e->longest_ns > to->longest_ns) {
		to->longest_ns = e->longest_ns;
		to->longest_cut = e->longest_cut;
	}
}

static int line_compare(const void *a, const void *b)
{
	const struct report_line *x = a, *y = b;
	uint64_t x_ns = report_entry_ns(&x->entry), y_ns = report_entry_ns(&y->entry);

	if (x_ns != y_ns)
		return x_ns > y_ns ? -1 : 1;
	/* The same order on every run. */
	return strcmp(x->label, y->label);
}

/* Id 0 of a string table is "", so a line's place is its label's id; an empty label has place 0. */
static int lines_fill(const struct report *r, const struct analyze_table *t, report_label_fn label, unsigned columns,
		      struct report_lines *l)
{
	_cleanup_(strtab_freep) struct strtab *labels = NULL;
	_cleanup_(freep) uint32_t *places = calloc(t->n + 1, sizeof(*places)); /* by label: 1 + line */
	size_t cap = 0;

	if (!places || strtab_new(&labels) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		_cleanup_(freep) char *text = label_make(r, &t->entries[i], label, columns);
		uint32_t id;

		if (!text || strtab_intern(labels, text, &id) < 0)
			return -ENOMEM;
		if (places[id]) {
			entry_merge(&l->lines[places[id] - 1].entry, &t->entries[i]);
			l->lines[places[id] - 1].alike_n++;
			continue;
		}
		if (VEC_RESERVE(l->lines, cap, l->n + 1) < 0)
			return -ENOMEM;
		l->lines[l->n++] = (struct report_line){ t->entries[i], TAKE_PTR(text), 1 };
		places[id] = (uint32_t)l->n;
	}
	return 0;
}

int report_lines_make(const struct report *r, const struct analyze_table *t, report_label_fn label, unsigned columns,
		      struct report_lines *ret)
{
	_cleanup_(report_lines_done) struct report_lines l = { 0 };

	if (lines_fill(r, t, label, columns, &l) < 0)
		return -ENOMEM;
	if (l.n)
		qsort(l.lines, l.n, sizeof(*l.lines), line_compare);
	*ret = l;
	l = (struct report_lines){ 0 };
	return 0;
}

void report_lines_done(struct report_lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->lines[i].label);
	free(l->lines);
	*l = (struct report_lines){ 0 };
}
