/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A file may have rules in several places: a Go program with C code in it has
 * .eh_frame for that and .debug_frame (or only its own tables) for the rest. So
 * all sources are read, in order of trust, and laid over each other.
 */
#include "unwind/rows.h"

#include <errno.h>
#include <string.h>

#include "unwind/entry.h"
#include "unwind/object.h"
#include "unwind/rule.h"
#include "util/vec.h"

/* The first is believed where two speak of the same code. A further one: a function in rows.h, a line here. */
static int (*const sources[])(struct objfile *o, struct unwind_rows **ret) = {
	go_rows,
	frame_rows_eh,
	frame_rows_debug,
};
#define SOURCES_N (sizeof(sources) / sizeof(*sources))

struct unwind_rows *unwind_rows_free(struct unwind_rows *r)
{
	if (!r)
		return NULL;
	free(r->v);
	free(r);
	return NULL;
}

int rows_begin(struct rows_builder *b)
{
	*b = (struct rows_builder){ .rows = calloc(1, sizeof(*b->rows)) };
	return b->rows ? 0 : -ENOMEM;
}

int rows_put(struct rows_builder *b, uint64_t vaddr, const struct wcbpf_rule *rule)
{
	static const struct wcbpf_rule none;
	struct unwind_rows *r = b->rows;
	const struct wcbpf_rule *before;

	if (r->n && r->v[r->n - 1].vaddr == vaddr)
		r->n--;
	before = r->n ? &r->v[r->n - 1].rule : &none;
	if (rule_is_equal(before, rule))
		return 0;
	if (VEC_RESERVE(r->v, b->cap, r->n + 1))
		return -ENOMEM;
	r->v[r->n++] = (struct unwind_row){ vaddr, *rule };
	return 0;
}

int rows_end(struct rows_builder *b, struct unwind_rows **ret)
{
	struct unwind_rows *r = b->rows;

	if (!r->n)
		return -ENOENT;
	r->unsupported_n = 0;
	for (size_t i = 0; i < r->n; i++)
		r->unsupported_n += r->v[i].rule.cfa == WCBPF_CFA_UNSUPPORTED;
	*ret = TAKE_PTR(b->rows);
	return 0;
}

static void rows_cleanup(struct rows_builder *b)
{
	unwind_rows_free(b->rows);
}

static uint64_t next_vaddr(const struct unwind_rows *r, size_t at)
{
	return at < r->n ? r->v[at].vaddr : UINT64_MAX;
}

int rows_overlay(const struct unwind_rows *first, const struct unwind_rows *second, struct unwind_rows **ret)
{
	_cleanup_(rows_cleanup) struct rows_builder b = { 0 };
	static const struct wcbpf_rule none;
	const struct wcbpf_rule *rule_first = &none, *rule_second = &none;
	size_t i = 0, j = 0;
	int err = rows_begin(&b);

	while (!err && (i < first->n || j < second->n)) {
		uint64_t at_first = next_vaddr(first, i), at_second = next_vaddr(second, j);
		uint64_t at = at_first < at_second ? at_first : at_second;

		if (i < first->n && at_first == at)
			rule_first = &first->v[i++].rule;
		if (j < second->n && at_second == at)
			rule_second = &second->v[j++].rule;
		err = rows_put(&b, at, rule_first->cfa == WCBPF_CFA_NONE ? rule_second : rule_first);
	}
	return err ? err : rows_end(&b, ret);
}

const struct wcbpf_rule *rows_find(const struct unwind_rows *r, uint64_t vaddr)
{
	size_t lo = 0, hi = r->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->v[mid].vaddr <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && r->v[lo - 1].rule.cfa != WCBPF_CFA_NONE ? &r->v[lo - 1].rule : NULL;
}

/* *rows (or NULL) becomes it with one source more. */
static int add_source(struct objfile *o, size_t source, struct unwind_rows **rows)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *more = NULL;
	struct unwind_rows *both;
	int err = sources[source](o, &more);

	if (err)
		return err == -ENOMEM ? err : 0;
	if (!*rows) {
		*rows = TAKE_PTR(more);
		return 0;
	}
	err = rows_overlay(*rows, more, &both);
	if (err)
		return err;
	unwind_rows_free(*rows);
	*rows = both;
	return 0;
}

/* Code without rules from the entry point on, which nobody has called, up to the first that has some. */
static int add_entry(struct objfile *o, struct unwind_rows **rows)
{
	static const struct wcbpf_rule none, stop = { .cfa = WCBPF_CFA_STOP };
	struct unwind_row v[2] = { { 0, stop }, { 0, none } };
	struct unwind_rows entry = { v, 2, 0 };
	const struct unwind_rows *r = *rows;
	struct unwind_rows *both;
	size_t at = 0;
	int err;

	if (!r || !entry_find(objfile_elf(o), &v[0].vaddr))
		return 0;
	while (at < r->n && r->v[at].vaddr <= v[0].vaddr)
		at++;
	if (at && r->v[at - 1].rule.cfa != WCBPF_CFA_NONE)
		return 0;
	v[1].vaddr = v[0].vaddr + ENTRY_BYTES_MAX;
	if (at < r->n && r->v[at].vaddr < v[1].vaddr)
		v[1].vaddr = r->v[at].vaddr;
	if (v[1].vaddr < v[0].vaddr)
		return 0;
	err = rows_overlay(r, &entry, &both);
	if (err)
		return err;
	unwind_rows_free(*rows);
	*rows = both;
	return 0;
}

static int read_objfile(struct objfile *o, struct unwind_rows **ret)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	int err;

	if (!object_is_of_our_machine(objfile_elf(o)))
		return -ENOTSUP;
	for (size_t i = 0; i < SOURCES_N; i++) {
		err = add_source(o, i, &rows);
		if (err)
			return err;
	}
	err = add_entry(o, &rows);
	if (err)
		return err;
	if (!rows)
		return -ENOENT;
	*ret = TAKE_PTR(rows);
	return 0;
}

DEFINE_CLEANUP(struct objfile *, objfile_free)

int unwind_rows_read(int fd, struct unwind_rows **ret)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	int err = objfile_open_fd(fd, &o);

	return err ? err : read_objfile(o, ret);
}

int unwind_rows_read_vdso(struct unwind_rows **ret)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	int err = objfile_open_vdso(&o);

	return err ? err : read_objfile(o, ret);
}
