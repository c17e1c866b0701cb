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
	int coroutine_reason; /* likewise, of those who wait for one to whom they switched by iter.Pull(); -1 */
	bool stacks;   /* are to be read */
};

struct go_parked {
	uint64_t g; /* its address */
	uint64_t goid, parent_goid, start_pc, go_pc;
	uint64_t sp, pc, bp;
	uint64_t stack_hi;
	uint64_t resource; /* as gopark() was given it, of one that waits for a file; else, or if not known, 0 */
	uint8_t reason;
	const uint8_t *stack; /* from sp on, as long as the batch; NULL: it could not be read, or is not to be */
	size_t stack_n;
};

struct go_list;
/*
 * Reads who there is. 0; -ENOTSUP with *ret_why: what is there is no list of goroutines; -ESRCH, -EPERM and so on: it
 * can't be read.
 */
int go_list_new(const struct go_list_target *t, struct go_list **ret, struct objfile_why *ret_why);
struct go_list *go_list_free(struct go_list *l);

#define GO_LIST_BATCH 256
/*
 * Looks at the next GO_LIST_BATCH of them; *ret: those that are parked, the list's until the next call. *ret_n may be 0
 * before the end. 0, -ENODATA: all were looked at; -ENOMEM, or what reading gave.
 */
int go_list_next(struct go_list *l, struct go_parked **ret, size_t *ret_n);

/* Those that it has not looked at yet, and those that are in a coroutine: what becomes of these nothing would tell. */
size_t go_list_left_n(const struct go_list *l);
size_t go_list_coroutine_n(const struct go_list *l);
/* Has it begun with those that are to be looked at again? */
bool go_list_is_again(const struct go_list *l);
/* One of the batch is to be looked at again, after all others. */
int go_list_again(struct go_list *l, const struct go_parked *p);

enum go_now { GO_NOW_PARKED, GO_NOW_ELSE, GO_NOW_GONE };
/* Are those of the batch still parked? GONE: it has ended, or its process. ret: one for each. */
void go_list_now(struct go_list *l, enum go_now *ret);
