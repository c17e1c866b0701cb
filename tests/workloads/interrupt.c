/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* interrupt [ROUNDS [MS]]: reads of an empty pipe that a signal ends, by a handler without SA_RESTART. */
#include <signal.h>

#include "lib.h"

static int pipes[2];
static unsigned int rounds;
static atomic_int waiting, done, main_tid, reader_tid;

static void on_signal(int sig)
{
	(void)sig;
}

static void *pipe_reader(void *arg)
{
	uint64_t begin = now_ns();

	atomic_store(&reader_tid, own_tid());
	for (unsigned int i = 1; i <= rounds; i++) {
		uint64_t start = now_ns(), end;
		char c;
		ssize_t n;
		int err;

		atomic_store(&waiting, (int)i);
		n = read(pipes[0], &c, 1);
		err = errno;
		end = now_ns();
		truth_wait("pipe", start, end, "waker=%d outcome=%s", atomic_load(&main_tid),
			   n < 0 && err == EINTR ? "interrupted" : "woken");
		atomic_store(&done, (int)i);
	}
	truth_thread(begin);
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t reader;

	truth_begin();
	rounds = arg_number(argc, argv, 1, 4);
	atomic_store(&main_tid, own_tid());
	if (pipe2(pipes, O_CLOEXEC) || sigaction(SIGUSR1, &action, NULL))
		die("pipe or sigaction");
	reader = thread_start(pipe_reader, NULL);
	for (unsigned int i = 1; i <= rounds; i++) {
		nap_until(&waiting, (int)i);
		nap_ms(arg_number(argc, argv, 2, 50));
		pthread_kill(reader, SIGUSR1);
		nap_until(&done, (int)i);
	}
	thread_join(reader, &reader_tid);
	truth_end();
	return 0;
}
