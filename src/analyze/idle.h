/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Which waits are idle by design (analyze.h says what that is), decided by row first. Private to analyze/. */
#include "model/model.h"

enum idle_row { IDLE_NEVER, IDLE_ALWAYS, IDLE_UNLESS_TIMEOUT };
enum idle_row idle_row(const struct model *m, const struct model_row *row);

static inline bool idle_wait(enum idle_row row, const struct model_wait *w)
{
	return row == IDLE_ALWAYS || (row == IDLE_UNLESS_TIMEOUT && w->outcome != WAIT_TIMEOUT);
}
