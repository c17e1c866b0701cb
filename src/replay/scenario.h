/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A scenario as weights of tags, and what its engines' answers are worth. Private to replay/. */
#include "replay/e1.h"

/* 0, -ENOMEM, -EINVAL (a class that is none, a factor that is no number). */
int weights_make(const struct replay *r, const struct replay_scenario *s, struct weights *ret);
void weights_done(struct weights *w);
/* The class of kind OP that has most of the changed critical path, UINT32_MAX. 0, -ENOMEM, -EINVAL. */
int scenario_next(const struct replay *r, const struct replay_scenario *s, uint32_t *ret);
/* From the makespans in o: savings, range, grade. s: what was asked. */
void outcome_judge(const struct replay *r, const struct replay_scenario *s, struct replay_outcome *o);
