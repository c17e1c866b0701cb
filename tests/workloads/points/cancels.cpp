/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * cancels [N]: threads wait on a condition variable inside of a function with a
 * guard, and are cancelled there. Destructors must run and the mutex must be
 * free, as without a tracer. With a second argument "exit" they end by
 * pthread_exit() instead.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER, inside = PTHREAD_COND_INITIALIZER;
static int destroyed, waiting;
static bool by_exit;

struct guard {
	guard() { pthread_mutex_lock(&mutex); }
	~guard()
	{
		destroyed++;
		pthread_mutex_unlock(&mutex);
	}
};

extern "C" __attribute__((noinline)) int guarded_wait(int number)
{
	guard g;

	waiting = number;
	pthread_cond_signal(&inside);
	if (by_exit)
		pthread_exit(nullptr);
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	return number;
}

static void *waiter(void *arg)
{
	guarded_wait(static_cast<int>(reinterpret_cast<long>(arg)));
	return nullptr;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? std::atoi(argv[1]) : 20, canceled = 0;

	by_exit = argc > 2 && !std::strcmp(argv[2], "exit");
	for (int i = 1; i <= n; i++) {
		pthread_t thread;
		void *result;

		pthread_create(&thread, nullptr, waiter, reinterpret_cast<void *>(static_cast<long>(i)));
		pthread_mutex_lock(&mutex);
		while (waiting != i)
			pthread_cond_wait(&inside, &mutex);
		pthread_mutex_unlock(&mutex);
		if (!by_exit)
			pthread_cancel(thread);
		pthread_join(thread, &result);
		canceled += result == PTHREAD_CANCELED;
	}
	std::printf("canceled=%d destroyed=%d free=%d\n", canceled, destroyed, pthread_mutex_trylock(&mutex) == 0);
	return 5;
}
