/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The tables of the mapped files: asked for, made by a thread, found again. */
#include <stdbool.h>
#include <stdint.h>

#include "capture/tables.h"
#include "unwind/unwind.h"

struct proc_mapping;

enum table_state {
	TABLE_READY,
	TABLE_PENDING,
	TABLE_NONE, /* no rules for this code: none in the file, no file, or no room */
};

struct table_place {
	struct unwind_place place;
	uint64_t bias; /* address - bias = vaddr */
};

struct table_files;

int table_files_new(const struct tables_maps *fds, int wake_fd, struct table_files **ret);
struct table_files *table_files_free(struct table_files *f);
/* The tables of what is mapped; asks for them when first seen. *ret only if TABLE_READY. */
enum table_state table_files_find(struct table_files *f, const struct proc_mapping *map, struct table_place *ret);
/* Are some being made? */
bool table_files_busy(const struct table_files *f);
/* Takes what the thread has finished; true: some of it is new. */
bool table_files_take(struct table_files *f);
void table_files_stats(const struct table_files *f, struct tables_stats *ret);
