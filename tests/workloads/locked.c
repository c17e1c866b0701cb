/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * locked abba|pi|timed: mutexes that are not had.
 *
 * abba: two threads, each with the mutex that the other waits for, for ever
 *       (20 s). Prints "locked first=TID second=TID".
 * pi: one thread holds a priority inheriting mutex for 20 s, another waits
 *       for it. Prints "locked owner=TID waiter=TID".
 * timed: a thread holds a mutex for 300 ms, another gives up after 100 ms;
 *       as truth.
 */
#include "lib.h"

#define ABBA_MS 20000

static pthread_mutex_t locks[2];
static pthread_barrier_t both;
static atomic_int tids[2], held;

static void *crossed(void *arg)
{
	int self = arg == &locks[1];

	atomic_store(&tids[self], own_tid());
	pthread_mutex_lock(&locks[self]);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&locks[!self]);
	return NULL;
}

static void *pi_waiter(void *arg)
{
	atomic_store(&tids[1], own_tid());
	pthread_mutex_lock(&locks[0]);
	return arg;
}

static void *timed_holder(void *arg)
{
	uint64_t begin = now_ns();

	atomic_store(&tids[0], own_tid());
	pthread_mutex_lock(&locks[0]);
	atomic_store(&held, 1);
	nap_ms(300);
	pthread_mutex_unlock(&locks[0]);
	truth_thread(begin);
	return arg;
}

static void run_abba(void)
{
	pthread_barrier_init(&both, NULL, 2);
	thread_start(crossed, &locks[0]);
	thread_start(crossed, &locks[1]);
	while (!atomic_load(&tids[0]) || !atomic_load(&tids[1]))
		usleep(1000);
	printf("locked first=%d second=%d\n", atomic_load(&tids[0]), atomic_load(&tids[1]));
}

static void run_pi(void)
{
	pthread_mutex_lock(&locks[0]);
	thread_start(pi_waiter, NULL);
	while (!atomic_load(&tids[1]))
		usleep(1000);
	printf("locked owner=%d waiter=%d\n", own_tid(), atomic_load(&tids[1]));
}

static void run_timed(void)
{
	pthread_t holder;
	struct timespec until;
	uint64_t start;
	int err;

	truth_begin();
	holder = thread_start(timed_holder, NULL);
	nap_until(&held, 1);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 100000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	start = now_ns();
	err = pthread_mutex_timedlock(&locks[0], &until);
	truth_wait("mutex", start, now_ns(), "addr=%p size=4 owner=%d outcome=%s", (void *)&locks[0],
		   atomic_load(&tids[0]), err == ETIMEDOUT ? "timeout" : "woken");
	thread_join(holder, &tids[0]);
	truth_end();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	if (!strcmp(mode, "pi"))
		pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&locks[0], &attr);
	pthread_mutex_init(&locks[1], &attr);
	if (!strcmp(mode, "timed")) {
		run_timed();
		return 0;
	}
	if (!strcmp(mode, "abba"))
		run_abba();
	else if (!strcmp(mode, "pi"))
		run_pi();
	else
		return 2;
	fflush(stdout);
	usleep(ABBA_MS * 1000);
	return 0;
}
