/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Reason and kind of a wait, by each sort of evidence; and the named resource it was for. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "assemble/syscall.h"
#include "rig.h"

static struct rig rig;

static void start(void)
{
	rig_start(&rig, 0);
	rig_seed(&rig, 100, 100, "app");
	rig_seed(&rig, 100, 101, "app");
	rig_seed(&rig, 100, 102, "app");
}

static void stop(void)
{
	rig_stop(&rig);
}

TestSuite(classify, .init = start, .fini = stop);

#define PRIVATE FUTEX_PRIVATE_FLAG

/* One blocked interval with the given facts, as wait 1. */
#define ONE(...)                                                     \
	do {                                                         \
		RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1, __VA_ARGS__); \
		rig_finish(&rig, MS(10));                            \
	} while (0)

struct one {
	const char *kernel, *user; /* stacks */
	int32_t syscall;
	uint64_t args[4];
	uint32_t state, flags, owner;
	enum wait_reason reason;
	const char *kind;
};

/* Each case in a recording of its own: no other case's rows help it. */
static void check(const struct one *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct one *c = &cases[i];

		stop();
		start();
		rig_stack(&rig, STACK_KERNEL, 1, c->kernel ?: "-");
		rig_stack(&rig, STACK_USER, 2, c->user ?: "-");
		ONE(.syscall = c->syscall, .state = c->state ?: 1, .flags = c->flags, .owner_tid = c->owner,
		    .args = { c->args[0], c->args[1], c->args[2], c->args[3] }, .kstack_id = 1, .ustack_id = 2);
		if (rig.m->rows[1].reason != c->reason || strcmp(rig_str(&rig, rig.m->rows[1].kind_id), c->kind) != 0)
			cr_log_error("case %zu: %s | %s", i, c->kernel ?: "-", c->user ?: "-");
		rig_expect_kind(&rig, 1, c->reason, c->kind);
	}
}

#define CHECK(cases) check(cases, sizeof(cases) / sizeof(cases[0]))

Test(classify, futexes_by_their_callers)
{
	/* Stacks as gdb shows them for glibc 2.36 with and without debug symbols, 2.31, and musl. */
	static const struct one cases[] = {
		{ .user = "libc.so.6:futex_wait libc.so.6:__GI___lll_lock_wait libc.so.6:___pthread_mutex_lock app:f",
		  .reason = REASON_LOCK, .kind = "mutex" },
		{ .user = "/lib/x86_64-linux-gnu/libc.so.6:__lll_lock_wait app:f", .reason = REASON_LOCK,
		  .kind = "mutex" },
		{ .user = "libpthread-2.31.so:__lll_lock_wait libpthread-2.31.so:__GI___pthread_mutex_lock app:f",
		  .reason = REASON_LOCK, .kind = "mutex" },
		{ .user = "libc.so.6:__lll_lock_wait_private libc.so.6:malloc app:f", .reason = REASON_LOCK,
		  .kind = "mutex" },
		{ .user = "libc.so.6:pthread_mutex_timedlock@@GLIBC_2.34 app:f", .reason = REASON_LOCK,
		  .kind = "mutex" },
		{ .user = "libc.so.6:__pthread_mutex_clocklock app:f", .reason = REASON_LOCK, .kind = "mutex" },
		{ .user = "libc.so.6:__futex_abstimed_wait_common64 libc.so.6:__pthread_rwlock_rdlock_full64 app:f",
		  .reason = REASON_LOCK, .kind = "rwlock" },
		{ .user = "libc.so.6:pthread_rwlock_wrlock app:f", .reason = REASON_LOCK, .kind = "rwlock" },
		{ .user = "libc.so.6:__futex_abstimed_wait_common libc.so.6:___pthread_cond_wait app:f",
		  .reason = REASON_SYNC, .kind = "condvar" },
		{ .user = "libc.so.6:pthread_cond_timedwait@@GLIBC_2.3.2 app:f", .reason = REASON_SYNC,
		  .kind = "condvar" },
		{ .user = "libc.so.6:cnd_wait app:f", .reason = REASON_SYNC, .kind = "condvar" },
		/* taking the mutex again inside pthread_cond_wait is lock contention */
		{ .user = "libc.so.6:__lll_lock_wait libc.so.6:__pthread_mutex_cond_lock "
		  	"libc.so.6:pthread_cond_wait app:f",
		  .reason = REASON_LOCK, .kind = "mutex" },
		{ .user = "libc.so.6:__new_sem_wait_slow64.constprop.0 libc.so.6:sem_wait app:f", .reason = REASON_SYNC,
		  .kind = "semaphore" },
		{ .user = "ld-musl-x86_64.so.1:__timedwait_cp ld-musl-x86_64.so.1:sem_timedwait app:f",
		  .reason = REASON_SYNC, .kind = "semaphore" },
		{ .user = "libc.so.6:___pthread_barrier_wait app:f", .reason = REASON_SYNC, .kind = "barrier" },
		{ .user = "libc.so.6:__pthread_clockjoin_ex app:f", .reason = REASON_SYNC, .kind = "join" },
		{ .user = "libc.so.6:thrd_join app:f", .reason = REASON_SYNC, .kind = "join" },
		/* nameless frames of libc are passed over */
		{ .user = "libc.so.6: libc.so.6: libc.so.6:sem_wait app:f", .reason = REASON_SYNC,
		  .kind = "semaphore" },
		/* only the leading frames of libc count, and only libc's */
		{ .user = "app:futex libc.so.6:pthread_mutex_lock", .reason = REASON_SYNC, .kind = "futex" },
		{ .user = "app:pthread_mutex_lock", .reason = REASON_SYNC, .kind = "futex" },
		{ .user = "libcrypto.so.3:pthread_mutex_lock", .reason = REASON_SYNC, .kind = "futex" },
		{ .user = "app:runtime.futex app:runtime.notesleep", .reason = REASON_SYNC, .kind = "futex" },
		{ .user = NULL, .reason = REASON_SYNC, .kind = "futex" },
	};
	struct one copy[sizeof(cases) / sizeof(cases[0])];

	memcpy(copy, cases, sizeof(cases));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		copy[i].syscall = __NR_futex;
		copy[i].args[1] = FUTEX_WAIT | PRIVATE;
	}
	CHECK(copy);
}

