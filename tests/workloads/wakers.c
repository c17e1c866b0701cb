/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * wakers [ROUNDS [MS]]: a thread waits in each of several ways, and each time main ends its wait from a function that
 * is named for the way: main, rounds, wakes_by_pipe. Other threads end themselves: ends_itself; other processes too.
 * Built without frame pointers.
 */
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "frames.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, cond_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static unsigned int rounds_n, ms;
static int ends[2], counter;
static bool told;
static atomic_int waiting, main_tid, other_tid;

#define WAIT(name, call)                                                                                \
	do {                                                                                            \
		uint64_t start = now_ns();                                                              \
		atomic_fetch_add(&waiting, 1);                                                          \
		call;                                                                                   \
		truth_wait(name, start, now_ns(), "waker=%d outcome=woken", atomic_load(&main_tid));    \
	} while (0)

static void condvar_wait(void)
{
	pthread_mutex_lock(&cond_lock);
	while (!told)
		pthread_cond_wait(&cond, &cond_lock);
	told = false;
	pthread_mutex_unlock(&cond_lock);
}

static void *sleeper(void *arg)
{
	uint64_t begin = now_ns(), n;
	char c;

	atomic_store(&other_tid, own_tid());
	for (unsigned int i = 0; i < rounds_n; i++) {
		WAIT("pipe", if (read(ends[0], &c, 1) != 1) die("read"));
		WAIT("eventfd", if (read(counter, &n, sizeof(n)) != sizeof(n)) die("eventfd"));
		WAIT("condvar", condvar_wait());
		WAIT("mutex", pthread_mutex_lock(&lock));
		pthread_mutex_unlock(&lock);
		atomic_fetch_add(&waiting, 1);
	}
	truth_thread(begin);
	return arg;
}

static FRAME int wakes_by_pipe(void)
{
	ROOM(24);
	return LEAVE((int)write(ends[1], "x", 1) - 1);
}

static FRAME int wakes_by_eventfd(void)
{
	uint64_t one = 1;

	ROOM(88);
	return LEAVE((int)write(counter, &one, sizeof(one)) - (int)sizeof(one));
}

static FRAME int wakes_by_condvar(void)
{
	ROOM(40);
	pthread_mutex_lock(&cond_lock);
	told = true;
	pthread_mutex_unlock(&cond_lock);
	return LEAVE(pthread_cond_signal(&cond));
}

static FRAME int wakes_by_mutex(void)
{
	ROOM(136);
	return LEAVE(pthread_mutex_unlock(&lock));
}

/* The kernel tells who joins it; there is no function of glibc's below. */
static FRAME int ends_itself(void)
{
	ROOM(56);
	atomic_store(&other_tid, own_tid());
	nap_ms(ms);
	return LEAVE((int)syscall(SYS_exit, 0));
}

static void *ending(void *arg)
{
	ROOM(24);
	return (char *)arg + LEAVE(ends_itself());
}

static void child_wait(void)
{
	uint64_t start;
	pid_t pid = fork();
	int status;

	if (pid < 0)
		die("fork");
	if (!pid) {
		usleep(ms * 1000);
		_exit(3);
	}
	start = now_ns();
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	truth_wait("child", start, now_ns(), "child=%d waker=%d", pid, pid);
}

static FRAME int rounds(void)
{
	int err = 0, step = 0;

	ROOM(72);
	for (unsigned int i = 0; i < rounds_n && !err; i++) {
		pthread_mutex_lock(&lock);
		nap_until(&waiting, ++step);
		nap_ms(ms);
		err = wakes_by_pipe();
		nap_until(&waiting, ++step);
		nap_ms(ms);
		err |= wakes_by_eventfd();
		nap_until(&waiting, ++step);
		nap_ms(ms);
		err |= wakes_by_condvar();
		nap_until(&waiting, ++step);
		nap_ms(ms);
		err |= wakes_by_mutex();
		nap_until(&waiting, ++step);
	}
	return LEAVE(err);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	truth_begin();
	rounds_n = arg_number(argc, argv, 1, 1);
	ms = arg_number(argc, argv, 2, 20);
	counter = eventfd(0, EFD_CLOEXEC);
	if (pipe(ends) || counter < 0)
		die("pipe");
	atomic_store(&main_tid, own_tid());
	thread = thread_start(sleeper, NULL);
	if (rounds())
		die("rounds");
	thread_join(thread, &other_tid);
	for (unsigned int i = 0; i < rounds_n; i++) {
		atomic_store(&other_tid, 0);
		thread = thread_start(ending, NULL);
		thread_join(thread, &other_tid);
		child_wait();
	}
	truth_end();
	return 0;
}
