/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "export/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16, OUT_BYTES = 64 << 10, LEVEL = 6, MEMORY = 8 };

struct gzip {
	z_stream z;
	json_sink sink;
	void *arg;
	unsigned char out[OUT_BYTES];
};

int gzip_new(json_sink sink, void *arg, struct gzip **ret)
{
	_cleanup_(freep) struct gzip *g = calloc(1, sizeof(*g));

	if (!g || deflateInit2(&g->z, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	g->sink = sink;
	g->arg = arg;
	*ret = TAKE_PTR(g);
	return 0;
}

struct gzip *gzip_free(struct gzip *g)
{
	if (g)
		deflateEnd(&g->z);
	free(g);
	return NULL;
}

static int run(struct gzip *g, int flush)
{
	do {
		int err;

		g->z.next_out = g->out;
		g->z.avail_out = OUT_BYTES;
		if (deflate(&g->z, flush) == Z_STREAM_ERROR)
			return -EIO;
		if (g->z.avail_out == OUT_BYTES)
			return 0;
		err = g->sink(g->arg, (const char *)g->out, OUT_BYTES - g->z.avail_out);
		if (err)
			return err;
	} while (g->z.avail_out == 0);
	return 0;
}

int gzip_write(void *arg, const char *bytes, size_t n)
{
	struct gzip *g = arg;

	while (n) {
		uInt piece = n < INT_MAX ? (uInt)n : INT_MAX;
		int err;

		g->z.next_in = (Bytef *)(uintptr_t)bytes;
		g->z.avail_in = piece;
		err = run(g, Z_NO_FLUSH);
		if (err)
			return err;
		bytes += piece;
		n -= piece;
	}
	return 0;
}

int gzip_end(struct gzip *g)
{
	return run(g, Z_FINISH);
}
