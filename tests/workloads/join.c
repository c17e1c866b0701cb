/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* join [ROUNDS [MS]]: main joins threads that live MS. */
#include "lib.h"

static atomic_int tid;

static void *lives(void *arg)
{
	uint64_t begin = now_ns();

	atomic_store(&tid, own_tid());
	nap_ms(*(unsigned int *)arg);
	truth_thread(begin);
	return arg;
}

int main(int argc, char **argv)
{
	unsigned int rounds = arg_number(argc, argv, 1, 1), ms = arg_number(argc, argv, 2, 1000);

	truth_begin();
	for (unsigned int i = 0; i < rounds; i++) {
		pthread_t thread;

		atomic_store(&tid, 0);
		thread = thread_start(lives, &ms);
		while (!atomic_load(&tid))
			nap_ms(1);
		thread_join(thread, &tid);
	}
	truth_end();
	return 0;
}
