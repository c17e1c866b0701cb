/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Whole small files in, whole files out: a reader sees the old file or the complete new one, never half of one. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "util/cleanup.h"

/*
 * Reads a whole file (also of /proc, whose size is 0) of at most max bytes;
 * path is relative to dir_fd (AT_FDCWD: the working folder). ret is malloc'd
 * with a NUL after its ret_n bytes; ret_n may be NULL. -EFBIG: longer than max. -errno.
 */
int files_read(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_n);

/*
 * Opens a regular file for reading; what else is there isn't opened at all: that can block or do something. beneath:
 * dir_fd is taken as the root of the path and of all links on it. -EINVAL: no regular file, -ENOSYS: beneath is asked
 * for where openat2 is not to be had, -errno.
 */
int files_open_regular(int dir_fd, const char *path, bool beneath, int *ret, struct stat *ret_st);

struct files_writer_options {
	int gzip_level;	 /* 0: plain, 1 (quick) to 9: gzip */
	mode_t mode;	 /* 0: 0644 */
	bool set_owner;
	uid_t uid; /* only if set_owner */
	gid_t gid;
};

/*
 * A file under its temporary name "PATH.tmp" until files_writer_commit(). The
 * first error sticks: later writes give it again, and commit gives it and
 * leaves an older PATH alone.
 */
struct files_writer;

/* o may be NULL: plain, 0644, our owner. 0, -ENOMEM, -errno of opening. */
int files_writer_new(int dir_fd, const char *path, const struct files_writer_options *o, struct files_writer **ret);
/* Buffers n bytes; 0 or the first -errno. Its type is json_sink with the writer as arg. */
int files_writer_write(void *writer, const char *bytes, size_t n);
int files_writer_printf(struct files_writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Bytes taken so far, before compression. */
uint64_t files_writer_bytes(const struct files_writer *w);
/* Flush, fsync, rename to PATH, fsync of the folder. 0 or the first -errno. Call once; then only free. */
int files_writer_commit(struct files_writer *w);
/*
 * After a failure: keeps what reached the disk as "PATH.partial". 0, -errno (no
 * such file then). Call at most once, instead of or after a failed commit; then only free.
 */
int files_writer_salvage(struct files_writer *w);
/* Removes the temporary file unless committed or salvaged. NULL-safe, gives NULL. */
struct files_writer *files_writer_free(struct files_writer *w);
DEFINE_CLEANUP(struct files_writer *, files_writer_free)
