/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Which argument of a system call names what it may wait for. A table, so that
 * the BPF programs know no numbers of any architecture.
 */
#include <sys/syscall.h>

#include "capture/internal.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#define NR_FUTEX_WAIT 455    /* 6.7; same numbers on all architectures */
#define NR_FUTEX_REQUEUE 456

#define TS(arg) WCBPF_SC_TIMEOUT(WCBPF_TIMEOUT_TIMESPEC, arg)
#define TV(arg) WCBPF_SC_TIMEOUT(WCBPF_TIMEOUT_TIMEVAL, arg)
#define MS(arg) WCBPF_SC_TIMEOUT(WCBPF_TIMEOUT_MS, arg)
#define FD(arg) WCBPF_SC_FD(arg)

static const struct {
	int nr;
	uint16_t class;
} table[] = {
	{ SYS_futex, WCBPF_SC_FUTEX | TS(3) },
	{ SYS_futex_waitv, WCBPF_SC_FUTEX2 | WCBPF_SC_WAITV | TS(3) },
	{ NR_FUTEX_WAIT, WCBPF_SC_FUTEX2 | TS(4) },
	{ NR_FUTEX_REQUEUE, WCBPF_SC_FUTEX2 },
	{ SYS_nanosleep, TS(0) },
	{ SYS_clock_nanosleep, TS(2) },
	{ SYS_epoll_pwait, FD(0) | MS(3) },
	{ SYS_ppoll, WCBPF_SC_POLL | TS(2) },
	{ SYS_pselect6, TS(4) },
	{ SYS_rt_sigtimedwait, TS(2) },
#ifdef SYS_epoll_wait
	{ SYS_epoll_wait, FD(0) | MS(3) },
#endif
#ifdef SYS_epoll_pwait2
	{ SYS_epoll_pwait2, FD(0) | TS(3) },
#endif
#ifdef SYS_poll
	{ SYS_poll, WCBPF_SC_POLL | MS(2) },
#endif
#ifdef SYS_select
	{ SYS_select, TV(4) },
#endif
#ifdef SYS_sendfile
	{ SYS_sendfile, FD(0) },
#endif
	{ SYS_read, FD(0) },	      { SYS_write, FD(0) },	  { SYS_readv, FD(0) },	     { SYS_writev, FD(0) },
	{ SYS_pread64, FD(0) },	      { SYS_pwrite64, FD(0) },	  { SYS_preadv, FD(0) },     { SYS_pwritev, FD(0) },
	{ SYS_preadv2, FD(0) },	      { SYS_pwritev2, FD(0) },	  { SYS_recvfrom, FD(0) },   { SYS_recvmsg, FD(0) },
	{ SYS_recvmmsg, FD(0) },      { SYS_sendto, FD(0) },	  { SYS_sendmsg, FD(0) },    { SYS_sendmmsg, FD(0) },
	{ SYS_accept, FD(0) },	      { SYS_accept4, FD(0) },	  { SYS_connect, FD(0) },    { SYS_fsync, FD(0) },
	{ SYS_fdatasync, FD(0) },     { SYS_sync_file_range, FD(0) }, { SYS_syncfs, FD(0) }, { SYS_flock, FD(0) },
	{ SYS_fcntl, FD(0) },	      { SYS_ioctl, FD(0) },	  { SYS_ftruncate, FD(0) },  { SYS_fallocate, FD(0) },
	{ SYS_splice, FD(0) },	      { SYS_tee, FD(0) },	  { SYS_vmsplice, FD(0) },   { SYS_copy_file_range, FD(0) },
	{ SYS_getdents64, FD(0) },    { SYS_io_uring_enter, FD(0) }, { SYS_close, FD(0) },
};

void syscall_classes_fill(uint16_t classes[WCBPF_SYSCALLS_MAX])
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].nr >= 0 && table[i].nr < WCBPF_SYSCALLS_MAX)
			classes[table[i].nr] = table[i].class;
}
