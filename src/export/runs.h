/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* When each thread was on a CPU, and on which. Private to export/. */
#include "export/scene.h"

struct run {
	int64_t on_ns, off_ns;
	uint32_t thread;
	uint32_t wait; /* that ended it, 0: its life or the recording ended */
	uint32_t cpu;
	bool to_the_end; /* still running when the recording ended */
};

struct runs {
	struct run *v; /* by CPU, by time; none of one CPU overlap */
	size_t n;
	uint32_t cpu_n;	    /* numbers from here on are no CPUs of the host */
	uint64_t virtual_n; /* runs on such */
};

/* 0, -ENOMEM. */
int runs_make(const struct model *m, const struct scene *s, struct runs *ret);
void runs_done(struct runs *r);
