/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The readers go to a file twice and take it line by line. What can be read only
 * once, and JSON that is laid out otherwise (indented, several values on a line,
 * behind a byte order mark), is copied first, as they like it. The fast path of
 * the readers stays as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "dump/dump.h"
#include "dump/lines.h"
#include "util/cleanup.h"
#include "util/jsonc.h"
#include "util/vec.h"

enum { READ_BYTES = 1 << 20, VALUES_BYTES_MAX = 1 << 30, DEPTH_MAX = 64 };

static const char mark[] = "\xef\xbb\xbf";

static void gz_closep(gzFile *gz)
{
	if (*gz)
		gzclose_r(*gz);
}

static void lines_close_p(struct lines **l)
{
	lines_close(*l);
}

static void tokener_free(struct json_tokener **tok)
{
	json_tokener_free(*tok);
}

static int gz_open(int fd, gzFile *ret)
{
	int own = dup(fd);

	if (own < 0)
		return -errno;
	*ret = gzdopen(own, "rb");
	if (*ret)
		return 0;
	close(own);
	return -ENOMEM;
}

static int all_write(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t done = write(fd, bytes, n);

		if (done < 0 && errno != EINTR)
			return -errno;
		bytes += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

/* All bytes of a pipe, packed or not, as they come. */
static int copy(int from, int to)
{
	_cleanup_(freep) char *buffer = malloc(READ_BYTES);
	ssize_t n;
	int e = 0;

	if (!buffer)
		return -ENOMEM;
	while (e == 0 && (n = read(from, buffer, READ_BYTES)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		e = n < 0 ? -errno : all_write(to, buffer, (size_t)n);
	}
	return e;
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && strchr(" \t\r\n", *p))
		p++;
	return p;
}

/* Is the first value the first line, and is there a second one? */
static int lines_look(const char *path, bool *ret)
{
	_cleanup_(lines_close_p) struct lines *lines = NULL;
	struct line l;
	int e = lines_open(path, &lines);

	if (e == 0)
		e = lines_next(lines, &l);
	if (e <= 0) {
		*ret = true;
		return e;
	}
	while (l.n && strchr(" \t\r", l.text[l.n - 1]))
		l.n--;
	*ret = l.dropped || (l.n > 3 && memcmp(l.text, mark, 3) && l.text[l.n - 1] == '}');
	if (*ret && !l.dropped) {
		e = lines_next(lines, &l);
		*ret = e != 0;
	}
	return e < 0 ? e : 0;
}

/* One JSON value after the other, each on a line of its own; what is none is left as the last line. */
static int values_write(const char *text, size_t n, int to, size_t *ret_n)
{
	_cleanup_(tokener_free) struct json_tokener *tok = json_tokener_new_ex(DEPTH_MAX);
	const char *p = text, *end = text + n;
	int e = tok ? 0 : -ENOMEM;

	*ret_n = 0;
	for (p = skip_blanks(p, end); e == 0 && p < end; p = skip_blanks(p, end)) {
		struct json_object *value;
		const char *line;

		json_tokener_reset(tok);
		value = json_tokener_parse_ex(tok, p, end - p < INT_MAX ? (int)(end - p) : INT_MAX);
		if (json_tokener_get_error(tok) != json_tokener_success) {
			json_object_put(value);
			return all_write(to, p, (size_t)(end - p));
		}
		p += json_tokener_get_parse_end(tok);
		line = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
		e = line ? all_write(to, line, strlen(line)) : -ENOMEM;
		if (e == 0)
			e = all_write(to, "\n", 1);
		json_object_put(value);
		++*ret_n;
	}
	return e;
}

static int text_read(int fd, char **ret, size_t *ret_n)
{
	_cleanup_(gz_closep) gzFile gz = NULL;
	_cleanup_(freep) char *text = NULL;
	size_t n = 0, cap = 0;
	int got = 1, e = gz_open(fd, &gz);

	while (e == 0 && got > 0) {
		if (n > VALUES_BYTES_MAX)
			return -EFBIG;
		if (VEC_RESERVE(text, cap, n + READ_BYTES) < 0)
			return -ENOMEM;
		got = gzread(gz, text + n, READ_BYTES);
		n += got > 0 ? (size_t)got : 0;
	}
	if (e < 0)
		return e;
	*ret = TAKE_PTR(text);
	*ret_n = n;
	return 0;
}

/* *ret_fd: a copy in lines; left alone if it wouldn't help. fd is at its beginning and is left somewhere. */
static int relay(int fd, int *ret_fd)
{
	_cleanup_(closep) int made = memfd_create("dump", MFD_CLOEXEC);
	_cleanup_(freep) char *text = NULL;
	size_t n = 0, skip, value_n = 0;
	int e = made < 0 ? -errno : text_read(fd, &text, &n);

	if (e < 0)
		return e == -EFBIG ? 0 : e;
	skip = n >= 3 && !memcmp(text, mark, 3) ? 3 : 0;
	e = values_write(text + skip, n - skip, made, &value_n);
	if (e == 0 && (value_n > 1 || skip))
		*ret_fd = TAKE_FD(made);
	return e;
}

int dump_spool(const char *path, int *ret_fd)
{
	_cleanup_(closep) int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
	_cleanup_(closep) int made = -1;
	bool in_lines = true;
	struct stat st;
	char again[32];
	int e;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode)) {
		made = memfd_create("dump", MFD_CLOEXEC);
		if (made < 0)
			return -errno;
		e = copy(fd, made);
		if (e < 0)
			return e;
		close(TAKE_FD(fd));
		fd = TAKE_FD(made);
	}
	snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
	e = lines_look(again, &in_lines);
	if (e == 0 && !in_lines)
		e = lseek(fd, 0, SEEK_SET) < 0 ? -errno : relay(fd, &made);
	if (e < 0)
		return e;
	*ret_fd = made >= 0 ? TAKE_FD(made) : S_ISREG(st.st_mode) && strcmp(path, "-") ? -1 : TAKE_FD(fd);
	return 0;
}
