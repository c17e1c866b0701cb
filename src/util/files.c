/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The temporary file has a fixed name beside the final one, so that one left by
 * a killed recorder is replaced, not piled up. It is removed and made anew with
 * O_EXCL: as root we write into folders of other users, where a planted link
 * must not lead us elsewhere.
 */
#include "util/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include "util/text.h"

enum { BUFFER_BYTES = 128 << 10 };

struct files_writer {
	int dir_fd; /* of the final name's folder */
	int fd;
	char *name; /* in that folder */
	char *tmp_name;
	int error;
	bool gone; /* the temporary name is no more: renamed */
	uint64_t bytes;
	bool is_gzip;
	z_stream z;
	size_t n; /* buffered plain bytes */
	char buffer[BUFFER_BYTES];
	unsigned char packed[BUFFER_BYTES];
};

int files_open_regular(int dir_fd, const char *path, bool beneath, int *ret, struct stat *ret_st)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	_cleanup_(closep) int handle = beneath ? (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how)) :
						 openat(dir_fd, path, O_PATH | O_CLOEXEC);
	char self[32];
	struct stat st;
	int fd;

	if (handle < 0)
		return -errno;
	if (fstat(handle, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", handle);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	*ret = fd;
	*ret_st = st;
	return 0;
}

int files_read(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_n)
{
	_cleanup_(closep) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	_cleanup_(freep) char *text = NULL;
	size_t n = 0, cap = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t got;

		/* One byte more than max, to tell a file that is too long; one for the NUL. */
		if (cap - n < 2) {
			size_t want = cap ? cap * 2 : 4096;
			char *p;

			if (want > max && max <= SIZE_MAX - 2)
				want = max + 2;
			p = realloc(text, want);
			if (!p)
				return -ENOMEM;
			text = p;
			cap = want;
		}
		got = read(fd, text + n, cap - n - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		n += (size_t)got;
		if (n > max)
			return -EFBIG;
		if (!got)
			break;
	}
	text[n] = '\0';
	*ret = TAKE_PTR(text);
	if (ret_n)
		*ret_n = n;
	return 0;
}

static int write_all(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n) {
		ssize_t put = write(fd, p, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		p += put;
		n -= (size_t)put;
	}
	return 0;
}

/* The folder of path, opened to be synced later, and the name in it. */
static int folder_open(struct files_writer *w, int dir_fd, const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_(freep) char *folder = NULL;

	/* The slash stays: "/x" is in "/". */
	folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	w->name = strdup(slash ? slash + 1 : path);
	w->tmp_name = w->name ? text_format("%s.tmp", w->name) : NULL;
	if (!folder || !w->tmp_name)
		return -ENOMEM;
	w->dir_fd = openat(dir_fd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return w->dir_fd < 0 ? -errno : 0;
}

static int tmp_open(struct files_writer *w, const struct files_writer_options *o)
{
	mode_t mode = o->mode ? o->mode : 0644;

	if (unlinkat(w->dir_fd, w->tmp_name, 0) < 0 && errno != ENOENT)
		return -errno;
	w->fd = openat(w->dir_fd, w->tmp_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (w->fd < 0)
		return -errno;
	if (o->set_owner && fchown(w->fd, o->uid, o->gid) < 0)
		return -errno;
	if (!o->gzip_level)
		return 0;
	if (deflateInit2(&w->z, o->gzip_level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	w->is_gzip = true;
	return 0;
}

int files_writer_new(int dir_fd, const char *path, const struct files_writer_options *o, struct files_writer **ret)
{
	static const struct files_writer_options plain;
	_cleanup_(files_writer_freep) struct files_writer *w = malloc(sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	memset(w, 0, offsetof(struct files_writer, buffer));
	w->dir_fd = w->fd = -1;
	r = folder_open(w, dir_fd, path);
	if (r < 0)
		return r;
	r = tmp_open(w, o ? o : &plain);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(w);
	return 0;
}

static void fail(struct files_writer *w, int error)
{
	if (!w->error)
		w->error = error;
}

/* Hands bytes to zlib and what comes out to the file. */
static void pack(struct files_writer *w, const char *bytes, size_t n, int flush)
{
	/* zlib's next_in is not const, but it only reads. */
	w->z.next_in = (unsigned char *)(uintptr_t)bytes;
	w->z.avail_in = (unsigned)n;
	do {
		w->z.next_out = w->packed;
		w->z.avail_out = BUFFER_BYTES;
		if (deflate(&w->z, flush) == Z_STREAM_ERROR) {
			fail(w, -EIO);
			return;
		}
		fail(w, write_all(w->fd, w->packed, BUFFER_BYTES - w->z.avail_out));
	} while (!w->error && w->z.avail_out == 0);
}

static void drain(struct files_writer *w, bool last)
{
	if (w->error)
		w->n = 0;
	else if (w->is_gzip)
		pack(w, w->buffer, w->n, last ? Z_FINISH : Z_NO_FLUSH);
	else
		fail(w, write_all(w->fd, w->buffer, w->n));
	w->n = 0;
}

int files_writer_write(void *writer, const char *bytes, size_t n)
{
	struct files_writer *w = writer;

	w->bytes += n;
	while (n && !w->error) {
		size_t room = BUFFER_BYTES - w->n, take = n < room ? n : room;

		memcpy(w->buffer + w->n, bytes, take);
		w->n += take;
		bytes += take;
		n -= take;
		if (w->n == BUFFER_BYTES)
			drain(w, false);
	}
	return w->error;
}

int files_writer_printf(struct files_writer *w, const char *fmt, ...)
{
	_cleanup_(freep) char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = text_vformat(fmt, args);
	va_end(args);
	if (!text) {
		fail(w, -ENOMEM);
		return w->error;
	}
	return files_writer_write(w, text, strlen(text));
}

uint64_t files_writer_bytes(const struct files_writer *w)
{
	return w->bytes;
}

static int rename_to(struct files_writer *w, const char *name)
{
	if (renameat(w->dir_fd, w->tmp_name, w->dir_fd, name) < 0)
		return -errno;
	w->gone = true;
	/* Some file systems can't sync a folder; the rename is done all the same. */
	if (fsync(w->dir_fd) < 0 && errno != EINVAL && errno != EROFS)
		return -errno;
	return 0;
}

int files_writer_commit(struct files_writer *w)
{
	drain(w, true);
	/* Before the rename, or a power cut could leave an empty file under the final name. */
	if (!w->error && fsync(w->fd) < 0)
		fail(w, -errno);
	if (!w->error)
		fail(w, rename_to(w, w->name));
	return w->error;
}

int files_writer_salvage(struct files_writer *w)
{
	_cleanup_(freep) char *partial = NULL;

	if (w->gone)
		return -EINVAL;
	partial = text_format("%s.partial", w->name);
	if (!partial)
		return -ENOMEM;
	/* On a full disk fsync may fail as the writes did; what is there is kept all the same. */
	fsync(w->fd);
	return rename_to(w, partial);
}

struct files_writer *files_writer_free(struct files_writer *w)
{
	if (!w)
		return NULL;
	if (w->fd >= 0) {
		close(w->fd);
		if (!w->gone)
			unlinkat(w->dir_fd, w->tmp_name, 0);
	}
	if (w->dir_fd >= 0)
		close(w->dir_fd);
	if (w->is_gzip)
		deflateEnd(&w->z);
	free(w->name);
	free(w->tmp_name);
	free(w);
	return NULL;
}
