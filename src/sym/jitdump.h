/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* jit-PID.dump: what a process says, and when, of code it makes itself. */
#include <stddef.h>
#include <stdint.h>

struct jitdump;

/* Of an open file; fd is dup'ed. Nothing is read before the first jitdump_find. -ENOMEM, -errno. */
int jitdump_new(int fd, struct jitdump **ret);
struct jitdump *jitdump_free(struct jitdump *d);

struct jitdump_code {
	const char *name; /* raw; this and file: valid until jitdump_free */
	uint64_t start;	  /* where it lay then */
	const char *file; /* NULL: unknown */
	uint32_t line;	  /* 0: unknown */
};
/*
 * The code that lay at addr at time_ns (CLOCK_MONOTONIC). Reads what has been
 * added to the file when that isn't known. -ENOENT.
 */
int jitdump_find(struct jitdump *d, uint64_t addr, uint64_t time_ns, struct jitdump_code *ret);
