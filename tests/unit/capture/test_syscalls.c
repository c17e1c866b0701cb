/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The table of what system calls wait for, against the manual's argument lists; when calls of the kernel's are repeated. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/syscall.h>

#include "capture/internal.h"
#include "capture/same-call.h"
#include "capture/transient.h"

static uint16_t classes[WCBPF_SYSCALLS_MAX];

static void fill(void)
{
	syscall_classes_fill(classes);
}
TestSuite(syscalls, .init = fill);

Test(syscalls, files)
{
	cr_expect_eq(classes[SYS_read] & WCBPF_SC_FD_MASK, WCBPF_SC_FD(0));
	cr_expect_eq(classes[SYS_fsync] & WCBPF_SC_FD_MASK, WCBPF_SC_FD(0));
	cr_expect_eq(classes[SYS_accept4] & WCBPF_SC_FD_MASK, WCBPF_SC_FD(0));
	cr_expect_eq(classes[SYS_getpid], 0);
	cr_expect_eq(classes[SYS_wait4], 0);
	cr_expect_eq(classes[SYS_nanosleep] & WCBPF_SC_FD_MASK, 0);
}

Test(syscalls, timeouts)
{
	static const struct {
		int nr, kind, arg;
	} want[] = {
		{ SYS_nanosleep, WCBPF_TIMEOUT_TIMESPEC, 0 },	  { SYS_clock_nanosleep, WCBPF_TIMEOUT_TIMESPEC, 2 },
		{ SYS_futex, WCBPF_TIMEOUT_TIMESPEC, 3 },	  { SYS_ppoll, WCBPF_TIMEOUT_TIMESPEC, 2 },
		{ SYS_epoll_pwait, WCBPF_TIMEOUT_MS, 3 },	  { SYS_pselect6, WCBPF_TIMEOUT_TIMESPEC, 4 },
#ifdef SYS_poll
		{ SYS_poll, WCBPF_TIMEOUT_MS, 2 },		  { SYS_select, WCBPF_TIMEOUT_TIMEVAL, 4 },
#endif
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		cr_expect_eq(WCBPF_SC_TIMEOUT_KIND(classes[want[i].nr]), want[i].kind, "call %d", want[i].nr);
		cr_expect_eq(WCBPF_SC_TIMEOUT_ARG(classes[want[i].nr]), want[i].arg, "call %d", want[i].nr);
	}
	cr_expect_eq(WCBPF_SC_TIMEOUT_KIND(classes[SYS_read]), WCBPF_TIMEOUT_NONE);
}

Test(syscalls, futexes_and_polls)
{
	cr_expect(classes[SYS_futex] & WCBPF_SC_FUTEX);
	cr_expect(classes[449] & WCBPF_SC_WAITV && classes[449] & WCBPF_SC_FUTEX2, "futex_waitv");
	cr_expect(classes[455] & WCBPF_SC_FUTEX2, "futex_wait");
	cr_expect_not(classes[455] & WCBPF_SC_WAITV);
	cr_expect(classes[SYS_ppoll] & WCBPF_SC_POLL);
	cr_expect_not(classes[SYS_epoll_pwait] & WCBPF_SC_POLL);
}

/* As bits: A from a switch to the return, B another's doing, C now and then. */
enum { A = 1, B = 2, C = 4 };

Test(syscalls, what_tells_a_call_from_the_next)
{
	static const uint64_t good[] = { B | C, A | B, B, A | B, B | C, A | B | C };
	/* a page fault between the second call and its first switch */
	static const uint64_t one_more[] = { B, A | B, B, A | B, A | B, B };

	cr_expect_eq(same_call_mask(good, 6), A);
	cr_expect_eq(same_call_mask(one_more, 6), 0, "to be learned again");
}

Test(syscalls, refusals_that_are_no_answer)
{
	static const int last[] = { 0, 7, -EPERM, -EINVAL, -ENOMEM };
	unsigned tries = 0, n = 0;

	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
		cr_expect_not(transient_again(last[i], &tries));
	cr_expect_eq(tries, 0);
	do
		n++;
	while (transient_again(n % 2 ? -EAGAIN : -EINTR, &tries));
	cr_expect_eq(n, TRANSIENT_TRIES, "not for ever");
}
