/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A value as written to what the kernel's side is to do, for one function of one file. */
#include "probe/file.h"

struct binding {
	const struct definition *d;
	struct file *file;
	const struct function *fn;	     /* NULL: a marker */
	const struct objfile_marker *marker; /* NULL: a function */
	const struct objfile_marker *end;    /* usdt_end's; NULL: none */
	struct probe_pool *pool;
};

/* A bound value: something to fetch, or a constant. */
struct bound {
	bool constant, is_word;
	const char *word; /* of the pool */
	int64_t number;
	struct wcbpf_fetch fetch;
	uint32_t needs; /* OBJFILE_NEEDS() of the registers at the entry */
	enum probe_format format;
};
/* The first alternative that can be. -ENOTSUP with *ret_why (of the first one): none can. -ENOMEM. */
int bind_value(const struct binding *b, const struct value *v, struct bound *ret, struct objfile_why *ret_why);