Test(classify, futexes_by_their_operation)
{
	static const struct one cases[] = {
		{ .syscall = __NR_futex, .args = { 1, FUTEX_LOCK_PI | PRIVATE }, .reason = REASON_LOCK,
		  .kind = "pi_mutex",
		  .user = "libc.so.6:__pthread_mutex_lock_full app:f",
		  .kernel = "schedule rt_mutex_schedule __rt_mutex_slowlock futex_lock_pi" },
		{ .syscall = __NR_futex, .args = { 1, FUTEX_LOCK_PI2 | PRIVATE }, .reason = REASON_LOCK,
		  .kind = "pi_mutex" },
		{ .syscall = __NR_futex, .args = { 1, FUTEX_WAIT_REQUEUE_PI | PRIVATE }, .reason = REASON_SYNC,
		  .kind = "condvar" },
		/* a join: shared, the word held the tid of a thread of this process; a tail call hides pthread_join */
		{ .syscall = __NR_futex, .args = { 1, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 101 },
		  .user = "app:main",
		  .reason = REASON_SYNC, .kind = "join" },
		{ .syscall = __NR_futex, .args = { 1, FUTEX_WAIT, 101 }, .user = "app:main", .reason = REASON_SYNC,
		  .kind = "join" },
		{ .syscall = __NR_futex, .args = { 1, FUTEX_WAIT | PRIVATE, 101 }, .user = "app:main",
		  .reason = REASON_SYNC,
		  .kind = "futex" },
		{ .syscall = __NR_futex, .args = { 1, FUTEX_WAIT, 100 }, .user = "app:main", .reason = REASON_SYNC,
		  .kind = "futex" }, /* nobody joins itself */
		{ .syscall = __NR_futex, .args = { 1, FUTEX_WAIT, 999 }, .user = "app:main", .reason = REASON_SYNC,
		  .kind = "futex" },
		/* the newer calls */
		{ .syscall = __NR_futex_wait, .args = { 1, 101, 0xffffffff, 2 }, .reason = REASON_SYNC,
		  .kind = "join" },
		{ .syscall = __NR_futex_wait, .args = { 1, 101, 0xffffffff, 2 | PRIVATE }, .reason = REASON_SYNC,
		  .kind = "futex" },
		{ .syscall = 455, .user = "libc.so.6:sem_wait", .reason = REASON_SYNC, .kind = "semaphore" },
		{ .syscall = __NR_futex_waitv, .reason = REASON_SYNC, .kind = "futex" },
		{ .syscall = 449, .reason = REASON_SYNC, .kind = "futex" },
		/* contended value, a known owner, and no name that says otherwise */
		{ .syscall = __NR_futex, .args = { 1, FUTEX_WAIT | PRIVATE, 2 }, .owner = 102,
		  .flags = WCBPF_IV_OWNER_READ,
		  .user = "libc.so.6:", .reason = REASON_LOCK, .kind = "mutex" },
		{ .syscall = __NR_futex, .args = { 1, FUTEX_WAIT | PRIVATE, 2 }, .owner = 102,
		  .flags = WCBPF_IV_OWNER_READ,
		  .user = "libc.so.6:start_thread", .reason = REASON_SYNC, .kind = "futex" },
		{ .syscall = __NR_futex, .args = { 1, FUTEX_WAIT | PRIVATE, 2 }, .owner = 102, .reason = REASON_SYNC,
		  .kind = "futex" },
		{ .syscall = __NR_futex, .args = { 1, FUTEX_WAIT | PRIVATE, 2 }, .owner = 999,
		  .flags = WCBPF_IV_OWNER_READ,
		  .reason = REASON_SYNC, .kind = "futex" },
		{ .syscall = __NR_futex, .args = { 1, FUTEX_WAIT | PRIVATE, 1 }, .owner = 102,
		  .flags = WCBPF_IV_OWNER_READ,
		  .reason = REASON_SYNC, .kind = "futex" },
	};

	CHECK(cases);
}

