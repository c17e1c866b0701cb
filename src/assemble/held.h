/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The waits of choke points: what a strand waited between entry and exit is one wait. */
#include "assemble/strand.h"

struct stretch;
struct call_end;

/* For a call that begins, as what place it is in. 0, -ENOMEM. */
int assemble_held_begin(struct assemble *a, const struct hit *h, struct call *c, const struct place *place);
/* An interval within the call c of the strand. *ret_taken false: it is no part of the wait. 0, -ENOMEM. */
int assemble_held_take(const struct assemble *a, struct strand *s, struct call *c, const struct stretch *x,
		       bool *ret_taken);
/* The call, which is off the strand by now, is over; c's held is freed. 0, -ENOMEM. */
int assemble_held_close(struct assemble *a, struct strand *s, struct call *c, const struct call_end *end);
void assemble_held_free(struct held *x);
/* Marks the ops and entries that it refers to. */
void assemble_held_mark(const struct assemble *a, const struct held *x);
