/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Only calls that wait for something of their own have a sort; any call may block on disk or on a kernel lock. */
#include "assemble/syscall.h"

#include <stdbool.h>

#include "bpf/wire.h"

static const uint8_t sorts[WCBPF_SYSCALLS_MAX] = {
	[__NR_futex] = SYSCALL_FUTEX,
	[__NR_futex_wait] = SYSCALL_FUTEX_WAIT,
	[__NR_futex_waitv] = SYSCALL_FUTEX_WAITV,
	[__NR_read] = SYSCALL_FILE,
	[__NR_readv] = SYSCALL_FILE,
	[__NR_pread64] = SYSCALL_FILE,
	[__NR_preadv] = SYSCALL_FILE,
	[__NR_preadv2] = SYSCALL_FILE,
	[__NR_write] = SYSCALL_FILE,
	[__NR_writev] = SYSCALL_FILE,
	[__NR_pwrite64] = SYSCALL_FILE,
	[__NR_pwritev] = SYSCALL_FILE,
	[__NR_pwritev2] = SYSCALL_FILE,
	[__NR_sendfile] = SYSCALL_FILE,
	[__NR_splice] = SYSCALL_FILE,
	[__NR_vmsplice] = SYSCALL_FILE,
	[__NR_tee] = SYSCALL_FILE,
	[__NR_copy_file_range] = SYSCALL_FILE,
	[__NR_fallocate] = SYSCALL_FILE,
	[__NR_ftruncate] = SYSCALL_FILE,
	[__NR_getdents64] = SYSCALL_FILE,
	[__NR_readahead] = SYSCALL_FILE,
	[__NR_connect] = SYSCALL_SOCKET,
	[__NR_recvfrom] = SYSCALL_SOCKET,
	[__NR_recvmsg] = SYSCALL_SOCKET,
	[__NR_recvmmsg] = SYSCALL_SOCKET,
	[__NR_sendto] = SYSCALL_SOCKET,
	[__NR_sendmsg] = SYSCALL_SOCKET,
	[__NR_sendmmsg] = SYSCALL_SOCKET,
	[__NR_accept] = SYSCALL_ACCEPT,
	[__NR_accept4] = SYSCALL_ACCEPT,
	[__NR_fsync] = SYSCALL_FSYNC,
	[__NR_fdatasync] = SYSCALL_FSYNC,
	[__NR_msync] = SYSCALL_FSYNC,
	[__NR_sync] = SYSCALL_FSYNC,
	[__NR_syncfs] = SYSCALL_FSYNC,
	[__NR_sync_file_range] = SYSCALL_FSYNC,
	[__NR_epoll_pwait] = SYSCALL_EPOLL,
	[__NR_epoll_pwait2] = SYSCALL_EPOLL,
	[__NR_ppoll] = SYSCALL_POLL,
	[__NR_pselect6] = SYSCALL_SELECT,
	[__NR_nanosleep] = SYSCALL_SLEEP,
	[__NR_clock_nanosleep] = SYSCALL_SLEEP,
	[__NR_wait4] = SYSCALL_WAIT4,
	[__NR_waitid] = SYSCALL_WAITID,
	[__NR_rt_sigsuspend] = SYSCALL_SIGNAL,
	[__NR_rt_sigtimedwait] = SYSCALL_SIGNAL,
	[__NR_flock] = SYSCALL_FLOCK,
	[__NR_fcntl] = SYSCALL_FCNTL,
	[__NR_msgrcv] = SYSCALL_MESSAGE,
	[__NR_msgsnd] = SYSCALL_MESSAGE,
	[__NR_mq_timedreceive] = SYSCALL_MESSAGE,
	[__NR_mq_timedsend] = SYSCALL_MESSAGE,
	[__NR_semop] = SYSCALL_SEMOP,
	[__NR_semtimedop] = SYSCALL_SEMOP,
	[__NR_io_getevents] = SYSCALL_AIO,
	[__NR_io_pgetevents] = SYSCALL_AIO,
	[__NR_io_uring_enter] = SYSCALL_IO_URING,
	[__NR_clone] = SYSCALL_CLONE,
	[__NR_restart_syscall] = SYSCALL_RESTART,
#ifdef __NR_poll /* the calls that newer architectures never had */
	[__NR_poll] = SYSCALL_POLL,
	[__NR_select] = SYSCALL_SELECT,
	[__NR_epoll_wait] = SYSCALL_EPOLL,
	[__NR_pause] = SYSCALL_SIGNAL,
	[__NR_vfork] = SYSCALL_VFORK,
	[__NR_getdents] = SYSCALL_FILE,
#endif
};

