/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * condvar [signal|broadcast|timed [ROUNDS [MS]]]
 *
 * The signaller unlocks before it signals, so the woken thread finds the
 * mutex free. Timed: nobody signals.
 */
#include "lib.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond;
static unsigned int rounds, ms;
static bool broadcast, timed;
static atomic_int waiting, round_now, signaller_tid, waiter_tid;

static void wait_untimed(int i)
{
	pthread_mutex_lock(&lock);
	while (atomic_load(&round_now) < i) {
		uint64_t start = now_ns();

		atomic_store(&waiting, i);
		pthread_cond_wait(&cond, &lock);
		truth_wait("condvar", start, now_ns(), "addr=%p size=%zu waker=%d outcome=woken", (void *)&cond,
			   sizeof(cond), atomic_load(&signaller_tid));
	}
	pthread_mutex_unlock(&lock);
}

static void wait_timed(void)
{
	struct timespec until;
	uint64_t start;
	int rc;

	pthread_mutex_lock(&lock);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	start = now_ns();
	rc = pthread_cond_timedwait(&cond, &lock, &until);
	truth_wait("condvar", start, now_ns(), "addr=%p size=%zu outcome=%s ctx=timer", (void *)&cond, sizeof(cond),
		   rc == ETIMEDOUT ? "timeout" : "woken");
	pthread_mutex_unlock(&lock);
}

static void *cond_waiter(void *arg)
{
	uint64_t begin = now_ns();

	atomic_store(&waiter_tid, own_tid());
	for (unsigned int i = 1; i <= rounds; i++) {
		if (timed)
			wait_timed();
		else
			wait_untimed((int)i);
	}
	truth_thread(begin);
	return arg;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "signal";
	pthread_condattr_t attr;
	pthread_t waiter;

	truth_begin();
	rounds = arg_number(argc, argv, 2, 1);
	ms = arg_number(argc, argv, 3, 1000);
	broadcast = !strcmp(how, "broadcast");
	timed = !strcmp(how, "timed");
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&cond, &attr);
	atomic_store(&signaller_tid, own_tid());
	waiter = thread_start(cond_waiter, NULL);
	for (unsigned int i = 1; i <= rounds && !timed; i++) {
		nap_until(&waiting, (int)i);
		nap_ms(ms);
		pthread_mutex_lock(&lock);
		atomic_store(&round_now, (int)i);
		pthread_mutex_unlock(&lock);
		if (broadcast)
			pthread_cond_broadcast(&cond);
		else
			pthread_cond_signal(&cond);
	}
	thread_join(waiter, &waiter_tid);
	truth_end();
	return 0;
}
