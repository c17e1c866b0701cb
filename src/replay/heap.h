/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A binary heap of strands by time, least first; equal ones in the order they came. Private to replay/. */
#include <stddef.h>
#include <stdint.h>

struct heap_entry {
	double key;
	uint32_t seq; /* set by heap_push() */
	uint32_t strand;
};
struct heap {
	struct heap_entry *v;
	size_t n, cap;
	uint32_t seq;
};

int heap_push(struct heap *h, double key, uint32_t strand); /* 0, -ENOMEM */
/* The least; n must not be 0. */
uint32_t heap_pop(struct heap *h);
