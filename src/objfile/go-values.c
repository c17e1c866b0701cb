/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Go's pc-value tables (its design document "Go 1.2 Runtime Symbol
 * Information"): pairs of a difference of value, zigzag, and a difference of
 * address, both of variable length; value starts at -1, and a value that
 * doesn't change, except at the very start, ends the table.
 */
#include <errno.h>

#include "objfile/go.h"

int go_values_begin(const struct objfile_go *g, const struct objfile_go_function *f, uint32_t offset,
		    struct go_values *ret)
{
	struct go_values v = { .b = g->values, .pc = f->start, .end = f->end, .value = (uint32_t)-1 };
	int err;

	if (!offset)
		v.b = bytes_init(NULL, 0);
	err = bytes_seek(&v.b, offset);
	if (!err)
		*ret = v;
	return err;
}

static int read_varint(struct bytes *b, uint32_t *ret)
{
	uint64_t wide;
	int err = bytes_uleb(b, &wide);

	if (!err && wide > UINT32_MAX)
		err = -EBADMSG;
	if (!err)
		*ret = (uint32_t)wide;
	return err;
}

int go_values_next(const struct objfile_go *g, struct go_values *v, struct go_range *ret)
{
	uint32_t value, advance;
	uint64_t end;
	int err;

	if (!v->b.n)
		return 0;
	err = read_varint(&v->b, &value);
	if (err)
		return err;
	if (!value && v->begun)
		return 0;
	err = read_varint(&v->b, &advance);
	if (err)
		return err;
	end = v->pc + (uint64_t)advance * g->quantum;
	if (!advance || end > v->end)
		return -EBADMSG;
	v->begun = true;
	v->value += value & 1 ? ~(value >> 1) : value >> 1;
	*ret = (struct go_range){ .start = v->pc, .end = end, .value = (int32_t)v->value };
	v->pc = end;
	return 1;
}

int go_value_at(const struct objfile_go *g, const struct objfile_go_function *f, uint32_t offset, uint64_t pc,
		int32_t *ret)
{
	struct go_values v;
	struct go_range range;
	int r = go_values_begin(g, f, offset, &v);

	if (r)
		return r;
	while ((r = go_values_next(g, &v, &range)) == 1) {
		if (pc < range.end) {
			*ret = range.value;
			return 0;
		}
	}
	if (!r)
		*ret = -1;
	return r;
}

int objfile_go_sp_begin(const struct objfile_go *g, const struct objfile_go_function *f, struct objfile_go_sp_walk *ret)
{
	struct go_record record;
	struct go_values v;
	int err = go_record_read(g, f->record, &record);

	if (!err)
		err = go_values_begin(g, f, record.sp, &v);
	if (err)
		return err;
	/* A walk is the caller's plain data: it holds what struct go_values does but for the reader's bounds. */
	*ret = (struct objfile_go_sp_walk){ g, v.pc, v.b.n ? v.end : v.pc, v.b.at, v.value, v.begun };
	return 0;
}

int objfile_go_sp_next(struct objfile_go_sp_walk *w, struct objfile_go_sp *ret)
{
	struct go_values v = { .b = w->g->values, .pc = w->pc, .end = w->end, .value = w->value, .begun = w->begun };
	struct go_range range;
	int r;

	if (w->pc >= w->end)
		return 0;
	r = bytes_seek(&v.b, w->at);
	if (!r)
		r = go_values_next(w->g, &v, &range);
	if (r != 1)
		return r;
	w->pc = v.pc;
	w->at = v.b.at;
	w->value = v.value;
	w->begun = true;
	*ret = (struct objfile_go_sp){ range.start, range.end, range.value };
	return 1;
}
