/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Facts that are directories and links of a filesystem rather than text: threads, descriptors, cgroups. */
#include "proc/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "util/cleanup.h"
#include "util/vec.h"

/* A link's text is at most a page (PATH_MAX), NUL not counted. */
int proc_fd_link(uint32_t pid, int fd, char **ret)
{
	_cleanup_(freep) char *buf = malloc(PATH_MAX + 1);
	char path[64];
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd/%d", pid, fd);
	n = readlink(path, buf, PATH_MAX);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	*ret = TAKE_PTR(buf);
	return 0;
}

static void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

int proc_threads(uint32_t pid, uint32_t **ret, size_t *ret_n)
{
	_cleanup_(closedirp) DIR *dir = NULL;
	_cleanup_(freep) uint32_t *tids = NULL;
	size_t n = 0, cap = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	for (;;) {
		struct dirent *e;
		unsigned long tid;
		char *end;

		errno = 0;
		e = readdir(dir);
		if (!e && errno && errno != ENOENT)
			return -errno;
		if (!e)
			break;
		tid = strtoul(e->d_name, &end, 10);
		if (end == e->d_name || *end || tid == 0 || tid > UINT32_MAX)
			continue;
		if (VEC_RESERVE(tids, cap, n + 1) < 0)
			return -ENOMEM;
		tids[n++] = (uint32_t)tid;
	}
	if (n == 0)
		return -ESRCH; /* died between opening and reading */
	*ret = TAKE_PTR(tids);
	*ret_n = n;
	return 0;
}

/* bpf_get_current_cgroup_id() gives the kernfs node's id, which on 64-bit machines is the inode number. */
int proc_cgroup_id(const char *path, uint64_t *ret)
{
	_cleanup_(closep) int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &fs) || fstat(fd, &st))
		return -errno;
	if (fs.f_type != CGROUP2_SUPER_MAGIC)
		return -EINVAL;
	*ret = st.st_ino;
	return 0;
}
