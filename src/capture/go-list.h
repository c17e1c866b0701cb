/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The goroutines of a Go program that runs, out of its memory: those that are parked. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objfile/objfile.h"

struct go_list_target {
	uint32_t pid;
	uint64_t bias; /* address - bias: as its file counts */
	const struct wcbpf_go_layout *layout;
	const struct objfile_go_list *where;
	int io_reason; /* the number of the wait reason for files; -1: not known */
	bool stacks;   /* are to be read */
};

struct go_parked {
	uint64_t g; /* its address */
	uint64_t goid, parent_goid, start_pc, go_pc;
	uint64_t sp, pc, bp;
	uint64_t stack_hi;
	uint64_t resource; /* as gopark() was given it, of one that waits for a file; else, or if not known, 0 */
	uint8_t reason;
	uint8_t *stack; /* from sp on; NULL: none could be read. Whoever takes it sets NULL */
	size_t stack_n;
};

/*
 * Calls f with each goroutine that is parked. *ret_moved: those that went on while they were looked at. 0, -ENOTSUP with
 * *ret_why: what is there is no list of goroutines; -ESRCH, -EPERM and so on: it can't be read; what f gave.
 */
int go_list_each(const struct go_list_target *t, int (*f)(void *arg, struct go_parked *p), void *arg, size_t *ret_moved,
		 struct objfile_why *ret_why);

enum go_now { GO_NOW_PARKED, GO_NOW_ELSE, GO_NOW_GONE };
/* Is it still parked? GONE: it has ended, or its process. */
enum go_now go_list_now(const struct go_list_target *t, const struct go_parked *p);
