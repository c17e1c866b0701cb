/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/owner.h"
#include "cmd/picture.h"
#include "util/cleanup.h"
#include "util/files.h"

struct picture_file {
	struct files_writer *writer; /* else fd */
	int fd;
	bool own_fd;
	uint64_t bytes;
};

static int terminal_refuse(const char *path, char **ret_why)
{
	return options_refuse(ret_why, "-o %s: a terminal can't show this format; name a file, or pipe it into a program",
			      path);
}

static int direct_open(struct picture_file *f, const char *path, bool binary, char **ret_why)
{
	bool standard = strcmp(path, "-") == 0;

	f->fd = standard ? STDOUT_FILENO : open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	f->own_fd = !standard;
	if (f->fd < 0)
		return -errno;
	return binary && isatty(f->fd) ? terminal_refuse(path, ret_why) : 0;
}

static int writer_open(struct picture_file *f, const char *path)
{
	/* Through a link to what it leads to; a file that isn't there yet has no other name. */
	_cleanup_(freep) char *real = realpath(path, NULL);
	struct files_writer_options o = { 0 };

	owner_find(&o.uid, &o.gid);
	o.set_owner = o.uid != (uid_t)-1;
	return files_writer_new(AT_FDCWD, real ? real : path, &o, &f->writer);
}

int picture_file_open(const char *path, bool binary, struct picture_file **ret, char **ret_why)
{
	_cleanup_(picture_file_freep) struct picture_file *f = calloc(1, sizeof(*f));
	struct stat st;
	int err;

	if (!f)
		return -ENOMEM;
	f->fd = -1;
	if (strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		err = direct_open(f, path, binary, ret_why);
	else
		err = writer_open(f, path);
	if (err < 0) {
		if (!*ret_why)
			options_refuse(ret_why, "-o %s: %s", path, strerror(-err));
		return err;
	}
	*ret = TAKE_PTR(f);
	return 0;
}

int picture_file_write(void *file, const char *bytes, size_t n)
{
	struct picture_file *f = file;

	f->bytes += n;
	if (f->writer)
		return files_writer_write(f->writer, bytes, n);
	while (n) {
		ssize_t w = write(f->fd, bytes, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		bytes += w;
		n -= (size_t)w;
	}
	return 0;
}

uint64_t picture_file_bytes(const struct picture_file *f)
{
	return f->bytes;
}

int picture_file_commit(struct picture_file *f)
{
	return f->writer ? files_writer_commit(f->writer) : 0;
}

struct picture_file *picture_file_free(struct picture_file *f)
{
	if (!f)
		return NULL;
	files_writer_free(f->writer);
	if (f->own_fd && f->fd >= 0)
		close(f->fd);
	free(f);
	return NULL;
}
