/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The mapped files, each opened once when first seen. */
#include <stddef.h>
#include <stdint.h>

#include "proc/proc.h"

struct maps_files;

/* Where a file was seen mapped; start == end: the mapping's edges are unknown. */
struct maps_sighting {
	uint32_t pid;
	uint64_t start, end;
	uint32_t maj, min;
	uint64_t ino;
	const char *path;
};

int maps_files_new(struct maps_files **ret);
struct maps_files *maps_files_free(struct maps_files *f);
/* The file of a sighting; a new one is opened, or has fd -1. Valid until maps_files_free. -ENOMEM. */
int maps_files_get(struct maps_files *f, const struct maps_sighting *seen, const struct proc_file **ret);