Test(classify, calls)
{
	static const struct one cases[] = {
		{ .syscall = __NR_nanosleep, .reason = REASON_SLEEP, .kind = "sleep" },
		{ .syscall = __NR_clock_nanosleep, .reason = REASON_SLEEP, .kind = "sleep" },
		{ .syscall = __NR_poll, .args = { 1, 2, 100 }, .reason = REASON_POLL, .kind = "poll" },
		{ .syscall = __NR_poll, .args = { 0, 0, 100 }, .reason = REASON_SLEEP, .kind = "sleep" },
		{ .syscall = __NR_ppoll, .args = { 1, 1 }, .reason = REASON_POLL, .kind = "poll" },
		{ .syscall = __NR_select, .args = { 5, 1 }, .reason = REASON_POLL, .kind = "poll" },
		{ .syscall = __NR_select, .args = { 0 }, .reason = REASON_SLEEP, .kind = "sleep" },
		{ .syscall = __NR_pselect6, .args = { 5, 0, 0, 0 }, .reason = REASON_SLEEP, .kind = "sleep" },
		{ .syscall = __NR_epoll_wait, .reason = REASON_POLL, .kind = "epoll" },
		{ .syscall = __NR_epoll_pwait, .reason = REASON_POLL, .kind = "epoll" },
		{ .syscall = __NR_epoll_pwait2, .reason = REASON_POLL, .kind = "epoll" },
		{ .syscall = __NR_wait4, .reason = REASON_EXEC, .kind = "child" },
		{ .syscall = __NR_waitid, .reason = REASON_EXEC, .kind = "child" },
		{ .syscall = __NR_vfork, .reason = REASON_EXEC, .kind = "vfork" },
		{ .syscall = __NR_clone3, .kernel = "schedule kernel_clone __do_sys_clone3",
		  .reason = REASON_EXEC, .kind = "vfork" },
		{ .syscall = __NR_clone3, .kernel = "schedule alloc_pages_slow copy_process kernel_clone",
		  .reason = REASON_OTHER, .kind = "clone3" },
		{ .syscall = __NR_clone, .args = { CLONE_VFORK | CLONE_VM }, .reason = REASON_EXEC, .kind = "vfork" },
		{ .syscall = __NR_clone3,
		  .kernel = "schedule wait_for_completion_killable wait_for_vfork_done kernel_clone",
		  .reason = REASON_EXEC, .kind = "vfork" },
		{ .syscall = __NR_clone, .reason = REASON_OTHER, .kind = "clone" },
		{ .syscall = __NR_pause, .reason = REASON_SIGNAL, .kind = "signal" },
		{ .syscall = __NR_rt_sigtimedwait, .reason = REASON_SIGNAL, .kind = "signal" },
		{ .syscall = __NR_rt_sigsuspend, .reason = REASON_SIGNAL, .kind = "signal" },
		{ .syscall = __NR_flock, .reason = REASON_LOCK, .kind = "flock" },
		{ .syscall = __NR_fcntl, .args = { 3, F_SETLKW }, .reason = REASON_LOCK, .kind = "flock" },
		{ .syscall = __NR_fcntl, .args = { 3, F_OFD_SETLKW }, .reason = REASON_LOCK, .kind = "flock" },
		{ .syscall = __NR_fcntl, .args = { 3, F_SETFL }, .reason = REASON_OTHER, .kind = "fcntl" },
		{ .syscall = __NR_semop, .reason = REASON_SYNC, .kind = "semaphore" },
		{ .syscall = __NR_msgrcv, .reason = REASON_IO, .kind = "mqueue" },
		{ .syscall = __NR_fsync, .state = 2, .reason = REASON_IO, .kind = "fsync" },
		{ .syscall = __NR_fdatasync, .state = 2, .reason = REASON_IO, .kind = "fsync" },
		{ .syscall = __NR_msync, .state = 2, .reason = REASON_IO, .kind = "fsync" },
		{ .syscall = __NR_accept4, .reason = REASON_IO, .kind = "accept" },
		{ .syscall = __NR_recvfrom, .reason = REASON_IO, .kind = "socket" },
		{ .syscall = __NR_io_getevents, .reason = REASON_IO, .kind = "aio" },
		{ .syscall = __NR_io_uring_enter, .reason = REASON_IO, .kind = "io_uring" },
		{ .syscall = __NR_mmap, .reason = REASON_OTHER, .kind = "mmap" },
		{ .syscall = 509, .reason = REASON_OTHER, .kind = "" },
		{ .syscall = 100000, .reason = REASON_OTHER, .kind = "" },
		{ .syscall = -1, .reason = REASON_OTHER, .kind = "" },
		{ .syscall = -1, .flags = WCBPF_IV_KTHREAD, .reason = REASON_OTHER, .kind = "kthread" },
	};

	CHECK(cases);
}

