/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What a damaged gzip stream gives before its fault is served, to the last byte; the fault is remembered. zlib's gz layer
 * keeps back what it had of its last buffer then, which may be all of the file, so streams are inflated here. A string
 * table makes a header of many MB: the buffer grows to the longest line and is reused.
 */
#include "dump/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "util/cleanup.h"
#include "util/vec.h"

enum { READ_BYTES = 512 << 10, GZ_BYTES = 128 << 10, GZ_WINDOW = 15 + 16 /* the largest; with gzip's header */, LINE_BYTES_MAX = 1 << 30 };

struct lines {
	int fd;
	bool gzip, fresh; /* fresh: between two members of the stream */
	z_stream z;
	unsigned char *in; /* GZ_BYTES of the file */
	bool in_at_end;
	char *buffer;
	size_t cap, begin, end; /* unserved bytes are [begin, end) */
	bool at_end, skipping;
	char damage[80];
};

/* Some of the file: bytes read, 0 at its end, which may be where it can't be read any more. */
static size_t file_read(struct lines *l, void *to, size_t n)
{
	ssize_t got;

	do
		got = read(l->fd, to, n);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		snprintf(l->damage, sizeof(l->damage), "the file can't be read to its end (%m)");
	return got > 0 ? (size_t)got : 0;
}

/* At least two bytes are there to inflate, if the file has that many. */
static void in_fill(struct lines *l)
{
	if (l->z.avail_in >= 2 || l->in_at_end)
		return;
	memmove(l->in, l->z.next_in, l->z.avail_in);
	l->z.next_in = l->in;
	while (l->z.avail_in < 2 && !l->in_at_end) {
		size_t n = file_read(l, l->in + l->z.avail_in, GZ_BYTES - l->z.avail_in);

		l->in_at_end = n == 0;
		l->z.avail_in += (unsigned)n;
	}
}

static bool gzip_follows(const struct lines *l)
{
	return l->z.avail_in >= 2 && l->z.next_in[0] == 0x1f && l->z.next_in[1] == 0x8b;
}

int lines_open(const char *path, struct lines **ret)
{
	struct lines *l = calloc(1, sizeof(*l));
	struct stat st;

	if (!l)
		return -ENOMEM;
	l->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (l->fd < 0 || fstat(l->fd, &st) < 0 || S_ISDIR(st.st_mode)) {
		int r = l->fd >= 0 && S_ISDIR(st.st_mode) ? -EISDIR : -errno;

		lines_close(l);
		return r;
	}
	l->z.next_in = l->in = malloc(GZ_BYTES);
	if (!l->in || inflateInit2(&l->z, GZ_WINDOW) != Z_OK) {
		lines_close(l);
		return -ENOMEM;
	}
	in_fill(l);
	l->gzip = l->fresh = gzip_follows(l);
	*ret = l;
	return 0;
}

struct lines *lines_close(struct lines *l)
{
	if (!l)
		return NULL;
	inflateEnd(&l->z);
	closep(&l->fd);
	free(l->in);
	free(l->buffer);
	free(l);
	return NULL;
}

/* Up to n bytes of a plain file; first those that were looked at. */
static size_t plain_read(struct lines *l, char *to, size_t n)
{
	size_t had = l->z.avail_in;

	if (!had)
		return file_read(l, to, n);
	memcpy(to, l->z.next_in, had);
	l->z.avail_in = 0;
	return had;
}

/*
 * The next n bytes of a gzip stream, fewer only at its end. Behind a member comes another one, or nothing that counts: as
 * gzip has it, zeros and other bytes that are no gzip. 0, -ENOMEM.
 */
static int gzip_read(struct lines *l, char *to, size_t n, size_t *ret)
{
	int r = Z_OK;

	l->z.next_out = (unsigned char *)to;
	l->z.avail_out = (unsigned)n;
	while (l->z.avail_out && !l->damage[0]) {
		in_fill(l);
		if (l->fresh && !gzip_follows(l))
			break;
		l->fresh = false;
		r = inflate(&l->z, Z_NO_FLUSH);
		if (r == Z_MEM_ERROR)
			return -ENOMEM;
		if (r == Z_STREAM_END) {
			inflateReset(&l->z);
			l->fresh = true;
		} else if (r != Z_OK && r != Z_BUF_ERROR) {
			snprintf(l->damage, sizeof(l->damage), "the gzip stream is damaged (%s)",
				 l->z.msg ? l->z.msg : "it needs a dictionary");
		} else if (!l->z.avail_in && l->in_at_end && l->z.avail_out && !l->damage[0]) {
			snprintf(l->damage, sizeof(l->damage), "the gzip stream is cut short");
		}
	}
	*ret = n - l->z.avail_out;
	return 0;
}

