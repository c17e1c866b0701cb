/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A process that goes away shows as ENOENT when its folder is gone already and
 * as ESRCH when it goes between open and read; callers want one of them.
 */
#include "proc/read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "util/files.h"

int read_pid_file(uint32_t pid, const char *name, size_t max, char **ret, size_t *ret_n)
{
	char path[64];
	int err;

	if (snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", pid, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	err = files_read(AT_FDCWD, path, max, ret, ret_n);
	return err == -ENOENT ? -ESRCH : err;
}