Test(classify, by_state_and_kernel_stack)
{
	static const struct one cases[] = {
		{ .syscall = __NR_read, .state = 4, .reason = REASON_STOPPED, .kind = "stopped" },
		{ .syscall = __NR_read, .state = 0x108, .reason = REASON_STOPPED, .kind = "traced" },
		{ .syscall = __NR_read, .state = 0x8000, .reason = REASON_STOPPED, .kind = "frozen" },
		{ .syscall = __NR_futex, .kernel = "schedule do_freezer_trap get_signal", .reason = REASON_STOPPED,
		  .kind = "frozen" },
		{ .syscall = -1, .state = 2,
		  .kernel = "__schedule schedule io_schedule folio_wait_bit_common filemap_fault __do_fault "
			"handle_mm_fault "
			    "do_user_addr_fault exc_page_fault asm_exc_page_fault",
		  .reason = REASON_FAULT, .kind = "page_fault" },
		{ .syscall = __NR_write, .state = 2,
		  .kernel = "schedule io_schedule folio_wait_bit_common filemap_fault exc_page_fault "
			"copy_page_from_iter",
		  .reason = REASON_FAULT, .kind = "page_fault" },
		{ .syscall = __NR_read, .state = 2, .kernel = "__schedule schedule schedule_preempt_disabled "
							     "__mutex_lock.constprop.0 pipe_read",
		  .reason = REASON_LOCK, .kind = "kernel" },
		{ .syscall = __NR_mmap, .state = 2, .kernel = "schedule rwsem_down_write_slowpath down_write_killable",
		  .reason = REASON_LOCK, .kind = "kernel" },
		{ .syscall = -1, .state = 2, .kernel = "schedule rwsem_down_read_slowpath down_read do_user_addr_fault",
		  .reason = REASON_LOCK, .kind = "kernel" },
		/* a lock further down was held, not waited for */
		{ .syscall = __NR_read, .kernel = "schedule pipe_wait_readable mutex_lock pipe_read",
		  .reason = REASON_IO,
		  .kind = "pipe" },
		{ .syscall = __NR_openat, .state = 2, .kernel = "schedule io_schedule bit_wait_io ext4_lookup",
		  .reason = REASON_IO, .kind = "file" },
		{ .syscall = __NR_openat, .kernel = "schedule wait_for_partner fifo_open do_dentry_open",
		  .reason = REASON_IO,
		  .kind = "pipe" },
		/* what restart_syscall goes on with */
		{ .syscall = __NR_restart_syscall, .kernel = "schedule do_nanosleep hrtimer_nanosleep_restart",
		  .reason = REASON_SLEEP, .kind = "sleep" },
		{ .syscall = __NR_restart_syscall, .kernel = "schedule futex_wait_queue futex_wait_restart",
		  .user = "libc.so.6:sem_timedwait app:f", .reason = REASON_SYNC, .kind = "semaphore" },
		{ .syscall = __NR_restart_syscall,
		  .kernel = "schedule_hrtimeout_range do_poll.constprop.0 do_restart_poll",
		  .reason = REASON_POLL, .kind = "poll" },
		{ .syscall = __NR_restart_syscall, .reason = REASON_OTHER, .kind = "restart_syscall" },
		/* files that could not be looked at */
		{ .syscall = __NR_read, .kernel = "schedule sk_wait_data tcp_recvmsg", .reason = REASON_IO,
		  .kind = "socket" },
		{ .syscall = __NR_read, .kernel = "schedule wait_woken n_tty_read tty_read",
		  .reason = REASON_IO, .kind = "tty" },
		{ .syscall = __NR_read, .kernel = "schedule timerfd_read", .reason = REASON_SLEEP, .kind = "timerfd" },
		{ .syscall = __NR_read, .kernel = "schedule io_schedule filemap_read", .state = 2, .reason = REASON_IO,
		  .kind = "file" },
		{ .syscall = __NR_read, .reason = REASON_IO, .kind = "read" },
	};

	CHECK(cases);
}

