/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Ids of a dump -> indexes of the model. Private to dump/. */
#include <stddef.h>
#include <stdint.h>

struct id_pair {
	uint64_t id;
	uint32_t index;
};
struct ids {
	struct id_pair *pairs;
	size_t n, cap;
};

/* 0, -ENOMEM. */
int ids_add(struct ids *x, uint64_t id, uint32_t index);
/* Call between the last ids_add() and the first ids_find(). Of equal ids the one added first is found. */
void ids_sort(struct ids *x);
/* 0 if there is none. */
uint32_t ids_find(const struct ids *x, uint64_t id);
void ids_done(struct ids *x);
