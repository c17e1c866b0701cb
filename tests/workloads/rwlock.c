/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* rwlock [ROUNDS [HOLD_MS]]: in turn a reader waits for a writer and a writer for a reader. */
#include "lib.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static unsigned int rounds, hold_ms;
static atomic_int locked, done, holder_tid, waiter_tid;

static void lock_for(bool write)
{
	if (write)
		pthread_rwlock_wrlock(&lock);
	else
		pthread_rwlock_rdlock(&lock);
}

static void *rw_holder(void *arg)
{
	uint64_t begin = now_ns();

	atomic_store(&holder_tid, own_tid());
	for (unsigned int i = 1; i <= 2 * rounds; i++) {
		lock_for(i & 1);
		atomic_store(&locked, (int)i);
		nap_ms(hold_ms);
		pthread_rwlock_unlock(&lock);
		nap_until(&done, (int)i);
	}
	truth_thread(begin);
	return arg;
}

static void *rw_waiter(void *arg)
{
	uint64_t begin = now_ns();

	atomic_store(&waiter_tid, own_tid());
	for (unsigned int i = 1; i <= 2 * rounds; i++) {
		uint64_t start, end;

		nap_until(&locked, (int)i);
		nap_ms(hold_ms / 8);
		start = now_ns();
		lock_for(!(i & 1));
		end = now_ns();
		pthread_rwlock_unlock(&lock);
		truth_wait("rwlock", start, end, "addr=%p size=%zu waker=%d outcome=woken", (void *)&lock,
			   sizeof(lock), atomic_load(&holder_tid));
		atomic_store(&done, (int)i);
	}
	truth_thread(begin);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t holder, waiter;

	truth_begin();
	rounds = arg_number(argc, argv, 1, 1);
	hold_ms = arg_number(argc, argv, 2, 800);
	holder = thread_start(rw_holder, NULL);
	waiter = thread_start(rw_waiter, NULL);
	thread_join(holder, &holder_tid);
	thread_join(waiter, &waiter_tid);
	truth_end();
	return 0;
}
