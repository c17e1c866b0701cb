/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A recording has some hundred thousand rows whose text is often the same: a
 * row tells threads' stacks apart by address and resource, a line does not.
 * The string table does the merging: its ids are dense, so id - 1 is the
 * entry's place until something is sorted.
 */
#include "output/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/vec.h"

void tally_done(struct tally *t)
{
	strtab_free(t->lines);
	free(t->entries);
	*t = (struct tally){0};
}

int tally_add(struct tally *t, const char *line, uint32_t row, uint64_t ns, uint64_t count)
{
	struct tally_entry *e;
	uint32_t id;
	int err;

	if (!t->lines) {
		err = strtab_new(&t->lines);
		if (err)
			return err;
	}
	if (VEC_RESERVE(t->entries, t->cap, t->n + 1) < 0)
		return -ENOMEM;
	err = strtab_intern(t->lines, line, &id);
	if (err)
		return err;
	if (!id)
		return -EINVAL;
	e = &t->entries[id - 1];
	if (id > t->n) {
		*e = (struct tally_entry){.line = strtab_str(t->lines, id), .row = row};
		t->n = id;
	}
	e->ns += ns;
	e->count += count;
	t->total_ns += ns;
	return 0;
}

static int by_rest(const void *pa, const void *pb)
{
	const struct tally_entry *a = pa, *b = pb;
	uint64_t rest_a = a->ns % 1000, rest_b = b->ns % 1000;

	if (rest_a != rest_b)
		return rest_a > rest_b ? -1 : 1;
	return strcmp(a->line, b->line);
}

static int by_line(const void *pa, const void *pb)
{
	const struct tally_entry *a = pa, *b = pb;

	return strcmp(a->line, b->line);
}

static int by_count(const void *pa, const void *pb)
{
	const struct tally_entry *a = pa, *b = pb;

	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	return strcmp(a->line, b->line);
}

static int by_ns(const void *pa, const void *pb)
{
	const struct tally_entry *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return strcmp(a->line, b->line);
}

static void sort(struct tally_entry *entries, size_t n, int (*compare)(const void *, const void *))
{
	if (n)
		qsort(entries, n, sizeof(*entries), compare);
}

void tally_round(struct tally *t)
{
	uint64_t given_us = 0;
	size_t kept = 0;

	t->total_us = t->total_ns / 1000 + (t->total_ns % 1000 >= 500);
	for (size_t i = 0; i < t->n; i++) {
		t->entries[i].us = t->entries[i].ns / 1000;
		given_us += t->entries[i].us;
	}
	sort(t->entries, t->n, by_rest);
	/* Less than one per entry is missing: the rests are below 1 us each. */
	for (size_t i = 0; i < t->n && given_us < t->total_us; i++, given_us++)
		t->entries[i].us++;
	for (size_t i = 0; i < t->n; i++) {
		if (t->entries[i].us)
			t->entries[kept++] = t->entries[i];
	}
	t->n = kept;
}

void tally_sort_by_line(struct tally *t)
{
	sort(t->entries, t->n, by_line);
}

void tally_sort_by_count(struct tally *t)
{
	sort(t->entries, t->n, by_count);
}

int tally_top(const struct tally *t, size_t n_max, struct tally_entry **ret, size_t *ret_n)
{
	struct tally_entry *top = calloc(t->n + 1, sizeof(*top));

	if (!top)
		return -ENOMEM;
	if (t->n)
		memcpy(top, t->entries, t->n * sizeof(*top));
	sort(top, t->n, by_ns);
	*ret = top;
	*ret_n = t->n < n_max ? t->n : n_max;
	return 0;
}
