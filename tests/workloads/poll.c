/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * poll poll|select|epoll [timeout|woken [ROUNDS [MS]]]
 *
 * A thread waits for a pipe and an idle eventfd together; main writes into the
 * pipe, or nobody does. Counts EINTR, which nobody here ever causes.
 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>

#include "lib.h"

static int pipe_fds[2], event_fd, epoll_fd = -1;
static const char *call;
static bool woken;
static unsigned int rounds, ms, interrupted;
static atomic_int waiting, main_tid, poller_tid;

static int wait_once(int timeout_ms)
{
	struct pollfd fds[2] = { { .fd = pipe_fds[0], .events = POLLIN }, { .fd = event_fd, .events = POLLIN } };
	struct timeval tv = { .tv_sec = timeout_ms / 1000, .tv_usec = (timeout_ms % 1000) * 1000 };
	struct epoll_event event;
	fd_set set;

	if (!strcmp(call, "poll"))
		return poll(fds, 2, timeout_ms);
	if (!strcmp(call, "epoll"))
		return epoll_wait(epoll_fd, &event, 1, timeout_ms);
	FD_ZERO(&set);
	FD_SET(pipe_fds[0], &set);
	FD_SET(event_fd, &set);
	return select((event_fd > pipe_fds[0] ? event_fd : pipe_fds[0]) + 1, &set, NULL, NULL, &tv);
}

static void *poller(void *arg)
{
	uint64_t begin = now_ns();
	const char *kind = strcmp(call, "epoll") ? "poll" : "epoll";

	atomic_store(&poller_tid, own_tid());
	for (unsigned int i = 1; i <= rounds; i++) {
		uint64_t start = now_ns(), end;
		char c;
		int rc;

		atomic_store(&waiting, (int)i);
		rc = wait_once(woken ? 60000 : (int)ms);
		end = now_ns();
		if (rc < 0 && errno == EINTR)
			interrupted++;
		if (rc > 0)
			truth_wait(kind, start, end, "waker=%d outcome=woken", atomic_load(&main_tid));
		else
			truth_wait(kind, start, end, "outcome=timeout ctx=timer");
		if (rc > 0 && read(pipe_fds[0], &c, 1) != 1)
			die("read");
	}
	truth_thread(begin);
	return arg;
}

int main(int argc, char **argv)
{
	struct epoll_event event = { .events = EPOLLIN };
	pthread_t thread;

	truth_begin();
	call = argc > 1 ? argv[1] : "poll";
	woken = argc > 2 && !strcmp(argv[2], "woken");
	rounds = arg_number(argc, argv, 3, 5);
	ms = arg_number(argc, argv, 4, 1000);
	event_fd = eventfd(0, 0);
	if (pipe(pipe_fds) || event_fd < 0)
		die("pipe");
	epoll_fd = epoll_create1(0);
	if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pipe_fds[0], &event) ||
	    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, event_fd, &event))
		die("epoll");
	atomic_store(&main_tid, own_tid());
	thread = thread_start(poller, NULL);
	for (unsigned int i = 1; i <= rounds && woken; i++) {
		nap_until(&waiting, (int)i);
		nap_ms(ms);
		if (write(pipe_fds[1], "x", 1) != 1)
			die("write");
	}
	thread_join(thread, &poller_tid);
	truth("eintr n=%u", interrupted);
	truth_end();
	return 0;
}
