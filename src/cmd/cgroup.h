/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The cgroup that -G names: a path, or a name below a mount of the cgroup v2 file system. */
#include <stdint.h>

/*
 * mountinfo: the file that lists the mounts (proc(5)). *ret_path is malloc'd: what was
 * found. 0; -EINVAL with *ret_why, one malloc'd line that tells where was looked; -ENOMEM.
 */
int cgroup_find(const char *mountinfo, const char *given, char **ret_path, uint64_t *ret_id, char **ret_why);
