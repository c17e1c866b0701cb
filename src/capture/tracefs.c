/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Tracepoints of system calls are named by ids that only tracefs tells. A mount
 * of our own, attached to no path, serves where none is mounted or the target's
 * view hides it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/internal.h"
#include "util/cleanup.h"

static int detached_mount(void)
{
	_cleanup_(closep) int fs = -1;
	int fd;

	fs = syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	if (fs < 0)
		return -errno;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -errno;
	fd = syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

int tracefs_open(void)
{
	static const char *const paths[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	int first = detached_mount();

	if (first >= 0)
		return first;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int fd = open(paths[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			continue;
		if (!faccessat(fd, "events", F_OK, 0))
			return fd;
		close(fd);
	}
	return first;
}

int tracefs_event_id(int tracefs_fd, const char *event, uint32_t *ret)
{
	_cleanup_(closep) int fd = -1;
	char path[128], text[32];
	char *end;
	unsigned long id;
	ssize_t n;

	snprintf(path, sizeof(path), "events/%s/id", event);
	fd = openat(tracefs_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return n < 0 ? -errno : -EBADMSG;
	text[n] = 0;
	errno = 0;
	id = strtoul(text, &end, 10);
	if (end == text || errno || id > UINT32_MAX)
		return -EBADMSG;
	*ret = id;
	return 0;
}
