/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* barrier [ROUNDS [MS]]: two threads arrive early, main last and wakes them. */
#include "lib.h"

static pthread_barrier_t barrier;
static unsigned int rounds, ms;
static atomic_int main_tid, passed, tids[2];

static void *early(void *arg)
{
	atomic_int *tid = arg;
	uint64_t begin = now_ns();

	atomic_store(tid, own_tid());
	for (unsigned int i = 0; i < rounds; i++) {
		uint64_t start = now_ns();

		pthread_barrier_wait(&barrier);
		truth_wait("barrier", start, now_ns(), "addr=%p size=%zu waker=%d outcome=woken", (void *)&barrier,
			   sizeof(barrier), atomic_load(&main_tid));
		atomic_fetch_add(&passed, 1);
		/* both must have left before either comes again, or the barrier itself makes one wait for the other */
		nap_until(&passed, 2 * ((int)i + 1));
	}
	truth_thread(begin);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	truth_begin();
	rounds = arg_number(argc, argv, 1, 1);
	ms = arg_number(argc, argv, 2, 500);
	atomic_store(&main_tid, own_tid());
	pthread_barrier_init(&barrier, NULL, 3);
	for (int i = 0; i < 2; i++)
		threads[i] = thread_start(early, &tids[i]);
	for (unsigned int i = 0; i < rounds; i++) {
		nap_until(&passed, 2 * (int)i);
		nap_ms(ms);
		pthread_barrier_wait(&barrier);
	}
	for (int i = 0; i < 2; i++)
		thread_join(threads[i], &tids[i]);
	truth_end();
	return 0;
}
