/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * futex waitv|wait2|bitset|requeue_pi|eagain [MS]
 *
 * Futex calls as no libc makes them. waitv, wait2 (futex_wait, 6.7+) and
 * bitset are woken or time out after MS; eagain returns at once, 1000 times.
 * Exit status 77: this kernel has no such call.
 */
#include <linux/futex.h>

#include "lib.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#define SYS_FUTEX_WAIT2 455 /* the same on every architecture */
#define FUTEX2_32 2	    /* FUTEX2_SIZE_U32 */
#define FUTEX2_PRIVATE_FLAG 128

struct waiter_v {
	uint64_t val, uaddr;
	uint32_t flags, reserved;
};

#define WORD 0x89abcdefu /* no small number, and none that is positive as an int */
static uint32_t word = WORD, pi_word, unused_word;
static unsigned int ms;
static atomic_int waiting, main_tid, waiter_tid;
static const char *mode;

static struct timespec monotonic_in_ms(unsigned int n)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += (long)(n % 1000) * 1000000;
	t.tv_sec += n / 1000 + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static long wait_once(void)
{
	struct timespec until = monotonic_in_ms(20000);
	struct waiter_v v[2] = {
		{ .val = 0, .uaddr = (uintptr_t)&unused_word, .flags = FUTEX2_32 | FUTEX2_PRIVATE_FLAG },
		{ .val = WORD, .uaddr = (uintptr_t)&word, .flags = FUTEX2_32 | FUTEX2_PRIVATE_FLAG },
	};

	if (!strcmp(mode, "waitv"))
		return syscall(SYS_futex_waitv, v, 2, 0, &until, CLOCK_MONOTONIC);
	if (!strcmp(mode, "wait2"))
		return syscall(SYS_FUTEX_WAIT2, &word, (unsigned long)WORD, (unsigned long)FUTEX_BITSET_MATCH_ANY,
			       FUTEX2_32 | FUTEX2_PRIVATE_FLAG, &until, CLOCK_MONOTONIC);
	if (!strcmp(mode, "requeue_pi"))
		return syscall(SYS_futex, &word, FUTEX_WAIT_REQUEUE_PI | FUTEX_PRIVATE_FLAG, WORD, &until, &pi_word, 0);
	until = monotonic_in_ms(ms);
	return syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, WORD, &until, NULL,
		       FUTEX_BITSET_MATCH_ANY);
}

static void *futex_waiter(void *arg)
{
	uint64_t begin = now_ns(), start, end;
	long rc;

	atomic_store(&waiter_tid, own_tid());
	start = now_ns();
	atomic_store(&waiting, 1);
	rc = wait_once();
	end = now_ns();
	if (rc < 0 && errno == ENOSYS)
		_exit(77);
	if (rc < 0 && errno != ETIMEDOUT)
		die("futex");
	if (rc < 0)
		truth_wait("futex", start, end, "addr=%p size=4 val=%u outcome=timeout ctx=timer", (void *)&word, WORD);
	else if (!strcmp(mode, "requeue_pi"))
		truth_wait("futex", start, end, "addr=%p size=4 addr2=%p val=%u waker=%d outcome=woken", (void *)&word,
			   (void *)&pi_word, WORD, atomic_load(&main_tid));
	else
		truth_wait("futex", start, end, "addr=%p size=4 val=%u waker=%d outcome=woken", (void *)&word, WORD,
			   atomic_load(&main_tid));
	truth_thread(begin);
	return arg;
}

/* Requeues the waiter to a PI futex that main holds, then gives that to it. */
static void requeue(void)
{
	if (syscall(SYS_futex, &pi_word, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 0))
		die("lock_pi");
	if (syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE_PI | FUTEX_PRIVATE_FLAG, 1, (void *)1L, &pi_word, WORD) < 0)
		die("cmp_requeue_pi");
	nap_ms(100);
	if (syscall(SYS_futex, &pi_word, FUTEX_UNLOCK_PI | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 0))
		die("unlock_pi");
}

int main(int argc, char **argv)
{
	pthread_t thread;

	truth_begin();
	mode = argc > 1 ? argv[1] : "bitset";
	ms = arg_number(argc, argv, 2, 300);
	atomic_store(&main_tid, own_tid());
	if (!strcmp(mode, "eagain")) {
		nap_ms(20);
		for (int i = 0; i < 1000; i++)
			syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
		truth_end();
		return 0;
	}
	thread = thread_start(futex_waiter, NULL);
	if (strcmp(mode, "bitset")) {
		nap_until(&waiting, 1);
		nap_ms(ms);
		if (!strcmp(mode, "requeue_pi"))
			requeue();
		else
			syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
	}
	thread_join(thread, &waiter_tid);
	truth_end();
	return 0;
}
