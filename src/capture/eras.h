/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The id of a user stack covers its addresses, not what was mapped there. A
 * later use of the same id means other functions when a library has been
 * replaced by another meanwhile: that is another era of the stack, with an id of
 * its own.
 *
 * And an era is doubtful until one of its uses was walked by unwind tables that
 * knew all the mappings it touches: tables of before may have led astray.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "capture/published.h"
#include "proc/proc.h"

struct eras;
/* Both must outlive it. */
int eras_new(const struct proc_maps *maps, const struct published *published, struct eras **ret);
struct eras *eras_free(struct eras *e);
/* A user stack as it was sent, without a copy: its id then means what was mapped at head.time_ns. 0, -ENOMEM. */
int eras_add(struct eras *e, const struct wcbpf_stack *s);
/*
 * The id for a use of stack id at time_ns: of an era in which its addresses mean what they meant then. *ret_fresh:
 * nobody had that id before; eras_body() gives its body. An id that was never added is its own. For the thread that
 * writes the maps; all records up to time_ns must have come. 0, -ENOMEM.
 */
int eras_find(struct eras *e, uint64_t id, uint64_t time_ns, uint64_t *ret, bool *ret_fresh);
/* The body of an era, as if it had been sent at time_ns: of the added stack id, under era_id. Without registers. */
void eras_body(const struct eras *e, uint64_t id, uint64_t era_id, uint64_t time_ns, struct wcbpf_stack *ret);
/* Walks the ids of the eras that are doubtful; false at the end. *at is 0 to begin. */
bool eras_next_doubtful(const struct eras *e, size_t *at, uint64_t *ret);
