/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* crowd [THREADS [SECONDS]]: threads that sleep and poll in turns, 10 ms and a bit each, until all end. */
#include <poll.h>

#include "lib.h"

static atomic_int running;
static uint64_t end_ns;

static void *sleep_and_poll(void *arg)
{
	int ms = 10 + (int)((uintptr_t)arg % 7);
	struct timespec t = { 0, (long)ms * 1000000 };

	atomic_fetch_add(&running, 1);
	while (now_ns() < end_ns) {
		nanosleep(&t, NULL);
		poll(NULL, 0, ms);
	}
	return arg;
}

int main(int argc, char **argv)
{
	unsigned int threads = arg_number(argc, argv, 1, 300);
	pthread_t last = 0;

	end_ns = now_ns() + (uint64_t)arg_number(argc, argv, 2, 5) * 1000000000;
	for (unsigned int i = 0; i < threads; i++)
		last = thread_start(sleep_and_poll, (void *)(uintptr_t)i);
	while (atomic_load(&running) < (int)threads)
		usleep(1000);
	printf("crowd threads=%u\n", threads);
	fflush(stdout);
	pthread_join(last, NULL);
	return 0;
}