/* A disk's wake says it where neither the call nor the kernel's names do; it overrules neither. */
Test(classify, woken_by_a_disk)
{
	static const struct {
		int32_t syscall;
		uint32_t flags, state;
		uint8_t ctx;
		const char *kernel;
		enum wait_reason reason;
		const char *kind;
	} cases[] = {
		{ __NR_unlinkat, 0, 2, WCBPF_WAKER_DISK, "-", REASON_IO, "file" },
		{ __NR_fadvise64, 0, 2, WCBPF_WAKER_DISK, "schedule wbt_wait", REASON_IO, "file" },
		{ __NR_close, 0, 2, WCBPF_WAKER_DISK, "-", REASON_IO, "file" },
		{ __NR_read, 0, 2, WCBPF_WAKER_DISK, "-", REASON_IO, "file" },
		{ __NR_close, 0, 2, WCBPF_WAKER_TIMER, "-", REASON_OTHER, "close" },
		{ __NR_close, WCBPF_IV_PREEMPTED, 0, WCBPF_WAKER_DISK, "-", REASON_CPU, "preempted" },
		{ __NR_close, 0, 2, WCBPF_WAKER_DISK, "schedule __mutex_lock", REASON_LOCK, "kernel" },
		{ __NR_close, 0, 2, WCBPF_WAKER_DISK, "schedule pipe_release", REASON_IO, "pipe" },
		{ __NR_fsync, 0, 2, WCBPF_WAKER_DISK, "-", REASON_IO, "fsync" },
		{ __NR_nanosleep, 0, 1, WCBPF_WAKER_DISK, "-", REASON_SLEEP, "sleep" },
		{ -1, 0, 2, WCBPF_WAKER_DISK, "-", REASON_OTHER, "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		stop();
		start();
		rig_stack(&rig, STACK_KERNEL, 1, cases[i].kernel);
		ONE(.syscall = cases[i].syscall, .state = cases[i].state, .kstack_id = 1,
		    .flags = cases[i].flags | WCBPF_IV_WAKER_KNOWN, .waker_ctx = cases[i].ctx);
		rig_expect_kind(&rig, 1, cases[i].reason, cases[i].kind);
	}
}

/* The same place in a program, once held up by a disk and once not: two rows. */
Test(classify, a_disk_makes_a_row_of_its_own)
{
	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1, .syscall = __NR_close, .state = 2,
		     .flags = WCBPF_IV_WAKER_KNOWN, .waker_ctx = WCBPF_WAKER_DISK);
	RIG_INTERVAL(&rig, MS(4), MS(5), MS(6), .seq = 2, .syscall = __NR_close, .state = 2);
	rig_finish(&rig, MS(10));
	rig_expect_kind(&rig, 1, REASON_IO, "file");
	rig_expect_kind(&rig, 2, REASON_OTHER, "close");
}

