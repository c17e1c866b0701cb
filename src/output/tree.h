/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A folder and all below it, removed by file descriptors alone: no link is followed, no other file system entered. */

/* 0 (also if there is none), -errno of the first that stays. */
int tree_remove(int parent_fd, const char *name);
/* 1 if each entry of a folder has one of the names (ending with NULL; an empty folder always does), else 0. -errno. */
int tree_holds_only(int fd, const char *const *names);
