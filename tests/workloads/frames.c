/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * frames KIND [N|PATH]: one process whose every stack is known from this file:
 * main, outer, inner and the function named for the kind, then libc. Kinds:
 *
 *   mutex condvar poll    waits in libc
 *   qsort                 a comparison that sleeps: libc below the program below libc
 *   deep N                N calls of two functions in turn, one of them with a frame of unknown size
 *   signal                a handler that sleeps, of a signal that comes at any instruction
 *   altsignal             the same, on a stack above and on one below the interrupted one
 *   vdso                  reads the clock, and nothing else
 *   fault PATH            reads pages of a mapped file of its own that have to come from the disk
 */
#include <alloca.h>
#include <poll.h>
#include <sys/mman.h>

#include "frames.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static unsigned int deep_n;
static const char *fault_path;

/* ---- waits in libc ---- */

static void *hold(void *arg)
{
	while (frames_go_on()) {
		pthread_mutex_lock(&lock);
		frames_nap(2000);
		pthread_mutex_unlock(&lock);
		frames_nap(300);
	}
	return arg;
}

static FRAME int wait_mutex(void)
{
	int err;

	ROOM(24);
	err = pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return LEAVE(err);
}

static FRAME int wait_condvar(void)
{
	struct timespec t;

	ROOM(88);
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += 2000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	pthread_mutex_lock(&lock);
	pthread_cond_timedwait(&cond, &lock, &t);
	pthread_mutex_unlock(&lock);
	return LEAVE(0);
}

static FRAME int wait_poll(void)
{
	static int ends[2] = { -1, -1 };
	struct pollfd fd;

	ROOM(40);
	if (ends[0] < 0 && pipe(ends))
		die("pipe");
	fd = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	return LEAVE(poll(&fd, 1, 2));
}

/* ---- callbacks and recursion ---- */

static int compare(const void *a, const void *b)
{
	ROOM(72);
	frames_nap(500);
	return LEAVE(*(const int *)a - *(const int *)b);
}

static FRAME int wait_qsort(void)
{
	int numbers[] = { 5, 3, 8, 1, 9, 2, 7, 4 };

	ROOM(104);
	qsort(numbers, sizeof(numbers) / sizeof(numbers[0]), sizeof(numbers[0]), compare);
	return LEAVE(numbers[0] - 1);
}

static FRAME int deep_fixed(unsigned int left);

/* The frame's size is known only when it runs, so that it is found by a register. */
static FRAME int deep_sized(unsigned int left)
{
	volatile char *room = alloca(16 + left % 7 * 24);

	room[0] = 1;
	return (left > 1 ? deep_fixed(left - 1) : frames_nap(2000)) + room[0] - 1;
}

static FRAME int deep_fixed(unsigned int left)
{
	ROOM(48);
	return LEAVE(left > 1 ? deep_sized(left - 1) : frames_nap(2000));
}

static FRAME int wait_deep(void)
{
	ROOM(32);
	return LEAVE(deep_fixed(deep_n));
}

/* ---- signals ---- */

static void handler(int sig)
{
	int err = errno;

	ROOM(136);
	(void)sig;
	frames_nap(1000);
	errno = err;
}

/* Pushes, pops and calls, so that a signal finds each state of a frame. */
static FRAME uint64_t busy(unsigned int depth, uint64_t seed)
{
	ROOM(32);
	seed = seed * 6364136223846793005u + depth;
	if (depth)
		seed += busy(depth - 1, seed) ^ busy(depth - 1, ~seed);
	return LEAVE(seed);
}

static FRAME int wait_signal(void)
{
	uint64_t sum = 0;

	ROOM(56);
	for (unsigned int i = 0; i < 100; i++)
		sum += busy(6, sum + i);
	return LEAVE(sum == 1);
}

static void take_signals(int flags)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags | SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2 };
	/* Odd, so that it meets every instruction of the loop sooner or later. */
	struct itimerspec often = { { 0, 3000017 }, { 0, 3000017 } };
	timer_t timer;

	event._sigev_un._tid = own_tid();
	if (sigaction(SIGUSR2, &sa, NULL) || timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &often, NULL))
		die("a timer's signal");
}

static void signal_stack(void *memory, size_t size)
{
	stack_t stack = { .ss_sp = memory, .ss_size = size };

	if (sigaltstack(&stack, NULL))
		die("sigaltstack");
	take_signals(SA_ONSTACK);
}

/* ---- the vDSO ---- */

static FRAME int wait_vdso(void)
{
	struct timespec t = { 0 };

	ROOM(24);
	for (unsigned int i = 0; i < 100000; i++)
		clock_gettime(CLOCK_MONOTONIC, &t);
	return LEAVE(t.tv_sec < 0);
}

/* ---- a page that is not in memory ---- */

#define FAULT_BYTES (1 << 22)

static FRAME int fault_file(void)
{
	static char block[1 << 16];
	int fd = open(fault_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ROOM(40);
	for (int i = 0; fd >= 0 && i < FAULT_BYTES; i += (int)sizeof(block))
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			die(fault_path);
	if (fd < 0 || fsync(fd))
		die(fault_path);
	return LEAVE(fd);
}

/* Of a page a turn: the kernel is told not to read ahead. */
static FRAME int wait_fault(void)
{
	static int fd = -1;
	static unsigned int page;
	volatile char *map;
	int sum = 0;

	ROOM(56);
	if (fd < 0)
		fd = fault_file();
	posix_fadvise(fd, 0, FAULT_BYTES, POSIX_FADV_DONTNEED);
	map = mmap(NULL, FAULT_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED || madvise((void *)map, FAULT_BYTES, MADV_RANDOM))
		die("mmap");
	for (int i = 0; i < 16; i++)
		sum += map[(page++ * 37 % (FAULT_BYTES / 4096)) * 4096];
	munmap((void *)map, FAULT_BYTES);
	return LEAVE(sum);
}

/* ---- the two callers that all have ---- */

static FRAME int inner(int (*func)(void))
{
	ROOM(200);
	return LEAVE(func());
}

static FRAME int outer(int (*func)(void))
{
	ROOM(72);
	while (frames_go_on())
		if (inner(func) < 0)
			break;
	return LEAVE(0);
}

/* Its stack is below the one that signals come on: main's array. */
static void *below(void *memory)
{
	signal_stack(memory, 65536);
	outer(wait_signal);
	return NULL;
}

static const struct {
	const char *name;
	int (*func)(void);
} kinds[] = {
	{ "mutex", wait_mutex }, { "condvar", wait_condvar }, { "poll", wait_poll }, { "qsort", wait_qsort },
	{ "deep", wait_deep }, { "signal", wait_signal }, { "altsignal", wait_signal }, { "vdso", wait_vdso },
	{ "fault", wait_fault },
};

int main(int argc, char **argv)
{
	static char far_away[65536];
	char near[65536];
	const char *kind = argc > 1 ? argv[1] : "";

	deep_n = arg_number(argc, argv, 2, 100);
	fault_path = argc > 2 ? argv[2] : "/dev/null";
	if (strcmp(kind, "mutex") == 0)
		thread_start(hold, NULL);
	if (strcmp(kind, "altsignal") == 0) {
		thread_start(below, near);
		signal_stack(far_away, sizeof(far_away));
	}
	if (strcmp(kind, "signal") == 0)
		take_signals(0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, kind) == 0) {
			frames_ready();
			return outer(kinds[i].func);
		}
	fprintf(stderr, "usage: frames mutex|condvar|poll|qsort|deep|signal|altsignal|vdso|fault [N|PATH]\n");
	return 2;
}
