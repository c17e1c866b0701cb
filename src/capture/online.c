/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A perf event of a CPU ends with that CPU's going offline, and nobody tells who
 * holds it. So it matters not only which CPUs are online now, but whether one was
 * away meanwhile: the list alone can't say. The kernel sends a uevent when a CPU
 * has gone, which waits in its socket until the next look. In a suspend CPUs go
 * and come without one; that shows in the clock that counts it.
 *
 * Without uevents (a network namespace of a container) a CPU that went and came
 * between two looks is not noticed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "capture/internal.h"
#include "util/cleanup.h"
#include "util/parse.h"

#define LIST_PATH "/sys/devices/system/cpu/online"
#define WENT_PREFIX "offline@/devices/system/cpu/cpu"
#define SUSPEND_NS 100000000 /* two reads of the clocks are not that far apart, and no suspend is that short */

struct online {
	uint32_t cpu_n;
	uint32_t *turns; /* by CPU */
	bool *went;	 /* by CPU: it was offline since the last look */
	uint32_t turn_last, n;
	int list_fd, uevent_fd; /* -1: there is none */
	int64_t suspended_ns;	/* all suspends since the boot */
	char text[4096];	/* the list as it was last read */
};

DEFINE_CLEANUP(struct online *, online_free)

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t suspended_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
}

static int uevents_open(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* "offline@/devices/system/cpu/cpu7" and a NUL begin what tells of a CPU that has gone. */
static void uevent_note(struct online *o, const char *text, size_t n)
{
	size_t prefix = strlen(WENT_PREFIX);
	uint64_t cpu;

	if (n <= prefix || !memchr(text, 0, n) || strncmp(text, WENT_PREFIX, prefix))
		return;
	if (!parse_u64(text + prefix, &cpu) && cpu < o->cpu_n)
		o->went[cpu] = true;
}

/* Which CPUs have gone since; all may have when there were more uevents than the socket holds. */
static void uevents_read(struct online *o)
{
	struct sockaddr_nl from = { 0 };
	socklen_t from_n = sizeof(from);
	char text[4096];
	ssize_t n;

	while (o->uevent_fd >= 0) {
		n = recvfrom(o->uevent_fd, text, sizeof(text), 0, (struct sockaddr *)&from, &from_n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == ENOBUFS)
			memset(o->went, true, o->cpu_n * sizeof(*o->went));
		else if (n < 0)
			return;
		else if (from_n == sizeof(from) && !from.nl_pid) /* the kernel's */
			uevent_note(o, text, (size_t)n);
		from_n = sizeof(from);
	}
}

static bool list_read(const struct online *o, char *ret, size_t size)
{
	ssize_t n = o->list_fd >= 0 ? pread(o->list_fd, ret, size - 1, 0) : 0;

	if (n <= 0)
		return false;
	ret[n] = 0;
	return true;
}

/* The CPUs of text have a turn, a new one if they had none or were away; the others have none. */
static int turns_take(struct online *o, const char *text, bool *ret_changed)
{
	_cleanup_(freep) uint32_t *list = NULL;
	_cleanup_(freep) bool *now = calloc(o->cpu_n, sizeof(*now));
	bool changed = false;
	size_t n = 0;
	int err;

	if (!now)
		return -ENOMEM;
	err = parse_range_list(text, &list, &n);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		if (list[i] < o->cpu_n)
			now[list[i]] = true;
	o->n = 0;
	for (uint32_t cpu = 0; cpu < o->cpu_n; cpu++) {
		uint32_t turn = o->turns[cpu];

		o->n += now[cpu];
		if (!now[cpu])
			o->turns[cpu] = 0;
		else if (!turn || o->went[cpu])
			o->turns[cpu] = ++o->turn_last;
		o->went[cpu] = false;
		changed |= o->turns[cpu] != turn;
	}
	*ret_changed = changed;
	return 0;
}

int online_new(const char *path, uint32_t cpu_n, struct online **ret)
{
	_cleanup_(online_freep) struct online *o = calloc(1, sizeof(*o));
	bool changed;

	if (!o)
		return -ENOMEM;
	o->cpu_n = cpu_n;
	o->uevent_fd = uevents_open(); /* before the list: who goes after it is told of */
	o->list_fd = open(path ? path : LIST_PATH, O_RDONLY | O_CLOEXEC);
	o->suspended_ns = suspended_ns();
	o->turns = calloc(cpu_n, sizeof(*o->turns));
	o->went = calloc(cpu_n, sizeof(*o->went));
	if (!o->turns || !o->went)
		return -ENOMEM;
	if (!list_read(o, o->text, sizeof(o->text)) || turns_take(o, o->text, &changed) || !o->n) {
		closep(&o->list_fd);
		o->list_fd = -1;
		for (uint32_t cpu = 0; cpu < cpu_n; cpu++)
			o->turns[cpu] = 1;
		o->n = cpu_n;
	}
	*ret = TAKE_PTR(o);
	return 0;
}

bool online_look(struct online *o)
{
	int64_t suspended = suspended_ns();
	char text[sizeof(o->text)];
	bool changed = false;

	if (o->list_fd < 0)
		return false;
	if (suspended - o->suspended_ns > SUSPEND_NS)
		memset(o->went, true, o->cpu_n * sizeof(*o->went));
	o->suspended_ns = suspended;
	uevents_read(o);
	if (!list_read(o, text, sizeof(text)))
		return false;
	if (!strcmp(text, o->text) && !memchr(o->went, true, o->cpu_n * sizeof(*o->went)))
		return false;
	if (turns_take(o, text, &changed))
		return false; /* o->text is as it was: the next look sees the same */
	memcpy(o->text, text, sizeof(o->text));
	return changed;
}

uint32_t online_turn(const struct online *o, uint32_t cpu)
{
	return cpu < o->cpu_n ? o->turns[cpu] : 0;
}

uint32_t online_n(const struct online *o)
{
	return o->n;
}

uint32_t online_cpu_n(const struct online *o)
{
	return o->cpu_n;
}

struct online *online_free(struct online *o)
{
	if (!o)
		return NULL;
	closep(&o->list_fd);
	closep(&o->uevent_fd);
	free(o->turns);
	free(o->went);
	free(o);
	return NULL;
}
