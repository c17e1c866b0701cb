/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The debug endpoint: HTTP over a unix socket or the loopback interface, with
 * the engine's own paths (/debug/wcprof/enabled, /debug/wcprof/dump). The only
 * user of libmicrohttpd. Never blocks: the caller's loop runs it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/cleanup.h"

/* Of unix:PATH, 127.0.0.1:PORT, [::1]:PORT. 0; -EINVAL with one malloc'd line that says what may be given, -ENOMEM. */
int serve_check(const char *address, char **ret_why);

/* What requests ask of the recording. All are called by serve_run(). */
struct serve_host {
	void *arg;
	/* enabled: recording is on; active: it was at some time, there is something to dump. */
	void (*state)(void *arg, bool *ret_enabled, bool *ret_active);
	/* 0, -errno: it could not be done. */
	int (*set)(void *arg, bool on);
	/* Begins to make a dump; serve_dump_done() tells of its end. Not called again before that. */
	void (*dump)(void *arg, bool flush);
};

struct serve;
/*
 * Listens. A unix socket is made with mode 0600 for uid and gid (-1: ours); one of ours that nobody listens on is
 * replaced, what else is there stays. host is copied. -errno with one malloc'd line.
 */
int serve_new(const char *address, uid_t uid, gid_t gid, const struct serve_host *host, struct serve **ret, char **ret_why);
/* Closes connections; a socket's file goes if it still is ours. NULL-safe, gives NULL. */
struct serve *serve_free(struct serve *s);
DEFINE_CLEANUP(struct serve *, serve_free)

/* An epoll fd: call serve_run() when it is readable, and a few times a second. */
int serve_fd(const struct serve *s);
void serve_run(struct serve *s);
/* The dump begun last: fd (taken over) has its size bytes; err: there is none, and why. */
void serve_dump_done(struct serve *s, int err, int fd, uint64_t size);
/* From now on dumps are refused: recording is over. Those that wait are answered so. */
void serve_close_dumps(struct serve *s);
/* Is an answer still on its way? */
bool serve_is_busy(const struct serve *s);
