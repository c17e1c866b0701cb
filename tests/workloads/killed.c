/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * killed [THREADS [MS]]: a child with THREADS blocked for ever (pause, a held
 * mutex, an empty pipe in turn) is killed with SIGKILL after MS.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "lib.h"

#define THREADS_MAX 256

struct shared {
	atomic_int ready;
	struct {
		int tid;
		uint64_t start_ns;
	} threads[THREADS_MAX];
};

static struct shared *shared;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static int pipe_fds[2];

static void *blocked(void *arg)
{
	unsigned int i = (unsigned int)(uintptr_t)arg;
	char c;

	shared->threads[i].tid = own_tid();
	shared->threads[i].start_ns = now_ns();
	atomic_fetch_add(&shared->ready, 1);
	if (i % 3 == 0)
		pause();
	else if (i % 3 == 1)
		pthread_mutex_lock(&held);
	else if (read(pipe_fds[0], &c, 1) < 0)
		die("read");
	return arg;
}

int main(int argc, char **argv)
{
	static const char *const kinds[3] = { "pause", "mutex", "pipe" };
	unsigned int n = arg_number(argc, argv, 1, 50), ms = arg_number(argc, argv, 2, 1000);
	uint64_t killed;
	pid_t pid;

	truth_begin();
	if (n > THREADS_MAX)
		n = THREADS_MAX;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || pipe(pipe_fds))
		die("mmap");
	pid = fork();
	if (!pid) {
		pthread_mutex_lock(&held);
		for (unsigned int i = 0; i < n; i++)
			thread_start(blocked, (void *)(uintptr_t)i);
		for (;;)
			pause();
	}
	while (atomic_load(&shared->ready) < (int)n)
		nap_ms(1);
	nap_ms(ms);
	killed = now_ns();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	truth("killed pid=%d at=%llu", pid, (unsigned long long)killed);
	for (unsigned int i = 0; i < n; i++)
		truth("blocked kind=%s tid=%d start=%llu end=%llu", kinds[i % 3], shared->threads[i].tid,
		      (unsigned long long)shared->threads[i].start_ns, (unsigned long long)killed);
	truth_end();
	return 0;
}
