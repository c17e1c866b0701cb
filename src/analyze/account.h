/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A time and what it went to: of a thread, of an op. Private to analyze/. */
#include "analyze/lanes.h"
#include "analyze/optree.h"
#include "analyze/where.h"

struct account {
	uint64_t total_ns;	   /* = the sum of ns[] + child_ns, but for a damaged dump */
	uint64_t ns[WHERE_MAX];
	uint64_t count[WHERE_MAX]; /* waits */
	uint64_t self_ns;	   /* of an op: of ns[], what is in no wait and no child */
	uint64_t child_ns;	   /* of an op: in its children, as far as it didn't wait then */
	uint64_t unmeasured_ns;	   /* of ns[WHERE_UNKNOWN]: in no wait, of who has no account of its time on the CPU */
	uint64_t outside_ns;	   /* of waits: outside the op, or twice at one time */
};

/*
 * A thread's life. Its own account, where there is one, is the truth; the
 * waits tell what it blocked for. What was blocked and is in no wait is
 * unknown (shorter than --min, over the event cap), as is what was lost.
 */
void account_thread(const struct model *m, const struct lanes *l, const struct where *x, uint32_t thread,
		    struct account *ret);
/* What of a thread's life lies in [from, to), by its waits alone: all else is running. */
void account_between(const struct model *m, const struct lanes *l, const struct where *x, uint32_t thread, int64_t from,
		     int64_t to, struct account *ret);
/*
 * An op's own time: its waits, then its children (those on its thread, if it has one), the rest is its own. That is
 * time on the CPU if the op has a thread; else nobody measured it, and it is WHERE_UNKNOWN.
 */
void account_op(const struct optree *t, const struct where *x, uint32_t op, struct account *ret);
void account_add(struct account *to, const struct account *a);
/* Pieces of a wait inside [from, to). */
void account_wait(const struct where *x, const struct model_wait *w, int64_t from, int64_t to,
		  struct account *to_account);
