/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Watches for the user's insisting while programs are loaded or files are written, and no loop runs. */
#include "cmd/launch.h"
#include "cmd/signals.h"

struct insist;

/*
 * From now until insist_free() a second signal ends the process at once with
 * exit_code (the files are written under temporary names, so none is half);
 * it is passed on to the workload (NULL: none), if that was let go. A first one
 * that comes meanwhile is passed on likewise, and kept. left (stays the caller's): what is there if it ends so, for the
 * line that says it. signals must not be used elsewhere till then.
 */
int insist_new(struct signals *signals, const struct launch *launch, int exit_code, const char *left, struct insist **ret);
/* Stops watching. True and *ret set if a first signal came; false for NULL. */
bool insist_stop(struct insist *i, struct signals_event *ret);
struct insist *insist_free(struct insist *i); /* NULL-safe, gives NULL */
DEFINE_CLEANUP(struct insist *, insist_free)
