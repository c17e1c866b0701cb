/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What a waited-for file is called: by its kind, and by the path that its process's fd table still shows. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "capture/internal.h"
#include "proc/proc.h"
#include "util/cleanup.h"

#define DEV_MAJOR(dev) ((dev) >> 20)

static const char *const fop_kinds[] = {
	[WCBPF_FOP_UNKNOWN] = "anonymous file",
	[WCBPF_FOP_EPOLL] = "epoll",
	[WCBPF_FOP_EVENTFD] = "eventfd",
	[WCBPF_FOP_TIMERFD] = "timerfd",
	[WCBPF_FOP_SIGNALFD] = "signalfd",
	[WCBPF_FOP_INOTIFY] = "inotify",
	[WCBPF_FOP_PIDFD] = "pidfd",
	[WCBPF_FOP_FANOTIFY] = "fanotify",
	[WCBPF_FOP_IO_URING] = "io_uring",
};

/* The majors of terminals: virtual consoles, /dev/tty, ptys (old and unix98), serial lines. */
static bool is_tty(uint32_t rdev)
{
	uint32_t major = DEV_MAJOR(rdev);

	return major == 2 || major == 3 || major == 4 || major == 5 || (major >= 136 && major <= 143) || major == 204 ||
	       major == 188 || major == 166;
}

static const char *file_kind(const struct wcbpf_resource *r)
{
	switch (r->mode & S_IFMT) {
	case S_IFIFO:
		return "pipe";
	case S_IFCHR:
		return is_tty(r->rdev) ? "tty" : "device";
	case S_IFBLK:
		return "disk";
	}
	return "file";
}

/* Inode numbers are used again: the last component must be the one that the kernel saw as well. */
static bool is_same_name(const struct wcbpf_resource *r, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = strnlen(r->name, sizeof(r->name));

	/* " (deleted)" may follow, and a long name was cut */
	return !n || !strncmp(name, r->name, n);
}

/* The path, if the fd still is that file. */
static bool path_of_fd(const struct wcbpf_resource *r, char *ret, size_t n)
{
	_cleanup_(freep) char *link = NULL;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/fd/%d", r->tgid, r->fd);
	if (stat(path, &st) || st.st_ino != r->ino || proc_fd_link(r->tgid, r->fd, &link) || !is_same_name(r, link))
		return false;
	snprintf(ret, n, "%s", link);
	return true;
}

static void endpoint(uint16_t family, const uint8_t addr[16], uint16_t port, char *ret, size_t n)
{
	char text[INET6_ADDRSTRLEN] = "?";

	inet_ntop(family, addr, text, sizeof(text));
	snprintf(ret, n, family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
}

/* The peer of a connected socket, else the local address. */
static void name_inet(const struct wcbpf_resource *r, char *ret, size_t n)
{
	const char *protocol = r->protocol == IPPROTO_TCP ? "tcp" : r->protocol == IPPROTO_UDP ? "udp" : "inet";
	char where[80];

	if (r->remote_port) {
		endpoint(r->family, r->remote_addr, r->remote_port, where, sizeof(where));
		snprintf(ret, n, "%s %s", protocol, where);
	} else {
		endpoint(r->family, r->local_addr, r->local_port, where, sizeof(where));
		snprintf(ret, n, r->type == SOCK_STREAM ? "%s %s listening" : "%s %s", protocol, where);
	}
}

static void name_socket(const struct wcbpf_resource *r, char *ret, size_t n)
{
	if (r->family == AF_INET || r->family == AF_INET6)
		name_inet(r, ret, n);
	else if (r->family == AF_UNIX && r->name[0])
		snprintf(ret, n, "unix %.*s", (int)sizeof(r->name), r->name);
	else if (r->family == AF_UNIX)
		snprintf(ret, n, "unix socket:[%llu]", (unsigned long long)r->ino);
	else
		snprintf(ret, n, "socket:[%llu] family %u", (unsigned long long)r->ino, r->family);
}

void resource_name(const struct wcbpf_resource *r, struct resource_name *ret)
{
	ret->name[0] = 0;
	switch (r->kind) {
	case WCBPF_RES_SOCKET:
		ret->kind = "socket";
		name_socket(r, ret->name, sizeof(ret->name));
		return;
	case WCBPF_RES_ANON:
		ret->kind = fop_kinds[r->fop_kind < sizeof(fop_kinds) / sizeof(fop_kinds[0]) ? r->fop_kind : 0];
		snprintf(ret->name, sizeof(ret->name), "%s fd %d of pid %u", ret->kind, r->fd, r->tgid);
		return;
	}
	ret->kind = file_kind(r);
	if ((r->mode & S_IFMT) == S_IFIFO && !r->name[0])
		snprintf(ret->name, sizeof(ret->name), "pipe:[%llu]", (unsigned long long)r->ino);
	else if (!path_of_fd(r, ret->name, sizeof(ret->name)) && r->name[0])
		snprintf(ret->name, sizeof(ret->name), ".../%.*s", (int)sizeof(r->name), r->name);
	else if (!ret->name[0])
		snprintf(ret->name, sizeof(ret->name), "file %u:%u:%llu", DEV_MAJOR(r->dev), r->dev & 0xfffff,
			 (unsigned long long)r->ino);
}
