/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* anonfd eventfd|timerfd [ROUNDS [MS]]: reads of files that share the one anonymous inode. */
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "lib.h"

static int fd;
static bool timer;
static unsigned int rounds, ms;
static atomic_int waiting, main_tid, reader_tid;

static void *fd_reader(void *arg)
{
	uint64_t begin = now_ns();

	atomic_store(&reader_tid, own_tid());
	for (unsigned int i = 1; i <= rounds; i++) {
		uint64_t start = now_ns(), value;

		if (timer) {
			struct itimerspec it = { .it_value = { ms / 1000, (long)(ms % 1000) * 1000000 } };

			timerfd_settime(fd, 0, &it, NULL);
		}
		atomic_store(&waiting, (int)i);
		if (read(fd, &value, sizeof(value)) != sizeof(value))
			die("read");
		if (timer)
			truth_wait("timerfd", start, now_ns(), "ctx=timer outcome=woken");
		else
			truth_wait("eventfd", start, now_ns(), "waker=%d outcome=woken", atomic_load(&main_tid));
	}
	truth_thread(begin);
	return arg;
}

int main(int argc, char **argv)
{
	uint64_t one = 1;
	pthread_t thread;

	truth_begin();
	timer = argc > 1 && !strcmp(argv[1], "timerfd");
	rounds = arg_number(argc, argv, 2, 1);
	ms = arg_number(argc, argv, 3, 500);
	fd = timer ? timerfd_create(CLOCK_MONOTONIC, 0) : eventfd(0, 0);
	if (fd < 0)
		die("fd");
	atomic_store(&main_tid, own_tid());
	thread = thread_start(fd_reader, NULL);
	for (unsigned int i = 1; i <= rounds && !timer; i++) {
		nap_until(&waiting, (int)i);
		nap_ms(ms);
		if (write(fd, &one, sizeof(one)) != sizeof(one))
			die("write");
	}
	thread_join(thread, &reader_tid);
	truth_end();
	return 0;
}