Test(classify, files)
{
	static const struct {
		uint32_t mode, rdev;
		const char *kind;
	} files[] = {
		{ S_IFREG, 0, "file" },		  { S_IFDIR, 0, "file" },	    { S_IFBLK, 8 << 20, "file" },
		{ S_IFIFO, 0, "pipe" },		  { S_IFCHR, 136 << 20 | 3, "tty" }, { S_IFCHR, 5 << 20, "tty" },
		{ S_IFCHR, 1 << 20 | 9, "device" },
	};
	static const struct {
		enum wcbpf_fop_kind fop;
		enum wait_reason reason;
		const char *kind;
	} anons[] = {
		{ WCBPF_FOP_EVENTFD, REASON_IO, "eventfd" },	 { WCBPF_FOP_TIMERFD, REASON_SLEEP, "timerfd" },
		{ WCBPF_FOP_SIGNALFD, REASON_IO, "signalfd" },	 { WCBPF_FOP_INOTIFY, REASON_IO, "inotify" },
		{ WCBPF_FOP_FANOTIFY, REASON_IO, "fanotify" },	 { WCBPF_FOP_PIDFD, REASON_IO, "pidfd" },
		{ WCBPF_FOP_UNKNOWN, REASON_IO, "anon" },
	};
	size_t file_n = sizeof(files) / sizeof(files[0]), anon_n = sizeof(anons) / sizeof(anons[0]);
	uint32_t seq = 0;

	for (size_t i = 0; i < file_n; i++) {
		rig_file(&rig, 10 + i, files[i].mode, files[i].rdev);
		seq++;
		RIG_INTERVAL(&rig, MS(10 * seq), MS(10 * seq + 1), MS(10 * seq + 2), .seq = seq, .syscall = __NR_read,
			     .resource_id = 10 + i);
	}
	for (size_t i = 0; i < anon_n; i++) {
		rig_anon(&rig, 50 + i, anons[i].fop);
		seq++;
		RIG_INTERVAL(&rig, MS(10 * seq), MS(10 * seq + 1), MS(10 * seq + 2), .seq = seq, .syscall = __NR_read,
			     .resource_id = 50 + i);
	}
	rig_socket(&rig, 90);
	seq++;
	RIG_INTERVAL(&rig, MS(10 * seq), MS(10 * seq + 1), MS(10 * seq + 2), .seq = seq, .syscall = __NR_read,
		     .resource_id = 90);
	rig_finish(&rig, MS(1000));
	for (uint32_t i = 0; i < file_n; i++)
		rig_expect_kind(&rig, 1 + i, REASON_IO, files[i].kind);
	for (uint32_t i = 0; i < anon_n; i++)
		rig_expect_kind(&rig, (uint32_t)(1 + file_n + i), anons[i].reason, anons[i].kind);
	rig_expect_kind(&rig, seq, REASON_IO, "socket");
}

static const char *ident(uint32_t wait)
{
	return rig_str(&rig, rig.m->waits[wait].ident_id);
}

Test(classify, resources_are_named_late)
{
	/* The first wait comes before anything is known of its file. */
	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1, .syscall = __NR_read, .resource_id = 5);
	rig_file(&rig, 5, S_IFCHR, 10 << 20 | 200);
	assemble_resource_name(rig.a, 5, "tun", "/dev/net/tun");
	RIG_INTERVAL(&rig, MS(4), MS(5), MS(6), .seq = 2, .syscall = __NR_read, .resource_id = 5);
	/* never named; event lost; no id */
	rig_file(&rig, 6, S_IFIFO, 0);
	RIG_INTERVAL(&rig, MS(7), MS(8), MS(9), .seq = 3, .syscall = __NR_read, .resource_id = 6);
	RIG_INTERVAL(&rig, MS(10), MS(11), MS(12), .seq = 4, .syscall = __NR_read, .resource_id = 0x77);
	RIG_INTERVAL(&rig, MS(13), MS(14), MS(15), .seq = 5, .syscall = __NR_read);
	rig_file(&rig, 8, S_IFREG, 0);
	RIG_INTERVAL(&rig, MS(16), MS(17), MS(18), .seq = 6, .syscall = __NR_fsync, .resource_id = 8);
	assemble_resource_name(rig.a, 8, "file", "/var/log/x");
	/* known late, and never named */
	RIG_INTERVAL(&rig, MS(19), MS(20), MS(21), .seq = 7, .syscall = __NR_write, .resource_id = 9);
	rig_anon(&rig, 9, WCBPF_FOP_EVENTFD);
	cr_expect_eq(assemble_resource_name(rig.a, 0, "file", "nobody"), 0);
	rig_finish(&rig, MS(100));
	cr_expect_str_eq(ident(1), "/dev/net/tun");
	rig_expect_kind(&rig, 1, REASON_IO, "tun");
	rig_expect_kind(&rig, 2, REASON_IO, "tun");
	cr_expect_str_eq(ident(3), "pipe:[1006]");
	cr_expect_str_eq(ident(4), "resource:0x77");
	cr_expect_str_eq(ident(5), "");
	cr_expect_str_eq(ident(6), "/var/log/x");
	rig_expect_kind(&rig, 6, REASON_IO, "fsync");
	rig_expect_kind(&rig, 7, REASON_IO, "eventfd");
	cr_expect_str_eq(ident(7), "eventfd:[0x900]");
}

