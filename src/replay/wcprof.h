/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The rules of the analyzer that the dump's format comes from, for comparison. Private to replay/.
 *
 * Each op does one thing after the other, in the order in which those began: its
 * own time, what is neither in a child nor in a wait of it; beginning a child,
 * which starts then; its waits.
 *
 * - Before each of them it has waited for all children that had ended by then, async ones too.
 * - A wait for an op that ended it (1 ms after the wait's end at the latest) ends with that op. One that ended earlier
 *   was given up, and counts for nothing. One without a target, for a lock too, keeps its length.
 * - CPUs are unlimited, and being ready without one is like any other time.
 * - Ops without a parent follow each other: each keeps its distance from the end of the latest before it.
 * - Who waits for one that waits for him takes that for as long as it was.
 *
 * That analyzer knows ops only. What it has no word for is put to it as near as can be: a class of functions or of
 * threads is its share of the own time of each op that it occurs in, and of the delays, if the dump tells of threads,
 * whose length is the thread's own (sleeps, devices); a lock removed is waits for it that take no time.
 */
#include "replay/e1.h"

enum { WCPROF_LANES = 8 };

struct wcprof;
/* Room for r compiled to those rules, which is done when it is first needed. 0, -ENOMEM. */
int wcprof_new(struct wcprof **ret);
struct wcprof *wcprof_free(struct wcprof *x); /* NULL-safe, gives NULL */

/* Compiles r, whose tags and classes are there, unless that is done; by any thread. 0, -ENOMEM. */
int wcprof_need(const struct replay *r);
/* Steps of a pass, once it is compiled; 0: there are no ops. */
size_t wcprof_step_n(const struct replay *r);

/* Compiles if need be. Makespans of n <= WCPROF_LANES scenarios; -1: of a sort that those rules don't know, or no ops. 0, -ENOMEM. */
int wcprof_run(const struct replay *r, const struct weights *w, size_t n, int64_t *ret);
