/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Owners of locks, read from this process's own mutexes. */
#include <criterion/criterion.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/owners.h"

static struct wcbpf_seed waiter(uint32_t tid, const void *futex, uint64_t op)
{
	struct wcbpf_seed s = { .tgid = (uint32_t)getpid(), .tid = tid, .state = 1, .syscall = SYS_futex };

	s.args[0] = (uintptr_t)futex;
	s.args[1] = op;
	return s;
}

Test(owners, of_a_mutex)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct wcbpf_interval e = { .tid = 70, .flags = WCBPF_IV_BEGAN_BEFORE };
	struct wcbpf_seed s = waiter(70, &mutex, FUTEX_WAIT_PRIVATE);
	struct owners *o;

	pthread_mutex_lock(&mutex);
	cr_assert_eq(owners_new(&o), 0);
	cr_assert_eq(owners_note(o, &s), 0);
	/* not for an interval that began later, nor for another thread */
	e.flags = 0;
	owners_fill(o, &e, true);
	cr_expect_eq(e.owner_tid, 0);
	e = (struct wcbpf_interval){ .tid = 71, .flags = WCBPF_IV_BEGAN_BEFORE };
	owners_fill(o, &e, true);
	cr_expect_eq(e.owner_tid, 0);
	e.tid = 70;
	/* of one that goes on as often as it is looked at */
	for (int i = 0; i < 2; i++) {
		struct wcbpf_interval open = e;

		owners_fill(o, &open, false);
		cr_expect_eq(open.owner_tid, gettid());
	}
	owners_fill(o, &e, true);
	cr_expect_eq(e.owner_tid, gettid());
	cr_expect(e.flags & WCBPF_IV_OWNER_READ);
	/* once only */
	e.owner_tid = 0;
	owners_fill(o, &e, true);
	cr_expect_eq(e.owner_tid, 0);
	owners_free(o);
}

Test(owners, of_pi_futexes_and_of_none)
{
	uint32_t word = FUTEX_WAITERS | 1234;
	struct wcbpf_seed pi = waiter(70, &word, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG);
	struct wcbpf_seed wake = waiter(71, &word, FUTEX_WAKE), running = waiter(72, &word, FUTEX_LOCK_PI);
	struct wcbpf_seed unreadable = waiter(73, (void *)8, FUTEX_WAIT);
	struct wcbpf_interval e = { .flags = WCBPF_IV_BEGAN_BEFORE };
	struct owners *o;

	running.state = 0;
	cr_assert_eq(owners_new(&o), 0);
	cr_assert_eq(owners_note(o, &pi) | owners_note(o, &wake) | owners_note(o, &running) | owners_note(o, &unreadable), 0);
	for (e.tid = 71; e.tid <= 73; e.tid++) {
		owners_fill(o, &e, true);
		cr_expect_not(e.flags & WCBPF_IV_OWNER_READ, "tid %u", e.tid);
	}
	e.tid = 70;
	owners_fill(o, &e, true);
	cr_expect_eq(e.owner_tid, 1234);
	owners_free(o);
}
