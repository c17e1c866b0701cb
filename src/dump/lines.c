/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * zlib's gz layer reads plain files as they are, so there is one path. What a
 * damaged gzip stream gives before its fault is served; the fault is
 * remembered. A string table makes a header of many MB: the buffer grows to
 * the longest line and is reused.
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

/* A read of more than twice zlib's buffer goes past it. */
enum { READ_BYTES = 512 << 10, GZ_BYTES = 128 << 10, LINE_BYTES_MAX = 1 << 30 };

struct lines {
	gzFile gz;
	char *buffer;
	size_t cap, begin, end; /* unserved bytes are [begin, end) */
	bool at_end, skipping;
	char damage[80];
};

int lines_open(const char *path, struct lines **ret)
{
	struct lines *l = calloc(1, sizeof(*l));
	_cleanup_(closep) int fd = -1;
	struct stat st;

	if (!l)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || S_ISDIR(st.st_mode)) {
		int r = fd >= 0 && S_ISDIR(st.st_mode) ? -EISDIR : -errno;

		lines_close(l);
		return r;
	}
	l->gz = gzdopen(fd, "rb");
	if (!l->gz) {
		lines_close(l);
		return -ENOMEM;
	}
	(void)TAKE_FD(fd);
	gzbuffer(l->gz, GZ_BYTES);
	*ret = l;
	return 0;
}

struct lines *lines_close(struct lines *l)
{
	if (!l)
		return NULL;
	if (l->gz)
		gzclose_r(l->gz);
	free(l->buffer);
	free(l);
	return NULL;
}

/* Reads more bytes behind end. 0, -ENOMEM. */
static int fill(struct lines *l)
{
	const char *message;
	int n, error;

	if (l->begin) {
		memmove(l->buffer, l->buffer + l->begin, l->end - l->begin);
		l->end -= l->begin;
		l->begin = 0;
	}
	/* More than is read: line.text[n] belongs to the caller. */
	if (VEC_RESERVE(l->buffer, l->cap, l->end + READ_BYTES + LINES_SLACK) < 0)
		return -ENOMEM;
	n = gzread(l->gz, l->buffer + l->end, READ_BYTES);
	if (n > 0)
		l->end += (size_t)n;
	if (n == READ_BYTES)
		return 0;
	/* A short read is the end of the file, or of what can be read of it. */
	message = gzerror(l->gz, &error);
	if (error == Z_MEM_ERROR)
		return -ENOMEM;
	if (error == Z_OK && n > 0 && !gzeof(l->gz))
		return 0;
	l->at_end = true;
	if (error == Z_ERRNO)
		snprintf(l->damage, sizeof(l->damage), "the file can't be read to its end (%m)");
	else if (error == Z_BUF_ERROR)
		snprintf(l->damage, sizeof(l->damage), "the gzip stream is cut short");
	else if (error != Z_OK && error != Z_STREAM_END)
		snprintf(l->damage, sizeof(l->damage), "the gzip stream is damaged (%s)", message);
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
