/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Dumps of a recording that goes on. All but the dump itself waits for its end. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "output/dir.h"
#include "output/job.h"
#include "util/cleanup.h"
#include "util/files.h"

#define UNNAMED "dump.tmp"

void output_keep(struct output_dir *d)
{
	dir_keep(d);
}

int output_dump(const struct model *m, const struct output_facts *f,
		int (*sink)(void *arg, const char *bytes, size_t n), void *arg)
{
	struct output_job job = {.m = m, .f = f};

	return dump_file_write(&job, sink, arg);
}

int output_stop_write(const struct output_dir *d, const struct model *m, const struct output_facts *f)
{
	_cleanup_(files_writer_freep) struct files_writer *w = NULL;
	struct files_writer_options o;
	int r;

	dir_file_options(d, &o);
	o.gzip_level = DUMP_GZIP_LEVEL;
	r = files_writer_new(dir_fd(d), OUTPUT_STOP_NAME, &o, &w);
	if (r == 0)
		r = output_dump(m, f, files_writer_write, w);
	return r < 0 ? r : files_writer_commit(w);
}

int output_unnamed_open(const struct output_dir *d, int *ret_fd)
{
	int fd = openat(dir_fd(d), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	/* Not all file systems have it (overlayfs, NFS). */
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
		unlinkat(dir_fd(d), UNNAMED, 0);
		fd = openat(dir_fd(d), UNNAMED, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0)
			unlinkat(dir_fd(d), UNNAMED, 0);
	}
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}
