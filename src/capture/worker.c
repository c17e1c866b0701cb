/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Two lists under one lock: what is to be done, what is done.
 *
 * A low priority, because the workload's time is being measured. But who
 * records a busy machine would then find all the work undone at the end: with
 * many jobs waiting, and when the thread is to end, it works at the caller's
 * priority if that may be restored (CAP_SYS_NICE). What is left at the end the
 * caller does itself, so it depends on no priority but for the job at hand.
 */
#include "capture/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define JOBS_MANY 1000 /* waiting: from here on no longer nice, until half of them are done */

struct jobs {
	struct job *first, **last;
	size_t n;
};

struct worker {
	void (*run)(void *arg, struct job *job);
	void *arg;
	int wake_fd, nice;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t change;
	struct jobs due, done;
	bool busy, stop, hurried;
	pid_t tid;	/* 0: it has not begun, or has ended */
	int usual;	/* the caller's nice value */
	bool threaded;	/* the caller's alone */
};

static void jobs_put(struct jobs *l, struct job *j)
{
	j->next = NULL;
	*l->last = j;
	l->last = &j->next;
	l->n++;
}

static struct job *jobs_get(struct jobs *l)
{
	struct job *j = l->first;

	if (!j)
		return NULL;
	l->first = j->next;
	if (!l->first)
		l->last = &l->first;
	l->n--;
	return j;
}

static void wake(const struct worker *w)
{
	uint64_t one = 1;

	if (w->wake_fd >= 0 && write(w->wake_fd, &one, sizeof(one)) < 0)
		return; /* its count is at the top: the loop is awake */
}

/* With the lock held. Only to become nicer is always allowed. */
static void pace_set(struct worker *w, bool hurried)
{
	if (!w->tid || w->hurried == hurried)
		return;
	w->hurried = hurried;
	setpriority(PRIO_PROCESS, (id_t)w->tid, hurried ? w->usual : w->usual + w->nice);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	pthread_mutex_lock(&w->lock);
	w->tid = gettid();
	w->usual = getpriority(PRIO_PROCESS, 0);
	w->hurried = true;
	pace_set(w, w->stop || w->due.n >= JOBS_MANY);
	while (!w->stop) {
		struct job *j = jobs_get(&w->due);

		w->busy = j;
		if (!j) {
			pthread_cond_wait(&w->change, &w->lock);
			continue;
		}
		if (w->hurried && w->due.n < JOBS_MANY / 2)
			pace_set(w, false);
		pthread_mutex_unlock(&w->lock);
		w->run(w->arg, j);
		pthread_mutex_lock(&w->lock);
		jobs_put(&w->done, j);
		w->busy = false;
		pthread_cond_broadcast(&w->change);
		wake(w);
	}
	w->tid = 0;
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int worker_new(void (*run)(void *arg, struct job *job), void *arg, int nice, int wake_fd, struct worker **ret)
{
	struct worker *w = calloc(1, sizeof(*w));
	sigset_t all, before;
	int err;

	if (!w)
		return -ENOMEM;
	w->run = run;
	w->arg = arg;
	w->wake_fd = wake_fd;
	w->nice = nice;
	w->due.last = &w->due.first;
	w->done.last = &w->done.first;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->change, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&w->thread, NULL, work, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		free(w);
		return -err;
	}
	w->threaded = true;
	*ret = w;
	return 0;
}

static void thread_end(struct worker *w)
{
	if (!w->threaded)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pace_set(w, true);
	pthread_cond_broadcast(&w->change);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	w->threaded = false;
}

struct worker *worker_free(struct worker *w, void (*drop)(struct job *job))
{
	struct job *j;

	if (!w)
		return NULL;
	thread_end(w);
	while ((j = jobs_get(&w->due)) || (j = jobs_get(&w->done)))
		drop(j);
	pthread_cond_destroy(&w->change);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return NULL;
}

static void work_here(struct worker *w, struct job *job)
{
	w->run(w->arg, job);
	jobs_put(&w->done, job);
	wake(w);
}

void worker_finish(struct worker *w)
{
	struct job *j;

	thread_end(w);
	while ((j = jobs_get(&w->due)))
		work_here(w, j);
}

void worker_give(struct worker *w, struct job *job)
{
	if (!w->threaded) {
		work_here(w, job);
		return;
	}
	pthread_mutex_lock(&w->lock);
	jobs_put(&w->due, job);
	if (w->due.n >= JOBS_MANY)
		pace_set(w, true);
	pthread_cond_broadcast(&w->change);
	pthread_mutex_unlock(&w->lock);
}

struct job *worker_take(struct worker *w)
{
	struct job *j;

	pthread_mutex_lock(&w->lock);
	j = jobs_get(&w->done);
	pthread_mutex_unlock(&w->lock);
	return j;
}

struct job *worker_wait(struct worker *w)
{
	struct job *j;

	pthread_mutex_lock(&w->lock);
	while (!(j = jobs_get(&w->done)) && (w->busy || w->due.first))
		pthread_cond_wait(&w->change, &w->lock);
	pthread_mutex_unlock(&w->lock);
	return j;
}
