/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Where a text that is being read comes from, and what is wrong with it: all errors are collected, with their places. */
#include <stdarg.h>
#include <stddef.h>

#include "probe/pool.h"

struct complaints {
	char *text; /* owned; lines joined by newlines; NULL: none */
	size_t n, cap;
};
void complaints_done(struct complaints *c);

struct source {
	struct probe_pool *pool; /* of what is read */
	struct complaints *complaints;
	const char *name;  /* "dagger.profile"; "-e" */
	unsigned int line; /* 0: it has no lines */
};

/* "FILE:LINE" or "-e", in the pool. NULL: no memory. */
const char *source_place(struct source *s);
/* Adds one line, "PLACE: message". -EINVAL, -ENOMEM. */
int source_refuse(struct source *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
