/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The engine stand-in's own wall-clock recorder, after wcprof's description:
 * ops, waits and links, kept in memory, written as one NDJSON dump (schema 1).
 *
 * The parent of an op is the op that its thread is in; a new thread starts in
 * the op of who started it (rec_enter). Strings are kept by reference: they must
 * outlive the recorder. All of it does nothing unless rec_start() was called.
 */
#include <stdint.h>

typedef uint32_t rec_op; /* 0: none */

/* path: where rec_dump() writes. NULL: no recording. */
void rec_start(const char *path);
/* "clock realtime=NS monotonic=NS" of the dump's time 0. */
void rec_clock_print(void);
/* Writes what was recorded; 0 or -errno. Nothing may be recorded meanwhile. */
int rec_dump(void);

uint64_t rec_clock(void); /* CLOCK_MONOTONIC, ns */

/* An op of this thread, from now on; ops and waits until its end belong to it. */
rec_op rec_begin(const char *kind, const char *class, const char *ident, const char *client);
void rec_end(rec_op op, const char *outcome);
/* An op that ends anywhere: this thread doesn't go into it. */
rec_op rec_open(const char *kind, const char *class, const char *ident, const char *client);
void rec_close(rec_op op, const char *outcome);

rec_op rec_current(void);
void rec_enter(rec_op parent); /* for a new thread */

/* The current op waited from start_ns until now: for target (read when the dump is written), or for a resource. */
void rec_wait(const char *reason, const rec_op *target, const char *resource, uint64_t start_ns);
/* The process pid was started for op `host`. */
void rec_link_process(rec_op host, int pid);
