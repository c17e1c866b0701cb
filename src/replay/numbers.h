/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Threads and goroutines of the model by their numbers, which are used again. Private to replay/. */
#include "model/model.h"
#include "util/map.h"

struct numbers {
	struct map *threads, *goroutines; /* pid << 32 | tid, pid << 40 ^ goid -> first of a chain */
	uint32_t *next;			  /* by thread of the model, 0: last */
};

int numbers_make(const struct model *m, struct numbers *ret); /* 0, -ENOMEM */
void numbers_done(struct numbers *n);
/* The one that lived at ns; 0: none. */
uint32_t numbers_thread(const struct model *m, const struct numbers *n, uint32_t pid, uint32_t tid, int64_t ns);
uint32_t numbers_goroutine(const struct model *m, const struct numbers *n, uint32_t pid, uint64_t goid);