Test(classify, files_known_by_name_alone)
{
	static const struct {
		const char *kind, *expected;
		enum wait_reason reason;
	} cases[] = {
		{ "file", "file", REASON_IO },		{ "pipe", "pipe", REASON_IO },
		{ "socket", "socket", REASON_IO },	{ "tty", "tty", REASON_IO },
		{ "timerfd", "timerfd", REASON_SLEEP }, { "eventfd", "eventfd", REASON_IO },
		{ "disk", "disk", REASON_IO },		{ "anonymous file", "anonymous file", REASON_IO },
	};
	uint32_t n = sizeof(cases) / sizeof(cases[0]);

	/* The same call and the same stack: still rows of their own. */
	for (uint32_t i = 0; i < n; i++) {
		assemble_resource_name(rig.a, 10 + i, cases[i].kind, "x");
		RIG_INTERVAL(&rig, MS(10 * i), MS(10 * i + 1), MS(10 * i + 2), .seq = 1 + i, .syscall = __NR_read,
			     .resource_id = 10 + i);
	}
	rig_finish(&rig, MS(1000));
	for (uint32_t i = 0; i < n; i++)
		rig_expect_kind(&rig, 1 + i, cases[i].reason, cases[i].expected);
}

Test(classify, idents)
{
	rig_stack(&rig, STACK_USER, 1, "/usr/lib/libc.so.6:pthread_cond_wait app:f");
	rig_stack(&rig, STACK_USER, 2, "/usr/lib/libpthread-2.24.so:pthread_cond_wait app:f");
	rig_stack(&rig, STACK_KERNEL, 3, "schedule __mutex_lock pipe_read");
	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1, .args = { 0x7f00, FUTEX_WAIT | PRIVATE, 7 });
	RIG_INTERVAL(&rig, MS(4), MS(5), MS(6), .seq = 2, .args = { 0x7f00, FUTEX_WAIT, 7 });
	RIG_INTERVAL(&rig, MS(7), MS(8), MS(9), .seq = 3, .args = { 0x7f00, FUTEX_WAIT, 101 });
	/* the two words of one condition variable at 0x1000 */
	RIG_INTERVAL(&rig, MS(10), MS(11), MS(12), .seq = 4, .args = { 0x1028, FUTEX_WAIT | PRIVATE }, .ustack_id = 1);
	RIG_INTERVAL(&rig, MS(13), MS(14), MS(15), .seq = 5, .args = { 0x102c, FUTEX_WAIT | PRIVATE }, .ustack_id = 1);
	RIG_INTERVAL(&rig, MS(16), MS(17), MS(18), .seq = 6, .args = { 0x1004, FUTEX_WAIT | PRIVATE }, .ustack_id = 2);
	RIG_INTERVAL(&rig, MS(19), MS(20), MS(21), .seq = 7, .syscall = __NR_nanosleep);
	RIG_INTERVAL(&rig, MS(22), MS(23), MS(24), .seq = 8, .syscall = __NR_read, .resource_id = 4, .kstack_id = 3);
	RIG_INTERVAL(&rig, MS(25), MS(25), MS(26), .seq = 9, .flags = WCBPF_IV_PREEMPTED,
		     .args = { 0x7f00, FUTEX_WAIT | PRIVATE, 7 });
	RIG_INTERVAL(&rig, MS(27), MS(28), MS(29), .seq = 10, .state = 4, .args = { 0x7f00, FUTEX_WAIT | PRIVATE, 7 });
	rig_finish(&rig, MS(100));
	cr_expect_str_eq(ident(1), "futex:100:1000000000:0x7f00");
	cr_expect_str_eq(ident(2), "futex:shared:0x7f00");
	cr_expect_str_eq(ident(3), "tid:101");
	cr_expect_str_eq(ident(4), "condvar:100:1000000000:0x1000");
	cr_expect_eq(rig.m->waits[4].ident_id, rig.m->waits[5].ident_id);
	cr_expect_str_eq(ident(6), "futex:100:1000000000:0x1004", "older condition variables are laid out otherwise");
	rig_expect_kind(&rig, 6, REASON_SYNC, "condvar");
	cr_expect_str_eq(ident(7), "sleep");
	cr_expect_str_eq(ident(8), "", "a kernel lock is not the file");
	cr_expect_str_eq(ident(9), "");
	cr_expect_str_eq(ident(10), "");
}

