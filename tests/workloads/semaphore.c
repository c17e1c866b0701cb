/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* semaphore [post|timed [ROUNDS [MS]]]: a thread waits for main's posts, or in vain. */
#include <semaphore.h>

#include "lib.h"

static sem_t sem;
static unsigned int rounds, ms;
static bool timed;
static atomic_int waiting, poster_tid, waiter_tid;

static void *sem_waiter(void *arg)
{
	uint64_t begin = now_ns();

	atomic_store(&waiter_tid, own_tid());
	for (unsigned int i = 1; i <= rounds; i++) {
		struct timespec until;
		uint64_t start = now_ns();
		int rc;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += (long)ms * 1000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		atomic_store(&waiting, (int)i);
		rc = timed ? sem_timedwait(&sem, &until) : sem_wait(&sem);
		if (rc < 0)
			truth_wait("semaphore", start, now_ns(), "addr=%p size=%zu outcome=timeout ctx=timer",
				   (void *)&sem, sizeof(sem));
		else
			truth_wait("semaphore", start, now_ns(), "addr=%p size=%zu waker=%d outcome=woken",
				   (void *)&sem, sizeof(sem), atomic_load(&poster_tid));
	}
	truth_thread(begin);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t waiter;

	truth_begin();
	timed = argc > 1 && !strcmp(argv[1], "timed");
	rounds = arg_number(argc, argv, 2, 1);
	ms = arg_number(argc, argv, 3, 700);
	sem_init(&sem, 0, 0);
	atomic_store(&poster_tid, own_tid());
	waiter = thread_start(sem_waiter, NULL);
	for (unsigned int i = 1; i <= rounds && !timed; i++) {
		nap_until(&waiting, (int)i);
		nap_ms(ms);
		sem_post(&sem);
	}
	thread_join(waiter, &waiter_tid);
	truth_end();
	return 0;
}
