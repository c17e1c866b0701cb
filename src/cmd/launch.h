/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The workload: forked before wcbpf touches anything that a child inherits,
 * held back before its exec until it is being traced, its end told as wait(2)
 * tells it.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "util/cleanup.h"

struct launch;

/* Whom --user names; looked up before the fork. */
struct launch_user {
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* malloc'd */
	int group_n;
	char *name, *home, *shell; /* malloc'd */
};
/* -ENOENT: no such user. A number that is no name is taken as a uid of the user database. */
int launch_user_find(const char *name, struct launch_user *ret);
void launch_user_done(struct launch_user *u);

/*
 * Can argv[0] be run, as execvp() would find it? 0, -ENOENT, -EACCES. Asked
 * before anything is made for a recording: a typing error shall leave no trace.
 * Its path is malloc'd; ret_path may be NULL.
 */
int launch_find(const char *program, char **ret_path);

/*
 * Forks the child that will become argv; it waits. user may be NULL. Opens
 * close-on-exec fds from 3 up only. 0, -errno.
 */
int launch_new(char *const *argv, const struct launch_user *user, struct launch **ret);
/* Kills and reaps a child that was never let go, forgets one that was. NULL-safe, gives NULL. */
struct launch *launch_free(struct launch *l);
DEFINE_CLEANUP(struct launch *, launch_free)

pid_t launch_pid(const struct launch *l);
int launch_pidfd(const struct launch *l);     /* readable: it has ended */
int launch_report_fd(const struct launch *l); /* readable: launch_started() knows */

/* Lets the child exec. 0, -EPIPE when it is gone already, -EALREADY. */
int launch_go(struct launch *l);
bool launch_gone(const struct launch *l); /* launch_go() was called */
/*
 * Did the exec work? 0: yes, or the child died before; -EAGAIN: not known yet;
 * else what failed, -errno, and *ret_what says at what ("run", "become user").
 */
int launch_started(struct launch *l, const char **ret_what);
/* Reaps. 0 with the status as wait(2) gives it (again the same when asked again); -EAGAIN: still running. */
int launch_status(struct launch *l, int *ret_status);
/* Sends a signal, never to a stranger who got the number; also from another thread. -ESRCH: it has ended. */
int launch_signal(const struct launch *l, int signo);
