/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Which waits are idle by design (analyze.h says what that is), decided by row first. Private to analyze/. */
#include "model/model.h"

enum idle_row { IDLE_NEVER, IDLE_ALWAYS, IDLE_UNLESS_TIMEOUT };
enum idle_row idle_row(const struct model *m, const struct model_row *row);

/*
 * The function on a stack in which a program waits for a lock of its own making, asleep in epoll or on a condition
 * variable like one that has nothing to do. String, 0: there is none.
 */
uint32_t idle_lock_function(const struct model *m, const struct model_row *row);

static inline bool idle_wait(enum idle_row row, const struct model_wait *w)
{
	return row == IDLE_ALWAYS || (row == IDLE_UNLESS_TIMEOUT && w->outcome != WAIT_TIMEOUT);
}
