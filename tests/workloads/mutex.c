/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * mutex [plain|pi|robust|recursive [ROUNDS [HOLD_MS]]]
 *
 * One thread holds a mutex, the other tries it 1/8 of the time later: one
 * waiter and one holder, so every wait has one owner and one waker and the
 * lock is never stolen (a stolen lock would make two waits of one call).
 */
#include "lib.h"

static pthread_mutex_t lock;
static const char *kind = "mutex";
static unsigned int rounds, hold_ms;
static atomic_int locked, done;
static atomic_int holder_tid, waiter_tid;

static void *lock_holder(void *arg)
{
	uint64_t begin = now_ns();

	atomic_store(&holder_tid, own_tid());
	for (unsigned int i = 1; i <= rounds; i++) {
		pthread_mutex_lock(&lock);
		atomic_store(&locked, (int)i);
		nap_ms(hold_ms);
		pthread_mutex_unlock(&lock);
		nap_until(&done, (int)i);
	}
	truth_thread(begin);
	return arg;
}

static __attribute__((noinline)) void lock_contended(void)
{
	uint64_t start = now_ns(), end;

	pthread_mutex_lock(&lock);
	end = now_ns();
	pthread_mutex_unlock(&lock);
	truth_wait(kind, start, end, "addr=%p size=4 owner=%d waker=%d outcome=woken", (void *)&lock,
		   atomic_load(&holder_tid), atomic_load(&holder_tid));
}

static void *lock_waiter(void *arg)
{
	uint64_t begin = now_ns();

	atomic_store(&waiter_tid, own_tid());
	for (unsigned int i = 1; i <= rounds; i++) {
		nap_until(&locked, (int)i);
		nap_ms(hold_ms / 8);
		lock_contended();
		atomic_store(&done, (int)i);
	}
	truth_thread(begin);
	return arg;
}

int main(int argc, char **argv)
{
	const char *type = argc > 1 ? argv[1] : "plain";
	pthread_mutexattr_t attr;
	pthread_t holder, waiter;

	truth_begin();
	rounds = arg_number(argc, argv, 2, 1);
	hold_ms = arg_number(argc, argv, 3, 800);
	pthread_mutexattr_init(&attr);
	if (!strcmp(type, "pi")) {
		pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
		kind = "pi_mutex";
	} else if (!strcmp(type, "robust"))
		pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	else if (!strcmp(type, "recursive"))
		pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&lock, &attr);
	holder = thread_start(lock_holder, NULL);
	waiter = thread_start(lock_waiter, NULL);
	thread_join(holder, &holder_tid);
	thread_join(waiter, &waiter_tid);
	truth_end();
	return 0;
}