Test(classify, owners)
{
	static const struct {
		const char *user;
		uint32_t flags, owner, expected;
	} cases[] = {
		{ "libc.so.6:pthread_mutex_lock app:f", WCBPF_IV_OWNER_READ, 102, 102 },
		{ "libc.so.6:pthread_mutex_lock app:f", WCBPF_IV_OWNER_READ, 0, 0 },
		{ "libc.so.6:pthread_mutex_lock app:f", WCBPF_IV_OWNER_READ, 999, 0 },	/* no thread of the process */
		{ "libc.so.6:pthread_mutex_lock app:f", WCBPF_IV_OWNER_FAULT, 102, 0 },
		{ "libc.so.6:pthread_cond_wait app:f", WCBPF_IV_OWNER_READ, 102, 0 },
		{ "libc.so.6:pthread_rwlock_rdlock app:f", WCBPF_IV_OWNER_READ, 102, 0 },
		{ "app:f", WCBPF_IV_OWNER_READ, 102, 0 },
	};

	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rig_stack(&rig, STACK_USER, 20 + i, cases[i].user);
		RIG_INTERVAL(&rig, MS(10 * i), MS(10 * i + 5), MS(10 * i + 6), .seq = 1 + i, .flags = cases[i].flags,
			     .owner_tid = cases[i].owner, .ustack_id = 20 + i, .args = { 1, FUTEX_WAIT | PRIVATE, 1 });
	}
	rig_finish(&rig, MS(1000));
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(model_wait_words(rig.m, &rig.m->waits[1 + i]).owner_tid, cases[i].expected, "case %u", i);
}

Test(classify, syscall_names_are_those_of_the_headers)
{
	cr_expect_str_eq(syscall_name(__NR_read), "read");
	cr_expect_str_eq(syscall_name(__NR_statx), "statx");
	cr_expect_str_eq(syscall_name(__NR_io_pgetevents), "io_pgetevents");
	cr_expect_str_eq(syscall_name(455), "futex_wait");
	cr_expect_str_eq(syscall_name(-1), "");
	cr_expect_str_eq(syscall_name(INT32_MAX), "");
	cr_expect_eq(syscall_sort(INT32_MIN), SYSCALL_OTHER);
}

Test(classify, waitv_by_the_futex_that_was_woken)
{
	struct wcbpf_futex_result e = {
		.head = { .kind = WCBPF_EV_FUTEX_RESULT, .size = sizeof(e), .time_ns = MS(13) },
		.tid = 100, .tgid = 100, .seq = 2, .result = 1, .address = 0x5010,
	};

	/* the first timed out: it stays what the first futex of its list says; private, and shared */
	RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1, .syscall = __NR_futex_waitv,
		     .args = { 0x7ff0, 2, 0, 0, 0x82, 0x5008 });
	rig_result(&rig, US(3001), 100, 100, 1, -ETIMEDOUT);
	RIG_INTERVAL(&rig, MS(10), MS(11), MS(12), .seq = 2, .syscall = __NR_futex_waitv,
		     .args = { 0x7ff0, 2, 0, 0, 0x02, 0x5008 });
	cr_expect_eq(assemble_event(rig.a, &e.head), 0);
	/* the list could not be read */
	RIG_INTERVAL(&rig, MS(20), MS(21), MS(22), .seq = 3, .syscall = __NR_futex_waitv, .args = { 0x7ff0, 2, 0, 0, 0, 0 });
	rig_finish(&rig, MS(100));
	cr_assert_not_null(strstr(ident(1), ":0x5008"));
	cr_expect_eq(strncmp(ident(1), "futex:100:", 10), 0, "%s", ident(1));
	cr_expect_str_eq(ident(2), "futex:shared:0x5010");
	cr_expect_str_eq(ident(3), "");
}
