/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Owners of the locks that threads were waiting for already when recording
 * began: the programs can read user memory only at a switch-out, so these are
 * read from outside, once, and put into the interval when it comes.
 */
#include <stdbool.h>

#include "bpf/wire.h"

struct owners;

int owners_new(struct owners **ret); /* 0, -ENOMEM */
struct owners *owners_free(struct owners *o);
/* Reads the owner if the thread waits in a futex call that may have one. 0, -ENOMEM. */
int owners_note(struct owners *o, const struct wcbpf_seed *seed);
/* Fills owner_tid and WCBPF_IV_OWNER_READ of the first interval of such a thread; over: it is, and there is no other. */
void owners_fill(struct owners *o, struct wcbpf_interval *e, bool over);
