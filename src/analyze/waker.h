/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Of what sort the one is who ended a wait. Private to analyze/. */
#include "analyze/analyze.h"

enum waker_sort {
	WAKER_IS_THREAD, WAKER_IS_OUTSIDE, WAKER_IS_CTX, WAKER_IS_OP, WAKER_GAVE_UP, WAKER_STILL_OPEN, WAKER_NOT_KNOWN,
};

static inline enum waker_sort waker_sort(const struct model *m, const struct model_wait *w)
{
	if (w->waker && (w->ctx == WAKER_NONE || w->ctx == WAKER_TASK))
		return WAKER_IS_THREAD;
	if (w->outside_waker && (w->ctx == WAKER_NONE || w->ctx == WAKER_TASK))
		return WAKER_IS_OUTSIDE;
	if (w->ctx != WAKER_NONE && w->ctx != WAKER_UNKNOWN)
		return WAKER_IS_CTX;
	if (w->target)
		return analyze_wait_is_given_up(m, w) ? WAKER_GAVE_UP : WAKER_IS_OP;
	return w->clipped & CLIPPED_AFTER && w->wake_ns < 0 ? WAKER_STILL_OPEN : WAKER_NOT_KNOWN;
}
