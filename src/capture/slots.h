/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Which stretches of an array are in use. What is given back rests a while: a BPF program may still be reading it. */
#include <stdint.h>

struct slots;

int slots_new(uint32_t n, uint64_t rest_ns, struct slots **ret);
struct slots *slots_free(struct slots *s);
/* n slots side by side. -ENOSPC, -ENOMEM. */
int slots_take(struct slots *s, uint32_t n, uint64_t now_ns, uint32_t *ret_first);
/* -ENOMEM: they stay in use. */
int slots_give(struct slots *s, uint32_t first, uint32_t n, uint64_t now_ns);
