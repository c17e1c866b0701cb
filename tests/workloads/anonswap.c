/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* anonswap [ROUNDS [MS]]: an eventfd, then a timerfd, each made, read and closed: same inode, same number, other kind. */
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "lib.h"

static unsigned int rounds, ms;
static atomic_int event, waiting, writer_tid;

static void *event_writer(void *arg)
{
	uint64_t begin = now_ns(), one = 1;

	atomic_store(&writer_tid, own_tid());
	for (unsigned int i = 1; i <= rounds; i++) {
		nap_until(&waiting, (int)i);
		nap_ms(ms);
		if (write(atomic_load(&event), &one, sizeof(one)) != sizeof(one))
			die("write");
	}
	truth_thread(begin);
	return arg;
}

static void event_read(unsigned int round)
{
	uint64_t start, value;
	int fd = eventfd(0, EFD_CLOEXEC);

	if (fd < 0)
		die("eventfd");
	atomic_store(&event, fd);
	start = now_ns();
	atomic_store(&waiting, (int)round);
	if (read(fd, &value, sizeof(value)) != sizeof(value))
		die("read");
	truth_wait("eventfd", start, now_ns(), "waker=%d", atomic_load(&writer_tid));
	close(fd);
}

static void timer_read(void)
{
	struct itimerspec it = { .it_value = { ms / 1000, (long)(ms % 1000) * 1000000 } };
	uint64_t start, value;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	if (fd < 0 || timerfd_settime(fd, 0, &it, NULL))
		die("timerfd");
	start = now_ns();
	if (read(fd, &value, sizeof(value)) != sizeof(value))
		die("read");
	truth_wait("timerfd", start, now_ns(), "ctx=timer");
	close(fd);
}

int main(int argc, char **argv)
{
	pthread_t writer;

	truth_begin();
	rounds = arg_number(argc, argv, 1, 20);
	ms = arg_number(argc, argv, 2, 5);
	writer = thread_start(event_writer, NULL);
	for (unsigned int i = 1; i <= rounds; i++) {
		event_read(i);
		timer_read();
	}
	thread_join(writer, &writer_tid);
	truth_end();
	return 0;
}
