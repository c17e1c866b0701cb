/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What the compressing sink writes, as zlib's reader reads it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "export/gzip.h"
#include "util/text.h"

static int keep(void *arg, const char *bytes, size_t n)
{
	text_append_n(arg, bytes, n);
	return text_error(arg);
}

static int refuse(void *arg, const char *bytes, size_t n)
{
	(void)arg, (void)bytes, (void)n;
	return -ENOSPC;
}

static char *inflated(const struct text *t, size_t *ret_n)
{
	z_stream z = { .next_in = (Bytef *)t->bytes, .avail_in = (uInt)t->n };
	char *out = malloc(4 << 20);

	cr_assert_eq(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_out = (Bytef *)out;
	z.avail_out = 4 << 20;
	cr_assert_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
	cr_assert_eq(z.avail_in, 0);
	*ret_n = z.total_out;
	inflateEnd(&z);
	return out;
}

Test(gzip, pieces)
{
	static const size_t pieces[] = { 0, 1, 7, 1000, 65536, 300000 };
	struct text in = { 0 }, out = { 0 };
	struct gzip *g;
	unsigned noise = 1;
	size_t n;
	char *back;

	cr_assert_eq(gzip_new(keep, &out, &g), 0);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		size_t from = in.n;

		for (size_t k = 0; k < pieces[i]; k++) {
			noise = noise * 1103515245 + 12345;
			text_append_n(&in, (const char[]){ (char)(noise >> 24) }, 1);
		}
		cr_assert_eq(gzip_write(g, text_str(&in) + from, pieces[i]), 0);
	}
	cr_assert_eq(gzip_end(g), 0);
	gzip_free(g);
	back = inflated(&out, &n);
	cr_assert_eq(n, in.n);
	cr_assert_eq(memcmp(back, in.bytes, n), 0);
	free(back);
	text_done(&in);
	text_done(&out);
}

Test(gzip, nothing)
{
	struct text out = { 0 };
	struct gzip *g;
	size_t n;

	cr_assert_eq(gzip_new(keep, &out, &g), 0);
	cr_assert_eq(gzip_end(g), 0);
	gzip_free(g);
	free(inflated(&out, &n));
	cr_assert_eq(n, 0);
	text_done(&out);
}

Test(gzip, full)
{
	struct gzip *g;

	cr_assert_eq(gzip_new(refuse, NULL, &g), 0);
	/* When it first hands on what it has is zlib's to choose. */
	cr_assert(gzip_write(g, "x", 1) == -ENOSPC || gzip_end(g) == -ENOSPC);
	gzip_free(g);
}
