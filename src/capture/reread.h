/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Maps read once more while recording, of processes whose mapping records can't
 * have told all: of an exec on a CPU that has just come, of a time in which a
 * CPU was not listened to.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/proc.h"

struct reread;
/* clock gives the time of the records; amended is called for each process about which something new was found. */
int reread_new(struct proc_maps *maps, uint64_t (*clock)(void *arg), void (*amended)(void *arg, uint32_t pid),
	       void *arg, struct reread **ret);
struct reread *reread_free(struct reread *r);
/*
 * Reads pid's maps now: records from from_ns on may be missing; is_exec: those of an exec at from_ns surely are. They
 * become known when all events of this time have been handed out. 0, -ENOMEM.
 */
int reread_process(struct reread *r, uint32_t pid, uint64_t from_ns, bool is_exec);
/* Is what was read of this process not known yet? Then who it forks lacks it as well. */
bool reread_pending(const struct reread *r, uint32_t pid);
/* How many wait to become known. */
size_t reread_n(const struct reread *r);
/* A round of reading and handing out events is over. */
void reread_round(struct reread *r);
/* No more rounds will come: all that was read becomes known now, and what is read later at once. */
void reread_finish(struct reread *r);
/* Execs whose mappings could not be read any more. */
uint64_t reread_lost(const struct reread *r);
/* Other processes that could not be read any more. */
size_t reread_gone(const struct reread *r);
