/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The table of functions is searched where it lies: one entry is its address
 * and where its record is, and it ends where the next one begins. Records are
 * read anew each time; what is cached, and for how long, is the asker's choice.
 *
 * Layouts: struct _func of runtime2.go in each release.
 */
#include <errno.h>
#include <string.h>

#include "objfile/go.h"

#define FLAG_TOP_FRAME 1 /* funcFlag_TOPFRAME, funcFlag_SPWRITE: 1.17 on */
#define FLAG_SP_WRITE 2

static int function_entry(const struct objfile_go *g, size_t i, uint64_t *ret_start, uint32_t *ret_record)
{
	struct bytes b = g->functions;
	uint64_t wide = 0;
	uint32_t start = 0, record = 0;
	int err;

	if (g->format == GO_FORMAT_1_16) {
		err = bytes_seek(&b, i * 16);
		if (!err)
			err = bytes_u64(&b, ret_start);
		if (!err && i < g->function_n)
			err = bytes_u64(&b, &wide);
		if (!err)
			*ret_record = wide > UINT32_MAX ? UINT32_MAX : (uint32_t)wide;
		return err;
	}
	err = bytes_seek(&b, i * 8);
	if (!err)
		err = bytes_u32(&b, &start);
	/* What follows the last function is its end alone. */
	if (!err && i < g->function_n)
		err = bytes_u32(&b, &record);
	if (err)
		return err;
	*ret_start = g->text + start;
	*ret_record = record;
	return 0;
}

static int skip_words(struct bytes *b, size_t n)
{
	return bytes_skip(b, n * 4);
}

int go_record_read(const struct objfile_go *g, uint32_t at, struct go_record *ret)
{
	struct bytes b = g->functions;
	struct go_record r = { 0 };
	uint8_t funcdata_n = 0;
	size_t size;
	int err = bytes_seek(&b, at);

	if (!err)
		err = bytes_skip(&b, g->format == GO_FORMAT_1_16 ? 8 : 4); /* the address again */
	if (!err)
		err = bytes_u32(&b, &r.name);
	if (!err)
		err = skip_words(&b, 1); /* args */
	if (!err)
		err = bytes_u32(&b, &r.after_panic); /* deferreturn */
	if (!err)
		err = bytes_u32(&b, &r.sp);
	if (!err)
		err = bytes_u32(&b, &r.file);
	if (!err)
		err = bytes_u32(&b, &r.line);
	if (!err)
		err = bytes_u32(&b, &r.pcdata_n);
	if (!err)
		err = bytes_u32(&b, &r.unit);
	if (!err && g->format == GO_FORMAT_1_20)
		err = skip_words(&b, 1); /* the line it starts at */
	if (!err)
		err = bytes_u8(&b, &r.id);
	if (!err)
		err = bytes_u8(&b, &r.flags);
	if (!err)
		err = bytes_skip(&b, 1);
	if (!err)
		err = bytes_u8(&b, &funcdata_n);
	if (err)
		return err;
	r.funcdata_n = funcdata_n;
	r.pcdata_at = b.at;
	if (r.pcdata_n > bytes_left(&b) / 4)
		return -EBADMSG;
	skip_words(&b, r.pcdata_n);
	if (g->format == GO_FORMAT_1_16 && bytes_align(&b, 8))
		return -EBADMSG;
	r.funcdata_at = b.at;
	size = g->format == GO_FORMAT_1_16 ? 8 : 4;
	if (r.funcdata_n > bytes_left(&b) / size)
		return -EBADMSG;
	*ret = r;
	return 0;
}

const char *go_name(const struct objfile_go *g, uint32_t offset)
{
	struct bytes b = g->names;
	const char *name;

	if (bytes_seek(&b, offset) || bytes_str(&b, &name) || !*name)
		return NULL;
	return name;
}

size_t objfile_go_function_n(const struct objfile_go *g)
{
	return g->function_n;
}

int objfile_go_function_at(const struct objfile_go *g, size_t i, struct objfile_go_function *ret)
{
	struct objfile_go_function f = { 0 };
	struct go_record record;
	uint32_t unused;
	int err;

	if (i >= g->function_n)
		return -ENOENT;
	err = function_entry(g, i, &f.start, &f.record);
	if (!err)
		err = function_entry(g, i + 1, &f.end, &unused);
	if (!err)
		err = go_record_read(g, f.record, &record);
	if (err)
		return err;
	f.name = go_name(g, record.name);
	if (!f.name || f.end < f.start)
		return -EBADMSG;
	f.wrapper = g->wrapper_id && record.id == g->wrapper_id;
	f.top_frame = record.flags & FLAG_TOP_FRAME;
	f.sp_write = record.flags & FLAG_SP_WRITE;
	*ret = f;
	return 0;
}

int objfile_go_function(const struct objfile_go *g, uint64_t vaddr, struct objfile_go_function *ret)
{
	size_t lo = 0, hi = g->function_n;
	struct objfile_go_function f;
	int err;

	if (vaddr < g->text || vaddr >= g->text_end)
		return -ENOENT;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		uint64_t start;
		uint32_t unused;

		err = function_entry(g, mid, &start, &unused);
		if (err)
			return err;
		if (start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return -ENOENT;
	err = objfile_go_function_at(g, lo - 1, &f);
	if (err)
		return err;
	if (vaddr >= f.end)
		return -ENOENT;
	*ret = f;
	return 0;
}

uint64_t go_after_panic(const struct objfile_go *g, const struct objfile_go_function *f)
{
	struct go_record r;

	return go_record_read(g, f->record, &r) || !r.after_panic || r.after_panic >= f->end - f->start ?
		       0 : f->start + r.after_panic;
}

int objfile_go_function_named(const struct objfile_go *g, const char *name, struct objfile_go_function *ret)
{
	for (size_t i = 0; i < g->function_n; i++) {
		struct objfile_go_function f;
		int err = objfile_go_function_at(g, i, &f);

		if (err)
			return err;
		if (f.wrapper || strcmp(f.name, name))
			continue;
		*ret = f;
		return 0;
	}
	return -ENOENT;
}

int go_functions_check(struct objfile_go *g)
{
	struct objfile_go_function first;
	uint64_t before = g->text;

	for (size_t i = 0; i <= g->function_n; i++) {
		uint64_t start;
		uint32_t unused;

		if (function_entry(g, i, &start, &unused) || start < before || start > g->text_end)
			return -EBADMSG;
		before = start;
	}
	g->text_end = before; /* the linker's may be further on, after padding */
	return objfile_go_function_at(g, 0, &first);
}

void objfile_go_text(const struct objfile_go *g, uint64_t *ret_start, uint64_t *ret_end)
{
	*ret_start = g->text;
	*ret_end = g->text_end;
}

const char *objfile_go_version(const struct objfile_go *g)
{
	return g->version;
}
