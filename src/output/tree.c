/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * wcbpf removes an old recording as root in folders that users own, so each
 * step is relative to an open folder and refuses links: what a user swaps in
 * meanwhile is at worst something of that folder.
 */
#include "output/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "util/cleanup.h"

enum { DEPTH_MAX = 16 }; /* a recording has no folders; what a user put there may have some */

static void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* Of fd's own open description, so that the caller's fd keeps its place. NULL with errno. */
static DIR *dir_stream(int fd)
{
	_cleanup_(closep) int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = own < 0 ? NULL : fdopendir(own);

	if (d)
		TAKE_FD(own);
	return d;
}

/* The next real entry; NULL at the end, or on an error with errno set. */
static const char *next_name(DIR *d)
{
	const struct dirent *e;

	do {
		errno = 0;
		e = readdir(d);
	} while (e && (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")));
	return e ? e->d_name : NULL;
}

static int remove_below(int parent_fd, const char *name, dev_t dev, int depth);

static int empty_folder(int fd, dev_t dev, int depth)
{
	_cleanup_(closedirp) DIR *d = dir_stream(fd);
	const char *name;
	int first = 0;

	if (!d)
		return -errno;
	while ((name = next_name(d))) {
		int err = remove_below(fd, name, dev, depth + 1);

		if (err && !first)
			first = err;
	}
	return errno && !first ? -errno : first;
}

/* dev: the file system to stay in, 0: not known yet. */
static int remove_below(int parent_fd, const char *name, dev_t dev, int depth)
{
	_cleanup_(closep) int fd = -1;
	struct stat st;
	int err;

	if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISDIR(st.st_mode))
		return unlinkat(parent_fd, name, 0) < 0 ? -errno : 0;
	fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (dev && st.st_dev != dev)
		return -EXDEV;
	if (depth > DEPTH_MAX)
		return -ELOOP;
	err = empty_folder(fd, st.st_dev, depth);
	if (err)
		return err;
	return unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int tree_remove(int parent_fd, const char *name)
{
	return remove_below(parent_fd, name, 0, 0);
}

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names && strcmp(name, *names))
		names++;
	return *names;
}

int tree_holds_only(int fd, const char *const *names)
{
	_cleanup_(closedirp) DIR *d = dir_stream(fd);
	const char *name;

	if (!d)
		return -errno;
	while ((name = next_name(d))) {
		if (!is_one_of(name, names))
			return 0;
	}
	return errno ? -errno : 1;
}
