/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The files that a command will run from, known before it runs. */
#include <stddef.h>

struct command_files {
	char **v; /* whole paths, malloc'd: [0] the program, then its dynamic linker and libraries */
	size_t n, cap;
};
void command_files_done(struct command_files *f);
/*
 * program: a path. Of a script the program is its interpreter. Libraries are those that the system's dynamic linker
 * lists, with the environment as it is; those of other dynamic linkers are not asked for. 0, -ENOMEM.
 */
int command_files_find(const char *program, struct command_files *ret);