/* Reads more bytes behind end. 0, -ENOMEM. */
static int fill(struct lines *l)
{
	size_t n;

	if (l->begin) {
		memmove(l->buffer, l->buffer + l->begin, l->end - l->begin);
		l->end -= l->begin;
		l->begin = 0;
	}
	/* More than is read: line.text[n] belongs to the caller. */
	if (VEC_RESERVE(l->buffer, l->cap, l->end + READ_BYTES + LINES_SLACK) < 0)
		return -ENOMEM;
	if (!l->gzip)
		n = plain_read(l, l->buffer + l->end, READ_BYTES);
	else if (gzip_read(l, l->buffer + l->end, READ_BYTES, &n) < 0)
		return -ENOMEM;
	l->end += n;
	l->at_end = l->gzip ? n < READ_BYTES : n == 0;
	return 0;
}

static int line_serve(struct lines *l, size_t n, bool ended, struct line *ret)
{
	*ret = (struct line){ .text = l->buffer + l->begin, .n = n, .ended = ended, .dropped = l->skipping };
	l->begin += n + ended;
	l->skipping = false;
	return 1;
}

int lines_next(struct lines *l, struct line *ret)
{
	size_t seen = 0; /* bytes of the line already searched */

	for (;;) {
		char *newline = l->end - l->begin > seen ?
				memchr(l->buffer + l->begin + seen, '\n', l->end - l->begin - seen) : NULL;

		if (newline)
			return line_serve(l, (size_t)(newline - l->buffer) - l->begin, true, ret);
		seen = l->end - l->begin;
		if (l->at_end)
			return seen || l->skipping ? line_serve(l, seen, false, ret) : 0;
		if (seen > LINE_BYTES_MAX) {
			l->skipping = true;
			l->begin = l->end;
			seen = 0;
		}
		if (fill(l) < 0)
			return -ENOMEM;
	}
}

/* Hands the first n bytes over; what is behind them goes to where the part was before. */
static int part_serve(struct lines *l, size_t n, struct lines_part *part)
{
	size_t rest = l->end - l->begin - n;
	char *text = l->buffer;
	size_t cap = l->cap;

	if (VEC_RESERVE(part->text, part->cap, rest + READ_BYTES + LINES_SLACK) < 0)
		return -ENOMEM;
	if (rest)
		memcpy(part->text, l->buffer + l->begin + n, rest);
	if (l->begin)
		memmove(l->buffer, l->buffer + l->begin, n);
	l->buffer = part->text;
	l->cap = part->cap;
	l->begin = 0;
	l->end = rest;
	*part = (struct lines_part){ .text = text, .cap = cap, .n = n, .dropped = l->skipping };
	l->skipping = false;
	return 1;
}

int lines_part_next(struct lines *l, struct lines_part *part)
{
	size_t seen = 0, whole = 0; /* bytes searched; of them up to the last newline */

	for (;;) {
		size_t have = l->end - l->begin;
		const char *newline = have > seen ? memrchr(l->buffer + l->begin + seen, '\n', have - seen) : NULL;

		if (newline)
			whole = (size_t)(newline - l->buffer) - l->begin + 1;
		seen = have;
		if (l->at_end)
			return have || l->skipping ? part_serve(l, have, part) : 0;
		if (whole && have >= READ_BYTES)
			return part_serve(l, whole, part);
		if (!whole && have > LINE_BYTES_MAX) {
			l->skipping = true;
			l->begin = l->end;
			seen = 0;
		}
		if (fill(l) < 0)
			return -ENOMEM;
	}
}

bool lines_part_line(const struct lines_part *part, size_t *at, struct line *ret)
{
	char *text = part->text + *at, *newline;

	if (*at > part->n || (*at == part->n && (*at || !part->dropped)))
		return false;
	newline = *at < part->n ? memchr(text, '\n', part->n - *at) : NULL;
	*ret = (struct line){ .text = text, .n = newline ? (size_t)(newline - text) : part->n - *at, .ended = newline,
			      .dropped = part->dropped && !*at };
	*at += ret->n + 1;
	return true;
}

const char *lines_damage(const struct lines *l)
{
	return l->damage[0] ? l->damage : NULL;
}
