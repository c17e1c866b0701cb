/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "capture/worker.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct square {
	struct job job;
	uint64_t in, out;
	pthread_t thread;
	sigset_t blocked;
	int nice;
};

static void run(void *arg, struct job *job)
{
	struct square *s = (struct square *)job;

	if (arg)
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	s->out = s->in * s->in;
	s->thread = pthread_self();
	pthread_sigmask(SIG_SETMASK, NULL, &s->blocked);
	s->nice = getpriority(PRIO_PROCESS, 0);
}

/* Waits at a lock that the test holds. */
static void run_behind(void *lock, struct job *job)
{
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
	run(NULL, job);
}

static size_t dropped;

static void drop(struct job *job)
{
	free(job);
	dropped++;
}

static void give(struct worker *w, uint64_t in)
{
	struct square *s = calloc(1, sizeof(*s));

	s->in = in;
	worker_give(w, &s->job);
}

Test(worker, jobs_come_back_in_order_from_another_thread)
{
	struct worker *w;

	cr_assert_eq(worker_new(run, NULL, 0, -1, &w), 0);
	for (uint64_t i = 0; i < 1000; i++)
		give(w, i);
	for (uint64_t i = 0; i < 1000; i++) {
		struct square *s = (struct square *)worker_wait(w);

		cr_assert(s && s->in == i && s->out == i * i);
		cr_assert(!pthread_equal(s->thread, pthread_self()));
		cr_assert(sigismember(&s->blocked, SIGINT) && sigismember(&s->blocked, SIGTERM));
		free(s);
	}
	cr_assert_null(worker_wait(w));
	cr_assert_null(worker_take(w));
	worker_free(w, drop);
}

Test(worker, wakes_its_reader)
{
	int fd = eventfd(0, EFD_NONBLOCK);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct square *s;
	struct worker *w;

	cr_assert_eq(worker_new(run, &fd, 0, fd, &w), 0);
	cr_assert_null(worker_take(w));
	give(w, 3);
	cr_assert_eq(poll(&p, 1, 10000), 1);
	s = (struct square *)worker_take(w);
	cr_assert_eq(s->out, 9);
	free(s);
	worker_free(w, drop);
	close(fd);
}

Test(worker, what_is_left_is_dropped_once)
{
	struct worker *w;

	dropped = 0;
	cr_assert_eq(worker_new(run, &dropped, 0, -1, &w), 0);
	for (uint64_t i = 0; i < 20; i++)
		give(w, i);
	free(worker_wait(w));
	worker_free(w, drop);
	cr_assert_eq(dropped, 19);
}

/* The caller's own signals stay as they were. */
Test(worker, leaves_the_callers_signals_alone)
{
	sigset_t before, after;
	struct worker *w;

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	cr_assert_eq(worker_new(run, NULL, 0, -1, &w), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (int i = 1; i < NSIG; i++)
		cr_assert_eq(sigismember(&before, i), sigismember(&after, i));
	worker_free(w, drop);
}

/* What the thread has not done the caller does; then there is no thread any more. */
Test(worker, finish_does_the_rest_in_the_caller)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	size_t here = 0;
	struct worker *w;

	dropped = 0;
	cr_assert_eq(worker_new(run_behind, &lock, 10, -1, &w), 0);
	for (uint64_t i = 0; i < 3000; i++)
		give(w, i);
	worker_finish(w);
	give(w, 3000);
	for (uint64_t i = 0; i <= 3000; i++) {
		struct square *s = (struct square *)worker_take(w);

		cr_assert(s && s->in == i && s->out == i * i);
		here += pthread_equal(s->thread, pthread_self()) != 0;
		free(s);
	}
	cr_assert_null(worker_take(w));
	cr_assert_null(worker_wait(w));
	cr_expect_geq(here, 1);
	worker_finish(w);
	worker_free(w, drop);
	cr_assert_eq(dropped, 0);
	cr_assert_null(worker_free(NULL, drop));
}

/* Many waiting: it hurries (root may), and is nice again when they are done. */
Test(worker, hurries_when_many_wait)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int usual = getpriority(PRIO_PROCESS, 0), nicer = usual + 10 < 19 ? usual + 10 : 19; /* there is no more */
	struct square *s;
	struct worker *w;

	if (geteuid() != 0)
		cr_skip_test("needs CAP_SYS_NICE");
	cr_assert_eq(worker_new(run_behind, &lock, 10, -1, &w), 0);
	give(w, 1);
	s = (struct square *)worker_wait(w);
	cr_expect_eq(s->nice, nicer);
	free(s);
	pthread_mutex_lock(&lock);
	for (uint64_t i = 0; i < 1500; i++)
		give(w, i);
	pthread_mutex_unlock(&lock);
	for (uint64_t i = 0; i < 1500; i++) {
		s = (struct square *)worker_wait(w);
		cr_assert_not_null(s);
		if (i == 100 || i == 1499)
			cr_expect_eq(s->nice, i > 100 ? nicer : usual, "job %lu: %d", i, s->nice);
		free(s);
	}
	worker_free(w, drop);
}
