/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The build architecture's system calls by number: what each may wait for, and its name. */
#include <asm/unistd.h>
#include <stdint.h>

/* Newer than some distributions' headers; the same number on every architecture. */
#ifndef __NR_futex_waitv
#define __NR_futex_waitv 449
#endif
#ifndef __NR_futex_wake
#define __NR_futex_wake 454
#endif
#ifndef __NR_futex_wait
#define __NR_futex_wait 455
#endif
#ifndef __NR_futex_requeue
#define __NR_futex_requeue 456
#endif

enum syscall_sort {
	SYSCALL_OTHER,
	SYSCALL_FUTEX,	     /* futex(uaddr, op, val, ...) */
	SYSCALL_FUTEX_WAIT,  /* futex_wait(uaddr, val, mask, flags, ...) */
	SYSCALL_FUTEX_WAITV, /* several at once */
	SYSCALL_FILE,	     /* waits for what its file descriptor is */
	SYSCALL_SOCKET,	     /* likewise, and that can only be a socket */
	SYSCALL_ACCEPT,
	SYSCALL_FSYNC,
	SYSCALL_EPOLL,
	SYSCALL_POLL,	     /* args[1]: number of files */
	SYSCALL_SELECT,	     /* args[0]: number of files, args[1..3]: the sets */
	SYSCALL_SLEEP,
	SYSCALL_WAIT4,	     /* args[0]: pid */
	SYSCALL_WAITID,	     /* args[0]: P_PID and so on, args[1]: id */
	SYSCALL_SIGNAL,
	SYSCALL_FLOCK,
	SYSCALL_FCNTL,	     /* args[1]: command */
	SYSCALL_MESSAGE,     /* System V and POSIX message queues */
	SYSCALL_SEMOP,
	SYSCALL_AIO,
	SYSCALL_IO_URING,
	SYSCALL_CLONE,	     /* args[0]: flags */
	SYSCALL_VFORK,
	SYSCALL_RESTART,     /* goes on with another call, which only the kernel stack tells */
};

/* SYSCALL_OTHER for numbers not known, -1 included. */
enum syscall_sort syscall_sort(int32_t nr);
/* "" for numbers not known. */
const char *syscall_name(int32_t nr);
