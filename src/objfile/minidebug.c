/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The section is one xz stream. libdw can unpack it too, but only for a module
 * of a Dwfl session, which wants to find files and symbols itself. What a
 * damaged or hostile section can cost is bounded by both sizes, the unpacked
 * one and the decoder's.
 */
#include "objfile/minidebug.h"

#include <errno.h>
#include <lzma.h>
#include <stdint.h>

#include "objfile/sections.h"
#include "util/cleanup.h"
#include "util/vec.h"

#define UNPACKED_MAX (128u << 20)
#define DECODER_MAX (128u << 20) /* xz -9 takes 65 MB */

struct unpacked {
	uint8_t *v;
	size_t n, cap;
};

static void unpacked_done(struct unpacked *u)
{
	free(u->v);
}

static int unpack(lzma_stream *stream, struct unpacked *u)
{
	lzma_ret r = LZMA_OK;

	while (r == LZMA_OK) {
		if (u->n == u->cap && VEC_RESERVE(u->v, u->cap, u->n ? 2 * u->n : 1u << 20) < 0)
			return -ENOMEM;
		stream->next_out = u->v + u->n;
		stream->avail_out = u->cap - u->n;
		r = lzma_code(stream, LZMA_FINISH);
		u->n = u->cap - stream->avail_out;
		if (u->n > UNPACKED_MAX)
			return -EFBIG;
	}
	return r == LZMA_STREAM_END ? 0 : r == LZMA_MEM_ERROR ? -ENOMEM : r == LZMA_MEMLIMIT_ERROR ? -EFBIG : -EBADMSG;
}

int minidebug_read(Elf *elf, void **ret, size_t *ret_n)
{
	_cleanup_(unpacked_done) struct unpacked u = { 0 };
	lzma_stream stream = LZMA_STREAM_INIT;
	GElf_Shdr shdr;
	Elf_Scn *scn = sections_find(elf, ".gnu_debugdata", &shdr);
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
	int err;

	if (!scn)
		return -ENOENT;
	if (!data || !data->d_buf)
		return -EBADMSG;
	if (lzma_stream_decoder(&stream, DECODER_MAX, LZMA_CONCATENATED) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = data->d_buf;
	stream.avail_in = data->d_size;
	err = unpack(&stream, &u);
	lzma_end(&stream);
	if (err)
		return err;
	*ret = TAKE_PTR(u.v);
	*ret_n = u.n;
	return 0;
}
