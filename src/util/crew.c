/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "util/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { CREW_MAX = 8 };

struct crew {
	int (*job)(void *arg, size_t i);
	void *arg;
	size_t n;
	atomic_size_t next;
	atomic_int error;
};

size_t crew_size(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > CREW_MAX ? CREW_MAX : (size_t)n;
}

static void *work(void *arg)
{
	struct crew *c = arg;

	for (;;) {
		size_t i = atomic_fetch_add(&c->next, 1);
		int e;

		if (i >= c->n || atomic_load(&c->error))
			return NULL;
		e = c->job(c->arg, i);
		if (e < 0)
			atomic_store(&c->error, e);
	}
}

int crew_run(size_t n, int (*job)(void *arg, size_t i), void *arg)
{
	struct crew c = { .job = job, .arg = arg, .n = n };
	pthread_t threads[CREW_MAX];
	size_t started = 0, wanted = crew_size() < n ? crew_size() : n;

	/* The caller is one of them; if others can't be had it does all by itself. */
	while (started + 1 < wanted && pthread_create(&threads[started], NULL, work, &c) == 0)
		started++;
	work(&c);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	return atomic_load(&c.error);
}
