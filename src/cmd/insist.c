/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A thread, because resolving and writing are long calls that no loop can
 * interrupt, and because a handler would need globals and be confined to
 * async-signal-safe calls.
 */
#include "cmd/insist.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include "util/log.h"

struct insist {
	struct signals *signals;
	const struct launch *launch;
	int exit_code;
	const char *left;
	int end_fd; /* -1: stopped */
	pthread_t thread;
	struct signals_event first; /* signo 0: none came */
};

static void *insist_watch(void *arg)
{
	struct insist *i = arg;
	struct pollfd fds[] = {{.fd = i->end_fd, .events = POLLIN}, {.fd = i->signals->fd, .events = POLLIN}};

	for (;;) {
		struct signals_event event;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return NULL;
		while (signals_next(i->signals, &event) == 0) {
			event.passed_on = i->launch && launch_gone(i->launch);
			if (event.passed_on && !event.from_terminal)
				launch_signal(i->launch, event.signo);
			if (event.second) {
				log_error("interrupted twice: %s", i->left);
				_exit(i->exit_code);
			}
			i->first = event;
		}
		if (fds[0].revents)
			return NULL;
	}
}

int insist_new(struct signals *signals, const struct launch *launch, int exit_code, const char *left, struct insist **ret)
{
	_cleanup_(freep) struct insist *i = malloc(sizeof(*i));
	int r;

	if (!i)
		return -ENOMEM;
	*i = (struct insist){.signals = signals, .launch = launch, .exit_code = exit_code, .left = left};
	_cleanup_(closep) int end_fd = eventfd(0, EFD_CLOEXEC);
	if (end_fd < 0)
		return -errno;
	i->end_fd = end_fd;
	r = pthread_create(&i->thread, NULL, insist_watch, i);
	if (r != 0)
		return -r;
	end_fd = -1;
	*ret = TAKE_PTR(i);
	return 0;
}

bool insist_stop(struct insist *i, struct signals_event *ret)
{
	if (!i)
		return false;
	if (i->end_fd >= 0) {
		eventfd_write(i->end_fd, 1);
		pthread_join(i->thread, NULL);
		close(TAKE_FD(i->end_fd));
	}
	if (!i->first.signo)
		return false;
	*ret = i->first;
	return true;
}

struct insist *insist_free(struct insist *i)
{
	struct signals_event ignored;

	insist_stop(i, &ignored);
	free(i);
	return NULL;
}
