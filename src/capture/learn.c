/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What the programs find out about wcbpf itself before recording: the PID
 * namespace, the operations of files that share the anonymous inode (told by
 * files of our own), the thread flags by which they tell a second switch in one
 * system call from a switch in the next call, and the bit of the preempt count
 * that says hard interrupt.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "capture/internal.h"
#include "capture/same-call.h"
#include "util/cleanup.h"
#include "wcbpf.skel.h"

static int io_uring_fd(void)
{
	char params[120] = { 0 }; /* struct io_uring_params, all zero */
	int fd = syscall(SYS_io_uring_setup, 1, params);

	if (fd >= 0)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

static void sample_files_open(int32_t fds[WCBPF_FOPS_MAX])
{
	sigset_t none;

	sigemptyset(&none);
	for (int i = 0; i < WCBPF_FOPS_MAX; i++)
		fds[i] = -1;
	fds[WCBPF_FOP_EPOLL] = epoll_create1(EPOLL_CLOEXEC);
	fds[WCBPF_FOP_EVENTFD] = eventfd(0, EFD_CLOEXEC);
	fds[WCBPF_FOP_TIMERFD] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	fds[WCBPF_FOP_SIGNALFD] = signalfd(-1, &none, SFD_CLOEXEC);
	fds[WCBPF_FOP_INOTIFY] = inotify_init1(IN_CLOEXEC);
	fds[WCBPF_FOP_PIDFD] = syscall(SYS_pidfd_open, getpid(), 0);
	fds[WCBPF_FOP_FANOTIFY] = fanotify_init(FAN_CLOEXEC, O_RDONLY);
	fds[WCBPF_FOP_IO_URING] = io_uring_fd();
}

static int ignore_event(void *arg, const struct wcbpf_head *e)
{
	(void)arg;
	(void)e;
	return 0;
}

int learn_self(struct wcbpf_bpf *skel)
{
	struct wcbpf_rt *rt = &skel->bss->rt;
	int err;

	sample_files_open(rt->learn_fds);
	rt->iter_mode = WCBPF_ITER_LEARN;
	err = iterate(skel->progs.tasks, -1, ignore_event, NULL);
	for (int i = 0; i < WCBPF_FOPS_MAX; i++) {
		if (rt->learn_fds[i] >= 0)
			close(rt->learn_fds[i]);
		rt->learn_fds[i] = -1;
	}
	return err;
}

/* recv(MSG_WAITALL) for two bytes that come apart blocks twice in one call. */
#define ROUNDS 3
#define TRIES 5
struct receiver {
	struct wcbpf_rt *rt;
	int fd;
};

static void *receive(void *arg)
{
	const struct receiver *r = arg;
	char two[2];

	/* others of ours may block meanwhile: insist.h */
	__atomic_store_n(&r->rt->calibrating, (uint32_t)gettid(), __ATOMIC_RELEASE);
	for (int i = 0; i < ROUNDS; i++)
		if (recv(r->fd, two, sizeof(two), MSG_WAITALL) != 2)
			break;
	return NULL;
}

/* Waits until the programs have seen n blocking switches of the receiver. */
static bool blocked_wait(const struct wcbpf_rt *rt, uint32_t n)
{
	static const struct timespec pause = { .tv_nsec = 200000 };

	for (int i = 0; i < 500; i++) {
		if (__atomic_load_n(&rt->calibration_n, __ATOMIC_ACQUIRE) >= n)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* Our own sleeps end by a timer's interrupt: there are some to look at, also where all else went without one. */
static void interrupts_wait(const struct wcbpf_rt *rt)
{
	static const struct timespec pause = { .tv_nsec = 200000 };

	for (int i = 0; i < 100 && __atomic_load_n(&rt->hardirq_n, __ATOMIC_ACQUIRE) < 3; i++)
		nanosleep(&pause, NULL);
}

/* 0: it can't be told, this time. */
static uint64_t same_call_learn(struct wcbpf_rt *rt)
{
	bool all = true;
	int pair[2];
	struct receiver receiver;
	pthread_t thread;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return 0;
	rt->calibration_n = 0;
	receiver = (struct receiver){ .rt = rt, .fd = pair[0] };
	if (!pthread_create(&thread, NULL, receive, &receiver)) {
		for (uint32_t i = 1; i <= ROUNDS * SAME_CALL_BLOCKS && all; i++)
			all = blocked_wait(rt, i) && write(pair[1], "x", 1) == 1;
		interrupts_wait(rt);
		shutdown(pair[1], SHUT_RDWR);
		pthread_join(thread, NULL);
	} else {
		all = false;
	}
	rt->calibrating = 0;
	close(pair[0]);
	close(pair[1]);
	return all ? same_call_mask((const uint64_t *)rt->calibration_flags, ROUNDS * SAME_CALL_BLOCKS) : 0;
}

void learn_contexts(struct wcbpf_bpf *skel)
{
	struct wcbpf_rt *rt = &skel->bss->rt;

	rt->hardirq_bits = UINT32_MAX;
	/* On a loaded host the receiver may wait for a CPU longer than we do for it, or for memory in between. */
	for (int i = 0; i < TRIES && !rt->same_call_mask; i++)
		rt->same_call_mask = same_call_learn(rt);
	/* the low half counts preemption and softirqs; the top bit is no count */
	if (rt->hardirq_n)
		rt->hardirq_mask = rt->hardirq_bits & ~rt->task_bits & 0x7fff0000;
}
