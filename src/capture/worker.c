/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Two lists under one lock: what is to be done, what is done. */
#include "capture/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

struct jobs {
	struct job *first, **last;
};

struct worker {
	void (*run)(void *arg, struct job *job);
	void *arg;
	int wake_fd, nice;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t change;
	struct jobs due, done;
	bool busy, stop;
};

static void jobs_put(struct jobs *l, struct job *j)
{
	j->next = NULL;
	*l->last = j;
	l->last = &j->next;
}

static struct job *jobs_get(struct jobs *l)
{
	struct job *j = l->first;

	if (!j)
		return NULL;
	l->first = j->next;
	if (!l->first)
		l->last = &l->first;
	return j;
}

static void wake(const struct worker *w)
{
	uint64_t one = 1;

	if (w->wake_fd >= 0 && write(w->wake_fd, &one, sizeof(one)) < 0)
		return; /* its count is at the top: the loop is awake */
}

static void *work(void *arg)
{
	struct worker *w = arg;

	setpriority(PRIO_PROCESS, (id_t)gettid(), w->nice);
	pthread_mutex_lock(&w->lock);
	while (!w->stop) {
		struct job *j = jobs_get(&w->due);

		w->busy = j;
		if (!j) {
			pthread_cond_wait(&w->change, &w->lock);
			continue;
		}
		pthread_mutex_unlock(&w->lock);
		w->run(w->arg, j);
		pthread_mutex_lock(&w->lock);
		jobs_put(&w->done, j);
		w->busy = false;
		pthread_cond_broadcast(&w->change);
		wake(w);
	}
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
	*ret = w;
	return 0;
}

struct worker *worker_free(struct worker *w, void (*drop)(struct job *job))
{
	struct job *j;

	if (!w)
		return NULL;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_broadcast(&w->change);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	while ((j = jobs_get(&w->due)) || (j = jobs_get(&w->done)))
		drop(j);
	pthread_cond_destroy(&w->change);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return NULL;
}

void worker_give(struct worker *w, struct job *job)
{
	pthread_mutex_lock(&w->lock);
	jobs_put(&w->due, job);
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
