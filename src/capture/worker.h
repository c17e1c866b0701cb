/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * A thread for work that the recording loop must not wait for: jobs are given
 * and taken back by the loop, done in order by the thread. It has no signals.
 * All that the work reaches by its arg is the thread's own until worker_finish().
 */
#include <stddef.h>

/* The first member of every job. */
struct job {
	struct job *next;
};

struct worker;

/*
 * run does one job, in the thread, which is nicer than the caller (setpriority(2)) by so much. wake_fd: an eventfd that is written when a
 * job is done (not owned), -1: none. 0, -errno.
 */
int worker_new(void (*run)(void *arg, struct job *job), void *arg, int nice, int wake_fd, struct worker **ret);
/* Waits for the job under way; drop gets every job that was not taken back. */
struct worker *worker_free(struct worker *w, void (*drop)(struct job *job));
void worker_give(struct worker *w, struct job *job);
/* A job that is done, the oldest first; NULL: none now. */
struct job *worker_take(struct worker *w);
/* Likewise, but waits for it; NULL: none is left to be done. */
struct job *worker_wait(struct worker *w);
/* Ends the thread and does what is left in the caller; then all jobs are done, and one that is given later is at once. */
void worker_finish(struct worker *w);