#define N(name) [__NR_##name] = #name

static const char *const names[WCBPF_SYSCALLS_MAX] = {
	N(read), N(write), N(close), N(fstat), N(lseek), N(mmap), N(mprotect), N(munmap), N(brk), N(rt_sigaction),
	N(rt_sigprocmask), N(rt_sigreturn), N(ioctl), N(pread64), N(pwrite64), N(readv), N(writev), N(sched_yield),
	N(mremap), N(msync), N(mincore), N(madvise), N(shmget), N(shmat), N(shmctl), N(dup), N(nanosleep),
	N(getitimer), N(setitimer), N(getpid), N(sendfile), N(socket), N(connect), N(accept), N(sendto),
	N(recvfrom), N(sendmsg), N(recvmsg), N(shutdown), N(bind), N(listen), N(getsockname), N(getpeername),
	N(socketpair), N(setsockopt), N(getsockopt), N(clone), N(execve), N(exit), N(wait4), N(kill), N(uname),
	N(semget), N(semop), N(semctl), N(shmdt), N(msgget), N(msgsnd), N(msgrcv), N(msgctl), N(fcntl), N(flock),
	N(fsync), N(fdatasync), N(truncate), N(ftruncate), N(getcwd), N(chdir), N(fchdir), N(fchmod), N(fchown),
	N(umask), N(gettimeofday), N(getrlimit), N(getrusage), N(sysinfo), N(times), N(ptrace), N(getuid),
	N(syslog), N(getgid), N(setuid), N(setgid), N(geteuid), N(getegid), N(setpgid), N(getppid), N(setsid),
	N(setreuid), N(setregid), N(getgroups), N(setgroups), N(setresuid), N(getresuid), N(setresgid),
	N(getresgid), N(getpgid), N(setfsuid), N(setfsgid), N(getsid), N(capget), N(capset), N(rt_sigpending),
	N(rt_sigtimedwait), N(rt_sigqueueinfo), N(rt_sigsuspend), N(sigaltstack), N(personality), N(statfs),
	N(fstatfs), N(getpriority), N(setpriority), N(sched_setparam), N(sched_getparam), N(sched_setscheduler),
	N(sched_getscheduler), N(sched_get_priority_max), N(sched_get_priority_min), N(sched_rr_get_interval),
	N(mlock), N(munlock), N(mlockall), N(munlockall), N(vhangup), N(pivot_root), N(prctl), N(adjtimex),
	N(setrlimit), N(chroot), N(sync), N(acct), N(settimeofday), N(mount), N(umount2), N(swapon), N(swapoff),
	N(reboot), N(sethostname), N(setdomainname), N(init_module), N(delete_module), N(quotactl), N(gettid),
	N(readahead), N(setxattr), N(lsetxattr), N(fsetxattr), N(getxattr), N(lgetxattr), N(fgetxattr),
	N(listxattr), N(llistxattr), N(flistxattr), N(removexattr), N(lremovexattr), N(fremovexattr), N(tkill),
	N(futex), N(sched_setaffinity), N(sched_getaffinity), N(io_setup), N(io_destroy), N(io_getevents),
	N(io_submit), N(io_cancel), N(remap_file_pages), N(getdents64), N(set_tid_address), N(restart_syscall),
	N(semtimedop), N(fadvise64), N(timer_create), N(timer_settime), N(timer_gettime), N(timer_getoverrun),
	N(timer_delete), N(clock_settime), N(clock_gettime), N(clock_getres), N(clock_nanosleep), N(exit_group),
	N(epoll_ctl), N(tgkill), N(mbind), N(set_mempolicy), N(get_mempolicy), N(mq_open), N(mq_unlink),
	N(mq_timedsend), N(mq_timedreceive), N(mq_notify), N(mq_getsetattr), N(kexec_load), N(waitid), N(add_key),
	N(request_key), N(keyctl), N(ioprio_set), N(ioprio_get), N(inotify_add_watch), N(inotify_rm_watch),
	N(migrate_pages), N(openat), N(mkdirat), N(mknodat), N(fchownat), N(newfstatat), N(unlinkat), N(renameat),
	N(linkat), N(symlinkat), N(readlinkat), N(fchmodat), N(faccessat), N(pselect6), N(ppoll), N(unshare),
	N(set_robust_list), N(get_robust_list), N(splice), N(tee), N(sync_file_range), N(vmsplice), N(move_pages),
	N(utimensat), N(epoll_pwait), N(timerfd_create), N(fallocate), N(timerfd_settime), N(timerfd_gettime),
	N(accept4), N(signalfd4), N(eventfd2), N(epoll_create1), N(dup3), N(pipe2), N(inotify_init1), N(preadv),
	N(pwritev), N(rt_tgsigqueueinfo), N(perf_event_open), N(recvmmsg), N(fanotify_init), N(fanotify_mark),
	N(prlimit64), N(name_to_handle_at), N(open_by_handle_at), N(clock_adjtime), N(syncfs), N(sendmmsg),
	N(setns), N(getcpu), N(process_vm_readv), N(process_vm_writev), N(kcmp), N(finit_module), N(sched_setattr),
	N(sched_getattr), N(renameat2), N(seccomp), N(getrandom), N(memfd_create), N(kexec_file_load), N(bpf),
	N(execveat), N(userfaultfd), N(membarrier), N(mlock2), N(copy_file_range), N(preadv2), N(pwritev2),
	N(pkey_mprotect), N(pkey_alloc), N(pkey_free), N(statx), N(io_pgetevents), N(rseq), N(pidfd_send_signal),
	N(io_uring_setup), N(io_uring_enter), N(io_uring_register), N(open_tree), N(move_mount), N(fsopen),
	N(fsconfig), N(fsmount), N(fspick), N(pidfd_open), N(clone3), N(close_range), N(openat2), N(pidfd_getfd),
	N(faccessat2), N(process_madvise), N(epoll_pwait2), N(mount_setattr), N(quotactl_fd),
	N(landlock_create_ruleset), N(landlock_add_rule), N(landlock_restrict_self), N(memfd_secret),
	N(process_mrelease), N(futex_waitv), N(set_mempolicy_home_node), N(futex_wake), N(futex_wait),
	N(futex_requeue),
#ifdef __NR_poll
	N(open), N(stat), N(lstat), N(poll), N(access), N(pipe), N(select), N(dup2), N(pause), N(alarm), N(fork),
	N(vfork), N(getdents), N(rename), N(mkdir), N(rmdir), N(creat), N(link), N(unlink), N(symlink),
	N(readlink), N(chmod), N(chown), N(lchown), N(getpgrp), N(utime), N(mknod), N(modify_ldt), N(arch_prctl),
	N(iopl), N(ioperm), N(time), N(epoll_create), N(epoll_wait), N(utimes), N(inotify_init), N(futimesat),
	N(signalfd), N(eventfd),
#endif
};

static bool is_known(int32_t nr)
{
	return nr >= 0 && nr < WCBPF_SYSCALLS_MAX;
}

enum syscall_sort syscall_sort(int32_t nr)
{
	return is_known(nr) ? (enum syscall_sort)sorts[nr] : SYSCALL_OTHER;
}

const char *syscall_name(int32_t nr)
{
	return is_known(nr) && names[nr] ? names[nr] : "";
}
