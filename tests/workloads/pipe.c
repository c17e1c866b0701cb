/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* pipe [ROUNDS [MS]]: a thread reads an empty pipe; at the end it writes into a full one. */
#include <sys/stat.h>

#include "lib.h"

static int pipe_fds[2];
static unsigned int rounds, ms;
static unsigned long long ino;
static atomic_int waiting, main_tid, other_tid;

static void *pipe_user(void *arg)
{
	uint64_t begin = now_ns(), start;
	char c = 'x';

	atomic_store(&other_tid, own_tid());
	for (unsigned int i = 1; i <= rounds; i++) {
		start = now_ns();
		atomic_store(&waiting, (int)i);
		if (read(pipe_fds[0], &c, 1) != 1)
			die("read");
		truth_wait("pipe", start, now_ns(), "ino=%llu waker=%d outcome=woken", ino, atomic_load(&main_tid));
	}
	fcntl(pipe_fds[1], F_SETFL, O_NONBLOCK);
	while (write(pipe_fds[1], &c, 1) == 1)
		;
	fcntl(pipe_fds[1], F_SETFL, 0);
	start = now_ns();
	atomic_store(&waiting, (int)rounds + 1);
	if (write(pipe_fds[1], &c, 1) != 1)
		die("write");
	truth_wait("pipe", start, now_ns(), "ino=%llu waker=%d outcome=woken", ino, atomic_load(&main_tid));
	truth_thread(begin);
	return arg;
}

int main(int argc, char **argv)
{
	static char drain[1 << 20];
	struct stat st;
	pthread_t thread;

	truth_begin();
	rounds = arg_number(argc, argv, 1, 1);
	ms = arg_number(argc, argv, 2, 500);
	memset(drain, 1, sizeof(drain));
	if (pipe(pipe_fds) || fcntl(pipe_fds[1], F_SETPIPE_SZ, 4096) < 0 || fstat(pipe_fds[0], &st))
		die("pipe");
	ino = st.st_ino;
	atomic_store(&main_tid, own_tid());
	thread = thread_start(pipe_user, NULL);
	for (unsigned int i = 1; i <= rounds; i++) {
		nap_until(&waiting, (int)i);
		nap_ms(ms);
		if (write(pipe_fds[1], "x", 1) != 1)
			die("write");
	}
	nap_until(&waiting, (int)rounds + 1);
	nap_ms(ms);
	if (read(pipe_fds[0], drain, sizeof(drain)) < 0)
		die("read");
	thread_join(thread, &other_tid);
	truth_end();
	return 0;
}
