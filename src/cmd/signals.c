/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A signalfd and no handlers: nothing is interrupted in the middle, and
 * si_code tells a key of the terminal (the kernel's, the workload got it too)
 * from a kill (wcbpf's alone).
 */
#include "cmd/signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "util/cleanup.h"

/* timeout(1) signals its child and then the child's group: two of one request. */
#define ECHO_NS 250000000ull

static const int stop_signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

int signals_init(struct signals *s)
{
	struct signals new = {.fd = -1};
	sigset_t mask;

	sigemptyset(&mask);
	sigemptyset(&new.ignored);
	for (size_t i = 0; i < sizeof(stop_signals) / sizeof(stop_signals[0]); i++) {
		struct sigaction old;

		if (sigaction(stop_signals[i], NULL, &old) < 0)
			return -errno;
		if (old.sa_handler == SIG_IGN)
			sigaddset(&new.ignored, stop_signals[i]);
		sigaddset(&mask, stop_signals[i]);
	}
	if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
		return -errno;
	new.fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (new.fd < 0)
		return -errno;
	/* A reader of our stderr that goes away must not cost the files. */
	signal(SIGPIPE, SIG_IGN);
	*s = new;
	return 0;
}

void signals_done(struct signals *s)
{
	closep(&s->fd);
	s->fd = -1;
}

/*
 * What the starter wished to be ignored stays so where it was meant: nohup's
 * HUP always, a background job's INT and QUIT from the keyboard. An explicit
 * kill -INT of a job of a script is heard.
 */
static bool ignored(const struct signals *s, const struct signalfd_siginfo *info)
{
	int signo = (int)info->ssi_signo;

	if (sigismember(&s->ignored, signo) != 1 || signo == SIGTERM)
		return false;
	return signo == SIGHUP || info->ssi_code == SI_KERNEL;
}

int signals_next(struct signals *s, struct signals_event *ret)
{
	struct signalfd_siginfo info;

	for (;;) {
		ssize_t n = read(s->fd, &info, sizeof(info));
		uint64_t now = now_ns();

		if (n < 0 && errno == EINTR)
			continue;
		if (n != sizeof(info))
			return n < 0 ? -errno : -EAGAIN;
		if (ignored(s, &info))
			continue;
		if (s->first_ns && now - s->first_ns < ECHO_NS)
			continue;
		*ret = (struct signals_event){
			.signo = (int)info.ssi_signo,
			.from_terminal = info.ssi_code == SI_KERNEL,
			.second = s->first_ns != 0,
		};
		if (!s->first_ns) {
			s->first_ns = now;
			s->first_signo = ret->signo;
		}
		return 0;
	}
}
